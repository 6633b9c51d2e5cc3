"""Exponential functions in single precision; see ``exp_double`` for the method."""

from __future__ import annotations

import numpy as np

from pygpulib.jit.intrinsics.bits import float_bits
from pygpulib.jit.intrinsics.composed.coefficients import EXP_SINGLE
from pygpulib.jit.intrinsics.composed.exp_double import expm1_medium
from pygpulib.jit.intrinsics.composed.parts_single import power_of_two_single
from pygpulib.jit.intrinsics.composed.polynomial import polynomial
from pygpulib.jit.intrinsics.composed.select import at_least, at_most
from pygpulib.jit.intrinsics.floating import fma
from pygpulib.jit.intrinsics.scalars import Single, Whole

ZERO = np.float32(0)
ONE = np.float32(1)
SHIFT = np.float32(12582912)  # 1.5 * 2**23
SHIFT_BITS = np.int32(0x4B400000)
LOG2_E = np.float32(1.442695)
LN2_HIGH = np.float32(0.6931472)
LN2_LOW = np.float32(-1.9046542e-09)
LN10_HIGH = np.float32(2.3025851)
LN10_LOW = np.float32(-3.1975436e-08)
LOG2_10 = np.float32(3.321928)
LOG10_2_HIGH = np.float32(0.30103)
LOG10_2_LOW = np.float32(-1.4320989e-08)
EXP_LOWEST, EXP_HIGHEST = np.float32(-104), np.float32(89)
EXP2_LOWEST, EXP2_HIGHEST = np.float32(-151), np.float32(129)
EXP10_LOWEST, EXP10_HIGHEST = np.float32(-46), np.float32(39)


def scale_single(x: Single, exponent: Whole) -> Single:
    """Return ``x * 2.0**exponent`` for x near 1 and exponents from -252 to 254."""
    half = np.int32(exponent >> 1)
    return x * power_of_two_single(half) * power_of_two_single(np.int32(exponent - half))


def exp_reduced(r: Single, low: Single) -> Single:
    """Return the exponential of ``r + low``, where ``|r| <= 0.3467`` and low rounds away."""
    return ONE + (r + fma(r * r, polynomial(r, EXP_SINGLE), low))


def exp_mantissa(x: Single) -> tuple[Single, Whole]:
    """Return m and i with ``exp(x) = m * 2.0**i``, for ``|x| <= 170``."""
    shifted = fma(x, LOG2_E, SHIFT)
    n = shifted - SHIFT
    r = fma(n, -LN2_LOW, fma(n, -LN2_HIGH, x))
    mantissa = ONE + fma(r * r, polynomial(r, EXP_SINGLE), r)
    return mantissa, np.int32(float_bits(shifted) - SHIFT_BITS)


def exp_single(x: Single) -> Single:
    """Return e to the power ``x``."""
    mantissa, exponent = exp_mantissa(at_most(at_least(x, EXP_LOWEST), EXP_HIGHEST))
    return scale_single(mantissa, exponent)


def exp2_single(x: Single) -> Single:
    """Return 2 to the power ``x``."""
    limited = at_most(at_least(x, EXP2_LOWEST), EXP2_HIGHEST)
    shifted = limited + SHIFT
    rest = limited - (shifted - SHIFT)
    r = rest * LN2_HIGH
    low = fma(rest, LN2_LOW, fma(rest, LN2_HIGH, -r))
    return scale_single(exp_reduced(r, low), np.int32(float_bits(shifted) - SHIFT_BITS))


def exp10_single(x: Single) -> Single:
    """Return 10 to the power ``x``."""
    limited = at_most(at_least(x, EXP10_LOWEST), EXP10_HIGHEST)
    shifted = fma(limited, LOG2_10, SHIFT)
    n = shifted - SHIFT
    rest = fma(n, -LOG10_2_LOW, fma(n, -LOG10_2_HIGH, limited))
    r = rest * LN10_HIGH
    low = fma(rest, LN10_LOW, fma(rest, LN10_HIGH, -r))
    return scale_single(exp_reduced(r, low), np.int32(float_bits(shifted) - SHIFT_BITS))


def expm1_single(x: Single) -> Single:
    """Return ``exp(x) - 1``, through double precision."""
    limited = at_most(at_least(x, EXP_LOWEST), EXP_HIGHEST)
    return x if x == ZERO else np.float32(expm1_medium(np.float64(limited)))
