"""Every mathematical intrinsic, compiled to native code, against exact arithmetic."""

import math

import mpmath as mp
import numpy as np
import pytest

from pygpulib.core.dtypes import float32, float64
from pygpulib.jit.intrinsics import catalogue
from pygpulib.jit.ir.intrinsic import REGISTRY
from tests.helpers import native
from tests.helpers.samples import samples
from tests.helpers.ulps import error_in_ulps

ROWS = 300
PRECISION_BITS = 160
LARGEST = 1e6  # beyond, exact exponentials have millions of digits

EXACT = {
    "acos": mp.acos,
    "acosh": mp.acosh,
    "asin": mp.asin,
    "asinh": mp.asinh,
    "atan": mp.atan,
    "atan2": mp.atan2,
    "atanh": mp.atanh,
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)),
    "cos": mp.cos,
    "cosh": mp.cosh,
    "cospi": mp.cospi,
    "degrees": mp.degrees,
    "erf": mp.erf,
    "erfc": mp.erfc,
    "exp": mp.exp,
    "exp10": lambda x: mp.power(10, x),
    "exp2": lambda x: mp.power(2, x),
    "expm1": mp.expm1,
    "fma": lambda x, y, z: mp.fdot([(x, y), (z, 1)]),
    "gamma": mp.gamma,
    "hypot": mp.hypot,
    "lgamma": lambda x: mp.log(abs(mp.gamma(x))),
    "library_cos": mp.cos,
    "library_exp": mp.exp,
    "library_log": mp.log,
    "library_sin": mp.sin,
    "library_tan": mp.tan,
    "log": mp.log,
    "log10": mp.log10,
    "log1p": mp.log1p,
    "log2": lambda x: mp.log(x, 2),
    "pow": mp.power,
    "radians": mp.radians,
    "rsqrt": lambda x: 1 / mp.sqrt(x),
    "sin": mp.sin,
    "sinc": mp.sincpi,
    "sinh": mp.sinh,
    "sinpi": mp.sinpi,
    "sqrt": mp.sqrt,
    "tan": mp.tan,
    "tanh": mp.tanh,
}
"""The definitions; where one gives no real number, the reference of the record counts."""

GROWING = {"exp", "exp2", "exp10", "expm1", "sinh", "cosh", "tanh", "erfc", "gamma", "lgamma"}

COPIED = {
    *("fabs", "floor", "ceil", "trunc", "rint", "copysign", "fmin", "fmax", "minimum", "maximum"),
    *("isnan", "isinf", "isfinite", "signbit", "fmod", "remainder", "nextafter"),
}
"""Functions whose results are exact: the reference must come out."""


def exact_value(name: str, row: tuple) -> mp.mpf | None:
    """Return the exact result, or None where the reference decides: specials, zeros, huge ones."""
    if not all(map(np.isfinite, row)) or 0 in row or is_huge(name, row):
        return None
    try:
        value = EXACT[name](*(mp.mpf(float(number)) for number in row))
    except (ValueError, ZeroDivisionError):
        return None
    if isinstance(value, mp.mpc) or not mp.isfinite(value) or value == 0:
        return None
    return value


def is_huge(name: str, row: tuple) -> bool:
    """Return whether the exact result would take too long to compute."""
    if name == "pow":
        return abs(float(row[1]) * math.log2(abs(float(row[0])))) > LARGEST
    return name in GROWING and max(map(abs, row)) > LARGEST


