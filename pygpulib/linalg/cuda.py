"""The CUDA back end: what the vendor's libraries have, and the host for the rest."""

from __future__ import annotations

import inspect
import warnings
from functools import cache, partial
from typing import TYPE_CHECKING, Any, cast

from pygpulib.core.creation import to_device
from pygpulib.core.stream import stream_handle
from pygpulib.errors import HostFallbackWarning
from pygpulib.linalg import cuda_functions, cuda_scipy
from pygpulib.linalg.cuda_functions import Job
from pygpulib.linalg.solver import open_solver

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.core.array import ndarray
    from pygpulib.core.driver import Driver, HostArray
    from pygpulib.core.driver_cuda import CudaDriver
    from pygpulib.core.stream import StreamLike
    from pygpulib.linalg.solver import Solver
    from pygpulib.linalg.table import Function

_NATIVE = cuda_functions.NATIVE | cuda_scipy.NATIVE
_signature = cache(inspect.signature)

# From `warnings.warn` in `announce` to the caller of the function.
_STACK_LEVEL = 4


class CudaEngine:
    """The `Engine` protocol over arrays in device memory.

    Parameters
    ----------
    driver : CudaDriver
        The back end.
    """

    def __init__(self, driver: CudaDriver) -> None:
        self._driver = driver
        self._solver = open_solver(driver)
        self._announced: set[Function] = set()

    def find(self, function: Function) -> Callable[..., Any] | None:
        """Return what does a function on the device."""
        native = _NATIVE.get((function.home, function.name))
        if native is None or self._solver is None:
            return None
        return partial(self._run, self._solver, native)

    def _run(
        self,
        solver: Solver,
        native: Callable[..., Any],
        stream: StreamLike,
        *arguments: object,
        **options: object,
    ) -> Any:  # noqa: ANN401
        job = Job(solver, self._driver, stream)
        try:
            bound = _signature(native).bind(job, *arguments, **options)
        except TypeError:
            return NotImplemented  # the library on the host says what is wrong, if anything is
        return native(*bound.args, **bound.kwargs)

    def announce(self, function: Function) -> None:
        """Warn the first time that the host does a function."""
        if function in self._announced:
            return
        self._announced.add(function)
        warnings.warn(
            f"{function.home}.{function.name} computes on the host\n"
            "the arrays are copied from the device and the results back to it\n"
            "help: work on host arrays, or ignore pygpulib.errors.HostFallbackWarning",
            HostFallbackWarning,
            stacklevel=_STACK_LEVEL,
        )

    def to_host(self, array: ndarray, stream: StreamLike) -> HostArray:
        """Return a copy, once the stream has made it."""
        handle = stream_handle(stream or array.stream)
        copy = array.copy_to_host(stream=stream)
        self._driver.synchronize_stream(handle)
        return copy

    def to_device(self, array: HostArray, stream: StreamLike) -> ndarray:
        """Return a copy."""
        return to_device(array, stream)

    def write_back(self, copy: HostArray, array: ndarray, stream: StreamLike) -> None:
        """Copy what the host wrote."""
        array.copy_to_device(copy, stream)


def create(driver: Driver) -> CudaEngine:
    """Return a new engine."""
    return CudaEngine(cast("CudaDriver", driver))
