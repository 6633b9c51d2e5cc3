"""Streams, events and the work queued on them.

Eager work runs when it is issued. Deferred work runs as late as the rules of streams allow: when
something waits for it or asks about it. A program that is right with both depends on no luck.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from tests.fakecuda.driver.status import Code, DeviceFaultError, RefusedError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from tests.fakecuda.driver.state import Context

    Step = Callable[[], None]

LEGACY, PER_THREAD = 1, 2
WAITING, RUNNING, DONE = "waiting", "running", "done"


class Work:
    """Something to be done once other work is done."""

    def __init__(self, stream: Stream, name: str, run: Step, after: Iterable[Work | None]) -> None:
        self.stream = stream
        self.name = name
        self.run = run
        self.state = WAITING
        self.after = [work for work in after if work is not None and work.state != DONE]
        self.is_host_function = False


class Stream:
    """A queue of work of a context."""

    def __init__(self, context: Context, flags: int = 0, priority: int = 0) -> None:
        self.context = context
        self.flags = flags
        self.priority = priority
        self.last: Work | None = None
        self.capture: Capture | None = None

    @property
    def is_blocking(self) -> bool:
        """Whether the stream and the legacy default stream wait for each other."""
        return not self.flags & 1


class Event:
    """A point in a stream's work."""

    def __init__(self, context: Context, flags: int = 0) -> None:
        self.context = context
        self.flags = flags
        self.work: Work | None = None
        self.time_ms = 0.0
        self.capture: Capture | None = None

    @property
    def is_timed(self) -> bool:
        return not self.flags & 2


class Capture:
    """Work that streams record into a graph instead of doing it."""

    def __init__(self, origin: Stream) -> None:
        self.origin = origin
        self.streams = {origin}
        self.steps: list[Step] = []
        self.is_broken = False


class Scheduler:
    """Runs the work of all streams."""

    def __init__(self, lock: threading.RLock, *, deferred: bool) -> None:
        self.deferred = deferred
        self.host_function_thread = True
        self.faults: list[str] = []
        self._changed = threading.Condition(lock)
        self._host_threads: set[int] = set()

    # -------------------------------------------------------------------------------- issuing

    def submit(
        self,
        stream: Stream,
        name: str,
        run: Step,
        *,
        after: Iterable[Work | None] = (),
        is_host_function: bool = False,
    ) -> Work | None:
        """Queue work behind all that the stream must wait for; None if it is captured."""
        if stream.capture is not None:
            stream.capture.steps.append(run)
            return None
        work = Work(stream, name, run, [*self._before(stream), *after])
        work.is_host_function = is_host_function
        stream.last = work
        if not self.deferred:
            self.drain(work)
        return work

    def _before(self, stream: Stream) -> list[Work | None]:
        """Return the last work of every stream that comes before new work of this one."""
        context = stream.context
        if stream is context.legacy:
            return [other.last for other in context.streams if other.is_blocking]
        return [stream.last, context.legacy.last if stream.is_blocking else None]

    # -------------------------------------------------------------------------------- running

    def drain(self, target: Work | None) -> None:
        """Do some work, and before it all that it waits for."""
        stack = [target] if target is not None else []
        while stack:
            work = stack[-1]
            waiting = [before for before in work.after if before.state != DONE]
            if work.state == DONE or (not waiting and self._do(work)):
                stack.pop()
            elif waiting:
                stack.extend(waiting)

    def step(self, target: Work) -> None:
        """Do one piece of the work that a target waits for, or the target itself."""
        while waiting := [before for before in target.after if before.state != DONE]:
            target = waiting[0]
        self._do(target)

    def _do(self, work: Work) -> bool:
        """Run work whose predecessors are done; false if another thread is at it."""
        if work.state == RUNNING:
            self._changed.wait()
            return False
        work.state = RUNNING
        context = work.stream.context
        try:
            if work.is_host_function:
                self._call_host(work.run)
            elif context.fault is None:
                work.run()
        except DeviceFaultError as fault:
            context.fault = fault
            self.faults.append(fault.reason)
        finally:
            work.state = DONE
            work.after.clear()
            work.run = _nothing  # what it kept may be large
            self._changed.notify_all()
        return True

    def _call_host(self, function: Callable[[], None]) -> None:
        """Call back into the program: without the lock, and like a driver on another thread."""

        def call() -> None:
            self._host_threads.add(threading.get_ident())
            try:
                function()
            finally:
                self._host_threads.discard(threading.get_ident())

        self._changed.release()
        try:
            if self.host_function_thread:
                thread = threading.Thread(target=call)
                thread.start()
                thread.join()
            else:
                call()
        finally:
            self._changed.acquire()

    def in_host_function(self) -> bool:
        """Return whether this thread runs a function that a stream calls."""
        return threading.get_ident() in self._host_threads

    # -------------------------------------------------------------------------------- waiting

    def synchronize(self, stream: Stream) -> None:
        """Do all work of a stream; for the legacy stream also that of those it waits for."""
        refuse_while_capturing(stream)
        for work in self._before(stream):
            self.drain(work)
        stream.context.observe()

    def synchronize_context(self, context: Context) -> None:
        """Do all work of a context."""
        self.finish(context)
        context.observe()

    def finish(self, context: Context) -> None:
        """Do all work of a context, whatever becomes of it."""
        for stream in list(context.streams):
            self.drain(stream.last)
        context.streams -= context.dying
        context.dying.clear()

    def is_done(self, works: Iterable[Work | None]) -> bool:
        """Return whether work is done; if not, do a piece of it, since time passes."""
        for work in works:
            if work is not None and work.state != DONE:
                self.step(work)
                return False
        return True

    def query(self, stream: Stream) -> bool:
        """Return whether a stream has nothing left to do."""
        refuse_while_capturing(stream)
        done = self.is_done(self._before(stream))
        if done:
            stream.context.observe()
        return done

    # --------------------------------------------------------------------------------- events

    def record(self, event: Event, stream: Stream) -> None:
        """Let an event stand for the stream's work so far."""

        def stamp() -> None:
            event.time_ms = time.perf_counter() * 1e3

        event.capture = stream.capture
        event.work = self.submit(stream, "event", stamp)

    def wait(self, stream: Stream, event: Event) -> None:
        """Let later work of a stream wait for an event."""
        if event.capture is not None:
            if stream.capture is not None and stream.capture is not event.capture:
                raise RefusedError(Code.STREAM_CAPTURE_MERGE, "two captures cannot be joined")
            stream.capture = event.capture
            event.capture.streams.add(stream)
        elif stream.capture is not None and event.work is not None:
            raise RefusedError(
                Code.STREAM_CAPTURE_ISOLATION, "the event is not part of the capture"
            )
        elif event.work is not None and event.work.state != DONE:
            self.submit(stream, "wait", _nothing, after=[event.work])


def refuse_while_capturing(stream: Stream) -> None:
    """Refuse what would wait for work that is only being recorded."""
    if stream.capture is not None:
        stream.capture.is_broken = True
        raise RefusedError(Code.STREAM_CAPTURE_UNSUPPORTED, "the stream is being captured")


def _nothing() -> None:
    return None


class Graph:
    """Recorded work."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self.steps = tuple(steps)


class ExecutableGraph:
    """Recorded work that can be launched; it does not change with the graph it came from."""

    def __init__(self, graph: Graph) -> None:
        self._steps = graph.steps

    def run(self) -> None:
        """Do every step."""
        for step in self._steps:
            step()
