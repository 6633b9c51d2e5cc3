"""Many threads that use one GPU at once, each on a stream of its own."""

from __future__ import annotations

import ctypes
import gc
import io
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import redirect_stdout

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core.device import current_driver
from tests.fakecuda.driver.connection import replaced
from tests.fakecuda.driver.library import cuda_header

pytestmark = pytest.mark.fake_gpus(use_assembler=False)
THREADS = 8


def in_threads(action, count=THREADS):
    """Run an action of a number in as many threads, all let go at once."""
    barrier = threading.Barrier(count)

    def run(number):
        barrier.wait()
        return action(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def make_kernel():
    @cuda.jit
    def shift(a, b, by):
        i = cuda.grid(1)
        if i < b.size:
            b[i] = a[i] * 2 + by

    return shift


def test_threads_with_streams_of_their_own_get_right_results(fake_cuda):
    kernel = make_kernel()

    def work(number):
        rng = np.random.default_rng(number)
        stream = cuda.stream()
        for step in range(6):
            a = rng.integers(-99, 99, int(rng.integers(1, 200)))
            d_a = cuda.to_device(a, stream=stream)
            d_b = cuda.device_array_like(d_a, stream=stream)
            kernel[4, 50, stream](d_a, d_b, step)
            kernel[4, 50, stream](d_b, d_a, number)
            del d_b  # while the kernels may still be waiting
            found = d_a.copy_to_host(stream=stream)
            stream.synchronize()
            np.testing.assert_array_equal(found, (a * 2 + step) * 2 + number)

    in_threads(work)
    gc.collect()
    cuda.synchronize()
    # The package keeps events to use them again, and one stream of its own.
    own = ("event", "non-blocking stream")
    left = [thing for thing in fake_cuda.leaks(cached=False) if not thing.startswith(own)]
    assert left == []


def test_threads_on_the_default_stream_get_right_results(fake_cuda):
    kernel = make_kernel()

    def work(number):
        for step in range(6):
            a = np.arange(10 * number + 1)
            out = np.zeros_like(a)
            kernel[2, 64](a, out, step)
            np.testing.assert_array_equal(out, a * 2 + step)

    in_threads(work)


def test_threads_pass_work_on_with_events(fake_cuda):
    kernel = make_kernel()
    arrays = [cuda.to_device(np.arange(40)) for _ in range(THREADS + 1)]
    streams = [cuda.stream() for _ in range(THREADS)]
    events = [cuda.event() for _ in range(THREADS)]
    recorded = [threading.Event() for _ in range(THREADS)]

    def work(number):
        if number:
            assert recorded[number - 1].wait(timeout=300)
            events[number - 1].wait(streams[number])
        kernel[1, 40, streams[number]](arrays[number], arrays[number + 1], number)
        events[number].record(streams[number])
        recorded[number].set()

    in_threads(work)
    expected = np.arange(40)
    for number in range(THREADS):
        expected = expected * 2 + number
    np.testing.assert_array_equal(arrays[-1].copy_to_host(), expected)


def test_the_first_launches_come_from_many_threads_and_compile_once(fake_cuda):
    kernel = make_kernel()
    a = np.arange(100.0)

    def work(number):
        out = np.zeros_like(a)
        kernel[2, 64](a, out, number)
        return out

    for number, out in enumerate(in_threads(work)):
        np.testing.assert_array_equal(out, a * 2 + number)
    assert len(kernel.overloads) == 1
    assert len(fake_cuda.calls.named("cuModuleLoadDataEx")) == 1


def test_arrays_that_are_dropped_while_a_launch_waits_stay(fake_cuda):
    kernel = make_kernel()
    results = [cuda.device_array(60, np.int64) for _ in range(THREADS)]

    def work(number):
        stream = cuda.stream()
        for step in range(4):
            a = cuda.to_device(np.full(60, number + step), stream=stream)
            kernel[1, 60, stream](a, results[number], step)
            del a
            # Takes the memory if it has been given back too early.
            cuda.to_device(np.full(60, -1), stream=stream)
        del stream
        gc.collect(0)

    in_threads(work)
    cuda.synchronize()
    for number, result in enumerate(results):
        np.testing.assert_array_equal(result.copy_to_host(), np.full(60, (number + 3) * 2 + 3))


def test_what_a_kernel_raises_is_raised_in_the_thread_that_launched_it(fake_cuda):
    @cuda.jit(debug=True)
    def pick(a, place, out):
        out[0] = a[place]
        if place == 0:
            raise ValueError("nothing there")

    def work(number):
        out = cuda.device_array(1, np.int64)
        stream = cuda.stream()
        try:
            pick[1, 1, stream](cuda.to_device(np.arange(9)), number % 3, out)
        except ValueError as error:
            return str(error)
        return int(out.copy_to_host()[0])

    for number, told in enumerate(in_threads(work)):
        if number % 3:
            assert told == number % 3
        else:
            assert "nothing there" in told


class Meeting:
    """A driver's launch that returns once as many threads are inside of it as are expected."""

    def __init__(self, count):
        self.barrier = threading.Barrier(count)
        self.broken = 0
        prototype = cuda_header().functions["cuLaunchKernel"]
        self._callback = ctypes.CFUNCTYPE(prototype.result, *prototype.argtypes)(self._launch)

    def _launch(self, *arguments):
        try:
            self.barrier.wait(timeout=300)
        except threading.BrokenBarrierError:
            self.broken += 1
        return 0

    @property
    def address(self):
        return ctypes.cast(self._callback, ctypes.c_void_p).value


@pytest.mark.parametrize("kind", ["short cut", "long way", "on one stream"])
def test_two_threads_are_in_the_drivers_launch_at_once(fake_cuda, kind):
    kernel = make_kernel()
    a, b = cuda.to_device(np.arange(9)), cuda.to_device(np.arange(9))
    streams = [cuda.stream() for _ in range(2)]
    if kind == "on one stream":
        streams[1] = streams[0]
    if kind == "long way":
        launches = [kernel[1, 9 + number, streams[number]] for number in range(2)]
        kernel[1, 9](a, b, 1)
    else:
        launches = [kernel[1, 9, stream] for stream in streams]
        for launch in launches * 3:
            launch(a, b, 1)
    meeting = Meeting(2)
    with replaced({"cuLaunchKernel": meeting.address}):
        in_threads(lambda number: launches[number](a, b, 1), 2)
    assert meeting.broken == 0


def test_less_shared_memory_is_not_asked_for_after_more(fake_cuda, monkeypatch):
    @cuda.jit
    def fill(out):
        buffer = cuda.shared.array(0, np.float64)
        i = cuda.threadIdx.x
        buffer[i] = 2 * i
        out[i] = buffer[i]

    a, b = cuda.device_array(8), cuda.device_array(8)
    fill[1, 8, 0, 64](a)
    less, more = fill[1, 8, 0, 60_000], fill[1, 8, 0, 120_000]
    driver = current_driver()
    look_up, launch = driver.launch_limits, driver.launch_function
    more_is_ready, less_is_ready = threading.Event(), threading.Event()
    other = threading.Thread(target=more, args=(b,))

    def look_up_late(ordinal):
        # This launch has found that it needs more than was asked for; now the other comes first.
        if other.ident is None:
            other.start()
            assert more_is_ready.wait(20)
        return look_up(ordinal)

    def launch_late(*args, **options):
        if threading.current_thread() is other:
            more_is_ready.set()
            assert less_is_ready.wait(20)
        less_is_ready.set()
        launch(*args, **options)

    monkeypatch.setattr(driver, "launch_limits", look_up_late)
    monkeypatch.setattr(driver, "launch_function", launch_late)
    less(a)
    other.join()
    for out in (a, b):
        assert out.copy_to_host().tolist() == list(range(0, 16, 2))
    assert [call.arguments["value"] for call in fake_cuda.calls.named("cuFuncSetAttribute")] == [
        120_000
    ]


def make_printing_kernel():
    @cuda.jit
    def tell(number):
        print("number", number)  # noqa: T201

    return tell


def test_threads_with_streams_of_their_own_print_all_lines(fake_cuda, capsys):
    kernel = make_printing_kernel()

    def work(number):
        stream = cuda.stream()
        for step in range(5):
            kernel[1, 1, stream](10 * number + step)
        stream.synchronize()

    in_threads(work)
    found = capsys.readouterr().out.splitlines()
    assert sorted(found) == sorted(
        f"number {10 * number + step}" for number in range(THREADS) for step in range(5)
    )
    for number in range(THREADS):
        of_thread = [int(line.split()[1]) for line in found]
        of_thread = [each for each in of_thread if each // 10 == number]
        assert of_thread == sorted(of_thread)


def test_threads_with_per_thread_streams_print_their_own_lines(fake_cuda):
    kernel = make_printing_kernel()
    lines = {}

    class Output(io.StringIO):
        def write(self, text):
            lines.setdefault(threading.get_ident(), []).append(text)
            return len(text)

    def work(number):
        stream = cuda.per_thread_default_stream()
        for _ in range(3):
            kernel[1, 1, stream](number)
        stream.synchronize()
        assert lines[threading.get_ident()] == [f"number {number}\n"] * 3

    with redirect_stdout(Output()):
        in_threads(work)


def test_a_stream_that_is_dropped_still_prints(fake_cuda, capsys):
    kernel = make_printing_kernel()
    stream = cuda.stream()
    kernel[1, 1, stream](1)
    kernel[1, 1, stream](2)
    del stream
    gc.collect()
    cuda.synchronize()
    assert capsys.readouterr().out == "number 1\nnumber 2\n"
    # Now the stream is gone, too.
    assert not [each for each in fake_cuda.leaks() if "stream" in each.lower()]


@pytest.mark.fake_gpus(device_count=2, use_assembler=False)
def test_streams_print_while_another_device_is_selected(fake_cuda, capsys):
    kernel = make_printing_kernel()
    stream = cuda.stream()
    kernel[1, 1, stream](1)
    cuda.select_device(1)
    try:
        kernel[1, 1](2)
        stream.synchronize()
        assert capsys.readouterr().out == "number 1\n"
        cuda.synchronize()
        assert capsys.readouterr().out == "number 2\n"
    finally:
        cuda.select_device(0)


def test_an_event_prints_what_came_before_it(fake_cuda, capsys):
    kernel = make_printing_kernel()
    stream, other = cuda.stream(), cuda.stream()
    event = cuda.event()
    kernel[1, 1, other](0)
    for number in (1, 2):
        kernel[1, 1, stream](number)
    event.record(stream)
    kernel[1, 1, stream](3)
    assert event.query() in (True, False)
    assert capsys.readouterr().out == ""
    event.synchronize()
    assert capsys.readouterr().out == "number 1\nnumber 2\n"
    event.synchronize()
    assert capsys.readouterr().out == ""
    event.record(stream)
    stream.synchronize()
    assert capsys.readouterr().out == "number 3\n"
    kernel[1, 1, stream](4)
    event.synchronize()
    assert capsys.readouterr().out == ""
    cuda.synchronize()
    assert capsys.readouterr().out == "number 0\nnumber 4\n"


def test_an_event_of_a_stream_that_is_gone_prints(fake_cuda, capsys):
    kernel = make_printing_kernel()
    stream, event = cuda.stream(), cuda.event()
    kernel[1, 1, stream](1)
    event.record(stream)
    del stream
    gc.collect()
    event.synchronize()
    assert capsys.readouterr().out == "number 1\n"


@pytest.mark.fake_gpus(device_count=2, use_assembler=False)
def test_events_print_while_another_device_is_selected(fake_cuda, capsys):
    kernel = make_printing_kernel()
    event = cuda.event()
    kernel[1, 1](1)
    event.record()
    cuda.select_device(1)
    try:
        kernel[1, 1](2)
        event.synchronize()
        assert capsys.readouterr().out == "number 1\n"
    finally:
        cuda.select_device(0)
    cuda.close()
    assert capsys.readouterr().out == "number 2\n"


def test_the_end_prints_what_nobody_waited_for(fake_cuda, capsys):
    kernel = make_printing_kernel()
    streams = [cuda.stream(), cuda.stream()]
    for number, stream in enumerate(streams):
        kernel[1, 1, stream](number)
    cuda.close()
    assert capsys.readouterr().out == "number 0\nnumber 1\n"
