"""Exponential functions in double precision.

The argument is reduced to ``r`` in [-ln 2 / 2, ln 2 / 2] and a whole power of two (W. J. Cody and
W. Waite, *Software Manual for the Elementary Functions*, 1980). Adding ``SHIFT`` rounds to a whole
number and leaves it in the low bits of the sum.
"""

from __future__ import annotations

from pygpulib.jit.intrinsics.bits import float_bits
from pygpulib.jit.intrinsics.composed.coefficients import EXP_DOUBLE, EXP_MEDIUM
from pygpulib.jit.intrinsics.composed.parts_double import power_of_two_double
from pygpulib.jit.intrinsics.composed.polynomial import polynomial
from pygpulib.jit.intrinsics.composed.select import at_least, at_most
from pygpulib.jit.intrinsics.floating import fma
from pygpulib.jit.intrinsics.scalars import Double, Whole

SHIFT = 6755399441055744.0  # 1.5 * 2**52
SHIFT_BITS = 0x4338000000000000
LOG2_E = 1.4426950408889634
LN2_HIGH = 0.6931471805599453
LN2_LOW = 2.3190468138462996e-17
LN10_HIGH = 2.302585092994046
LN10_LOW = -2.1707562233822494e-16
LOG2_10 = 3.321928094887362
LOG10_2_HIGH = 0.3010299956639812
LOG10_2_LOW = -2.8037281277851704e-18


def scale_double(x: Double, exponent: Whole) -> Double:
    """Return ``x * 2.0**exponent`` for x near 1 and exponents from -2044 to 2046."""
    half = exponent >> 1
    return x * power_of_two_double(half) * power_of_two_double(exponent - half)


def exp_reduced(r: Double, low: Double) -> Double:
    """Return the exponential of ``r + low``, where ``|r| <= 0.3467`` and low rounds away."""
    return 1.0 + (r + (low + r * r * polynomial(r, EXP_DOUBLE)))


def exp_mantissa(x: Double) -> tuple[Double, Whole]:
    """Return m and i with ``exp(x) = m * 2.0**i``, for ``|x| <= 1500``."""
    shifted = fma(x, LOG2_E, SHIFT)
    n = shifted - SHIFT
    r = fma(n, -LN2_LOW, fma(n, -LN2_HIGH, x))
    mantissa = 1.0 + fma(r * r, polynomial(r, EXP_DOUBLE), r)
    return mantissa, float_bits(shifted) - SHIFT_BITS


def exp_fraction_of_sum(x: Double, low: Double) -> tuple[Double, Whole]:
    """Return m and i with ``exp(x + low) = (1 + m) * 2.0**i``, where low is small beside x."""
    shifted = fma(x, LOG2_E, SHIFT)
    n = shifted - SHIFT
    high = fma(n, -LN2_HIGH, x)
    rest = fma(n, -LN2_LOW, low)
    r = high + rest
    fraction = r + (((high - r) + rest) + r * r * polynomial(r, EXP_DOUBLE))
    return fraction, float_bits(shifted) - SHIFT_BITS


def exp_double(x: Double) -> Double:
    """Return e to the power ``x``."""
    mantissa, exponent = exp_mantissa(at_most(at_least(x, -746.0), 710.0))
    return scale_double(mantissa, exponent)


def exp2_double(x: Double) -> Double:
    """Return 2 to the power ``x``."""
    limited = at_most(at_least(x, -1080.0), 1025.0)
    shifted = limited + SHIFT
    rest = limited - (shifted - SHIFT)
    r = rest * LN2_HIGH
    low = fma(rest, LN2_HIGH, -r) + rest * LN2_LOW
    return scale_double(exp_reduced(r, low), float_bits(shifted) - SHIFT_BITS)


def exp10_double(x: Double) -> Double:
    """Return 10 to the power ``x``."""
    limited = at_most(at_least(x, -326.0), 309.0)
    shifted = fma(limited, LOG2_10, SHIFT)
    n = shifted - SHIFT
    rest = fma(n, -LOG10_2_LOW, fma(n, -LOG10_2_HIGH, limited))
    r = rest * LN10_HIGH
    low = fma(rest, LN10_HIGH, -r) + rest * LN10_LOW
    return scale_double(exp_reduced(r, low), float_bits(shifted) - SHIFT_BITS)


def expm1_double(x: Double) -> Double:
    """Return ``exp(x) - 1``.

    ``2**n * (expm1(r) + 1) - 1`` is evaluated as ``2**n * (expm1(r) + (1 - 2**-n))``.
    """
    limited = at_most(at_least(x, -40.0), 710.0)
    shifted = fma(limited, LOG2_E, SHIFT)
    n = shifted - SHIFT
    high = fma(n, -LN2_HIGH, limited)
    r = fma(n, -LN2_LOW, high)
    low = fma(n, -LN2_LOW, high - r)
    fraction = r + (low + r * r * polynomial(r, EXP_DOUBLE))
    exponent = float_bits(shifted) - SHIFT_BITS
    offset = 1.0 - power_of_two_double(-(min(64, exponent)))
    return x if x == 0.0 else scale_double(fraction + offset, exponent)


def exp_medium(x: Double) -> Double:
    """Return e to the power ``x`` to 38 bits, for ``|x| <= 700``."""
    shifted = fma(x, LOG2_E, SHIFT)
    r = fma(shifted - SHIFT, -LN2_HIGH, x)
    mantissa = fma(r * r, polynomial(r, EXP_MEDIUM), r) + 1.0
    return mantissa * power_of_two_double(float_bits(shifted) - SHIFT_BITS)


def expm1_medium(x: Double) -> Double:
    """Return ``exp(x) - 1`` to 38 bits, for ``|x| <= 700``."""
    shifted = fma(x, LOG2_E, SHIFT)
    r = fma(shifted - SHIFT, -LN2_HIGH, x)
    fraction = fma(r * r, polynomial(r, EXP_MEDIUM), r)
    scale = power_of_two_double(float_bits(shifted) - SHIFT_BITS)
    return fma(scale, fraction, scale - 1.0)
