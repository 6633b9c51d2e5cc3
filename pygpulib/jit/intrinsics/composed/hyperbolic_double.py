"""Hyperbolic functions in double precision.

Near zero they are polynomials, elsewhere built from exponentials that are halved before they could
overflow; the inverse functions are logarithms of ``1 + u``.
"""

from __future__ import annotations

import math

from pygpulib.jit.intrinsics.composed.coefficients import SINH_DOUBLE, TANH_DOUBLE
from pygpulib.jit.intrinsics.composed.exp_double import exp_double, exp_mantissa, scale_double
from pygpulib.jit.intrinsics.composed.log_double import log1p_of_sum
from pygpulib.jit.intrinsics.composed.polynomial import polynomial
from pygpulib.jit.intrinsics.composed.select import at_most
from pygpulib.jit.intrinsics.floating import copysign, fma, sqrt
from pygpulib.jit.intrinsics.scalars import Double

LN2 = 0.6931471805599453
LARGE = 2.0**60


def half_exp(a: Double) -> Double:
    """Return ``exp(a) / 2`` for a >= 0."""
    mantissa, exponent = exp_mantissa(at_most(a, 711.0))
    return scale_double(mantissa, exponent - 1)


def sinh_double(x: Double) -> Double:
    """Return the hyperbolic sine."""
    a = abs(x)
    z = a * a
    small = fma(a * z, polynomial(z, SINH_DOUBLE), a)
    half = half_exp(a)
    return copysign(small if a < 1.0 else half - 0.25 / half, x)


def cosh_double(x: Double) -> Double:
    """Return the hyperbolic cosine."""
    half = half_exp(abs(x))
    return half + 0.25 / half


def tanh_double(x: Double) -> Double:
    """Return the hyperbolic tangent."""
    a = at_most(abs(x), 30.0)
    z = a * a
    small = fma(a * z, polynomial(z, TANH_DOUBLE), a)
    large = 1.0 - 2.0 / (exp_double(2.0 * a) + 1.0)
    return copysign(small if a < 0.625 else large, x)


def asinh_double(x: Double) -> Double:
    """Return the number whose hyperbolic sine is ``x``."""
    a = abs(x)
    large = a > LARGE
    b = 1.0 if large else a
    square = b * b
    rest = square / (1.0 + sqrt(square + 1.0))
    total = a if large else b + rest
    low = 0.0 if large else (b - total) + rest
    value = log1p_of_sum(total, low)
    return copysign(value + LN2 if large else value, x)


def acosh_double(x: Double) -> Double:
    """Return the number >= 0 whose hyperbolic cosine is ``x``."""
    large = x > LARGE
    above = (2.0 if large else x) - 1.0
    root = sqrt(fma(above, above, 2.0 * above))
    total = x if large else root + above
    low = 0.0 if large else (root - total) + above
    value = log1p_of_sum(total, low)
    return math.nan if x < 1.0 else (value + LN2 if large else value)


def atanh_double(x: Double) -> Double:
    """Return the number whose hyperbolic tangent is ``x``."""
    a = abs(x)
    bottom = 1.0 - a
    bottom_low = (1.0 - bottom) - a
    quotient = 2.0 * a / bottom
    low = (fma(-quotient, bottom, 2.0 * a) - quotient * bottom_low) / bottom
    value = 0.5 * log1p_of_sum(quotient, low)
    edge = math.inf if a == 1.0 else math.nan
    return copysign(value if a < 1.0 else edge, x)
