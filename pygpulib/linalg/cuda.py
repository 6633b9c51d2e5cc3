"""The CUDA back end: what the vendor's libraries have, and the host for the rest."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from pygpulib.core.creation import to_device
from pygpulib.core.stream import stream_handle
from pygpulib.errors import HostFallbackWarning

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.core.array import ndarray
    from pygpulib.core.driver import Driver, HostArray
    from pygpulib.core.stream import StreamLike
    from pygpulib.linalg.table import Function

# From `warnings.warn` in `announce` to the caller of the function.
_STACK_LEVEL = 4


class CudaEngine:
    """The `Engine` protocol over arrays in device memory.

    Parameters
    ----------
    driver : Driver
        The back end.
    """

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._announced: set[Function] = set()

    def find(self, function: Function) -> Callable[..., Any] | None:  # noqa: ARG002
        """Return what does a function on the device."""
        return None

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
    return CudaEngine(driver)
