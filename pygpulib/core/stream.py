"""Streams, which order work, and events, which mark and time it."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from pygpulib.core.device import current_driver
from pygpulib.core.driver import (
    DEFAULT_STREAM,
    LEGACY_DEFAULT_STREAM,
    PER_THREAD_DEFAULT_STREAM,
)
from pygpulib.core.layout import as_integer
from pygpulib.errors import ArgumentError, ArgumentTypeError, DeviceError, PyGpuLibWarning

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Callable, Iterator
    from typing import SupportsInt, TypeAlias

    from pygpulib.core.driver import Driver

    # What a `stream=` argument may be: a Stream, 0 for the default one, a number, or any object
    # with `__cuda_stream__`.
    StreamLike: TypeAlias = object

Argument = TypeVar("Argument")

_DEFAULT_NAMES = {
    DEFAULT_STREAM: "Default CUDA stream",
    LEGACY_DEFAULT_STREAM: "Legacy default CUDA stream",
    PER_THREAD_DEFAULT_STREAM: "Per-thread default CUDA stream",
}


class Stream:
    """A queue of work that runs in order.

    Build one with `create_stream`, or wrap the number of a foreign one.

    Parameters
    ----------
    handle : int
        The driver's number of the stream.
    driver : Driver
        The back end.
    owns : bool
        Whether the stream ends with this object.
    external : bool
        Whether somebody else made the stream.

    Attributes
    ----------
    configured : dict
        What callers keep as long as the stream, to launch on it again.
    """

    __slots__ = ("__weakref__", "_destroy", "configured", "driver", "external", "handle")

    def __init__(
        self, handle: int, driver: Driver, *, owns: bool = False, external: bool = False
    ) -> None:
        self.handle = handle
        self.driver = driver
        self.external = external
        self.configured: dict[object, Any] = {}
        self._destroy = driver.destroy_stream if owns else None

    def __del__(self) -> None:
        destroy = getattr(self, "_destroy", None)
        if destroy is not None:
            destroy(self.handle)

    def __int__(self) -> int:
        return self.handle

    def __cuda_stream__(self) -> tuple[int, int]:
        """Return the version of this protocol and the stream's number."""
        return (0, self.handle)

    def __repr__(self) -> str:
        if self.handle in _DEFAULT_NAMES:
            return f"<{_DEFAULT_NAMES[self.handle]}>"
        return f"<{'External ' if self.external else ''}CUDA stream {self.handle}>"

    def synchronize(self) -> None:
        """Wait until all work given to this stream so far is done."""
        self.driver.synchronize_stream(self.handle)

    @contextmanager
    def auto_synchronize(self) -> Iterator[Stream]:
        """Return a context that waits for the stream when it ends without an error."""
        yield self
        self.synchronize()

    def add_callback(
        self,
        callback: Callable[[Stream, int, Argument | None], object],
        arg: Argument | None = None,
    ) -> None:
        """Call a host function once all work given to this stream so far is done.

        Parameters
        ----------
        callback : callable
            Called as ``callback(stream, status, arg)``; status is 0, or the driver's number of
            the error if the device failed at the work. It must not use the device. An exception
            that it raises becomes a warning.
        arg : object, optional
            Handed on.

        Raises
        ------
        ArgumentTypeError
            If `callback` cannot be called.

        Examples
        --------
        >>> create_stream().add_callback(lambda stream, status, arg: print(arg), "done")
        done
        """
        if not callable(callback):
            raise ArgumentTypeError(
                f"the argument callback is {callback!r}",
                detail="expected a function of stream, status and arg",
            )

        def run(fault: DeviceError | None) -> None:
            try:
                callback(self, 0 if fault is None else fault.code, arg)
            except Exception as error:
                warnings.warn(
                    f"Exception in stream callback: {error!r}", PyGpuLibWarning, stacklevel=1
                )

        self.driver.add_host_function(self.handle, run)

    def async_done(self) -> asyncio.Future[Stream]:
        """Return a future that is done once all work given to this stream so far is done.

        Returns
        -------
        asyncio.Future
            Its result is this stream, or the error if the device failed at the work. It
            belongs to the running event loop.

        Raises
        ------
        DeviceError
            If no event loop runs.
        """
        import asyncio

        try:
            loop = asyncio.get_running_loop()
        except RuntimeError as cause:
            raise DeviceError(
                "async_done() was called where no asyncio event loop runs",
                help="call it inside a coroutine, or use synchronize()",
            ) from cause
        future: asyncio.Future[Stream] = loop.create_future()

        def resolve(fault: DeviceError | None) -> None:
            # The future may have been cancelled while the stream worked.
            if future.done():
                return
            if fault is None:
                future.set_result(self)
            else:
                future.set_exception(fault)

        def tell_loop(fault: DeviceError | None) -> None:
            # A loop that has ended meanwhile has nobody who waits.
            if not loop.is_closed():
                loop.call_soon_threadsafe(resolve, fault)

        self.driver.add_host_function(self.handle, tell_loop)
        return future


