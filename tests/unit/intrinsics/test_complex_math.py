"""The complex functions against ``cmath`` (special values) and exact arithmetic."""

import cmath
import itertools
import math

import mpmath as mp
import numpy as np
import pytest

from pygpulib.jit.intrinsics import complex_math
from pygpulib.jit.intrinsics.complex_math import COMPLEX_FUNCTIONS
from tests.helpers import native

NAMES = (
    *("exp", "log", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh"),
    *("acos", "asin", "atan", "acosh", "asinh", "atanh"),
)
NUMPY_NAMES = {
    name: name.replace("a", "arc", 1) if name.startswith("a") else name for name in NAMES
}
EXACT = {name: getattr(mp, name) for name in NAMES if name != "log10"}
EXACT["log10"] = lambda z: mp.log(z) / mp.log(10)

PARTS = [-math.inf, -2.3, -1.0, -0.5, -0.0, 0.0, 0.5, 1.0, 2.3, math.inf, math.nan]
FREE_SIGNS = {
    ("sin", "real nan"),
    ("cos", "imag nan"),
    ("sinh", "imag nan"),
    ("cosh", "real nan"),
    ("tan", "infinite"),
    ("tanh", "infinite"),
    ("atan", "imag nan"),
}
"""Where the C standard leaves the sign of a zero open."""
BOUND = 4 * 2.0**-52


def kind(z: complex) -> str:
    if math.isnan(z.real):
        return "real nan"
    if math.isnan(z.imag):
        return "imag nan"
    return "infinite" if math.isinf(z.real) and math.isinf(z.imag) else ""


def expected(name: str, z: complex) -> complex:
    """Return what ``cmath`` gives, or NumPy where that raises an error instead of inf or nan."""
    try:
        return getattr(cmath, name)(z)
    except (ValueError, OverflowError):
        with np.errstate(all="ignore"):
            return complex(getattr(np, NUMPY_NAMES[name])(np.complex128(z)))


def agrees(first: float, second: float, signs_matter: bool) -> bool:
    if math.isnan(first) or math.isnan(second):
        return math.isnan(first) and math.isnan(second)
    if first == 0 and second == 0:
        return not signs_matter or math.copysign(1, first) == math.copysign(1, second)
    return first == second or abs(first - second) <= BOUND * abs(second)


def over(function, z: np.ndarray, dtype: type = np.complex128) -> np.ndarray:
    out = np.empty(len(z), dtype)
    native.over(function, (z,), out)
    return out


@pytest.mark.parametrize("name", NAMES)
def test_special_values(name):
    z = np.array([complex(*parts) for parts in itertools.product(PARTS, PARTS)])
    for operand, actual in zip(z, over(getattr(cmath, name), z), strict=True):
        wanted = expected(name, complex(operand))
        if name in ("tan", "tanh", "acosh") and is_open(name, operand):
            continue
        signs_matter = (name, kind(operand)) not in FREE_SIGNS
        for part in ("real", "imag"):
            one, other = getattr(actual, part), getattr(wanted, part)
            assert agrees(one, other, signs_matter), (operand, actual, wanted)


def is_open(name: str, z: complex) -> bool:
    """Where versions of the C standard, and with them Python's, differ about 0 and nan."""
    zero, other = (z.imag, z.real) if name == "tan" else (z.real, z.imag)
    return zero == 0 and math.isnan(other)


def test_values_that_the_newest_standard_adds():
    tanh, acosh = COMPLEX_FUNCTIONS[cmath.tanh], COMPLEX_FUNCTIONS[cmath.acosh]
    assert tanh(np.complex128(complex(0.0, math.nan))).real == 0
    assert acosh(np.complex128(complex(0.0, math.nan))).imag == math.pi / 2


def operands(name: str) -> np.ndarray:
    rng = np.random.default_rng(len(name))
    parts = rng.normal(size=(2, 200)) * 10.0 ** rng.integers(-6, 2, 200)
    if name in ("exp", "sin", "cos", "tan", "sinh", "cosh", "tanh"):
        parts = np.clip(parts, -40, 40)
    angles = rng.uniform(-np.pi, np.pi, 40)
    circle = np.exp(1j * angles)
    near_axes = rng.normal(size=40) + 1e-9j * rng.normal(size=40)
    return np.concatenate([parts[0] + 1j * parts[1], circle, near_axes, 1j * near_axes])


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
@pytest.mark.parametrize("name", NAMES)
def test_results_are_near_the_exact_ones(name, dtype):
    z = operands(name).astype(dtype)
    bound = 2 * float(np.finfo(dtype).eps)
    with mp.workprec(160):
        for operand, actual in zip(z, over(getattr(cmath, name), z, dtype), strict=True):
            exact = EXACT[name](mp.mpc(complex(operand)))
            assert abs(mp.mpc(complex(actual)) - exact) <= bound * abs(exact), (operand, actual)


@pytest.mark.parametrize("name", sorted(set(NAMES) - {"log"}))
def test_numpy_and_cmath_mean_the_same(name):
    assert (
        COMPLEX_FUNCTIONS[getattr(np, NUMPY_NAMES[name])] is COMPLEX_FUNCTIONS[getattr(cmath, name)]
    )


def test_logarithm_takes_a_base():
    z = operands("log")[:50]
    np.testing.assert_array_equal(over(np.log, z), over(cmath.log, z))
    to_base = np.empty_like(z)
    native.over(cmath.log, (z, np.full_like(z, 3 - 1j)), to_base)
    np.testing.assert_allclose(to_base, np.log(z) / np.log(3 - 1j), rtol=1e-14)


def test_logarithm_near_the_unit_circle_keeps_its_digits():
    z = np.array([0.6 + 0.8j, 0.8 - 0.6j, 1e-9 + 1j, 1 + 1e-9j, 5 / 13 + 12j / 13])
    with mp.workprec(200):
        for operand, actual in zip(z, over(cmath.log, z), strict=True):
            exact = mp.log(mp.mpc(complex(operand))).real
            assert abs(mp.mpf(float(actual.real)) - exact) <= BOUND * abs(exact)


@pytest.mark.parametrize("name", ["log", "sqrt", "acos", "asinh", "atanh"])
def test_no_overflow_on_the_way(name):
    exponents = [-1074, -1022, -600, 600, 1022]
    z = np.array([math.ldexp(1.5, e) * way for e in exponents for way in (1 + 1j, -1 + 0.25j)])
    with mp.workprec(2400):
        for operand, actual in zip(z, over(getattr(cmath, name), z), strict=True):
            exact = EXACT[name](mp.mpc(complex(operand)))
            tiny = mp.ldexp(1, -1074)
            assert abs(mp.mpc(complex(actual)) - exact) <= BOUND * abs(exact) + tiny


def test_large_exponentials_overflow_only_where_the_result_does():
    z = np.array([complex(709.9, 1.5), complex(-709.9, 1.5), complex(712.0, 1.570796)])
    with mp.workprec(100):
        for name in ("exp", "sinh", "cosh"):
            for operand, actual in zip(z, over(getattr(cmath, name), z), strict=True):
                exact = EXACT[name](mp.mpc(complex(operand)))
                for part in ("real", "imag"):
                    limit = min(abs(getattr(exact, part)), mp.mpf(2) ** 1024)
                    got = abs(mp.mpf(float(getattr(actual, part))))
                    assert mp.isinf(got) if limit == mp.mpf(2) ** 1024 else got > 0


def test_questions_about_complex_numbers():
    z = np.array([complex(*parts) for parts in itertools.product(PARTS, PARTS)])
    for name in ("isnan", "isinf", "isfinite"):
        expected_truths = [getattr(cmath, name)(complex(operand)) for operand in z]
        for spelling in (getattr(cmath, name), getattr(np, name)):
            assert over(spelling, z, np.bool_).tolist() == expected_truths


@pytest.mark.parametrize("dtype", [np.complex64, np.complex128])
def test_polar_form(dtype):
    z, eps = operands("log").astype(dtype), float(np.finfo(dtype).eps)
    size, angle = np.empty((2, len(z)), z.real.dtype)
    native.over(cmath.polar, (z,), size, angle)
    for operand, r, phi in zip(z, size, angle, strict=True):
        exact = mp.mpc(complex(operand))
        assert abs(r - abs(exact)) <= 2 * eps * abs(exact)
        assert abs(phi - mp.arg(exact)) <= 3 * eps * abs(mp.arg(exact))
    np.testing.assert_array_equal(over(cmath.phase, z, angle.dtype), angle)
    np.testing.assert_array_equal(over(np.angle, z, angle.dtype), angle)
    back = np.empty_like(z)
    native.over(cmath.rect, (size, angle), back)
    np.testing.assert_allclose(back, z, rtol=8 * eps)


@pytest.mark.parametrize(("r", "phi"), [*itertools.product(PARTS, PARTS)])
def test_special_values_of_rect(r, phi):
    try:
        wanted = cmath.rect(r, phi)
    except ValueError:
        return  # C gives no rule
    with np.errstate(all="ignore"):
        actual = complex_math.complex_rect(np.float64(r), np.float64(phi))
    assert agrees(actual.real, wanted.real, signs_matter=False), (actual, wanted)
    assert agrees(actual.imag, wanted.imag, signs_matter=False), (actual, wanted)


def test_powers():
    rng = np.random.default_rng(5)
    z, w = (rng.normal(size=60) + 1j * rng.normal(size=60) for _ in range(2))
    w[:20] = w[:20].real
    actual = COMPLEX_FUNCTIONS[pow]
    with mp.workprec(100):
        for base, exponent in zip(z, w, strict=True):
            exact = mp.power(mp.mpc(base), mp.mpc(exponent))
            assert abs(mp.mpc(actual(base, exponent)) - exact) <= 8 * BOUND * abs(exact)
    zero, one = np.complex128(0), np.complex128(1)
    assert actual(zero, zero) == one
    assert actual(np.complex128(2 - 1j), zero) == one
    assert actual(zero, np.complex128(2.5)) == zero


def test_parts_and_conjugate():
    z = operands("log")
    np.testing.assert_array_equal(over(np.real, z, np.float64), z.real)
    np.testing.assert_array_equal(over(np.imag, z, np.float64), z.imag)
    np.testing.assert_array_equal(over(np.conjugate, z), z.conj())


def test_further_logarithms_and_powers():
    z = operands("log")
    np.testing.assert_allclose(over(np.log2, z), np.log(z) / math.log(2), rtol=1e-14)
    small = z[np.abs(z) < 100]
    np.testing.assert_allclose(over(np.exp2, small), np.exp(small * math.log(2)), rtol=1e-12)
