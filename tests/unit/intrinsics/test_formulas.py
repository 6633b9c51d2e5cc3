"""Functions of NumPy and ``math`` that are inlined, against NumPy and CPython."""

import math

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import KernelTypeError
from tests.helpers.kernels import check, compile_for

SPECIAL = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 700.0, -700.0, 1e-300, 1e30]
NORMAL = np.random.default_rng(5).normal(0, 5, 10)
INTEGERS = [0, 1, -1, 6, -4, 35, 21, 2**40, -(2**33), 97]


def apply_to_pairs(function, xs, ys, dtype):
    """Return what a kernel gets for all pairs of elements."""

    @cuda.jit
    def kernel(xs, ys, out):
        i, j = cuda.grid(2)
        if i < xs.size and j < ys.size:
            out[i, j] = function(xs[i], ys[j])

    out = np.zeros((xs.size, ys.size), dtype)
    kernel[(2, 2), (16, 16)](xs, ys, out)
    return out


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("function", [np.logaddexp, np.logaddexp2, np.heaviside])
def test_functions_of_two_floats(function, dtype):
    with np.errstate(all="ignore"):
        xs = np.array([*SPECIAL, *NORMAL]).astype(dtype)
        expected = function(xs[:, None], xs)
    actual = apply_to_pairs(function, xs, xs, dtype)
    with np.errstate(invalid="ignore"):  # infinities less infinities
        # Near their zeros the logarithms are what is left of the larger operand.
        magnitude = np.fmax(np.fmax(abs(xs[:, None]), abs(xs)), abs(expected))
        is_near = abs(actual - expected) <= 4 * np.finfo(dtype).eps * magnitude
    assert (is_near | (actual == expected) | (np.isnan(actual) & np.isnan(expected))).all()


@pytest.mark.parametrize("dtype", [np.int8, np.uint16, np.int64])
@pytest.mark.parametrize("function", [np.gcd, np.lcm])
def test_functions_of_two_integers(function, dtype):
    xs = np.array([0, 1, 6, 35, 21, 97, 120]).astype(dtype)
    if np.iinfo(dtype).min < 0:
        xs = np.append(xs, -xs)
    expected = function(xs[:, None].astype(np.int64), xs.astype(np.int64))
    assert (apply_to_pairs(function, xs, xs, np.int64) == expected).all()


def test_functions_of_many_integers():
    def kernel(a, out):
        for i in range(a.size):
            for j in range(a.size):
                out[i, j, 0] = math.gcd(a[i], a[j])
                out[i, j, 1] = math.lcm(a[i] % 1000, a[j] % 1000, 6)
                out[i, j, 2] = math.gcd(a[i]) + math.gcd() + math.lcm()
                out[i, j, 3] = math.gcd(a[i], 12, a[j], 18)

    a = np.array(INTEGERS)
    check(kernel, a, np.zeros((a.size, a.size, 4), np.int64))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_distances_of_neighbours(dtype):
    def kernel(a, out):
        for i in range(a.size):
            out[i] = np.spacing(a[i])

    with np.errstate(all="ignore"):
        a = np.array([*SPECIAL, np.finfo(dtype).max, *NORMAL]).astype(dtype)
        check(kernel, a, np.zeros(a.size, dtype))


def test_ulp():
    def kernel(a, out):
        for i in range(a.size):
            out[i] = math.ulp(a[i])

    a = np.array([*SPECIAL, 5e-324, np.finfo(float).max, *NORMAL])
    check(kernel, a, np.zeros(a.size))


def test_where():
    def kernel(a, b, out):
        out[0] = np.where(a > b, a, 2 * b)
        out[1] = np.where(a[0] > 0.5, b, -1)
        out[2, 0, 0] = np.where(a[0, 0] > b[0, 0], 1, 2.5)

    a, b = np.random.default_rng(6).random((2, 3, 4))
    check(kernel, a, b, np.zeros((3, 3, 4)))


def test_arrays():
    def kernel(a, b, out):
        out[:] = np.logaddexp(a, b) + np.gcd(4, 6)

    check(kernel, np.zeros((3, 4)), np.zeros(4), np.zeros((3, 4)))


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (lambda: np.logaddexp(1.0), "numpy.logaddexp does not take (float64)"),
        (lambda: np.heaviside(1, 1j), "numpy.heaviside does not take (int64, complex128)"),
        (lambda: math.gcd(1.5, 2), "math.gcd does not take (float64, int64)"),
        (lambda: np.gcd(1, 2, 3), "numpy.gcd does not take (int64, int64, int64)"),
        (lambda: math.ulp(1.0, 2.0), "math.ulp does not take (float64, float64)"),
        (lambda: np.where(1), "numpy.where is called with 1 argument"),
        (lambda: np.spacing(x=1), "numpy.spacing takes no keyword argument 'x'"),
    ],
)
def test_wrong_arguments(body, problem):
    device = cuda.jit(device=True)(body)

    def kernel(out):
        out[0] = device()

    with pytest.raises(KernelTypeError) as caught:
        compile_for(kernel, np.zeros(1))
    assert problem in caught.value.problem
    assert caught.value.help
