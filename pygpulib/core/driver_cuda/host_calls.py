"""Functions of the host that run in the order of a stream."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

from pygpulib._bindings import cuda_driver as cu
from pygpulib.core.driver_cuda.retirement import no_cuda_here

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib._bindings.library import Library


class HostCalls:
    """The functions that wait for their stream.

    Parameters
    ----------
    library : Library
        The driver library.

    Notes
    -----
    They run in a thread of the driver, one after the other. An exception in one of them is
    reported by `sys.unraisablehook`, as it is in finalizers. After a fault of the device the
    driver calls none of them any more.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self._waiting: dict[int, Callable[[], None]] = {}
        self._numbers = itertools.count(1)
        # One entry point for all, which lives as long as the process: the driver may call late.
        self._entry = cu.HostFunction(self._run)

    def add(self, stream: int, function: Callable[[], None]) -> None:
        """Call a function once a stream's work so far is done."""
        number = next(self._numbers)
        self._waiting[number] = function
        try:
            self._library.cuLaunchHostFunc(stream, self._entry, number)
        except BaseException:
            del self._waiting[number]
            raise

    def __len__(self) -> int:
        return len(self._waiting)

    def _run(self, number: int) -> None:
        with no_cuda_here():
            self._waiting.pop(number)()
