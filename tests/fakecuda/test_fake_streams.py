from __future__ import annotations

import ctypes
import gc
import threading
from typing import TYPE_CHECKING

import pytest

from tests.fakecuda.client import Client
from tests.fakecuda.driver import Code, FakeCuda

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Callback = ctypes.CFUNCTYPE(None, ctypes.c_void_p)
LEGACY, PER_THREAD = 1, 2


@pytest.fixture
def client(fake_driver: FakeCuda) -> Client:
    client = Client()
    client.start()
    return client


@pytest.fixture
def late() -> Iterator[Client]:
    """A driver that does everything as late as it may."""
    with FakeCuda(deferred=True) as fake:
        client = Client()
        client.start()
        yield client
    assert fake.internal_errors == []


class Cell:
    """A byte of page-locked memory in which work shows that it is done."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._host = client.host(1)
        self._host.raw = b"\0"

    def set_on(self, stream: int | None) -> None:
        self._client.call("cuMemsetD8Async", ctypes.addressof(self._host), 1, 1, stream)

    @property
    def is_set(self) -> bool:
        return self._host.raw == b"\1"


def _synchronize_stream(client: Client, stream: int) -> None:
    client.call("cuStreamSynchronize", stream)


def _synchronize_context(client: Client, _stream: int) -> None:
    client.call("cuCtxSynchronize")


def _synchronize_event(client: Client, stream: int) -> None:
    event = client.event()
    client.call("cuEventRecord", event, stream)
    client.call("cuEventSynchronize", event)


def _poll_stream(client: Client, stream: int) -> None:
    while client.status("cuStreamQuery", stream) is Code.NOT_READY:
        pass


def _poll_event(client: Client, stream: int) -> None:
    event = client.event()
    client.call("cuEventRecord", event, stream)
    while client.status("cuEventQuery", event) is Code.NOT_READY:
        pass


def _copy_to_pageable(client: Client, stream: int) -> None:
    address = client.allocate(8)
    client.call("cuMemcpyDtoHAsync_v2", ctypes.create_string_buffer(8), address, 8, stream)


def _free(client: Client, _stream: int) -> None:
    client.call("cuMemFree_v2", client.allocate(8))


@pytest.mark.parametrize(
    "wait",
    [
        _synchronize_stream,
        _synchronize_context,
        _synchronize_event,
        _poll_stream,
        _poll_event,
        _copy_to_pageable,
        _free,
    ],
)
def test_work_is_done_once_something_waited_for_it(
    late: Client, wait: Callable[[Client, int], None]
) -> None:
    stream, cell = late.stream(), Cell(late)
    cell.set_on(stream)
    assert not cell.is_set
    wait(late, stream)
    assert cell.is_set


def test_a_query_tells_first_that_work_is_left(late: Client) -> None:
    stream, cell = late.stream(), Cell(late)
    cell.set_on(stream)
    assert late.status("cuStreamQuery", stream) is Code.NOT_READY
    assert late.status("cuStreamQuery", stream) is Code.SUCCESS


def test_streams_do_not_wait_for_each_other(late: Client) -> None:
    first, second = late.stream(), late.stream()
    cells = Cell(late), Cell(late)
    cells[0].set_on(first)
    cells[1].set_on(second)
    late.call("cuStreamSynchronize", second)
    assert [cell.is_set for cell in cells] == [False, True]


def test_a_stream_waits_for_an_event(late: Client) -> None:
    first, second = late.stream(), late.stream()
    cells = Cell(late), Cell(late), Cell(late)
    event = late.event()
    cells[0].set_on(first)
    late.call("cuEventRecord", event, first)
    cells[1].set_on(first)
    late.call("cuStreamWaitEvent", second, event, 0)
    cells[2].set_on(second)
    late.call("cuStreamSynchronize", second)
    assert [cell.is_set for cell in cells] == [True, False, True]


def test_waiting_for_an_event_never_recorded_is_no_wait(late: Client) -> None:
    event = late.event()
    late.call("cuStreamWaitEvent", None, event, 0)
    late.call("cuEventSynchronize", event)
    late.call("cuEventQuery", event)


@pytest.mark.parametrize(("flags", "waits"), [(0, True), (1, False)])
def test_the_legacy_stream_and_blocking_streams_wait_for_each_other(
    late: Client, flags: int, waits: bool
) -> None:
    stream = late.stream(flags)
    before, after, legacy = Cell(late), Cell(late), Cell(late)
    before.set_on(stream)
    legacy.set_on(None)
    after.set_on(stream)
    late.call("cuStreamSynchronize", stream)
    assert (before.is_set, legacy.is_set, after.is_set) == (True, waits, True)
    before.set_on(stream)
    late.call("cuStreamSynchronize", LEGACY)
    assert legacy.is_set


def test_a_synchronous_copy_waits_for_blocking_streams(late: Client) -> None:
    blocking, other = late.stream(0), late.stream(1)
    cells = Cell(late), Cell(late)
    cells[0].set_on(blocking)
    cells[1].set_on(other)
    late.upload(b"12345678")
    assert [cell.is_set for cell in cells] == [True, False]


def test_every_thread_has_a_default_stream_of_its_own(late: Client) -> None:
    context = late.get("cuCtxGetCurrent")
    mine, other = Cell(late), Cell(late)
    mine.set_on(PER_THREAD)

    def work() -> None:
        late.call("cuCtxSetCurrent", context)
        other.set_on(PER_THREAD)
        late.call("cuStreamSynchronize", PER_THREAD)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert (mine.is_set, other.is_set) == (False, True)


def test_pageable_memory_is_read_at_once_and_locked_memory_late(late: Client) -> None:
    stream = late.stream()
    target = late.allocate(8)
    pageable = ctypes.create_string_buffer(b"pageable", 8)
    late.call("cuMemcpyHtoDAsync_v2", target, pageable, 8, stream)
    pageable.raw = b"changed!"
    assert late.download(target, 8) != b"pageable"  # the legacy stream does not wait
    late.call("cuStreamSynchronize", stream)
    assert late.download(target, 8) == b"pageable"
    locked = late.host(8)
    locked.raw = b"too soon"
    late.call("cuMemcpyHtoDAsync_v2", target, ctypes.addressof(locked), 8, stream)
    locked.raw = b"changed!"
    late.call("cuStreamSynchronize", stream)
    assert late.download(target, 8) == b"changed!"


def test_memory_that_a_stream_frees_is_spoiled_in_its_order(late: Client) -> None:
    stream = late.stream()
    address = late.get("cuMemAllocAsync", 8, stream)
    late.call("cuMemcpyHtoDAsync_v2", address, b"contents", 8, stream)
    target = late.host(8)
    late.call("cuMemcpyDtoHAsync_v2", ctypes.addressof(target), address, 8, stream)
    late.call("cuMemFreeAsync", address, stream)
    late.call("cuStreamSynchronize", stream)
    assert target.raw == b"contents"
    assert ctypes.string_at(address, 8) == b"\xa5" * 8


def test_use_after_a_stream_freed_memory_is_a_fault(client: Client, fake_driver: FakeCuda) -> None:
    stream = client.stream()
    address = client.get("cuMemAllocAsync", 64, stream)
    client.call("cuMemFreeAsync", address, stream)
    code = client.status("cuMemsetD8Async", address, 0, 64, stream)
    if fake_driver.deferred:
        assert code is Code.SUCCESS
        assert client.status("cuStreamSynchronize", stream) is Code.ILLEGAL_ADDRESS
        assert "outside of every allocation or freed" in fake_driver.faults[0]
    else:
        assert code is Code.INVALID_VALUE


@pytest.mark.parametrize("reads", [True, False])
def test_copies_after_a_stream_freed_memory_are_faults(late: Client, reads: bool) -> None:
    stream, host = late.stream(), ctypes.addressof(late.host(64))
    address = late.get("cuMemAllocAsync", 64, stream)
    late.call("cuMemFreeAsync", address, stream)
    if reads:
        late.call("cuMemcpyDtoHAsync_v2", host, address, 64, stream)
    else:
        late.call("cuMemcpyHtoDAsync_v2", address, host, 64, stream)
    assert late.status("cuStreamSynchronize", stream) is Code.ILLEGAL_ADDRESS


def test_nothing_is_done_after_a_fault(late: Client) -> None:
    stream, cell = late.stream(), Cell(late)
    called: list[object] = []
    record = Callback(called.append)
    address = late.get("cuMemAllocAsync", 64, stream)
    late.call("cuMemFreeAsync", address, stream)
    late.call("cuMemsetD8Async", address, 0, 64, stream)
    cell.set_on(stream)
    late.call("cuLaunchHostFunc", stream, record, 1)
    assert late.status("cuStreamSynchronize", stream) is Code.ILLEGAL_ADDRESS
    assert not cell.is_set
    assert called == []


def test_use_before_a_stream_allocated_memory_is_a_fault(late: Client) -> None:
    address = late.get("cuMemAllocAsync", 64, late.stream())
    other = late.stream()
    late.call("cuMemsetD8Async", address, 0, 64, other)
    assert late.status("cuStreamSynchronize", other) is Code.ILLEGAL_ADDRESS


@pytest.mark.fake_gpus(memory_bytes=1 << 20)
def test_allocation_waits_for_pending_frees_where_memory_is_short(client: Client) -> None:
    stream = client.stream()
    for _ in range(4):
        address = client.get("cuMemAllocAsync", 700 << 10, stream)
        client.call("cuMemFreeAsync", address, stream)
    assert client.allocate(700 << 10)


def test_events_keep_time(client: Client) -> None:
    stream = client.stream()
    first, last, untimed = client.event(), client.event(), client.event(2)
    elapsed = ctypes.c_float()
    call = ("cuEventElapsedTime_v2", elapsed)
    assert client.status(*call, first, last) is Code.INVALID_HANDLE
    client.call("cuEventRecord", first, stream)
    client.call("cuEventRecord", last, stream)
    client.call("cuEventRecord", untimed, stream)
    assert client.status(*call, first, untimed) is Code.INVALID_HANDLE
    client.call("cuStreamSynchronize", stream)
    client.call(*call, first, last)
    assert 0 <= elapsed.value < 1e4
    client.call("cuEventElapsedTime", elapsed, first, last)


def test_time_between_events_is_not_known_before_they_happen(late: Client) -> None:
    events = late.event(), late.event()
    for event in events:
        late.call("cuEventRecord", event, None)
    elapsed = ctypes.c_float()
    assert late.status("cuEventElapsedTime_v2", elapsed, *events) is Code.NOT_READY


def test_handles_are_checked(client: Client) -> None:
    stream, event = client.stream(), client.event()
    client.call("cuStreamDestroy_v2", stream)
    client.call("cuEventDestroy_v2", event)
    for name, *arguments in (
        ("cuStreamDestroy_v2", stream),
        ("cuStreamDestroy_v2", 0),
        ("cuStreamSynchronize", stream),
        ("cuStreamQuery", 0x1234),
        ("cuEventDestroy_v2", event),
        ("cuEventSynchronize", event),
        ("cuEventRecord", event, None),
        ("cuStreamWaitEvent", None, event, 0),
    ):
        assert client.status(name, *arguments) is Code.INVALID_HANDLE
    assert client.status("cuStreamCreate", ctypes.c_void_p(), 8) is Code.INVALID_VALUE


def test_priorities_are_clamped(client: Client) -> None:
    stream = client.get("cuStreamCreateWithPriority", 1, -100)
    assert client.get("cuStreamGetPriority", stream, at=1) == -5
    assert client.get("cuStreamGetFlags", stream, at=1) == 1


def test_a_destroyed_stream_finishes_its_work(client: Client, fake_driver: FakeCuda) -> None:
    stream, cell = client.stream(), Cell(client)
    cell.set_on(stream)
    client.call("cuStreamDestroy_v2", stream)
    client.call("cuCtxSynchronize")
    assert cell.is_set


def test_host_functions_run_in_order_on_another_thread(
    client: Client, fake_driver: FakeCuda
) -> None:
    seen: list[object] = []
    stream = client.stream()
    cell = Cell(client)

    @Callback
    def look(data: int | None) -> None:
        seen.extend([data, cell.is_set, threading.get_ident()])
        seen.append(client.status("cuMemAlloc_v2", ctypes.c_uint64(), 16))

    cell.set_on(stream)
    client.call("cuLaunchHostFunc", stream, look, 7)
    assert seen == [] or not fake_driver.deferred
    client.call("cuStreamSynchronize", stream)
    assert seen[:2] == [7, True]
    assert seen[2] != threading.get_ident()
    assert seen[3] is Code.NOT_PERMITTED


def test_other_threads_call_while_a_host_function_waits_for_them(client: Client) -> None:
    context = client.get("cuCtxGetCurrent")
    entered, done = threading.Event(), threading.Event()

    @Callback
    def wait(_data: int | None) -> None:
        entered.set()
        assert done.wait(30)

    def work() -> None:
        assert entered.wait(30)
        client.call("cuCtxSetCurrent", context)
        client.allocate(16)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    client.call("cuLaunchHostFunc", None, wait, None)
    client.call("cuCtxSynchronize")
    thread.join()
    assert done.is_set()


def test_two_threads_may_wait_for_the_same_work(client: Client) -> None:
    context = client.get("cuCtxGetCurrent")
    entered = threading.Event()
    order: list[str] = []

    @Callback
    def slow(_data: int | None) -> None:
        entered.set()
        waiter.join(0.05)  # the other thread must still be waiting by then
        order.append("work")

    def wait() -> None:
        assert entered.wait(30)
        client.call("cuCtxSetCurrent", context)
        client.call("cuCtxSynchronize")
        order.append("waited")

    waiter = threading.Thread(target=wait)
    waiter.start()
    client.call("cuLaunchHostFunc", None, slow, None)
    client.call("cuCtxSynchronize")
    waiter.join()
    assert order == ["work", "waited"]


def test_work_is_captured_and_repeated(client: Client) -> None:
    stream, other, event = client.stream(), client.stream(), client.event()
    address = client.allocate(8)
    client.call("cuMemsetD8_v2", address, 0, 8)
    client.call("cuStreamBeginCapture_v2", stream, 0)
    client.call("cuMemsetD8Async", address, 1, 4, stream)
    client.call("cuEventRecord", event, stream)
    client.call("cuStreamWaitEvent", other, event, 0)
    client.call("cuMemsetD8Async", address + 4, 2, 4, other)
    assert client.get("cuStreamIsCapturing", other, at=1) == 1
    graph = client.get("cuStreamEndCapture", stream, at=1)
    assert client.download(address, 8) == bytes(8)
    executable = client.get("cuGraphInstantiateWithFlags", graph, 0)
    client.call("cuGraphDestroy", graph)
    for _ in range(2):
        client.call("cuMemsetD8_v2", address, 0, 8)
        client.call("cuCtxSynchronize")
        client.call("cuGraphLaunch", executable, stream)
        client.call("cuStreamSynchronize", stream)
        assert client.download(address, 8) == b"\1\1\1\1\2\2\2\2"
    client.call("cuGraphExecDestroy", executable)
    assert client.status("cuGraphLaunch", executable, stream) is Code.INVALID_HANDLE


def test_waiting_spoils_a_capture(client: Client) -> None:
    stream = client.stream()
    assert client.status("cuStreamBeginCapture_v2", None, 0) is Code.STREAM_CAPTURE_UNSUPPORTED
    client.call("cuStreamBeginCapture_v2", stream, 0)
    assert client.status("cuStreamSynchronize", stream) is Code.STREAM_CAPTURE_UNSUPPORTED
    graph = ctypes.c_void_p()
    assert client.status("cuStreamEndCapture", stream, graph) is Code.STREAM_CAPTURE_INVALIDATED
    client.call("cuStreamSynchronize", stream)


class _Owner:
    """Frees memory when it is collected, by whatever thread."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._context = client.get("cuCtxGetCurrent")
        self._address = client.get("cuMemAllocAsync", 64, None)
        self._self = self

    def __del__(self) -> None:
        self._client.call("cuCtxSetCurrent", self._context)
        self._client.call("cuMemFreeAsync", self._address, None)


def test_many_threads_and_finalizers_call_at_the_same_time(
    client: Client, fake_driver: FakeCuda
) -> None:
    context = client.get("cuCtxGetCurrent")
    kept = gc.get_threshold()
    problems: list[BaseException] = []

    def work(seed: int) -> None:
        try:
            client.call("cuCtxSetCurrent", context)
            stream, event = client.stream(), client.event()
            for step in range(30):
                _Owner(client)
                address = client.get("cuMemAllocAsync", 256, stream)
                client.call("cuMemsetD8Async", address, (seed + step) % 256, 256, stream)
                client.call("cuEventRecord", event, stream)
                client.call("cuStreamWaitEvent", None, event, 0)
                assert client.download(address, 256) == bytes([(seed + step) % 256]) * 256
                client.call("cuMemFreeAsync", address, stream)
            client.call("cuStreamSynchronize", stream)
            client.call("cuStreamDestroy_v2", stream)
            client.call("cuEventDestroy_v2", event)
        except BaseException as problem:
            problems.append(problem)

    gc.set_threshold(5)
    try:
        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        gc.set_threshold(*kept)
    gc.collect()
    assert problems == []
    assert fake_driver.leaks() == []
