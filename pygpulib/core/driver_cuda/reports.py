"""What kernels have to say once they are done: the lines that they printed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pygpulib._record import record
from pygpulib.core.driver import DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM
from pygpulib.core.locks import Lock
from pygpulib.core.ordering import is_same_stream

if TYPE_CHECKING:
    from collections.abc import Callable

_Key = tuple[int, int]


class _Queue:
    """The reports of one stream that wait, and how many do not wait any more."""

    __slots__ = ("done", "waiting")

    def __init__(self) -> None:
        self.waiting: list[Callable[[], None]] = []
        self.done = 0


@record
class ReportsMark:
    """The reports of a stream that came before a moment.

    Attributes
    ----------
    queue : object
        Those of the stream.
    count : int
        How many of them came before, counted from the first one ever.
    """

    queue: _Queue
    count: int


class Reports:
    """Functions that are called after the next wait for a stream, in the order of its work.

    Notes
    -----
    One thread at a time calls them, and whoever waited for a stream goes on after all of its
    reports: lines come in the order of their launches, and before what the program prints next.
    """

    def __init__(self) -> None:
        self._queues: dict[_Key, _Queue] = {}
        self._lock = Lock()
        self._is_running = False

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return any(queue.waiting for queue in tuple(self._queues.values()))

    def add(self, stream: int, report: Callable[[], None]) -> None:
        """Call a function, in this thread or another, after the next wait for a stream.

        Parameters
        ----------
        stream : int
            The stream; waiting for the device is waiting for it, too.
        report : callable
            May use the device, and raise.
        """
        self._queues.setdefault(_key_of(stream), _Queue()).waiting.append(report)

    def put_off(self, stream: int, last: Callable[[], None]) -> bool:
        """Call a function after the last reports of a stream; return False if there are none."""
        queue = self._queues.get(_key_of(stream))
        if queue is not None and queue.waiting:
            queue.waiting.append(last)
            return True
        self._queues.pop(_key_of(stream), None)
        return False

    def mark(self, stream: int) -> ReportsMark | None:
        """Return what stands for the reports of a stream so far, or None if there are none."""
        queue = self._queues.get(_key_of(stream))
        if queue is None or not queue.waiting:
            return None
        return ReportsMark(queue, queue.done + len(queue.waiting))

    def run(self, stream: int) -> None:
        """Call those of a stream, which was waited for."""
        if self._queues:
            queue = self._queues.get(_key_of(stream))
            if queue is not None:
                self._run(queue)

    def run_to(self, mark: ReportsMark) -> None:
        """Call those that a mark stands for; their kernels were waited for."""
        self._run(mark.queue, mark.count)

    def run_all(self) -> None:
        """Call all; the device was waited for."""
        for queue in tuple(self._queues.values()):
            self._run(queue)

    def _run(self, queue: _Queue, count: int | None = None) -> None:
        with self._lock:
            # Not again in this thread: a report waits for its own copies, which must not let
            # later reports come before it.
            if self._is_running:
                return
            self._is_running = True
            try:
                while queue.waiting and (count is None or queue.done < count):
                    try:
                        queue.waiting[0]()
                    finally:
                        # Not before, because `put_off` must find the one that runs. One that
                        # raises leaves the others for the next time.
                        del queue.waiting[0]
                        queue.done += 1
            finally:
                self._is_running = False


def _key_of(stream: int) -> _Key:
    """Return what tells streams apart; the per-thread default stream is one in each thread."""
    if stream == PER_THREAD_DEFAULT_STREAM:
        return stream, threading.get_ident()
    return DEFAULT_STREAM if is_same_stream(stream, DEFAULT_STREAM) else stream, 0
