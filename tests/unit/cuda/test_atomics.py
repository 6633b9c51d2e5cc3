"""Atomic operations, natively and in the interpreter."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pygpulib import cuda
from pygpulib.core.dtypes import ALL_DTYPES, bool_
from tests.helpers.cooperation import run_both

INTEGERS = [dtype for dtype in ALL_DTYPES if dtype.is_integer]
REALS = [dtype for dtype in ALL_DTYPES if dtype.is_integer or dtype.is_float]
UNSIGNED = [dtype for dtype in INTEGERS if not dtype.is_signed]
atomic = cuda.atomic


def by_thread(function, a, values):
    """Run an operation on element 1 by one thread after the other; return the array, the olds."""

    def kernel(a, values, old):
        for t in range(values.size):
            old[t] = function(a, 1, values[t])

    a, _, old = run_both(kernel, 1, 1, a, values, np.zeros(len(values), a.dtype))
    return a, old


@pytest.mark.parametrize("dtype", REALS, ids=str)
@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (atomic.add, np.add),
        (atomic.sub, np.subtract),
        (atomic.max, np.maximum),
        (atomic.min, np.minimum),
        (atomic.nanmax, np.maximum),
        (atomic.nanmin, np.minimum),
        (atomic.exch, lambda _, new: new),
    ],
)
def test_real_numbers(dtype, function, reference):
    row = dtype.numpy
    values = np.random.default_rng(0).integers(0, 100, 9).astype(row)
    expected = np.array([1, 50, 3], row)
    a, old = by_thread(function, expected.copy(), values)
    for value, before in zip(values, old, strict=True):
        assert before == expected[1]
        with np.errstate(over="ignore"):
            expected[1] = reference(expected[1], value)
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize("dtype", [*INTEGERS, bool_], ids=str)
@pytest.mark.parametrize(
    ("function", "reference"),
    [
        (atomic.and_, np.bitwise_and),
        (atomic.or_, np.bitwise_or),
        (atomic.xor, np.bitwise_xor),
        (atomic.exch, lambda _, new: new),
    ],
)
def test_bits(dtype, function, reference):
    row = dtype.numpy
    values = np.random.default_rng(1).integers(0, 100, 9).astype(row)
    expected = np.array([1, 85, 3], row)
    a, old = by_thread(function, expected.copy(), values)
    for value, before in zip(values, old, strict=True):
        assert before == expected[1]
        expected[1] = reference(expected[1], value)
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize("dtype", UNSIGNED, ids=str)
def test_counters_wrap_at_a_limit(dtype):
    limits = np.array([2, 2, 2, 2, 9, 0, 5], dtype.numpy)
    a, old = by_thread(atomic.inc, np.array([7, 1, 7], dtype.numpy), limits)
    assert old.tolist() == [1, 2, 0, 1, 2, 3, 0]
    assert a.tolist() == [7, 1, 7]
    a, old = by_thread(atomic.dec, np.array([7, 1, 7], dtype.numpy), limits)
    assert old.tolist() == [1, 0, 2, 1, 0, 9, 0]
    assert a.tolist() == [7, 5, 7]


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(
    ("function", "expected"),
    [
        (atomic.max, [1.0, 3.0, np.nan, 3.0]),
        (atomic.min, [1.0, 1.0, np.nan, 1.0]),
        (atomic.nanmax, [1.0, 3.0, 3.0, 3.0]),
        (atomic.nanmin, [1.0, 1.0, 3.0, 1.0]),
    ],
)
def test_nan_stays_or_counts_as_missing(dtype, function, expected):
    def kernel(a, values):
        for i in range(a.size):
            function(a, i, values[i])

    values = np.array([np.nan, 3, 3, 3], dtype)
    a, _ = run_both(kernel, 1, 1, np.array([1, 1, np.nan, 1], dtype), values)
    np.testing.assert_array_equal(a, np.array(expected, dtype))


@pytest.mark.parametrize("dtype", [*REALS, bool_], ids=str)
def test_compare_and_swap(dtype):
    def kernel(a, old):
        old[0] = atomic.cas(a, (0, 1), 1, 5)
        old[1] = atomic.cas(a, (0, 1), 1, 6)
        old[2] = atomic.compare_and_swap(a[1], 0, 1)
        old[3] = atomic.compare_and_swap(a, 0, 1)

    row = dtype.numpy
    a, old = run_both(kernel, 1, 1, np.array([[0, 1], [1, 1]], row), np.zeros(4, row))
    assert a.tolist() == np.array([[1, 5 if dtype is not bool_ else 6], [1, 1]], row).tolist()
    assert old.tolist() == np.array([1, 5, 1, 0], row).tolist()


@settings(max_examples=8)
@given(
    st.integers(1, 7),
    st.integers(1, 70),
    st.sampled_from([np.uint8, np.int16, np.int32, np.uint64, np.float32, np.float64]),
)
def test_many_threads_change_one_element(blocks, threads, dtype):
    def kernel(a, bins):
        i = cuda.grid(1)
        s = cuda.shared.array(3, a.dtype)
        t = cuda.threadIdx.x
        if t == 0:
            for k in range(3):
                s[k] = 0
        cuda.syncthreads()
        atomic.add(s, i % 3, i % 2)
        atomic.add(a, 0, 1)
        atomic.max(a, -1, i % 50)
        cuda.syncthreads()
        if t == 0:
            for k in range(3):
                atomic.add(bins, (1, k), s[k])

    a, bins = run_both(kernel, blocks, threads, np.zeros(4, dtype), np.zeros((2, 3), dtype))
    i = np.arange(blocks * threads)
    with np.errstate(over="ignore"):
        assert a[0] == np.array(i.size).astype(dtype)
    assert a[-1] == min(i.max(), 49)
    assert bins[1].tolist() == [(i[i % 3 == k] % 2).sum() for k in range(3)]
    assert not bins[0].any()


def test_indices_and_values_are_converted():
    def kernel(a, z, pixels):
        i = cuda.threadIdx.x
        atomic.add(a, (-1, pixels[i]), 1.75)
        atomic.sub(a[0], i - 4, True)
        atomic.add(z.imag, i, 2)
        atomic.add(z.real, (i,), -0.5)

    pixels = np.array([3, 3, 0, 2], np.uint8)
    start = (np.zeros((2, 4), np.int32), np.zeros(4, np.complex64), pixels)
    a, z, _ = run_both(kernel, 1, 4, *start)
    assert a.tolist() == [[-1, -1, -1, -1], [1, 0, 1, 2]]
    assert z.tolist() == [-0.5 + 2j] * 4


def test_local_arrays_and_arrays_without_dimensions():
    def kernel(total, out):
        v = cuda.local.array(2, np.int64)
        v[0] = 0
        i = cuda.threadIdx.x
        for k in range(i):
            atomic.add(v, 0, k)
        out[i] = atomic.exch(v, 0, -1)
        atomic.add(total, (), out[i])

    total, out = run_both(kernel, 1, 5, np.zeros((), np.int64), np.zeros(5, np.int64))
    assert out.tolist() == [0, 0, 1, 3, 6]
    assert total == 10


def test_an_index_outside_the_array_is_reported_with_debug():
    @cuda.jit(debug=True)
    def kernel(a):
        cuda.atomic.add(a, cuda.threadIdx.x, 1)

    with pytest.raises(IndexError, match="index 3 is out of bounds for the array 'a' with shape"):
        kernel[1, 4](np.zeros(3))


def test_a_lock_around_plain_variables():
    @cuda.jit
    def kernel(mutex, total):
        if cuda.threadIdx.x == 0:
            while cuda.atomic.cas(mutex, 0, 0, 1) != 0:
                cuda.nanosleep(20)
            cuda.threadfence()
            total[0] += cuda.blockIdx.x
            cuda.threadfence_system()
            cuda.threadfence_block()
            cuda.atomic.exch(mutex, 0, 0)

    mutex, total = np.zeros(1, np.int32), np.zeros(1)
    kernel[64, 3](mutex, total)
    assert (mutex[0], total[0]) == (0, sum(range(64)))
