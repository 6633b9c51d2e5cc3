"""When memory is ready for a stream: what was queued for it elsewhere, and what comes before it.

Memory that one stream prepares, because it was allocated in its order or because another library
is at work on it there, has a `Readiness`: an event that other streams wait for before they use the
memory. The host waits for nothing. Once the event has happened it is forgotten, so that only new
memory costs anything.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import TYPE_CHECKING

from pygpulib.core.device import Device, selected_ordinal
from pygpulib.core.driver import LEGACY_DEFAULT_STREAM, PER_THREAD_DEFAULT_STREAM
from pygpulib.core.settings import settings
from pygpulib.core.stream import stream_handle

if TYPE_CHECKING:
    from collections.abc import Iterable
    from contextlib import AbstractContextManager

    from pygpulib.core.driver import Driver
    from pygpulib.core.memory import Buffer

_NOTHING = nullcontext()


class Readiness:
    """What a stream has to wait for before it uses some memory.

    Parameters
    ----------
    driver : Driver
        The back end.
    event : object
        Its event.
    stream : int
        Where the event was recorded.
    """

    __slots__ = ("driver", "event", "stream")

    def __init__(self, driver: Driver, event: object, stream: int) -> None:
        self.driver = driver
        self.event = event
        self.stream = stream

    def is_past(self) -> bool:
        """Return whether it has happened, so that nobody need wait any more."""
        return self.driver.query_event(self.event)

    def precedes(self, stream: int) -> bool:
        """Return whether it comes before later work of a stream anyhow."""
        return is_same_stream(self.stream, stream)

    def let_wait(self, stream: int) -> None:
        """Let later work of a stream wait for it."""
        if not self.precedes(stream):
            self.driver.wait_event(stream, self.event)

    def synchronize(self) -> None:
        """Wait for it on the host."""
        self.driver.synchronize_event(self.event)


def is_same_stream(one: int, other: int) -> bool:
    """Return whether two numbers name one stream in every thread.

    Examples
    --------
    >>> is_same_stream(0, 1), is_same_stream(2, 2)
    (True, False)
    """
    # Each thread has its own per-thread default stream.
    return one != PER_THREAD_DEFAULT_STREAM and (one or LEGACY_DEFAULT_STREAM) == (
        other or LEGACY_DEFAULT_STREAM
    )


def note_work(buffer: Buffer, stream: int) -> None:
    """Note that memory is ready once a stream's work so far is done."""
    event = buffer.driver.mark_work(stream)
    if event is not None:
        buffer.readiness = Readiness(buffer.driver, event, stream)


def order_after(buffers: Iterable[Buffer], stream: int) -> None:
    """Let later work of a stream wait until memory is ready for it."""
    for buffer in buffers:
        readiness = buffer.readiness
        if readiness is None:
            continue
        if readiness.is_past():
            buffer.readiness = None
        else:
            readiness.let_wait(stream)


def hand_back(given: Iterable[object], taken: Iterable[object], stream: int) -> None:
    """Let other libraries go on with arrays that they lent for one call of this package.

    They know nothing of the stream that the call used. Arrays that the user made of those of other
    libraries are not handed back: they may live longer than the libraries' streams.

    Parameters
    ----------
    given, taken : iterable
        The arguments of the call, and what they were exchanged for.
    stream : int
        The stream that the call used.
    """
    if not settings.CUDA_ARRAY_INTERFACE_SYNC:
        return
    for lender, buffer in _lenders(given, taken).items():
        event = None if is_same_stream(lender, stream) else buffer.driver.mark_work(stream)
        if event is not None:
            with at_home(buffer):
                buffer.driver.wait_event(lender, event)


def _lenders(given: Iterable[object], taken: Iterable[object]) -> dict[int, Buffer]:
    found: dict[int, Buffer] = {}
    for argument, value in zip(given, taken, strict=True):
        if argument is value:
            continue
        if isinstance(value, tuple) and isinstance(argument, tuple):
            found |= _lenders(argument, value)
        buffer, lender = getattr(value, "buffer", None), getattr(value, "stream", None)
        if buffer is not None and stream_handle(lender):
            found[stream_handle(lender)] = buffer
    return found


def at_home(buffer: Buffer) -> AbstractContextManager[object]:
    """Return a context in which the calling thread uses the device that memory is on."""
    if buffer.ordinal == selected_ordinal():
        return _NOTHING
    return Device(buffer.driver, buffer.ordinal)


def wait_for(buffer: Buffer) -> None:
    """Wait on the host until memory is ready for everybody."""
    readiness = buffer.readiness
    if readiness is not None:
        readiness.synchronize()
        buffer.readiness = None
