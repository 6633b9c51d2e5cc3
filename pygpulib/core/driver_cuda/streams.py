"""Streams and events of the `Driver` protocol on NVIDIA's GPUs, and what orders them."""

from __future__ import annotations

import ctypes
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import TYPE_CHECKING

from pygpulib._bindings import cuda_driver as cu
from pygpulib.core.device import Device, selected_ordinal
from pygpulib.core.driver import DEFAULT_STREAM, LEGACY_DEFAULT_STREAM
from pygpulib.core.driver_cuda import sharing
from pygpulib.core.driver_cuda.contexts import Contexts
from pygpulib.core.driver_cuda.host_calls import HostCalls
from pygpulib.core.driver_cuda.pending import create_event, create_stream
from pygpulib.errors import ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager

    from pygpulib._bindings.library import Library
    from pygpulib.core.driver_cuda.contexts import Context
    from pygpulib.core.driver_cuda.reports import ReportsMark
    from pygpulib.errors import DeviceError


class CudaEvent:
    """An event, dropped with this object.

    Attributes
    ----------
    handle : int
        The driver's handle.
    context : Context
        Of the device that it belongs to.
    reports : ReportsMark, optional
        What kernels before it have to say.
    """

    __slots__ = ("__weakref__", "_library", "context", "handle", "reports")

    def __init__(self, library: Library, context: Context, handle: int) -> None:
        self.handle = handle
        self._library = library
        self.context = context
        self.reports: ReportsMark | None = None

    def __del__(self) -> None:
        destroy = partial(self._library.cuEventDestroy_v2, self.handle)
        self.context.retirement.add(self.context.handle, destroy)


class WorkMark(CudaEvent):
    """An event of the package's own, used again after this object."""

    __slots__ = ()

    def __del__(self) -> None:
        self.context.pending.return_event(self.handle)