def is_same(actual, expected) -> bool:
    if np.isnan(expected):
        return bool(np.isnan(actual))
    return bool(actual == expected) and np.signbit(actual) == np.signbit(expected)


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
@pytest.mark.parametrize("name", sorted(EXACT))
def test_result_is_within_the_promised_error(name, dtype):
    record = REGISTRY[name]
    columns = samples(record.samples, dtype, ROWS)
    out = np.empty(len(columns[0]), dtype.numpy)
    native.over(record.reference, columns, out)
    with mp.workprec(PRECISION_BITS):
        for actual, *row in zip(out, *columns, strict=True):
            exact = exact_value(name, tuple(row))
            if exact is None:
                expected = record.reference(*row)
                assert is_same(actual, expected), (row, actual, expected)
            else:
                error = error_in_ulps(actual, exact)
                assert error <= record.ulp[dtype], (row, actual, exact, error)


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
@pytest.mark.parametrize("name", sorted(COPIED))
def test_exact_function_gives_the_exact_result(name, dtype):
    record = REGISTRY[name]
    columns = samples(record.samples, dtype, ROWS)
    rule = record.rule((dtype,) * len(columns))
    out = np.empty(len(columns[0]), rule.results[0].numpy)
    native.over(record.reference, columns, out)
    for actual, *row in zip(out, *columns, strict=True):
        expected = record.reference(*row)
        if name in ("fmin", "fmax", "minimum", "maximum") and expected == 0:
            assert actual == 0  # which of two zeros is not promised
        elif rule.results[0].is_bool:
            assert actual == expected, row
        else:
            assert is_same(actual, expected), (row, actual, expected)


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_parts_of_floats(dtype):
    (x,) = samples("real", dtype, ROWS)
    first, exponent = np.empty_like(x), np.empty(len(x), np.int32)
    native.over(math.frexp, (x,), first, exponent)
    mantissas, exponents = np.frexp(x)
    np.testing.assert_array_equal(first, mantissas)
    finite = np.isfinite(x)
    np.testing.assert_array_equal(exponent[finite], exponents[finite])
    fraction, whole = np.empty_like(x), np.empty_like(x)
    native.over(math.modf, (x,), fraction, whole)
    np.testing.assert_array_equal((fraction, whole), np.modf(x))
    np.testing.assert_array_equal(np.signbit(fraction), np.signbit(np.modf(x)[0]))


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_scaling_by_a_power_of_two_rounds_once(dtype):
    x, exponent = samples("scale", dtype, ROWS)
    out = np.empty_like(x)
    native.over(math.ldexp, (x, exponent), out)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out, np.ldexp(x, np.clip(exponent, -5000, 5000)))


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_sine_and_cosine_together_equal_each_alone(dtype):
    (x,) = samples("angle", dtype, ROWS)
    sine, cosine, alone = np.empty_like(x), np.empty_like(x), np.empty_like(x)
    native.over(REGISTRY["sincos"].reference, (x,), sine, cosine)
    native.over(math.sin, (x,), alone)
    np.testing.assert_array_equal(sine, alone)
    native.over(math.cos, (x,), alone)
    np.testing.assert_array_equal(cosine, alone)


def test_every_float_function_is_checked_here():
    elsewhere = {"sincos", "frexp", "modf", "ldexp", "round_like"}
    families = {module.__name__ for module in catalogue.FAMILIES}
    for name, record in REGISTRY.items():
        if record.reference.__module__ in families and record.ulp:
            assert name in EXACT.keys() | COPIED | elsewhere, name


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_huge_angles_are_reduced_exactly(dtype):
    x = np.array([2.0**41, 1e15, 1e22, 1e38, 3.3e38], dtype.numpy)
    x = np.concatenate([x, -x, np.float64([2.0**40, 65536.0, 65537.0]).astype(dtype.numpy)])
    for name in ("sin", "cos", "tan"):
        out = np.empty_like(x)
        native.over(REGISTRY[name].reference, (x,), out)
        with mp.workprec(1200):
            for actual, angle in zip(out, x, strict=True):
                assert error_in_ulps(actual, EXACT[name](mp.mpf(float(angle)))) <= 2


def test_whole_powers_of_small_integers_are_exact():
    base, exponent = (axis.ravel().astype(np.float64) for axis in np.mgrid[-9:10, 0:16])
    out = np.empty_like(base)
    native.over(math.pow, (base, exponent), out)
    expected = [int(b) ** int(e) for b, e in zip(base, exponent, strict=True)]
    np.testing.assert_array_equal(out, np.array(expected, np.float64))


def test_logarithms_of_powers_are_whole():
    exponents = np.arange(-300, 300).astype(np.float64)
    out = np.empty_like(exponents)
    native.over(math.log2, (np.ldexp(1.0, exponents.astype(np.int64)),), out)
    np.testing.assert_array_equal(out, exponents)
    tens = np.arange(23).astype(np.float64)
    out = np.empty_like(tens)
    native.over(math.log10, (np.array([float(10**k) for k in range(23)]),), out)
    np.testing.assert_array_equal(out, tens)
