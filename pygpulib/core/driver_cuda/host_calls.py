"""Functions of the host that run in the order of a stream."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pygpulib._bindings import cuda_driver as cu
from pygpulib.core.driver_cuda.api import make_error
from pygpulib.core.driver_cuda.retirement import no_cuda_here

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib._bindings.library import Library
    from pygpulib.errors import DeviceError


class HostCalls:
    """The functions that wait for their stream.

    Parameters
    ----------
    library : Library
        The driver library.

    Notes
    -----
    They run in a thread of the driver, one after the other. An exception in one of them is
    reported by `sys.unraisablehook`, as it is in finalizers.

    The driver has a newer function for this purpose, which calls nobody after a fault of the
    device: whoever waits for the call would wait for ever.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._waiting: dict[int, Callable[[DeviceError | None], None]] = {}
        self._numbers = itertools.count(1)
        # One entry point for all, which lives as long as the process: the driver may call late.
        self._entry = cu.StreamCallback(self._run)

    def add(self, stream: int, function: Callable[[DeviceError | None], None]) -> None:
        """Call a function once a stream's work so far is done."""
        number = next(self._numbers)
        self._waiting[number] = function
        try:
            self._library.cuStreamAddCallback(stream, self._entry, number, 0)
        except BaseException:
            del self._waiting[number]
            raise

    def __len__(self) -> int:
        return len(self._waiting)

    def _run(self, _stream: int | None, status: int, number: int) -> None:
        fault = make_error(self._library, "cuStreamAddCallback", status) if status else None
        with no_cuda_here():
            self._waiting.pop(number)(fault)
