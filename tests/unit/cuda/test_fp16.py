import math

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.cuda import fp16

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 1.5, 2.5, -2.5, 6e-8, 65504.0, np.inf, -np.inf, np.nan]
NUMBERS = np.array([*SPECIAL, *np.random.default_rng(16).normal(scale=8, size=40)], np.float16)
PAIRS = np.array(np.meshgrid(NUMBERS, NUMBERS)).reshape(2, -1)

UNARY = {
    "hneg": np.negative,
    "habs": np.abs,
    "hsin": np.sin,
    "hcos": np.cos,
    "hexp": np.exp,
    "hexp2": np.exp2,
    "hexp10": lambda x: 10.0**x,
    "hlog": np.log,
    "hlog2": np.log2,
    "hlog10": np.log10,
    "hsqrt": np.sqrt,
    "hrsqrt": lambda x: 1 / np.sqrt(x),
    "hrcp": lambda x: 1 / x,
    "hceil": np.ceil,
    "hfloor": np.floor,
    "htrunc": np.trunc,
    "hrint": np.rint,
}
BINARY = {
    "hadd": np.add,
    "hsub": np.subtract,
    "hmul": np.multiply,
    "hdiv": np.divide,
    "hmax": np.fmax,
    "hmin": np.fmin,
    "heq": np.equal,
    "hne": np.not_equal,
    "hge": np.greater_equal,
    "hgt": np.greater,
    "hle": np.less_equal,
    "hlt": np.less,
}


def distance(found, expected):
    """Return how many half-precision numbers lie between two, NaN being equal to itself."""
    found, expected = np.float16(found), np.float16(expected)
    ordered = [
        np.where(x.view(np.int16) < 0, -32768 - x.view(np.int16), x.view(np.int16)).astype(int)
        for x in (found, expected)
    ]
    return np.where(np.isnan(found) & np.isnan(expected), 0, abs(ordered[0] - ordered[1]))


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_number(name):
    function = getattr(fp16, name)

    @cuda.jit
    def kernel(x, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = function(x[i])

    out = np.zeros_like(NUMBERS)
    kernel[2, 32](NUMBERS, out)
    with np.errstate(all="ignore"):
        expected = UNARY[name](NUMBERS.astype(np.float64)).astype(np.float16)
    assert distance(out, expected).max() <= 1


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_numbers(name):
    function = getattr(fp16, name)

    @cuda.jit
    def kernel(x, y, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = function(x[i], y[i])

    x, y = PAIRS
    out = np.zeros(x.shape, np.float16)
    kernel.forall(x.size)(x, y, out)
    with np.errstate(all="ignore"):
        expected = BINARY[name](x, y).astype(np.float16)
    assert not distance(out, expected).any()


def test_fused_multiply_and_add_rounds_once():
    @cuda.jit
    def kernel(x, y, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i] = cuda.fp16.hfma(x[i], y[i], x[i])

    x, y = PAIRS
    out = np.zeros(x.shape, np.float16)
    kernel.forall(x.size)(x, y, out)
    with np.errstate(all="ignore"):
        exact = x.astype(np.float64) * y + x
        expected = exact.astype(np.float16)
    assert not distance(out, expected).any()


def test_other_numbers_are_rounded_first():
    @cuda.jit
    def kernel(out):
        out[0] = cuda.fp16.hadd(1, 0.1)
        out[1] = cuda.fp16.hmax(2049, 2048)

    out = np.zeros(2)
    kernel[1, 1](out)
    assert out.tolist() == [float(np.float16(1) + np.float16(0.1)), 2048]


def test_on_the_host():
    assert fp16.hadd(1, 2) == 3
    assert isinstance(fp16.hmul(1.5, 2), np.float16)
    assert math.isnan(fp16.hmax(math.nan, math.nan))
    assert fp16.hmin(3, math.nan) == 3
    assert fp16.hlt(1, 2) is True
