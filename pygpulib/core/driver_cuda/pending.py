"""What a device may still be working on, and how long things must stay for it.

Memory may be given back while kernels and copies that use it are queued. CUDA takes memory back
*in the order of a stream*: it is reused only by what comes later there. This module finds the
stream. Most programs use one stream: then it is that one. Otherwise the memory is given back on
a *reaper* stream of its own, which first waits for all that was queued on any stream until then.
That is more than the memory needs, and it is always right, because nobody has to tell which
streams used which array.

* `mark` is called after something was queued on a stream. A launch keeps its arguments alive
  until then, so that nothing is given back between its queueing and its mark.
* Streams of other libraries may be dropped by them at any time, and the per-thread default stream
  is another one in each thread. For these an event is recorded at once; later nobody asks them.
* What other libraries queue on their streams is not known here. They must keep the array object
  until they are done, as the protocols for exchanging arrays say.

Memory is ready for the stream it was allocated for, and where that is the default stream for all
streams of the package, too. `prepare` makes it ready for streams of other libraries, which need not
wait for the default stream; `pygpulib.core.ordering` takes care of memory of other streams.
"""

from __future__ import annotations

import ctypes
import threading
from collections import deque
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from pygpulib._bindings import cuda_driver as cu
from pygpulib.core.driver import DEFAULT_STREAM, LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM
from pygpulib.core.locks import Lock
from pygpulib.core.ordering import is_same_stream
from pygpulib.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pygpulib._bindings.library import Library

_Key = tuple[int, int]


def create_event(library: Library, flags: int) -> int:
    """Return a new event of the current context."""
    event = ctypes.c_void_p()
    library.cuEventCreate(ctypes.byref(event), flags)
    return event.value or 0


def create_stream(library: Library, flags: int) -> int:
    """Return a new stream of the current context."""
    stream = ctypes.c_void_p()
    library.cuStreamCreate(ctypes.byref(stream), flags)
    return stream.value or 0


