"""Logarithms in double precision.

``x = 2**k * (1 + f)`` with ``1 + f`` in [sqrt(1/2), sqrt(2)); then ``log(1 + f) = 2 atanh(s)`` with
``s = f / (2 + f)``, a short polynomial in ``s * s``. The leading terms ``f - f * f / 2`` are kept
as a sum of two numbers. The arrangement follows K. C. Ng's for the C library of 4.3BSD.
"""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.bits import bits_float, float_bits
from pygpulib.jit.intrinsics.composed.coefficients import LOG_DOUBLE, LOG_MEDIUM
from pygpulib.jit.intrinsics.composed.parts_double import power_of_two_double
from pygpulib.jit.intrinsics.composed.polynomial import polynomial
from pygpulib.jit.intrinsics.floating import fma
from pygpulib.jit.intrinsics.scalars import Double, Whole

NORMAL = 2.0**-1022
LIFT = 2.0**54
SQRT_HALF_BITS = 0x3FE6A09E667F3BCD
FRACTION = 0xFFFFFFFFFFFFF
LN2_SHORT = 0.6931471805598903  # 42 bits: its product with an exponent is exact
LN2_REST = 5.497923018708371e-14
LOG2_E_HIGH = 1.4426950408889634
LOG2_E_LOW = 2.0355273740931033e-17
LOG10_E_HIGH = 0.4342944819032518
LOG10_E_LOW = 1.098319650216765e-17
LOG10_2_SHORT = 0.3010299956640665
LOG10_2_REST = -8.532344317057107e-14


def split_power(x: Double) -> tuple[Whole, Double]:
    """Return k and f with ``x = 2**k * (1 + f)``, for positive finite x."""
    small = x < NORMAL
    bits = float_bits(x * LIFT if small else x) - SQRT_HALF_BITS
    exponent = (bits >> 52) - (54 if small else 0)
    return exponent, bits_float((bits & FRACTION) + SQRT_HALF_BITS) - 1.0


def log1p_reduced(f: Double) -> tuple[Double, Double]:
    """Return ``log(1 + f)`` as a sum of two numbers, for f in [-0.293, 0.415]."""
    s = f / (2.0 + f)
    z = s * s
    half_f = 0.5 * f
    square = half_f * f
    square_low = fma(half_f, f, -square)
    high = f - square
    low = ((f - high) - square) - square_low
    return high, low + s * (square + z * polynomial(z, LOG_DOUBLE))


def log_special(x: Double, result: Double) -> Double:
    """Return the result of a logarithm, or what it is outside of the positive numbers."""
    finite = result if x < math.inf else x
    return (-math.inf if x == 0.0 else math.nan) if x <= 0.0 else finite


def log_double(x: Double) -> Double:
    """Return the natural logarithm."""
    exponent, f = split_power(x)
    k = np.float64(exponent)
    high, low = log1p_reduced(f)
    base = k * LN2_SHORT
    total = base + high
    rest = fma(k, LN2_REST, low + ((base - total) + high))
    return log_special(x, total + rest)


def log2_double(x: Double) -> Double:
    """Return the logarithm to base 2."""
    exponent, f = split_power(x)
    k = np.float64(exponent)
    high, low = log1p_reduced(f)
    scaled = high * LOG2_E_HIGH
    rest = fma(high, LOG2_E_HIGH, -scaled) + fma(low, LOG2_E_HIGH, high * LOG2_E_LOW)
    total = k + scaled
    return log_special(x, total + (((k - total) + scaled) + rest))


def log10_double(x: Double) -> Double:
    """Return the logarithm to base 10."""
    exponent, f = split_power(x)
    k = np.float64(exponent)
    high, low = log1p_reduced(f)
    scaled = high * LOG10_E_HIGH
    rest = fma(high, LOG10_E_HIGH, -scaled) + fma(low, LOG10_E_HIGH, high * LOG10_E_LOW)
    base = k * LOG10_2_SHORT
    total = base + scaled
    return log_special(x, total + fma(k, LOG10_2_REST, ((base - total) + scaled) + rest))


def log1p_double(x: Double) -> Double:
    """Return ``log(1 + x)``."""
    return log1p_of_sum(x, 0.0)


def log1p_of_sum(x: Double, x_low: Double) -> Double:
    """Return ``log(1 + x + x_low)``: the rounding error of the sum is added to the fraction."""
    u = 1.0 + x
    back = u - 1.0
    error = ((1.0 - (u - back)) + (x - back)) + x_low
    exponent, f = split_power(u)
    k = np.float64(exponent)
    scale = power_of_two_double(-exponent if exponent < 1000 else -1000)
    scaled = error * scale
    fraction = f + scaled
    lost = (f - fraction) + scaled
    high, low = log1p_reduced(fraction)
    base = k * LN2_SHORT
    total = base + high
    low = low + fma(-fraction, fma(-fraction, lost, lost), lost)  # lost / (1 + f), nearly
    rest = fma(k, LN2_REST, low + ((base - total) + high))
    return x if x == 0.0 else log_special(u, total + rest)


def log_medium(x: Double) -> Double:
    """Return the natural logarithm to 36 bits, for positive normal x."""
    bits = float_bits(x) - SQRT_HALF_BITS
    f = bits_float((bits & FRACTION) + SQRT_HALF_BITS) - 1.0
    s = f / (2.0 + f)
    series = s * fma(s * s, polynomial(s * s, LOG_MEDIUM), 2.0)
    return fma(np.float64(bits >> 52), 0.6931471805599453, series)
