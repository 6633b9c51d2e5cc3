"""The CUDA back end: what the vendor's libraries have, and the host for the rest."""

from __future__ import annotations

import inspect
import warnings
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.creation import to_device
from pygpulib.core.ordering import order_after
from pygpulib.core.stream import stream_handle
from pygpulib.errors import HostFallbackWarning
from pygpulib.linalg import (
    cuda_equations,
    cuda_factors,
    cuda_matfuncs,
    cuda_norms,
    cuda_products,
    cuda_ranks,
    cuda_scipy,
    cuda_scipy_factors,
)
from pygpulib.linalg.functions import replace_all
from pygpulib.linalg.job import Job
from pygpulib.linalg.kernels import Kernels
from pygpulib.linalg.solver import open_solver
from pygpulib.linalg.table import OF_NUMPY, OF_SCIPY, OTHERS, SCIPY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pygpulib.core.driver import Driver, HostArray
    from pygpulib.core.driver_cuda import CudaDriver
    from pygpulib.core.stream import StreamLike
    from pygpulib.linalg.solver import Solver
    from pygpulib.linalg.table import Function

_OF_NUMPY = (cuda_equations, cuda_factors, cuda_norms, cuda_products, cuda_ranks)
_OF_SCIPY = (cuda_scipy, cuda_scipy_factors, cuda_matfuncs)
NATIVE: dict[Function, Callable[..., Any]] = {
    functions[name]: native
    for functions, modules in ((OF_NUMPY | OTHERS, _OF_NUMPY), (OF_SCIPY, _OF_SCIPY))
    for module in modules
    for name, native in module.NATIVE.items()
}
"""What is done on the device."""

# What makes no difference to a result: arrays are never overwritten, workspaces our own.
_IGNORED = ("overwrite_a", "overwrite_b", "lwork")

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
        self._kernels = Kernels()
        self._announced: set[Function] = set()

    def find(self, function: Function) -> Callable[..., Any] | None:
        """Return what does a function on the device."""
        native = NATIVE.get(function)
        if native is None or self._solver is None:
            return None
        return partial(self._run, self._solver, function, native)

    def _run(
        self,
        solver: Solver,
        function: Function,
        native: Callable[..., Any],
        stream: StreamLike,
        *arguments: object,
        **options: object,
    ) -> Any:
        values = _name_arguments(function, native, arguments, options)
        if values is None:
            return NotImplemented
        job = Job(solver, self._kernels, self._driver, stream)
        given = list(_arrays_in([*arguments, *options.values()]))
        order_after([array.buffer for array in given], stream_handle(stream))
        if values.pop("check_finite", False) and not all(map(job.is_finite, given)):
            return NotImplemented
        try:
            result = native(job, **values)
        except np.linalg.LinAlgError:
            if function.home == SCIPY:
                return NotImplemented  # it has words of its own
            raise

        def bind(value: object) -> object:
            if not isinstance(value, ndarray) or any(value is array for array in given):
                return value
            return value.bind(stream)

        return replace_all(result, bind)

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


@cache
def _signatures(
    function: Function, native: Callable[..., Any]
) -> tuple[inspect.Signature, frozenset[str]]:
    """Return the library's signature, and the names of the arguments that are understood."""
    parameters = inspect.signature(native).parameters.values()
    takes_all = any(each.kind is each.VAR_KEYWORD for each in parameters)
    signature = inspect.signature(getattr(import_module(function.home), function.name))
    names = {each.name for each in parameters} | {"check_finite", *_IGNORED}
    return signature, frozenset(signature.parameters if takes_all else names)


def _name_arguments(
    function: Function,
    native: Callable[..., Any],
    arguments: tuple[object, ...],
    options: dict[str, object],
) -> dict[str, Any] | None:
    """Return arguments by their names, None if the host has to deal with them."""
    signature, names = _signatures(function, native)
    try:
        bound = signature.bind(*arguments, **options)
    except TypeError:
        return None  # the library on the host says what is wrong
    values = bound.arguments
    if not values.keys() <= names:
        return None
    for name in _IGNORED:
        values.pop(name, None)
    if "check_finite" in signature.parameters:
        values.setdefault("check_finite", signature.parameters["check_finite"].default)
    return values


def _arrays_in(values: Iterable[object]) -> Iterator[ndarray]:
    """Yield the arrays among arguments and in sequences among them."""
    for value in values:
        if isinstance(value, ndarray):
            yield value
        elif isinstance(value, tuple | list):
            yield from _arrays_in(value)


def create(driver: Driver) -> CudaEngine:
    """Return a new engine."""
    return CudaEngine(cast("CudaDriver", driver))