class PendingWork:
    """The streams of one device that may be at work.

    Parameters
    ----------
    library : Library
        The driver library.

    Attributes
    ----------
    own : set of int
        The package's own streams, which wait for the default stream.
    active : set of int
        Those of them on which something was queued; `mark` adds to it.

    Notes
    -----
    `mark` may run in any thread at any time. `find_order` and `drop_stream` run under the lock
    of `Retirement`, with the device current.
    """

    def __init__(self, library: Library) -> None:
        self._library = library
        self.own = {DEFAULT_STREAM, LEGACY_DEFAULT_STREAM}
        self._default_allocations = 0
        self._prepared: dict[_Key, int] = {}
        self.active: set[int] = set()
        self._foreign: dict[_Key, int] = {}
        self._spare_events: list[int] = []
        self._reaper = 0
        self._reaper_is_active = False
        self._kept: deque[tuple[int, tuple[object, ...]]] = deque()
        self._kept_lock = Lock()

    def mark(self, stream: int) -> None:
        """Note that something was queued on a stream."""
        if stream in self.own:
            self.active.add(stream)
        else:
            self.mark_foreign(stream)

    def mark_foreign(self, stream: int) -> None:
        """Note that something was queued on a stream that is not the package's."""
        # Two threads may both find no event here; the one that is lost only occupies memory.
        key = stream, threading.get_ident() if stream == PER_THREAD_DEFAULT_STREAM else 0
        older = self._foreign.pop(key, 0)
        self._foreign[key] = self.record(stream)
        if older:
            self.return_event(older)

    def record(self, stream: int) -> int:
        """Return an event for what was queued on a stream so far."""
        if self._spare_events:
            event = self._spare_events.pop()
        else:
            event = create_event(self._library, cu.EVENT_DISABLE_TIMING)
        try:
            self._library.cuEventRecord(event, stream)
        except DeviceError:
            self.return_event(event)
            raise
        return event

    def return_event(self, event: int) -> None:
        """Let an event be used again; what waits for it goes on waiting for the old meaning."""
        self._spare_events.append(event)

    def busy_streams(self) -> tuple[int, ...]:
        """Return the package's own streams that may be at work."""
        return tuple(self.active)

    def foreign_events(self) -> tuple[int, ...]:
        """Return events for what was queued on all other streams."""
        return tuple(self._foreign.values())

    @contextmanager
    def events_of_all(self, stream: int) -> Iterator[list[int]]:
        """Return a context with events for all that was queued so far on other streams."""
        others = [other for other in self.busy_streams() if not is_same_stream(other, stream)]
        events = [self.record(other) for other in others]
        try:
            yield [*events, *self.foreign_events()]
        finally:
            for event in events:
                self.return_event(event)

    # --------------------------------------------------------------- memory for other streams

    def note_allocation(self, stream: int) -> None:
        """Note that memory was allocated in the order of a stream."""
        if stream in (DEFAULT_STREAM, LEGACY_DEFAULT_STREAM):
            self._default_allocations += 1

    def prepare(self, stream: int) -> None:
        """Let a stream of another library wait for memory that the default stream allocates.

        Such a stream may be a "non-blocking" one, which does not wait for the default stream.
        """
        key = stream, threading.get_ident() if stream == PER_THREAD_DEFAULT_STREAM else 0
        count = self._default_allocations
        if self._prepared.get(key, 0) != count:
            event = self.record(DEFAULT_STREAM)
            try:
                self._library.cuStreamWaitEvent(stream, event, 0)
            finally:
                self.return_event(event)
            self._prepared[key] = count

    # ------------------------------------------------------------------------------ streams

    def add_stream(self, stream: int) -> None:
        """Note a stream that this package made."""
        self.own.add(stream)

    def drop_stream(self, stream: int) -> None:
        """Note that a stream is about to be dropped; its work goes on."""
        if stream in self.active:
            self._let_reaper_wait(stream)
        self.own.discard(stream)

    def settle(self, stream: int) -> None:
        """Note that a stream is going to be waited for."""
        # Before the waiting, not after it: what is queued meanwhile marks the stream again.
        self.active.discard(stream)

    def settle_all(self) -> None:
        """Note that the device is going to be waited for."""
        self.active.clear()
        self._default_allocations = 0
        self._prepared.clear()
        self._reaper_is_active = False
        while self._foreign:
            self.return_event(self._foreign.popitem()[1])

    # ------------------------------------------------------------------------ giving back

    def find_order(self, home: int) -> int:
        """Return a stream that comes to its next item after all that was queued so far.

        Parameters
        ----------
        home : int
            Stream to prefer: that of the allocation.
        """
        is_simple = home in self.own and not self._reaper_is_active and not self._foreign
        if is_simple and self.active <= {home}:
            return home
        reaper = self._get_reaper()
        for stream in tuple(self.active):
            self._let_reaper_wait(stream)
        for key, event in tuple(self._foreign.items()):
            self._library.cuStreamWaitEvent(reaper, event, 0)
            # The stream's thread may have recorded another event meanwhile.
            if self._foreign.get(key) == event and self._foreign.pop(key, 0) == event:
                self.return_event(event)
        return reaper

    def _get_reaper(self) -> int:
        if not self._reaper:
            self._reaper = create_stream(self._library, cu.STREAM_NON_BLOCKING)
        self._reaper_is_active = True
        return self._reaper

    def _let_reaper_wait(self, stream: int) -> None:
        reaper = self._get_reaper()
        # In this order: what is queued after the event marks the stream again.
        self.active.discard(stream)
        try:
            event = self.record(stream)
            try:
                self._library.cuStreamWaitEvent(reaper, event, 0)
            finally:
                self.return_event(event)
        except DeviceError:
            self.active.add(stream)
            raise

    # ------------------------------------------------------------------------- keeping alive

    def keep(self, stream: int, *things: object) -> None:
        """Keep host arrays alive until all that was queued on a stream is done."""
        self._kept.append((self.record(stream), things))

    def release_kept(self) -> None:
        """Let go of host arrays whose copies are done."""
        with self._kept_lock:
            while self._kept and self._library.cuEventQuery(self._kept[0][0]) != cu.NOT_READY:
                self.return_event(self._kept.popleft()[0])

    def close(self) -> None:
        """Drop events and streams; all work is done."""
        while self._kept:
            self.return_event(self._kept.popleft()[0])
        self.settle_all()
        with ExitStack() as stack:
            for event in self._spare_events:
                stack.callback(self._library.cuEventDestroy_v2, event)
            if self._reaper:
                stack.callback(self._library.cuStreamDestroy_v2, self._reaper)
        self._spare_events.clear()
        self._reaper = 0
