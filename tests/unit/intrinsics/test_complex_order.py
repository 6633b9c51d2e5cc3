import itertools

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import KernelTypeError

PARTS = [0.0, -0.0, 1.0, -1.5, np.inf, -np.inf, np.nan]
NUMBERS = [complex(*parts) for parts in itertools.product(PARTS, repeat=2)]
LEFT, RIGHT = np.array(list(itertools.product(NUMBERS, repeat=2))).T.copy()


@pytest.mark.parametrize("function", [np.less, np.less_equal, np.greater, np.greater_equal])
@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_comparisons(function, dtype):
    @cuda.jit
    def kernel(x, y, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = function(x[i], y[i])

    x, y = LEFT.astype(dtype), RIGHT.astype(dtype)
    out = np.zeros(x.size, bool)
    kernel.forall(x.size)(x, y, out)
    with np.errstate(invalid="ignore"):
        np.testing.assert_array_equal(out, function(x, y))


@pytest.mark.parametrize("function", [np.maximum, np.minimum, np.fmax, np.fmin])
def test_extremes(function):
    @cuda.jit
    def kernel(x, y, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = function(x[i], y[i])

    out = np.zeros_like(LEFT)
    kernel.forall(out.size)(LEFT, RIGHT, out)
    with np.errstate(invalid="ignore"):
        expected = function(LEFT, RIGHT)
    np.testing.assert_array_equal(out.view(float), expected.view(float))


def test_a_real_number_beside_a_complex_one():
    @cuda.jit
    def kernel(x, out):
        out[0] = np.less(x[0], 2.0)
        out[1] = np.greater(3, x[0])

    out = np.zeros(2, bool)
    kernel[1, 1](np.array([2 - 1j]), out)
    assert out.tolist() == [True, True]


def test_operators_stay_without_order():
    @cuda.jit
    def kernel(x, out):
        out[0] = x[0] < x[1]

    with pytest.raises(KernelTypeError, match="the comparison < does not take complex numbers"):
        kernel[1, 1](np.zeros(2, complex), np.zeros(1, bool))
