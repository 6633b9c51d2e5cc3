"""Stores that fill memory together give what single stores give, and are written as one."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import cuda

SIZES = [1, 7, 16, 17, 33, 100]
DTYPES = [np.uint8, np.int16, np.float16, np.float32, np.int32, np.float64, np.uint64, np.complex64]


def is_scattered(kernel):
    return "masked.scatter" in next(iter(kernel.inspect_llvm().values()))


def make_input(size, dtype):
    return np.random.default_rng(size).integers(0, 200, size).astype(dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("size", SIZES)
def test_pairs(dtype, size):
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            first, second = x[i], x[x.size - 1 - i]
            out[2 * i] = first
            out[2 * i + 1] = second

    x = make_input(size, dtype)
    out = np.full(2 * size + 3, 5, dtype)
    kernel[-(-size // 32), 32](x, out)
    expected = np.full(2 * size + 3, 5, dtype)
    expected[: 2 * size : 2] = x
    expected[1 : 2 * size : 2] = x[::-1]
    np.testing.assert_array_equal(out, expected)
    assert not is_scattered(kernel)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint32, np.float64])
@pytest.mark.parametrize("size", SIZES)
def test_four_in_a_row(dtype, size):
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            value = x[i]
            out[4 * i] = value
            out[4 * i + 1] = value + 1
            out[4 * i + 2] = value + 2
            out[4 * i + 3] = value + 3

    x = make_input(size, dtype)
    out = np.zeros(4 * size, dtype)
    kernel[-(-size // 32), 32](x, out)
    np.testing.assert_array_equal(out, (x[:, None] + np.arange(4).astype(dtype)).ravel())
    assert not is_scattered(kernel)


def test_complex_numbers():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = x[i] * 1j + 2

    for dtype in (np.float32, np.float64):
        x = make_input(50, dtype)
        out = np.zeros(50, np.complex128)
        kernel[2, 32](x, out)
        np.testing.assert_array_equal(out, x * 1j + 2)
        assert not is_scattered(kernel)


def test_rows_of_two_columns():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i, 0] = x[i]
            out[i, 1] = -x[i]

    x = make_input(45, np.float32)
    out = np.zeros((45, 2), np.float32)
    kernel[2, 32](x, out)
    np.testing.assert_array_equal(out, np.stack([x, -x], axis=1))


def test_some_lanes():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if x[i] % 3 == 0:
            out[2 * i] = x[i]
            out[2 * i + 1] = i

    x = make_input(64, np.int32)
    out = np.full(128, -1, np.int32)
    kernel[2, 32](x, out)
    chosen = x % 3 == 0
    np.testing.assert_array_equal(out[::2], np.where(chosen, x, -1))
    np.testing.assert_array_equal(out[1::2], np.where(chosen, np.arange(64), -1))


def test_stores_that_are_no_run():
    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            # Downwards, to one place twice, with a gap, and read in between.
            out[8 * i + 1] = x[i]
            out[8 * i] = x[i] + 1
            out[8 * i + 2] = x[i] + 2
            out[8 * i + 2] = x[i] + 3
            out[8 * i + 4] = x[i] + 4
            out[8 * i + 5] = out[8 * i + 4] + 5

    x = make_input(40, np.int64)
    out = np.zeros(8 * 40, np.int64)
    kernel[2, 32](x, out)
    expected = np.zeros((40, 8), np.int64)
    for column, more in ((1, 0), (0, 1), (2, 3), (4, 4), (5, 9)):
        expected[:, column] = x + more
    np.testing.assert_array_equal(out, expected.ravel())


def test_neighbours_that_overlap():
    """Each thread's second element is the next one's first: whoever comes last decides."""

    @cuda.jit
    def kernel(out):
        i = cuda.grid(1)
        out[i] = 2 * i
        out[i + 1] = 2 * i + 1

    out = np.zeros(9, np.int32)
    kernel[1, 8](out)
    # One gang on every processor runs in step, so the second store comes after all first ones.
    np.testing.assert_array_equal(out, [0, *(2 * np.arange(8) + 1)])