class Event:
    """A mark in the work of a stream.

    Parameters
    ----------
    timing : bool
        Whether the event also notes the time.
    driver : Driver
        The back end.
    """

    __slots__ = ("_is_recorded", "driver", "handle", "timing")

    def __init__(self, driver: Driver, *, timing: bool = True) -> None:
        self.driver = driver
        self.timing = timing
        self.handle = driver.create_event(timing)
        self._is_recorded = False

    def record(self, stream: StreamLike = 0) -> None:
        """Mark the work given to a stream so far.

        Parameters
        ----------
        stream : Stream or 0
            The stream; 0 is the default one.
        """
        self.driver.record_event(self.handle, stream_handle(stream))
        self._is_recorded = True

    def query(self) -> bool:
        """Return whether the marked work is done; True if nothing is marked."""
        return not self._is_recorded or self.driver.query_event(self.handle)

    def synchronize(self) -> None:
        """Wait until the marked work is done; returns at once if nothing is marked."""
        if self._is_recorded:
            self.driver.synchronize_event(self.handle)

    def wait(self, stream: StreamLike = 0) -> None:
        """Let later work of a stream wait for the marked work.

        Parameters
        ----------
        stream : Stream or 0
            The stream that waits; 0 is the default one.
        """
        handle = stream_handle(stream)
        if self._is_recorded:
            self.driver.wait_event(handle, self.handle)

    def elapsed_time(self, evtend: Event) -> float:
        """Return the time from this event to another one, in milliseconds.

        Parameters
        ----------
        evtend : Event
            The later event.

        Returns
        -------
        float
            Milliseconds; negative if the other event was recorded first.

        Raises
        ------
        DeviceError
            If one of the two was never recorded, or was created with ``timing=False``.

        Examples
        --------
        >>> start, end = create_event(), create_event()
        >>> start.record()
        >>> end.record()
        >>> start.elapsed_time(end) >= 0
        True
        """
        if not isinstance(evtend, Event):
            raise ArgumentTypeError(
                f"the argument evtend is {evtend!r}", detail="expected an event"
            )
        for event in (self, evtend):
            if not event.timing:
                raise DeviceError(
                    "elapsed_time() was asked of an event that does not note the time",
                    help="create it with cuda.event(timing=True)",
                )
            if not event._is_recorded:
                raise DeviceError(
                    "elapsed_time() was asked of an event that was never recorded",
                    help="call event.record(stream) first",
                )
        return self.driver.elapsed_ms(self.handle, evtend.handle)


def create_stream() -> Stream:
    """Return a new stream."""
    driver = current_driver()
    return Stream(driver.create_stream(), driver, owns=True)


def create_event(timing: bool = True) -> Event:
    """Return a new event.

    Parameters
    ----------
    timing : bool
        Whether it also notes the time, for `Event.elapsed_time`.
    """
    return Event(current_driver(), timing=bool(timing))


def external_stream(ptr: object) -> Stream:
    """Return a stream that somebody else made.

    Parameters
    ----------
    ptr : int, or object with ``__cuda_stream__``
        The driver's number of the stream, or the stream.

    Returns
    -------
    Stream
        It does not end the foreign stream.

    Raises
    ------
    ArgumentTypeError
        If `ptr` is neither.
    """
    if hasattr(ptr, "__cuda_stream__"):
        ptr = stream_handle(ptr)
    if isinstance(ptr, bool) or not isinstance(ptr, int):
        raise ArgumentTypeError(
            f"the argument ptr is {ptr!r}", detail="ptr for external stream must be an int"
        )
    return Stream(_checked(ptr), current_driver(), external=True)


def default_stream() -> Stream:
    """Return the stream that work without a ``stream=`` goes to."""
    return Stream(DEFAULT_STREAM, current_driver())


def legacy_default_stream() -> Stream:
    """Return CUDA's legacy default stream."""
    return Stream(LEGACY_DEFAULT_STREAM, current_driver())


def per_thread_default_stream() -> Stream:
    """Return CUDA's default stream of the calling thread."""
    return Stream(PER_THREAD_DEFAULT_STREAM, current_driver())


def stream_handle(stream: StreamLike) -> int:
    """Return the driver's number of anything that a ``stream=`` argument may be.

    Parameters
    ----------
    stream : Stream, int, None, or an object with ``__cuda_stream__``
        0 and None are the default stream.

    Returns
    -------
    int
        The number.

    Raises
    ------
    ArgumentTypeError
        If it is none of these.

    Examples
    --------
    >>> stream_handle(0)
    0
    """
    if isinstance(stream, Stream):
        return stream.handle
    if stream is None:
        return DEFAULT_STREAM
    if hasattr(stream, "__cuda_stream__"):
        return _foreign_handle(stream, stream.__cuda_stream__())
    try:
        number = as_integer(stream)
    except TypeError as cause:
        raise ArgumentTypeError(
            f"the argument stream is {stream!r}",
            detail="expected a stream, 0 for the default stream, or an object with __cuda_stream__",
            help="create one with cuda.stream()",
        ) from cause
    return _checked(number)


def _foreign_handle(stream: object, given: tuple[int, SupportsInt]) -> int:
    try:
        _version, numeral = given
        number = int(numeral)
    except (TypeError, ValueError) as cause:
        raise ArgumentTypeError(
            f"__cuda_stream__ of the argument stream, {type(stream).__name__}, gave {given!r}",
            detail="expected a tuple of the version of that protocol and the stream's number",
        ) from cause
    return _checked(number)


def _checked(number: int) -> int:
    # Drivers take the number for an address, and look there.
    if not 0 <= number < 1 << 64:
        raise ArgumentError(
            f"there is no stream of the number {number}",
            detail="expected the number that a driver or another library gave to a stream",
            help="0 is the default stream; cuda.stream() makes another one",
        )
    return number
