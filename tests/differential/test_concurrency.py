"""Kernels in many Python threads, in forked and spawned processes, and at the end of a process."""

import os
import pickle
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from pygpulib import cuda

ROOT = str(Path(__file__).parents[2])

PREFIX = (
    f"import sys; sys.path.insert(0, {ROOT!r})"
    + """
import faulthandler, os, threading
import numpy as np
from pygpulib import cuda
faulthandler.enable()

def make(factor):
    @cuda.jit
    def scale(a, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = a[i] * factor
    return scale

def check(kernel, factor, size=100_000):
    a, out = np.arange(size, dtype=float), np.zeros(size)
    kernel[(size + 63) // 64, 64](a, out)
    assert (out == a * factor).all()
"""
)


@pytest.fixture
def run_script(tmp_path):
    """Run a script in a process of its own: exit status, standard output and errors."""

    def run(*parts, flags=()):
        script = tmp_path / "script.py"
        script.write_text("".join([PREFIX, *parts]))
        done = subprocess.run(
            [sys.executable, *flags, str(script)],
            check=False,
            capture_output=True,
            text=True,
            timeout=300,
        )
        return done.returncode, done.stdout, done.stderr

    return run


def in_threads(count, action):
    """Run an action of a number in as many threads, all let go at once."""
    barrier = threading.Barrier(count)

    def run(number):
        barrier.wait()
        return action(number)

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(run, range(count)))


def test_the_first_calls_of_one_kernel_come_from_many_threads():
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = a[i] * 3 if a[i] > 50 else a[i] - 1

    a = np.arange(1000.0)
    wanted = np.where(a > 50, a * 3, a - 1)

    def launch(number):
        out = np.zeros(1000)
        kernel[8 + number % 3, 128](a, out)
        return out

    for out in in_threads(8, launch):
        np.testing.assert_array_equal(out, wanted)
    assert len(kernel.overloads) == 1


def test_threads_compile_for_different_types_at_once():
    @cuda.jit
    def kernel(a, out):
        i = cuda.grid(1)
        if i < a.size:
            out[i] = a[i] + 1

    names = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "f4", "f8", "c8", "c16", "f2"]

    def launch(number):
        a = np.arange(50).astype(names[number])
        for _ in range(20):
            out = np.zeros_like(a)
            kernel[1, 64](a, out)
            np.testing.assert_array_equal(out, np.arange(1, 51).astype(names[number]))

    in_threads(len(names), launch)
    assert len(kernel.overloads) == len(names)


