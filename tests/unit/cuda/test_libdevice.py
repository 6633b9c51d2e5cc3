import math

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.cuda import libdevice

NUMBERS = np.array([0.0, -0.0, 0.25, 0.5, 0.9, 1.0, 1.5, 2.5, -2.5, -0.3, 7.75, 100.5])
REFERENCES = {
    "cbrt": np.cbrt,
    "cospi": lambda x: np.cos(np.pi * x),
    "exp10": lambda x: 10.0**x,
    "lgamma": np.vectorize(lambda x: math.inf if x == 0 else math.lgamma(x)),
    "rcbrt": lambda x: 1 / np.cbrt(x),
    "round": lambda x: np.copysign(np.floor(np.abs(x) + 0.5), x),
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "sin": np.sin,
    "sinpi": lambda x: np.sin(np.pi * x),
    "tgamma": np.vectorize(lambda x: math.copysign(math.inf, x) if x == 0 else math.gamma(x)),
    "trunc": np.trunc,
    "nearbyint": np.rint,
    "fabs": np.fabs,
}


def apply(name, *arrays, dtype=np.float64):
    function = getattr(libdevice, name)
    out = np.zeros(arrays[0].shape, dtype)
    if len(arrays) == 1:
        kernel = cuda.jit(lambda x, out: store(out, function(x[cuda.grid(1)])))
    else:
        kernel = cuda.jit(lambda x, y, out: store(out, function(x[cuda.grid(1)], y[cuda.grid(1)])))
    kernel[1, out.size](*arrays, out)
    return out


@cuda.jit(device=True)
def store(out, value):
    out[cuda.grid(1)] = value


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_functions_of_one_number(name, dtype):
    with np.errstate(all="ignore"):
        expected = REFERENCES[name](NUMBERS).astype(dtype)
    found = apply(name + ("f" if dtype is np.float32 else ""), NUMBERS, dtype=dtype)
    tolerance = 1e-6 if dtype is np.float32 else 1e-13
    np.testing.assert_allclose(found, expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["atan2", "copysign", "fmax", "fmin", "fmod", "hypot", "pow"])
def test_functions_of_two_numbers(name):
    function = {"pow": np.power, "atan2": np.arctan2}.get(name) or getattr(np, name)
    x, y = np.meshgrid(NUMBERS, NUMBERS[3:])
    x, y = x.ravel(), y.ravel()
    with np.errstate(all="ignore"):
        expected = function(x, y)
    np.testing.assert_allclose(apply(name, x, y), expected, rtol=1e-13)


def test_positive_difference():
    assert apply("fdim", np.array([3.0, 1.0]), np.array([1.0, 3.0])).tolist() == [2, 0]


def test_parts_of_numbers():
    @cuda.jit
    def kernel(out):
        out[0], out[1] = libdevice.frexp(12.5)
        out[2], out[3] = libdevice.modf(-2.75)
        out[4], out[5] = libdevice.sincos(0.5)
        out[6] = libdevice.ldexp(0.75, 3)
        out[7] = libdevice.fma(2.0, 3.0, 4.0)
        out[8] = libdevice.sad(3, 10, 1)
        out[9] = libdevice.usad(10, 3, 1)

    out = np.zeros(10)
    kernel[1, 1](out)
    expected = [*math.frexp(12.5), *math.modf(-2.75), math.sin(0.5), math.cos(0.5), 6, 10, 8, 8]
    np.testing.assert_allclose(out, expected, rtol=1e-15)


def test_functions_of_integers():
    numbers = np.array([0, 1, 6, -1, 1 << 20])
    assert apply("popc", numbers).tolist() == [0, 1, 2, 32, 1]
    assert apply("popcll", numbers).tolist() == [0, 1, 2, 64, 1]
    assert apply("clz", numbers).tolist() == [32, 31, 29, 0, 11]
    assert apply("ffsll", numbers).tolist() == [0, 1, 2, 1, 21]
    assert apply("abs", numbers).tolist() == [0, 1, 6, 1, 1 << 20]
    assert apply("min", numbers, numbers[::-1].copy()).tolist() == [0, -1, 6, -1, 0]
    assert apply("ullmax", numbers, numbers * 0, dtype=np.uint64)[3] == 2**64 - 1


def test_every_function_has_a_name():
    for name in libdevice.__all__:
        assert getattr(libdevice, name).__name__ == name
        assert name in dir(libdevice)
    with pytest.raises(AttributeError, match="libdevice has no function 'sinusf' here"):
        _ = libdevice.sinusf
    assert cuda.libdevice is libdevice
