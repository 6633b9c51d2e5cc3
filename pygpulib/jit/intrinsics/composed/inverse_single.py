"""Inverse trigonometric functions in single precision; see ``inverse_double`` for the method."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.bits import float_bits
from pygpulib.jit.intrinsics.composed.coefficients import ASIN_SINGLE, ATAN_SINGLE
from pygpulib.jit.intrinsics.composed.polynomial import polynomial
from pygpulib.jit.intrinsics.floating import copysign, fma, sqrt
from pygpulib.jit.intrinsics.scalars import Single

ZERO = np.float32(0)
HALF = np.float32(0.5)
ONE = np.float32(1)
TWO = np.float32(2)
INFINITY = np.float32(math.inf)
PI_HIGH = np.float32(3.1415927)
PI_LOW = np.float32(-8.742278e-08)
HALF_PI_HIGH = np.float32(1.5707964)
HALF_PI_LOW = np.float32(-4.371139e-08)
QUARTER_PI_HIGH = np.float32(0.7853982)
QUARTER_PI_LOW = np.float32(-2.1855694e-08)
HUGE = np.float32(2.0**120)
SHRINK = np.float32(2.0**-20)


def atan_quotient(a: Single, b: Single) -> tuple[Single, Single]:
    """Return ``atan(a / b)`` as a sum of two numbers, for a >= 0 and b >= 0, not both zero."""
    steep = a > TWO * b
    middle = (a > HALF * b) & (a <= TWO * b)
    top = (a - b) if middle else (-b if steep else a)
    bottom = (a + b) if middle else (a if steep else b)
    r = top / bottom
    high = QUARTER_PI_HIGH if middle else (HALF_PI_HIGH if steep else ZERO)
    low = QUARTER_PI_LOW if middle else (HALF_PI_LOW if steep else ZERO)
    z = r * r
    tail = fma(r * z, polynomial(z, ATAN_SINGLE), low)
    total = high + r
    return total, ((high - total) + r) + tail if (middle | steep) else tail


def atan_single(x: Single) -> Single:
    """Return the angle in [-pi/2, pi/2] whose tangent is ``x``."""
    a = abs(x)
    limited = min(a, HUGE)
    high, low = atan_quotient(limited, ONE)
    return copysign(high + low, x)


def atan2_single(y: Single, x: Single) -> Single:
    """Return the angle of the point (``x``, ``y``), in [-pi, pi]."""
    a, b = abs(y), abs(x)
    both_infinite = (a == INFINITY) & (b == INFINITY)
    both_zero = (a == ZERO) & (b == ZERO)
    a = ONE if both_infinite else a
    b = ONE if (both_infinite | both_zero) else b
    scale = SHRINK if (a > HUGE) | (b > HUGE) else ONE
    a, b = a * scale, b * scale
    infinite = (a == INFINITY) | (b == INFINITY)
    a = (ONE if a == INFINITY else ZERO) if infinite else a
    b = (ONE if b == INFINITY else ZERO) if infinite else b
    high, low = atan_quotient(a, b)
    left = (PI_HIGH - high) + (PI_LOW - low + ((PI_HIGH - (PI_HIGH - high)) - high))
    result = copysign(left if float_bits(x) < 0 else high + low, y)
    return result if (x == x) & (y == y) else x + y


def asin_single(x: Single) -> Single:
    """Return the angle in [-pi/2, pi/2] whose sine is ``x``."""
    a = abs(x)
    big = a > HALF
    z = HALF - HALF * a if big else a * a
    s = sqrt(z) if big else a
    tail = s * z * polynomial(z, ASIN_SINGLE)
    double = TWO * s
    head = HALF_PI_HIGH - double
    edge = head + (((HALF_PI_HIGH - head) - double) + (HALF_PI_LOW - TWO * tail))
    return copysign(edge if big else s + tail, x)


def acos_single(x: Single) -> Single:
    """Return the angle in [0, pi] whose cosine is ``x``."""
    a = abs(x)
    big = a > HALF
    z = HALF - HALF * a if big else a * a
    s = sqrt(z) if big else x
    tail = s * z * polynomial(z, ASIN_SINGLE)
    near = TWO * (s + tail)
    far = PI_HIGH - (near - PI_LOW)
    edge = far if x < ZERO else near
    return edge if big else HALF_PI_HIGH - (s + (tail - HALF_PI_LOW))