def test_threads_launch_different_shapes_and_sizes_at_once():
    @cuda.jit
    def kernel(out, seed):
        x, y = cuda.grid(2)
        if x < out.shape[1] and y < out.shape[0]:
            value = seed + x
            for _ in range(y % 5):
                value = value * 3 % 1001
            out[y, x] = value

    def expected(shape, seed):
        y, x = np.indices(shape)
        value = seed + x
        for turn in range(4):
            value = np.where(turn < y % 5, value * 3 % 1001, value)
        return value

    def launch(number):
        rng = np.random.default_rng(number)
        for _ in range(25):
            shape = tuple(rng.integers(1, 90, 2).tolist())
            block = tuple(rng.integers(1, 17, 2).tolist())
            grid = -(-shape[1] // block[0]), -(-shape[0] // block[1])
            out = np.zeros(shape, np.int64)
            kernel[grid, block](out, number)
            np.testing.assert_array_equal(out, expected(shape, number))

    in_threads(6, launch)


def test_kernels_that_call_the_same_device_function_compile_at_once():
    @cuda.jit(device=True)
    def shared(x, y):
        return x * y - y

    def launch(number):
        @cuda.jit
        def kernel(out):
            i = cuda.grid(1)
            out[i] = shared(i, number)

        out = np.zeros(40)
        kernel[1, 40](out)
        np.testing.assert_array_equal(out, np.arange(40) * number - number)

    in_threads(8, launch)


def test_streams_of_many_threads():
    @cuda.jit
    def add(a, value):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += value

    def launch(number):
        stream = cuda.stream()
        device = cuda.to_device(np.zeros(500), stream=stream)
        for _ in range(20):
            add[4, 128, stream](device, number)
        stream.synchronize()
        return device.copy_to_host()

    for number, out in enumerate(in_threads(5, launch)):
        assert (out == 20 * number).all()


def test_an_error_in_one_thread_leaves_the_others_alone():
    @cuda.jit
    def kernel(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += 1

    def launch(number):
        if number % 2:
            with pytest.raises(TypeError, match="is of type dict"):
                kernel[1, 32]({})
            return None
        a = np.zeros(32)
        kernel[1, 32](a)
        return a

    for number, a in enumerate(in_threads(8, launch)):
        assert number % 2 or (a == 1).all()


# --------------------------------------------------------------------------------------- processes

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")

# Python 3.12 warns that forking a process with threads is dangerous; here it is what is tested.
FORK = """
def fork():
    import warnings
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()

def in_child(action):
    pid = fork()
    if pid == 0:
        status = 1
        try:
            action()
            status = 0
        finally:
            os._exit(status)
    assert os.waitpid(pid, 0)[1] == 0
"""


@needs_fork
@pytest.mark.parametrize("threads", [1, 3])
def test_a_forked_child_launches_and_compiles(run_script, threads):
    body = """
old = make(2)
check(old, 2)
def on_a_stream():
    stream = cuda.stream()
    out = cuda.device_array(640)
    old[10, 64, stream](cuda.to_device(np.ones(640), stream), out)
    stream.synchronize()
    assert (out.copy_to_host() == 2).all()
on_a_stream()
def child():
    check(old, 2)
    check(make(5), 5)
    on_a_stream()
    in_child(lambda: (check(old, 2), check(make(7), 7)))
for _ in range(3):
    in_child(child)
    check(old, 2)
check(make(4), 4)
print("fine")
"""
    setting = f"from pygpulib.jit.backends.cpu import pool; pool.set_num_threads({threads})\n"
    assert run_script(setting, FORK, body) == (0, "fine\n", "")


@needs_fork
def test_a_fork_while_other_threads_launch(run_script):
    body = """
kernel = make(2)
check(kernel, 2)
stop = threading.Event()
def busy():
    number = 100
    while not stop.is_set():
        check(kernel, 2)
        check(make(number), number)
        number += 1
workers = [threading.Thread(target=busy) for _ in range(2)]
for worker in workers:
    worker.start()
for number in range(5):
    in_child(lambda: (check(kernel, 2), check(make(number), number)))
stop.set()
for worker in workers:
    worker.join()
print("fine")
"""
    assert run_script(FORK, body) == (0, "fine\n", "")


def test_the_process_ends_cleanly_after_launches_in_threads(run_script):
    body = """
threads = [threading.Thread(target=check, args=(make(n), n)) for n in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
import atexit
atexit.register(lambda: (check(make(9), 9), print("last")))
print("fine")
"""
    assert run_script(body, flags=["-X", "dev", "-W", "error"]) == (0, "fine\nlast\n", "")


def test_the_process_ends_cleanly_with_an_exit_status(run_script):
    body = "k = make(3)\ncheck(k, 3)\nraise SystemExit(7)\n"
    assert run_script(body) == (7, "", "")


WORKERS = """
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

@cuda.jit
def twice(a):
    i = cuda.grid(1)
    if i < a.size:
        a[i] *= 2

def make_shift(offset):
    @cuda.jit
    def shift(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += offset
    return shift

def work(kernel, size):
    a = np.arange(size)
    kernel[1, 64](a)
    return a.sum().item()

if __name__ == "__main__":
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        print(list(pool.map(work, [twice, make_shift(3), twice], [5, 4, 7])))
"""


def test_kernels_reach_spawned_workers(run_script):
    assert run_script(WORKERS) == (0, "[20, 18, 42]\n", "")


def test_pickled_kernels_and_configurations_run():
    table, power = np.array([1.0, 2.0, 4.0]), 3

    @cuda.jit(device=True)
    def lookup(i):
        return table[i % 3] ** power

    @cuda.jit(fma=False)
    def kernel(out, factor=2.0):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = lookup(i) * factor

    expected = np.resize(table**3 * 2, 7)
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        copy = pickle.loads(pickle.dumps(kernel, protocol))
        out = np.zeros(7)
        copy[1, 8](out)
        np.testing.assert_array_equal(out, expected)
    configured = pickle.loads(pickle.dumps(kernel[1, 8]))
    out = np.zeros(7)
    configured(out, 4.0)
    np.testing.assert_array_equal(out, expected * 2)
