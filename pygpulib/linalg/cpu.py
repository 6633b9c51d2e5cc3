"""The CPU back end: NumPy and SciPy on the arrays as they lie in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core.array import ndarray
from pygpulib.core.layout import Layout

if TYPE_CHECKING:
    from pygpulib.core.driver import Driver, HostArray
    from pygpulib.core.stream import StreamLike
    from pygpulib.linalg.table import Function


class CpuEngine:
    """The `Engine` protocol over host memory: nothing is copied.

    Parameters
    ----------
    driver : Driver
        The back end.
    """

    def __init__(self, driver: Driver) -> None:
        self._map = driver.map_host

    def find(self, function: Function) -> None:  # noqa: ARG002
        """Return None: the host is the device."""
        return

    def announce(self, function: Function) -> None:
        """Do nothing: the host is the device."""

    def to_host(self, array: ndarray, stream: StreamLike) -> HostArray:  # noqa: ARG002
        """Return the array's memory."""
        assert array.host_view is not None
        return array.host_view

    def to_device(self, array: HostArray, stream: StreamLike) -> ndarray:
        """Return an array over the result's memory."""
        buffer, offset = self._map(array)
        layout = Layout(array.shape, array.strides, offset)
        return ndarray.from_buffer(buffer, layout, array.dtype, stream)

    def write_back(self, copy: HostArray, array: ndarray, stream: StreamLike) -> None:
        """Do nothing: it is the same memory."""


def create(driver: Driver) -> CpuEngine:
    """Return a new engine."""
    return CpuEngine(driver)
