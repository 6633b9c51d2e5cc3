"""Entry points about streams, events and graphs."""

from __future__ import annotations

import ctypes
from typing import Any

from tests.fakecuda.driver.entries import entry
from tests.fakecuda.driver.state import System
from tests.fakecuda.driver.status import Code, RefusedError, require
from tests.fakecuda.driver.work import (
    DONE,
    Capture,
    Event,
    ExecutableGraph,
    Graph,
    Stream,
    refuse_while_capturing,
)

_LOWEST, _HIGHEST = 0, -5
_HostFunction = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
_StreamCallback = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)


class StreamEntries:
    """Entry points about streams."""

    def __init__(self, system: System) -> None:
        self.system = system

    @entry("cuStreamCreate")
    def create(self, stream: Any, flags: int) -> None:
        self.create_with_priority(stream, flags, 0)

    @entry("cuStreamCreateWithPriority")
    def create_with_priority(self, stream: Any, flags: int, priority: int) -> None:
        require(flags in (0, 1), Code.INVALID_VALUE, "unknown flags")
        context = self.system.current()
        clamped = min(max(priority, _HIGHEST), _LOWEST)
        made = Stream(context, flags, clamped)
        context.streams.add(made)
        stream[0] = self.system.handles.add(made)

    @entry("cuStreamDestroy_v2")
    def destroy(self, stream: int | None) -> None:
        require(stream not in (None, 0, 1, 2), Code.INVALID_HANDLE, "default streams stay")
        gone = self.system.handles.remove(Stream, stream)
        if gone.last is None or gone.last.state == DONE:
            gone.context.streams.discard(gone)
        else:
            gone.context.dying.add(gone)  # its work is still done

    @entry("cuStreamSynchronize")
    def synchronize(self, stream: int | None) -> None:
        self.system.work.synchronize(self.system.stream(stream))

    @entry("cuStreamQuery")
    def query(self, stream: int | None) -> None:
        require(self.system.work.query(self.system.stream(stream)), Code.NOT_READY)

    @entry("cuStreamWaitEvent")
    def wait_event(self, stream: int | None, event: int | None, flags: int) -> None:
        require(flags in (0, 1), Code.INVALID_VALUE, "unknown flags")
        found = self.system.handles.find(Event, event)
        self.system.work.wait(self.system.stream(stream), found)

    @entry("cuStreamGetPriority")
    def get_priority(self, stream: int | None, priority: Any) -> None:
        priority[0] = self.system.stream(stream).priority

    @entry("cuStreamGetFlags")
    def get_flags(self, stream: int | None, flags: Any) -> None:
        flags[0] = self.system.stream(stream).flags

    @entry("cuStreamGetCtx")
    def get_context(self, stream: int | None, context: Any) -> None:
        context[0] = self.system.stream(stream).context.handle

    @entry("cuStreamGetId")
    def get_id(self, stream: int | None, number: Any) -> None:
        self.system.stream(stream)
        number[0] = stream or 1

    @entry("cuLaunchHostFunc")
    def launch_host_function(self, stream: int | None, function: int, data: int | None) -> None:
        require(function, Code.INVALID_VALUE, "no function")
        call = _HostFunction(function)
        target = self.system.stream(stream)

        def run() -> None:
            if target.context.fault is None:
                call(data)

        self.system.work.submit(target, "host function", run, is_host_function=True)

    @entry("cuStreamAddCallback")
    def add_callback(self, stream: int | None, function: int, data: int | None, flags: int) -> None:
        require(function and flags == 0, Code.INVALID_VALUE)
        call = _StreamCallback(function)
        target = self.system.stream(stream)

        def run() -> None:
            fault = target.context.fault
            call(stream, fault.code if fault else 0, data)

        self.system.work.submit(target, "callback", run, is_host_function=True)


