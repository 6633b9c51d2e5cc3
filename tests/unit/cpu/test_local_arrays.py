"""Local arrays of every size: on the stack, beside the shared memory, and in gangs' frames."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from pygpulib import cuda

THREADS = 40


def _make(count, has_barrier):
    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        first = cuda.local.array(count, np.int64)
        second = cuda.local.array((2, count), np.float32)
        third = cuda.local.array(5, np.int8)
        for j in range(count):
            first[j] = 3 * i + j
            second[1, j] = j
            second[0, j] = -i
        third[4] = i
        if has_barrier:
            cuda.syncthreads()
        total = 0
        for j in range(count):
            total += first[j] + second[1, j] + second[0, j]
        if i < out.size:
            out[i] = total + third[4]

    return kernel


def _expected(count, size):
    i = np.arange(size)
    return 2 * i * count + count * (count - 1) + i


@pytest.mark.parametrize("has_barrier", [False, True])
@pytest.mark.parametrize("count", [1, 7, 600, 5000, 32767])
def test_each_thread_has_its_own_elements(count, has_barrier):
    out = np.zeros(3 * THREADS - 5, np.int64)
    _make(count, has_barrier)[3, THREADS](out)
    assert (out == _expected(count, out.size)).all()


def test_the_stack_of_the_launching_thread_may_be_small():
    out = np.zeros(THREADS, np.int64)
    before = threading.stack_size(512 << 10)
    try:
        launching = threading.Thread(target=lambda: _make(32767, False)[1, THREADS](out))
        launching.start()
    finally:
        threading.stack_size(before)
    launching.join()
    assert (out == _expected(32767, out.size)).all()


@cuda.jit(device=True)
def sum_down(n):
    numbers = cuda.local.array(60_000, np.float64)
    numbers[n] = n
    return numbers[n] + (sum_down(n - 1) if n > 0 else 0.0)


def test_a_recursion_with_large_arrays_is_stopped():
    @cuda.jit
    def kernel(out):
        out[cuda.grid(1)] = sum_down(50)

    with pytest.raises(RecursionError, match="call each other too deeply"):
        kernel[1, 32](np.zeros(32))


def test_large_local_arrays_live_beside_shared_ones():
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        shared = cuda.shared.array(64, np.int64)
        dynamic = cuda.shared.array(0, np.int64)
        mine = cuda.local.array(20_000, np.int64)
        for j in range(mine.size):
            mine[j] = i
        shared[i] = 10 * i
        dynamic[i] = 100 * i
        out[i] = mine[19_999] + mine[0] + shared[i] + dynamic[i]

    out = np.zeros(64, np.int64)
    kernel[1, 64, 0, 64 * 8](out)
    assert (out == 112 * np.arange(64)).all()
