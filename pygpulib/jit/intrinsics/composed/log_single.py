"""Logarithms in single precision.

As in ``log_double``, but with one polynomial in ``f`` and no division.
"""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.bits import bits_float, float_bits
from pygpulib.jit.intrinsics.composed.coefficients import LOG_SINGLE
from pygpulib.jit.intrinsics.composed.log_double import log_medium
from pygpulib.jit.intrinsics.composed.polynomial import polynomial
from pygpulib.jit.intrinsics.floating import fma
from pygpulib.jit.intrinsics.scalars import Single

ZERO = np.float32(0)
ONE = np.float32(1)
HALF = np.float32(0.5)
INFINITY = np.float32(math.inf)
NAN = np.float32(math.nan)
NORMAL = np.float32(2.0**-126)
LIFT = np.float32(2.0**25)
LIFTED = np.float32(25)
SQRT_HALF_BITS = np.int32(0x3F3504F3)
FRACTION = np.int32(0x7FFFFF)
LN2_SHORT = np.float32(0.693145751953125)  # 15 bits: its product with an exponent is exact
LN2_REST = np.float32(1.4286068203094173e-06)
LOG2_E_HIGH = np.float32(1.442695)
LOG2_E_LOW = np.float32(1.925963e-08)
LOG10_E_HIGH = np.float32(0.4342945)
LOG10_E_LOW = np.float32(-1.010305e-08)
LOG10_2_SHORT = np.float32(0.301025390625)
LOG10_2_REST = np.float32(4.605038981195214e-06)
TINY = 2.0**-26


def split_power(x: Single) -> tuple[Single, Single]:
    """Return k and f with ``x = 2**k * (1 + f)``, for positive finite x."""
    small = x < NORMAL
    bits = np.int32(float_bits(x * LIFT if small else x) - SQRT_HALF_BITS)
    exponent = np.float32(np.int32(bits >> 23))
    fraction = bits_float(np.int32(np.int32(bits & FRACTION) + SQRT_HALF_BITS)) - ONE
    return (exponent - LIFTED if small else exponent), fraction


def log1p_reduced(f: Single) -> tuple[Single, Single]:
    """Return ``log(1 + f)`` as a sum of two numbers, for f in [-0.293, 0.415]."""
    half_f = HALF * f
    square = half_f * f
    square_low = fma(half_f, f, -square)
    high = f - square
    low = ((f - high) - square) - square_low
    return high, fma(f * (f * f), polynomial(f, LOG_SINGLE), low)


def log_special(x: Single, result: Single) -> Single:
    """Return the result of a logarithm, or what it is outside of the positive numbers."""
    finite = result if x < INFINITY else x
    return (-INFINITY if x == ZERO else NAN) if x <= ZERO else finite


def log_single(x: Single) -> Single:
    """Return the natural logarithm."""
    k, f = split_power(x)
    high, low = log1p_reduced(f)
    base = k * LN2_SHORT
    total = base + high
    rest = fma(k, LN2_REST, low + ((base - total) + high))
    return log_special(x, total + rest)


def log2_single(x: Single) -> Single:
    """Return the logarithm to base 2."""
    k, f = split_power(x)
    high, low = log1p_reduced(f)
    scaled = high * LOG2_E_HIGH
    rest = fma(high, LOG2_E_HIGH, -scaled) + fma(low, LOG2_E_HIGH, high * LOG2_E_LOW)
    total = k + scaled
    return log_special(x, total + (((k - total) + scaled) + rest))


def log10_single(x: Single) -> Single:
    """Return the logarithm to base 10."""
    k, f = split_power(x)
    high, low = log1p_reduced(f)
    scaled = high * LOG10_E_HIGH
    rest = fma(high, LOG10_E_HIGH, -scaled) + fma(low, LOG10_E_HIGH, high * LOG10_E_LOW)
    base = k * LOG10_2_SHORT
    total = base + scaled
    return log_special(x, total + fma(k, LOG10_2_REST, ((base - total) + scaled) + rest))


def log1p_single(x: Single) -> Single:
    """Return ``log(1 + x)``, through double precision."""
    wide = np.float64(x)
    result = wide if abs(wide) < TINY else log_medium(1.0 + wide)
    return x if x == ZERO else log_special(x + ONE, np.float32(result))
