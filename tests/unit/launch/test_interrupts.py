"""Ctrl-C during a launch; each program runs in a process of its own."""

import os
import subprocess
import sys
import textwrap

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="launches run on the caller alone here")

BLOCKS = 300

PRELUDE = f"""
import os, signal, sys, threading
signal.signal(signal.SIGINT, signal.default_int_handler)  # processes in the background ignore it
import numpy as np
from pygpulib import cuda

BLOCKS = {BLOCKS}

@cuda.jit{{options}}
def work(started, done, steps):
    block = cuda.blockIdx.x
    started[block] = 1
    x = 0.5
    for i in range(steps):
        x = x * x * 0.999 + 0.25
    {{extra}}
    done[block] = 1 + (x > 2)

started, done = np.zeros((2, BLOCKS), np.int64)

def interrupt(after=lambda: started.any()):
    def wait():
        while not after():
            pass
        os.kill(os.getpid(), signal.SIGINT)
    thread = threading.Thread(target=wait)
    thread.start()
    return thread

def launch(steps=3_000_000):
    done[:] = started[:] = 0
    configured(started, done, steps)

def caught(action):
    try:
        action()
    except KeyboardInterrupt:
        return True
    return False

configured = work[BLOCKS, 32]
for _ in range({{warm}}):
    launch(10)
started[:] = 0
"""


def run(program, *, options="", extra="pass", warm=3):
    text = PRELUDE.format(options=options, extra=extra, warm=warm) + textwrap.dedent(program)
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", text],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        # With as many threads as blocks, all would have begun before the interrupt.
        env=os.environ | {"PYGPULIB_NUM_THREADS": "2"},
    )
    assert result.stderr == ""
    assert result.returncode == 0
    return result.stdout.splitlines()


INTERRUPTED = """
thread = interrupt()
print(caught(launch))
thread.join()
print(0 < done.sum() < BLOCKS, (started == (done > 0)).all())
# Nothing is left of the interrupt.
print(caught(lambda: launch(10)), (done > 0).all())
"""


@pytest.mark.parametrize("warm", [0, 3], ids=["long way", "short cut"])
@pytest.mark.parametrize("threads", [1, 2, 4])
def test_no_block_is_begun_after_an_interrupt(warm, threads):
    program = f"""
    from pygpulib.jit.backends.cpu.pool import set_num_threads
    set_num_threads({threads})
    """
    lines = run(textwrap.dedent(program) + INTERRUPTED, warm=warm)
    assert lines == ["True", "True True", "False True"]


def test_kernels_with_barriers_and_reports():
    lines = run(INTERRUPTED, options="(debug=True)", extra="cuda.syncthreads()")
    assert lines == ["True", "True True", "False True"]


def test_the_exception_comes_once():
    program = """
    thread = interrupt()
    count = 0
    for _ in range(3):
        try:
            launch(100_000)
            thread.join()
            sum(range(10_000))
        except KeyboardInterrupt:
            count += 1
    print(count)
    """
    assert run(program) == ["1"]


def test_another_handler_decides():
    program = """
    seen = []
    signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    thread = interrupt()
    print(caught(lambda: launch(200_000)))
    thread.join()
    print((done > 0).all(), seen == [signal.SIGINT])
    # The old one again, which is noticed where types or configurations are new.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    configured = work[BLOCKS, 64]
    started[:] = 0
    thread = interrupt()
    print(caught(launch), done.sum() < BLOCKS)
    thread.join()
    """
    assert run(program) == ["False", "True True", "True True"]


def test_launches_of_other_threads_run_to_their_end():
    program = """
    found = []
    def background():
        found.append(caught(lambda: launch(200_000)))
    worker = threading.Thread(target=background)
    thread = interrupt()
    def wait():
        worker.start()
        while not found:
            pass
    print(caught(wait))
    while not found:
        pass
    thread.join()
    print(found, (done > 0).all())
    """
    assert run(program) == ["True", "[False] True"]


def test_an_interrupt_before_a_launch_does_not_end_it():
    program = """
    def outside():
        os.kill(os.getpid(), signal.SIGINT)
        sum(range(1000))
    print(caught(outside), caught(lambda: launch(10)), (done > 0).all())
    """
    assert run(program) == ["True False True"]


def test_system_calls_are_interrupted_as_before():
    program = """
    reader, writer = os.pipe()
    waits = []
    thread = interrupt(lambda: waits)
    print(caught(lambda: (waits.append(1), os.read(reader, 1))))
    thread.join()
    """
    assert run(program) == ["True"]
