import collections
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

from pygpulib.errors import ArgumentError, ArgumentTypeError
from pygpulib.jit.backends.cpu.pool import get_num_threads, set_num_threads, shared_pool
from pygpulib.jit.backends.cpu.pool_code import pool_text
from pygpulib.jit.backends.cpu.target import describe_target, host_target
from tests.helpers.native_kernels import COUNT_TEXT, count_blocks, load_kernel

pytestmark = pytest.mark.skipif(os.name != "posix", reason="this system has no POSIX threads")


@pytest.fixture(autouse=True)
def restore_threads():
    before = get_num_threads()
    yield
    set_num_threads(before)


@pytest.fixture(scope="module")
def counting():
    return load_kernel(COUNT_TEXT)


def launch(counting, blocks):
    return count_blocks(shared_pool().run, counting, blocks)


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("blocks", [1, 2, 3, 7, 64, 1000, 100_003])
def test_every_block_runs_once(counting, threads, blocks):
    set_num_threads(threads)
    marks = launch(counting, blocks)
    assert marks.min() >= 1
    # A mark is the worker's number plus one: a block that ran twice has a larger sum.
    assert marks.max() <= threads


def test_workers_take_part(counting):
    set_num_threads(2)
    # Other programs may keep the processors busy, so that one launch alone proves nothing.
    seen = collections.Counter()
    for _ in range(200):
        seen.update(launch(counting, 200_000).tolist())
        if len(seen) == 2:
            break
    assert set(seen) == {1, 2}


def test_a_single_thread_runs_everything_on_the_caller(counting):
    set_num_threads(1)
    assert set(launch(counting, 50_000).tolist()) == {1}


def test_the_number_of_threads_can_grow_and_shrink(counting):
    for threads in (1, 4, 2, 6, 1, 3):
        set_num_threads(threads)
        assert get_num_threads() == threads
        assert launch(counting, 20_000).max() <= threads


def test_launches_from_many_threads_at_once(counting):
    set_num_threads(3)
    wrong = []

    def launch_often(seed):
        for number in range(60):
            marks = launch(counting, 1 + (seed * 37 + number * 11) % 500)
            if not ((marks >= 1) & (marks <= 3)).all():
                wrong.append(marks)

    threads = [threading.Thread(target=launch_often, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_other_python_threads_run_during_a_launch():
    # The kernel spins until a word that only another Python thread writes changes.
    text = """
    define void @kernel(ptr %words, i64 %first, i64 %end, i64 %worker) {
    entry:
      %flag_at = getelementptr i64, ptr %words, i64 8
      %flag = load ptr, ptr %flag_at
      br label %loop
    loop:
      %value = load atomic i64, ptr %flag monotonic, align 8
      %is_set = icmp ne i64 %value, 0
      br i1 %is_set, label %done, label %loop
    done:
      ret void
    }"""
    flag, words = np.zeros(1, np.int64), np.zeros(9, np.int64)
    words[8] = flag.ctypes.data
    setter = threading.Thread(target=lambda: flag.fill(1))
    address = load_kernel(text)
    setter.start()
    shared_pool().run(address, words.ctypes.data, 4)
    setter.join()


def test_workers_leave_signals_to_the_main_thread(counting):
    set_num_threads(4)
    launch(counting, 100)
    caught = []
    before = signal.signal(signal.SIGUSR1, lambda number, frame: caught.append(number))
    try:
        os.kill(os.getpid(), signal.SIGUSR1)
        launch(counting, 10)
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert caught == [signal.SIGUSR1]
    assert signal.SIGUSR1 not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


CHILD = """
import os, sys
sys.path.insert(0, {root!r})
from pygpulib.jit.backends.cpu.pool import set_num_threads, shared_pool
from tests.helpers.native_kernels import COUNT_TEXT, count_blocks, load_kernel
set_num_threads(3)
counting = load_kernel(COUNT_TEXT)
def check():
    marks = count_blocks(shared_pool().run, counting, 10_000)
    assert marks.min() >= 1 and marks.max() <= 3
check()
{body}
print("fine")
"""


def run_child(body):
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(__file__))))
    found = subprocess.run(
        # Python 3.12 and newer warn of forks where there are threads: that is the test.
        [sys.executable, "-W", "ignore", "-c", CHILD.format(root=root, body=body)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert (found.returncode, found.stdout, found.stderr) == (0, "fine\n", "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_launches_in_the_child_of_a_fork():
    run_child(
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    check()\n"
        "    os._exit(7)\n"
        "assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7\n"
        "check()"
    )


def test_launches_while_the_interpreter_ends():
    run_child("import atexit\natexit.register(check)")


def test_the_interpreter_ends_under_a_launch_of_a_daemon_thread():
    run_child(
        "import threading\n"
        "def forever():\n"
        "    while True:\n"
        "        check()\n"
        "threading.Thread(target=forever, daemon=True).start()\n"
        "check()"
    )


@pytest.mark.parametrize("count", [0, -1, 1025])
def test_a_number_of_threads_out_of_range_is_refused(count):
    with pytest.raises(ArgumentError, match=rf"the number of threads is {count}\nexpected 1 to"):
        set_num_threads(count)


def test_a_number_of_threads_that_is_no_integer_is_refused():
    with pytest.raises(ArgumentTypeError, match=r"the number of threads is 2\.5\nexpected an int"):
        set_num_threads(2.5)


def test_the_code_is_valid_for_other_processors():
    from pygpulib.jit.backends.cpu import engine

    host = pool_text(host_target())
    other = pool_text(describe_target("riscv64-unknown-linux-gnu", "", {}, (1,)))
    assert "PAUSE" not in host + other
    assert "x86" not in other
    # Other processors' text has nothing but portable instructions.
    assert engine.assemble(other, host_target(), 0)
