"""What kernels have to say once they are done: the lines that they printed."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from pygpulib.core.driver import DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM
from pygpulib.core.locks import Lock
from pygpulib.core.ordering import is_same_stream

if TYPE_CHECKING:
    from collections.abc import Callable

_Key = tuple[int, int]


class Reports:
    """Functions that are called after the next wait for a stream, in the order of its work.

    Notes
    -----
    One thread at a time calls them, and whoever waited for a stream goes on after all of its
    reports: lines come in the order of their launches, and before what the program prints next.
    """

    def __init__(self) -> None:
        self._waiting: dict[_Key, list[Callable[[], None]]] = {}
        self._lock = Lock()
        self._is_running = False

    def __bool__(self) -> bool:
        """Return whether there are any."""
        return any(self._waiting.values())

    def add(self, stream: int, report: Callable[[], None]) -> None:
        """Call a function, in this thread or another, after the next wait for a stream.

        Parameters
        ----------
        stream : int
            The stream; waiting for the device is waiting for it, too.
        report : callable
            May use the device, and raise.
        """
        self._waiting.setdefault(_key_of(stream), []).append(report)

    def put_off(self, stream: int, last: Callable[[], None]) -> bool:
        """Call a function after the last reports of a stream; return False if there are none."""
        reports = self._waiting.get(_key_of(stream))
        if reports:
            reports.append(last)
            return True
        self._waiting.pop(_key_of(stream), None)
        return False

    def run(self, stream: int) -> None:
        """Call those of a stream, which was waited for."""
        if self._waiting:
            self._run(_key_of(stream))

    def run_all(self) -> None:
        """Call all; the device was waited for."""
        for key in tuple(self._waiting):
            self._run(key)

    def _run(self, key: _Key) -> None:
        with self._lock:
            # Not again in this thread: a report waits for its own copies, which must not let
            # later reports come before it.
            if self._is_running:
                return
            self._is_running = True
            try:
                reports = self._waiting.get(key)
                while reports:
                    try:
                        reports[0]()
                    finally:
                        # Not before, because `put_off` must find the one that runs. One that
                        # raises leaves the others for the next time.
                        del reports[0]
            finally:
                self._is_running = False


def _key_of(stream: int) -> _Key:
    """Return what tells streams apart; the per-thread default stream is one in each thread."""
    if stream == PER_THREAD_DEFAULT_STREAM:
        return stream, threading.get_ident()
    return DEFAULT_STREAM if is_same_stream(stream, DEFAULT_STREAM) else stream, 0
