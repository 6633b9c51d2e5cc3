"""Inverse trigonometric functions in double precision.

The arc tangent is reduced to ``|r| <= 1/2`` by the addition theorem with pi/2 or pi/4 (where the
difference in the numerator is exact); the arc sine beyond 1/2 by the half-angle formula.
"""

from __future__ import annotations

import math

from pygpulib.jit.intrinsics.bits import float_bits
from pygpulib.jit.intrinsics.composed.coefficients import ASIN_DOUBLE, ATAN_DOUBLE
from pygpulib.jit.intrinsics.composed.polynomial import polynomial
from pygpulib.jit.intrinsics.floating import copysign, fma, sqrt
from pygpulib.jit.intrinsics.scalars import Double

PI_HIGH = 3.141592653589793
PI_LOW = 1.2246467991473532e-16
HALF_PI_HIGH = 1.5707963267948966
HALF_PI_LOW = 6.123233995736766e-17
QUARTER_PI_HIGH = 0.7853981633974483
QUARTER_PI_LOW = 3.061616997868383e-17
HUGE = 2.0**1000
SHRINK = 2.0**-100


def atan_quotient(a: Double, b: Double) -> tuple[Double, Double]:
    """Return ``atan(a / b)`` as a sum of two numbers, for a >= 0 and b >= 0, not both zero."""
    steep = a > 2.0 * b
    middle = (a > 0.5 * b) & (a <= 2.0 * b)
    top = (a - b) if middle else (-b if steep else a)
    bottom = (a + b) if middle else (a if steep else b)
    r = top / bottom
    high = QUARTER_PI_HIGH if middle else (HALF_PI_HIGH if steep else 0.0)
    low = QUARTER_PI_LOW if middle else (HALF_PI_LOW if steep else 0.0)
    z = r * r
    tail = fma(r * z, polynomial(z, ATAN_DOUBLE), low)
    total = high + r
    return total, ((high - total) + r) + tail if (middle | steep) else tail


def atan_double(x: Double) -> Double:
    """Return the angle in [-pi/2, pi/2] whose tangent is ``x``."""
    a = abs(x)
    limited = min(a, HUGE)
    high, low = atan_quotient(limited, 1.0)
    return copysign(high + low, x)


def atan2_double(y: Double, x: Double) -> Double:
    """Return the angle of the point (``x``, ``y``), in [-pi, pi]."""
    a, b = abs(y), abs(x)
    both_infinite = (a == math.inf) & (b == math.inf)
    both_zero = (a == 0.0) & (b == 0.0)
    a = 1.0 if both_infinite else a
    b = 1.0 if (both_infinite | both_zero) else b
    scale = SHRINK if (a > HUGE) | (b > HUGE) else 1.0
    a, b = a * scale, b * scale
    infinite = (a == math.inf) | (b == math.inf)
    a = (1.0 if a == math.inf else 0.0) if infinite else a
    b = (1.0 if b == math.inf else 0.0) if infinite else b
    high, low = atan_quotient(a, b)
    left = (PI_HIGH - high) + (PI_LOW - low + ((PI_HIGH - (PI_HIGH - high)) - high))
    result = copysign(left if float_bits(x) < 0 else high + low, y)
    return result if (x == x) & (y == y) else x + y


def asin_double(x: Double) -> Double:
    """Return the angle in [-pi/2, pi/2] whose sine is ``x``."""
    a = abs(x)
    big = a > 0.5
    z = 0.5 - 0.5 * a if big else a * a
    s = sqrt(z) if big else a
    tail = s * z * polynomial(z, ASIN_DOUBLE)
    double = 2.0 * s
    head = HALF_PI_HIGH - double
    edge = head + (((HALF_PI_HIGH - head) - double) + (HALF_PI_LOW - 2.0 * tail))
    return copysign(edge if big else s + tail, x)


def acos_double(x: Double) -> Double:
    """Return the angle in [0, pi] whose cosine is ``x``."""
    a = abs(x)
    big = a > 0.5
    z = 0.5 - 0.5 * a if big else a * a
    s = sqrt(z) if big else x
    tail = s * z * polynomial(z, ASIN_DOUBLE)
    near = 2.0 * (s + tail)
    far = PI_HIGH - (near - PI_LOW)
    edge = far if x < 0.0 else near
    return edge if big else HALF_PI_HIGH - (s + (tail - HALF_PI_LOW))