class CudaStreams:
    """Streams and events.

    Parameters
    ----------
    library : Library
        The driver library.
    devices : sequence of int
        The driver's numbers of the devices.
    """

    def __init__(self, library: Library, devices: Sequence[int]) -> None:
        self.library = library
        self.contexts = Contexts(library, devices)
        self._host_calls = HostCalls(library)
        self._stream_owners: dict[int, Context] = {}
        self._connected: set[tuple[int, int]] = set()

    def _at_home(self, stream: int) -> AbstractContextManager[Context]:
        """Return a context in which the device of a stream is current for the driver."""
        owner = self._stream_owners.get(stream)
        if owner is None or owner.ordinal == selected_ordinal():
            return nullcontext(self.contexts.current())
        return self.contexts.of(owner.ordinal)

    # ------------------------------------------------------------------------------- streams

    def create_stream(self) -> int:
        """Return a new stream, which waits for the default stream and the other way round."""
        context = self.contexts.current()
        stream = create_stream(self.library, cu.STREAM_DEFAULT)
        context.pending.add_stream(stream)
        self._stream_owners[stream] = context
        return stream

    def destroy_stream(self, stream: int) -> None:
        """Drop a stream once its work is done."""
        context = self._stream_owners.get(stream)
        if context is None:
            return

        def destroy() -> None:
            context.pending.drop_stream(stream)
            self.library.cuStreamDestroy_v2(stream)

        def retire() -> None:
            self._stream_owners.pop(stream, None)
            context.retirement.add(context.handle, destroy)

        # What kernels on the stream have to say is read there.
        if not context.reports.put_off(stream, retire):
            retire()

    def synchronize_stream(self, stream: int) -> None:
        """Wait until all work of a stream is done."""
        with self._at_home(stream) as context:
            context.synchronize_stream(stream)

    def synchronize(self) -> None:
        """Wait until all work of the device is done."""
        self.contexts.current().synchronize()

    def add_host_function(
        self, stream: int, function: Callable[[DeviceError | None], None]
    ) -> None:
        """Call a function, in another thread, once the stream's work so far is done."""
        with self._at_home(stream) as context:
            self._host_calls.add(stream, function)
            context.pending.mark(stream)

    def add_report(self, stream: int, read: Callable[[], None]) -> None:
        """Call a function after the next wait for a stream; see `Reports.add`."""
        device = Device(self, selected_ordinal())  # type: ignore[arg-type]

        def read_there() -> None:
            # The default stream is another one on each device, and others may wait for this one.
            with device:
                read()

        self.contexts.current().reports.add(stream, read_there)

    # -------------------------------------------------------------------------------- events

    def create_event(self, timing: bool) -> CudaEvent:
        """Return a new event."""
        context = self.contexts.current()
        flags = cu.EVENT_DEFAULT if timing else cu.EVENT_DISABLE_TIMING
        return CudaEvent(self.library, context, create_event(self.library, flags))

    def record_event(self, event: object, stream: int) -> None:
        """Make an event stand for the stream's work so far."""
        with self._at_home(stream) as context:
            own = _checked_event(event)
            self.library.cuEventRecord(own.handle, stream)
            own.reports = context.reports.mark(stream)

    def query_event(self, event: object) -> bool:
        """Return whether the work that an event stands for is done."""
        self.contexts.current()
        status: int = self.library.cuEventQuery(_checked_event(event).handle)
        return status != cu.NOT_READY

    def synchronize_event(self, event: object) -> None:
        """Wait for the work that an event stands for, and report what its kernels had to say.

        Reading what they had to say waits for the stream's later work, too.
        """
        own = _checked_event(event)
        with self.contexts.of(own.context.ordinal) as context:
            self.library.cuEventSynchronize(own.handle)
            if own.reports is not None:
                context.reports.run_to(own.reports)
                own.reports = None

    def wait_event(self, stream: int, event: object) -> None:
        """Let later work of a stream wait for an event."""
        with self._at_home(stream) as context:
            self.library.cuStreamWaitEvent(stream, _checked_event(event).handle, 0)
            context.pending.mark(stream)

    def elapsed_ms(self, start: object, end: object) -> float:
        """Return the time between two events; waits until both have happened."""
        self.contexts.current()
        self.library.cuEventSynchronize(_checked_event(end).handle)
        self.library.cuEventSynchronize(_checked_event(start).handle)
        result = ctypes.c_float()
        self.library.cuEventElapsedTime(
            ctypes.byref(result), _checked_event(start).handle, _checked_event(end).handle
        )
        return result.value

    # ------------------------------------------------------------------------------ ordering

    def mark_work(self, stream: int) -> WorkMark:
        """Return an event for the stream's work so far."""
        with self._at_home(stream) as context:
            return WorkMark(self.library, context, context.pending.record(stream))

    def order_after_all(self, stream: int) -> int:
        """Let later work of a stream wait for all work of the device that was queued so far.

        Nobody notes which streams used an array, so that those that other libraries are handed
        wait for all. Returns the number of the stream in their protocols.
        """
        context = self.contexts.current()
        with context.pending.events_of_all(stream) as events:
            for event in events:
                self.library.cuStreamWaitEvent(stream, event, 0)
        # The protocols have no number for "the default stream, whichever it is".
        return LEGACY_DEFAULT_STREAM if stream == DEFAULT_STREAM else stream

    def enable_peer_access(self, ordinal: int, peer: int) -> None:
        """Let kernels of a device use another device's memory in place."""
        if (ordinal, peer) not in self._connected:
            sharing.enable_peer_access(self.contexts, ordinal, peer)
            self._connected.add((ordinal, peer))

    def let_access(self, ordinal: int, stream: int) -> None:
        """Let work of a stream use another device's memory, after what is queued there so far."""
        self.enable_peer_access(selected_ordinal(), ordinal)
        self.wait_for_device(ordinal, stream)

    def wait_for_device(self, ordinal: int, stream: int) -> None:
        """Let later work of a stream wait for what is queued on another device so far."""
        with self._events_of_device(ordinal) as events:
            context = self.contexts.current()
            for event in events:
                self.library.cuStreamWaitEvent(stream, event, 0)
            context.pending.mark(stream)

    @contextmanager
    def _events_of_device(self, ordinal: int) -> Iterator[list[int]]:
        with self.contexts.of(ordinal) as owner:
            events = [owner.pending.record(at) for at in owner.pending.busy_streams()]
            foreign = owner.pending.foreign_events()
        try:
            yield [*events, *foreign]
        finally:
            for event in events:
                owner.pending.return_event(event)

    def end_access(self, ordinal: int, stream: int) -> None:
        """Let another device's later work, and its memory, wait for the work of a stream so far."""
        context = self.contexts.current()
        event = context.pending.record(stream)
        try:
            with self.contexts.of(ordinal) as owner:
                self.library.cuStreamWaitEvent(DEFAULT_STREAM, event, 0)
                owner.pending.mark(DEFAULT_STREAM)
        finally:
            context.pending.return_event(event)


def _checked_event(event: object) -> CudaEvent:
    if not isinstance(event, CudaEvent):
        raise ArgumentTypeError("an event of another back end reached the CUDA back end")
    return event