class EventEntries:
    """Entry points about events."""

    def __init__(self, system: System) -> None:
        self.system = system

    def _find(self, event: int | None) -> Event:
        return self.system.handles.find(Event, event)

    @entry("cuEventCreate")
    def create(self, event: Any, flags: int) -> None:
        require(0 <= flags < 8, Code.INVALID_VALUE, "unknown flags")
        require(not flags & 4 or flags & 2, Code.INVALID_VALUE, "events between processes: no time")
        event[0] = self.system.handles.add(Event(self.system.current(), flags))

    @entry("cuEventDestroy_v2")
    def destroy(self, event: int | None) -> None:
        self.system.handles.remove(Event, event)

    @entry("cuEventRecord")
    def record(self, event: int | None, stream: int | None) -> None:
        found, target = self._find(event), self.system.stream(stream)
        same = found.context is target.context
        require(same, Code.INVALID_HANDLE, "event and stream are of different contexts")
        self.system.work.record(found, target)

    @entry("cuEventRecordWithFlags")
    def record_with_flags(self, event: int | None, stream: int | None, flags: int) -> None:
        require(flags in (0, 1), Code.INVALID_VALUE, "unknown flags")
        self.record(event, stream)

    @entry("cuEventQuery")
    def query(self, event: int | None) -> None:
        found = self._find(event)
        self._refuse_captured(found)
        require(self.system.work.is_done([found.work]), Code.NOT_READY)
        found.context.observe()

    @entry("cuEventSynchronize")
    def synchronize(self, event: int | None) -> None:
        found = self._find(event)
        self._refuse_captured(found)
        self.system.work.drain(found.work)
        found.context.observe()

    @entry("cuEventElapsedTime_v2", "cuEventElapsedTime")
    def elapsed(self, milliseconds: Any, start: int | None, end: int | None) -> None:
        events = self._find(start), self._find(end)
        for event in events:
            self._refuse_captured(event)
            require(event.is_timed, Code.INVALID_HANDLE, "the event keeps no time")
            require(event.work is not None, Code.INVALID_HANDLE, "the event was never recorded")
        require(self.system.work.is_done([e.work for e in events]), Code.NOT_READY)
        milliseconds[0] = events[1].time_ms - events[0].time_ms

    def _refuse_captured(self, event: Event) -> None:
        if event.capture is not None:
            event.capture.is_broken = True
            raise RefusedError(Code.CAPTURED_EVENT, "the event is part of a capture")


class GraphEntries:
    """Entry points about recording work and repeating it."""

    def __init__(self, system: System) -> None:
        self.system = system

    @entry("cuStreamBeginCapture_v2")
    def begin(self, stream: int | None, mode: int) -> None:
        require(mode in (0, 1, 2), Code.INVALID_VALUE, "unknown mode")
        target = self.system.stream(stream)
        legacy = target is target.context.legacy
        require(not legacy, Code.STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot be captured")
        require(target.capture is None, Code.ILLEGAL_STATE, "the stream is being captured")
        target.capture = Capture(target)

    @entry("cuStreamEndCapture")
    def end(self, stream: int | None, graph: Any) -> None:
        target = self.system.stream(stream)
        capture = target.capture
        if capture is None:
            raise RefusedError(Code.ILLEGAL_STATE, "the stream is not being captured")
        for captured in capture.streams:
            captured.capture = None
        if capture.is_broken:
            graph[0] = None
            raise RefusedError(Code.STREAM_CAPTURE_INVALIDATED)
        require(capture.origin is target, Code.STREAM_CAPTURE_UNMATCHED)
        graph[0] = self.system.handles.add(Graph(capture.steps))

    @entry("cuStreamIsCapturing")
    def is_capturing(self, stream: int | None, status: Any) -> None:
        capture = self.system.stream(stream).capture
        status[0] = 0 if capture is None else 2 if capture.is_broken else 1

    @entry("cuGraphInstantiateWithFlags")
    def instantiate(self, made: Any, graph: int | None, flags: int) -> None:
        source = self.system.handles.find(Graph, graph)
        made[0] = self.system.handles.add(ExecutableGraph(source))

    @entry("cuGraphLaunch")
    def launch(self, graph: int | None, stream: int | None) -> None:
        found = self.system.handles.find(ExecutableGraph, graph)
        target = self.system.stream(stream)
        refuse_while_capturing(target)
        self.system.work.submit(target, "graph", found.run)

    @entry("cuGraphDestroy")
    def destroy(self, graph: int | None) -> None:
        self.system.handles.remove(Graph, graph)

    @entry("cuGraphExecDestroy")
    def destroy_executable(self, graph: int | None) -> None:
        self.system.handles.remove(ExecutableGraph, graph)
