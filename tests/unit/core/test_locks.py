import os
import threading

import pytest

from pygpulib.core.locks import Lock


def test_one_thread_at_a_time_and_the_same_thread_again():
    lock, seen = Lock(), []
    with lock, lock:
        thread = threading.Thread(target=lambda: seen.append(lock.acquire(blocking=False)))
        thread.start()
        thread.join()
    assert seen == [False]
    assert lock.acquire(blocking=False)
    lock.release()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_child_finds_every_lock_free():
    lock, is_held, may_end = Lock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            is_held.set()
            may_end.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    is_held.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if lock.acquire(blocking=False) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert not lock.acquire(blocking=False)
    may_end.set()
    thread.join()
