"""Threads of one block that wait for each other make progress."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import cuda


@cuda.jit
def count_under_lock(lock, total):
    waiting = True
    while waiting:
        if cuda.atomic.cas(lock, 0, 0, 1) == 0:
            total[0] += 1
            cuda.threadfence()
            cuda.atomic.exch(lock, 0, 0)
            waiting = False


@pytest.mark.parametrize(("grid", "block"), [(1, 64), (7, 33), (100, 4)])
def test_a_lock_taken_by_every_thread(grid, block):
    lock, total = np.zeros(1, np.int32), np.zeros(1, np.int64)
    count_under_lock[grid, block](lock, total)
    assert total[0] == grid * block
    assert lock[0] == 0


@cuda.jit
def wait_for_earlier_blocks(ready, sums, x):
    # Decoupled look-back in its simplest form: each block waits for the one before it.
    b = cuda.blockIdx.x
    before = 0
    if b > 0:
        while cuda.atomic.add(ready, b - 1, 0) == 0:
            pass
        before = sums[b - 1]
    sums[b] = before + x[b]
    cuda.threadfence()
    cuda.atomic.add(ready, b, 1)


def test_blocks_may_wait_for_earlier_ones():
    x = np.random.default_rng(0).integers(0, 9, 200)
    ready, sums = np.zeros(200, np.int32), np.zeros(200, np.int64)
    wait_for_earlier_blocks[200, 1](ready, sums, x)
    np.testing.assert_array_equal(sums, np.cumsum(x))
