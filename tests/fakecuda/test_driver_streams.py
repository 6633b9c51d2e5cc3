from __future__ import annotations

import asyncio
import threading

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core.device import current_driver
from pygpulib.errors import ArgumentTypeError, PyGpuLibWarning
from tests.fakecuda.devices import cuda_in_use, names_of_calls
from tests.fakecuda.driver import Code


@pytest.fixture
def driver(fake_driver):
    with cuda_in_use(fake_driver) as driver:
        yield driver


def test_a_stream_works_in_order(driver):
    stream = cuda.stream()
    host = cuda.pinned_array(4, np.int32)
    host[:] = 3
    device = cuda.to_device(host, stream=stream)
    device.copy_to_host(host, stream=stream)
    stream.synchronize()
    assert (host == 3).all()


def test_a_stream_waits_for_the_default_stream_and_the_other_way_round(fake_driver, driver):
    cuda.stream()
    assert [call.arguments["Flags"] for call in fake_driver.calls.named("cuStreamCreate")] == [0]


def test_a_stream_is_dropped_with_its_object(fake_driver, driver):
    stream = cuda.stream()
    handle = stream.handle
    del stream
    dropped = fake_driver.calls.named("cuStreamDestroy")
    assert [call.stream for call in dropped] == [handle]


# ---------------------------------------------------------------------------------------- events


@pytest.mark.parametrize("timing", [True, False])
def test_an_event_marks_the_work_so_far(fake_driver, driver, timing):
    stream, event = cuda.stream(), cuda.event(timing)
    host = cuda.pinned_array(4, np.int32)
    cuda.to_device(host, stream=stream)
    event.record(stream)
    if fake_driver.deferred:
        fake_driver.calls.clear()
    event.synchronize()
    assert event.query()


def test_an_event_is_not_there_before_its_work(fake_driver, driver):
    stream, event = cuda.stream(), cuda.event()
    seen = []
    stream.add_callback(lambda *_: seen.append(1))
    event.record(stream)
    while not event.query():
        pass
    assert seen == [1]


def test_another_stream_waits_for_an_event(fake_driver, driver):
    one, two, event = cuda.stream(), cuda.stream(), cuda.event()
    host = cuda.pinned_array(4, np.int32)
    host[:] = 1
    device = cuda.to_device(host, stream=one)
    event.record(one)
    event.wait(two)
    device.copy_to_host(host, stream=two)
    two.synchronize()
    assert (host == 1).all()


def test_the_time_between_events_is_told(driver):
    start, end = cuda.event(), cuda.event()
    start.record()
    cuda.to_device(np.zeros(10))
    end.record()
    assert cuda.event_elapsed_time(start, end) >= 0


def test_an_event_is_dropped_with_its_object(fake_driver, driver):
    event = cuda.event()
    del event
    assert names_of_calls(fake_driver).count("cuEventDestroy_v2") == 1


def test_events_of_other_back_ends_are_refused(driver):
    with pytest.raises(ArgumentTypeError, match="an event of another back end"):
        driver.query_event(object())


# -------------------------------------------------------------------------------- host functions


def test_a_host_function_runs_after_the_work_before_it(driver):
    stream = cuda.stream()
    host = cuda.pinned_array(4, np.int32)
    device = cuda.to_device(np.full(4, 8, np.int32), stream=stream)
    device.copy_to_host(host, stream=stream)
    seen = []
    stream.add_callback(lambda stream, status, arg: seen.append((arg, status, host.tolist())), "x")
    stream.synchronize()
    assert seen == [("x", 0, [8, 8, 8, 8])]


def test_an_exception_in_a_callback_is_a_warning(driver):
    stream = cuda.stream()
    done = threading.Event()

    def work():
        stream.add_callback(lambda *_: 1 // 0)
        stream.add_callback(lambda *_: done.set())
        stream.synchronize()

    with pytest.warns(PyGpuLibWarning, match="Exception in stream callback: ZeroDivisionError"):
        work()
    assert done.is_set()


def test_an_exception_in_a_host_function_stays_there(driver, monkeypatch):
    seen = []
    monkeypatch.setattr("sys.unraisablehook", lambda args: seen.append(args.exc_type))
    driver.add_host_function(0, lambda fault: 1 // 0)
    driver.synchronize()
    assert seen == [ZeroDivisionError]
    del seen[:]


def test_a_stream_can_be_awaited(driver):
    async def run():
        streams = [cuda.stream() for _ in range(3)]
        arrays = [cuda.to_device(np.full(5, i), stream=s) for i, s in enumerate(streams)]
        waiting = [stream.async_done() for stream in streams]
        for stream in streams:
            stream.synchronize()
        done = await asyncio.gather(*waiting)
        assert done == streams
        return [int(array[0]) for array in arrays]

    assert asyncio.run(run()) == [0, 1, 2]


# --------------------------------------------------------------------------------------- reports


def test_a_report_comes_after_the_next_wait_for_its_stream(driver):
    one, two = cuda.stream(), cuda.stream()
    seen = []
    driver.add_report(one.handle, lambda: seen.append("one"))
    driver.add_report(two.handle, lambda: seen.append("two"))
    driver.add_report(one.handle, lambda: seen.append("one again"))
    one.synchronize()
    assert seen == ["one", "one again"]
    one.synchronize()
    assert seen == ["one", "one again"]
    cuda.synchronize()
    assert seen == ["one", "one again", "two"]


def test_a_copy_to_the_host_brings_the_reports_of_the_default_stream(driver):
    seen = []
    array = cuda.to_device(np.zeros(3))
    driver.add_report(0, lambda: seen.append(array.copy_to_host().sum()))
    array.copy_to_host()
    assert seen == [0.0]
    seen.clear()
    driver.add_report(0, lambda: seen.append(1))
    assert array[1] == 0
    assert seen == [1]


def test_reports_after_one_that_raises_are_kept(driver):
    seen = []
    driver.add_report(0, lambda: 1 // 0)
    driver.add_report(0, lambda: seen.append(1))
    with pytest.raises(ZeroDivisionError):
        cuda.synchronize()
    cuda.synchronize()
    assert seen == [1]


def test_at_the_end_of_the_process_waiting_reports_are_made(driver):
    seen = []
    driver.add_report(0, lambda: seen.append(1))
    driver.finish()
    assert seen == [1]
    driver.contexts.retirement._pauses -= 1  # the process goes on


def test_the_end_of_the_process_does_not_wait_for_those_who_have_nothing_to_say(
    fake_driver, driver
):
    cuda.to_device(np.zeros(3))
    fake_driver.calls.clear()
    driver.finish()
    assert "cuCtxSynchronize" not in names_of_calls(fake_driver)
    driver.contexts.retirement._pauses -= 1


# Of a library that was shut down, in the child of a fork, and where another library reset all.
@pytest.mark.parametrize(
    "code",
    ["NO_DEVICE", "NOT_INITIALIZED", "DEINITIALIZED", "CONTEXT_IS_DESTROYED", "LAUNCH_FAILED"],
)
def test_the_end_of_the_process_goes_on_after_devices_that_are_gone(fake_driver, driver, code):
    seen = []
    driver.add_report(0, lambda: seen.append(1))
    fake_driver.fail("cuCtxPushCurrent_v2", Code[code])
    driver.finish()
    assert seen == []
    assert driver.contexts.retirement._pauses == 1
    driver.contexts.retirement._pauses -= 1


def test_the_driver_in_use_is_this_one(driver):
    assert current_driver() is driver
