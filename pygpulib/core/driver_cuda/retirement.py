"""Giving back what finalizers no longer need: memory, streams, events, kernels.

Python runs finalizers at any point of any thread: in the middle of a launch to another device, in
a function that CUDA calls from a stream (where no CUDA function may be called), in a forked child
(where none works), at exit. What is to be given back is therefore queued first. The queue is
worked off at once where that is possible, with the owning device made current for that time and
the thread's own put back; otherwise by the next operation that may.
"""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
from collections import deque
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pygpulib._bindings import cuda_driver as cu
from pygpulib.errors import DeviceError, DeviceLostError, PyGpuLibWarning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pygpulib._bindings.library import Library

# At the end of the process, in the child of a fork, after a reset by another library.
_GONE = {cu.NOT_INITIALIZED, cu.DEINITIALIZED, cu.NO_DEVICE, cu.CONTEXT_IS_DESTROYED}


def is_gone(error: DeviceError) -> bool:
    """Return whether the device is gone or lost, and with it all that was on it."""
    return isinstance(error, DeviceLostError) or error.code in _GONE


class _ThreadState(threading.local):
    """Whether the thread runs a function that CUDA called."""

    is_callback = False


_thread = _ThreadState()


@contextmanager
def no_cuda_here() -> Iterator[None]:
    """Return a context in which the calling thread may not call CUDA functions."""
    _thread.is_callback = True
    try:
        yield
    finally:
        _thread.is_callback = False


class Retirement:
    """A queue of things to give back.

    Parameters
    ----------
    library : Library
        The driver library.

    Attributes
    ----------
    lock : threading.Lock
        Held while the queue is worked off. What `dispose` functions change may otherwise only be
        changed under this lock; it is not reentrant, so that a finalizer in such a thread only
        adds to the queue.
    """

    def __init__(self, library: Library) -> None:
        self.lock = threading.Lock()
        self._library = library
        self._queue: deque[tuple[int, Callable[[], None]]] = deque()
        self._pauses = 0
        self._process = os.getpid()

    def add(self, context: int, dispose: Callable[[], None]) -> None:
        """Give something back, now or soon; safe in finalizers.

        Parameters
        ----------
        context : int
            The driver's handle of the context that must be current.
        dispose : callable
            What to do.
        """
        self._queue.append((context, dispose))
        self.work_off()

    def dispose_now(self, context: int, dispose: Callable[[], None]) -> None:
        """Give something back at once, even while giving back is paused; not for finalizers."""
        with self.lock, self._inside(context):
            dispose()

    def work_off(self) -> None:
        """Give back what is queued, unless this thread may not or another one is doing it."""
        while self._queue and self._may_work() and self.lock.acquire(blocking=False):
            try:
                self.work_off_locked()
            finally:
                self.lock.release()

    def work_off_locked(self) -> None:
        """Give back what is queued; the caller holds the lock."""
        while self._queue:
            context, dispose = self._queue.popleft()
            try:
                with self._inside(context):
                    dispose()
            except DeviceError as error:
                # That a device is gone is no news in a finalizer.
                if not is_gone(error):
                    warnings.warn(
                        f"{error.problem} ({error.detail})", PyGpuLibWarning, stacklevel=1
                    )

    def stop(self) -> None:
        """Give nothing back any more: the process ends, and takes everything with it."""
        self._pauses += 1

    @contextmanager
    def pause(self) -> Iterator[None]:
        """Return a context in which things are only queued."""
        self._pauses += 1
        try:
            yield
        finally:
            self._pauses -= 1
            self.work_off()

    def _may_work(self) -> bool:
        return not self._pauses and not _thread.is_callback and os.getpid() == self._process

    @contextmanager
    def _inside(self, context: int) -> Iterator[None]:
        self._library.cuCtxPushCurrent_v2(context)
        try:
            yield
        finally:
            self._library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))
