"""How many threads SciPy's BLAS is left with."""

from __future__ import annotations

import os
import threading

import pytest

from pygpulib.blas.threads import OneThread


class Library:
    """A BLAS that only knows how many threads it has."""

    def __init__(self, count):
        self.count = count

    def scipy_openblas_get_num_threads(self):
        return self.count

    def scipy_openblas_set_num_threads(self, count):
        self.count = count


def test_contexts_of_threads_may_overlap():
    library = Library(5)
    control = OneThread(library)
    with control:
        with control:
            assert library.count == 1
        assert library.count == 1
    assert library.count == 5


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_the_child_of_a_fork_does_not_wait_for_threads_that_it_has_not():
    library = Library(5)
    control = OneThread(library)
    inside, leave = threading.Event(), threading.Event()

    def work():
        with control:
            inside.set()
            leave.wait()

    thread = threading.Thread(target=work)
    thread.start()
    inside.wait()
    child = os.fork()
    if not child:
        before = library.count
        with control:
            during = library.count
        os._exit(0 if (before, during, library.count) == (5, 1, 5) else 1)
    _, status = os.waitpid(child, 0)
    leave.set()
    thread.join()
    assert status == 0
    assert library.count == 5
