"""Sine, cosine and tangent in double precision.

The nearest multiple of pi/2 is subtracted in three parts of 53 bits each (Cody and Waite's method
with fused multiply-add: the first difference is exact); the remainder is kept as a sum of two
numbers. Beyond ``LIMIT`` the C library takes over.
"""

from __future__ import annotations

from pygpulib.jit.intrinsics.bits import float_bits
from pygpulib.jit.intrinsics.composed.coefficients import COS_DOUBLE, SIN_DOUBLE
from pygpulib.jit.intrinsics.composed.exp_double import SHIFT
from pygpulib.jit.intrinsics.composed.polynomial import polynomial
from pygpulib.jit.intrinsics.floating import copysign, fma, rint
from pygpulib.jit.intrinsics.library import library_cos, library_sin, library_tan
from pygpulib.jit.intrinsics.scalars import Double, Whole

LIMIT = 2.0**40
TWO_OVER_PI = 0.6366197723675814
HALF_PI_1 = 1.5707963267948966
HALF_PI_2 = 6.123233995736766e-17
HALF_PI_3 = -1.4973849048591698e-33
PI_HIGH = 3.141592653589793
PI_LOW = 1.2246467991473532e-16


def reduce_angle(x: Double) -> tuple[Whole, Double, Double]:
    """Return n, r and low with ``x = n * pi/2 + r + low``; n modulo 4 is right."""
    shifted = fma(x, TWO_OVER_PI, SHIFT)
    n = shifted - SHIFT
    first = fma(n, -HALF_PI_1, x)
    part = n * HALF_PI_2
    part_low = fma(n, HALF_PI_2, -part)
    r = first - part
    back = r - first
    error = (first - (r - back)) - (part + back)
    return float_bits(shifted), r, (error - part_low) - n * HALF_PI_3


def sin_reduced(r: Double, low: Double) -> Double:
    """Return the sine of ``r + low`` for ``|r| <= pi/4`` and a little more."""
    z = r * r
    return r + fma(r * z, polynomial(z, SIN_DOUBLE), fma(z * -0.5, low, low))


def cos_reduced(r: Double, low: Double) -> Double:
    """Return the cosine of ``r + low`` for ``|r| <= pi/4`` and a little more."""
    z = r * r
    half = 0.5 * z
    head = 1.0 - half
    return head + (((1.0 - head) - half) + fma(z * z, polynomial(z, COS_DOUBLE), -(r * low)))


def sin_quadrant(quadrant: Whole, r: Double, low: Double) -> Double:
    """Return the sine of ``quadrant * pi/2 + r + low``."""
    value = cos_reduced(r, low) if (quadrant & 1) != 0 else sin_reduced(r, low)
    return -value if (quadrant & 2) != 0 else value


def sin_double(x: Double) -> Double:
    """Return the sine of an angle in radians."""
    quadrant, r, low = reduce_angle(x)
    result = x if x == 0.0 else sin_quadrant(quadrant, r, low)
    if abs(x) > LIMIT:
        result = library_sin(x)
    return result


def cos_double(x: Double) -> Double:
    """Return the cosine of an angle in radians."""
    quadrant, r, low = reduce_angle(x)
    result = sin_quadrant(quadrant + 1, r, low)
    if abs(x) > LIMIT:
        result = library_cos(x)
    return result


def sincos_double(x: Double) -> tuple[Double, Double]:
    """Return sine and cosine."""
    quadrant, r, low = reduce_angle(x)
    odd = (quadrant & 1) != 0
    sine, cosine = sin_reduced(r, low), cos_reduced(r, low)
    first = cosine if odd else sine
    second = sine if odd else cosine
    first = x if x == 0.0 else (-first if (quadrant & 2) != 0 else first)
    second = -second if ((quadrant + 1) & 2) != 0 else second
    if abs(x) > LIMIT:
        first = library_sin(x)
        second = library_cos(x)
    return first, second


def tan_double(x: Double) -> Double:
    """Return the tangent of an angle in radians: the quotient with sums of two numbers."""
    quadrant, r, low = reduce_angle(x)
    odd = (quadrant & 1) != 0
    z = r * r
    tail = fma(r * z, polynomial(z, SIN_DOUBLE), low - 0.5 * z * low)
    sine = r + tail
    sine_low = (r - sine) + tail
    half = 0.5 * z
    head = 1.0 - half
    rest = ((1.0 - head) - half) + fma(z * z, polynomial(z, COS_DOUBLE), -(r * low))
    cosine = head + rest
    cosine_low = (head - cosine) + rest
    top, top_low = (-cosine if odd else sine), (-cosine_low if odd else sine_low)
    bottom, bottom_low = (sine if odd else cosine), (sine_low if odd else cosine_low)
    reciprocal = 1.0 / bottom
    quotient = top * reciprocal
    error = fma(-quotient, bottom, top) + fma(-quotient, bottom_low, top_low)
    result = x if x == 0.0 else fma(error, reciprocal, quotient)
    if abs(x) > LIMIT:
        result = library_tan(x)
    return result


def reduce_turns(x: Double) -> tuple[Whole, Double, Double]:
    """Return n, r and low with ``pi * x = n * pi/2 + r + low`` up to whole turns."""
    part = x - 2.0 * rint(0.5 * x)
    shifted = 2.0 * part + SHIFT
    rest = part - 0.5 * (shifted - SHIFT)
    r = rest * PI_HIGH
    return float_bits(shifted), r, fma(rest, PI_HIGH, -r) + rest * PI_LOW


def sinpi_double(x: Double) -> Double:
    """Return ``sin(pi * x)``; a zero has the sign of ``x``."""
    quadrant, r, low = reduce_turns(x)
    result = sin_quadrant(quadrant, r, low)
    return copysign(0.0, x) if result == 0.0 else result


def cospi_double(x: Double) -> Double:
    """Return ``cos(pi * x)``; a zero is positive."""
    quadrant, r, low = reduce_turns(x)
    return sin_quadrant(quadrant + 1, r, low) + 0.0
