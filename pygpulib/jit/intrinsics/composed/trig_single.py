"""Sine, cosine and tangent in single precision; see ``trig_double`` for the method."""

from __future__ import annotations

import numpy as np

from pygpulib.jit.intrinsics.bits import float_bits
from pygpulib.jit.intrinsics.composed.coefficients import COS_SINGLE, SIN_SINGLE
from pygpulib.jit.intrinsics.composed.exp_single import SHIFT
from pygpulib.jit.intrinsics.composed.polynomial import polynomial
from pygpulib.jit.intrinsics.floating import copysign, fma, rint
from pygpulib.jit.intrinsics.library import library_cos, library_sin, library_tan
from pygpulib.jit.intrinsics.scalars import Single, Whole

ZERO = np.float32(0)
HALF = np.float32(0.5)
ONE = np.float32(1)
TWO = np.float32(2)
LIMIT = np.float32(65536)
TWO_OVER_PI = np.float32(0.63661975)
HALF_PI_1 = np.float32(1.5707964)
HALF_PI_2 = np.float32(-4.371139e-08)
HALF_PI_3 = np.float32(-1.7151245e-15)
PI_HIGH = np.float32(3.1415927)
PI_LOW = np.float32(-8.742278e-08)


def reduce_angle(x: Single) -> tuple[Whole, Single, Single]:
    """Return n, r and low with ``x = n * pi/2 + r + low``; n modulo 4 is right."""
    shifted = fma(x, TWO_OVER_PI, SHIFT)
    n = shifted - SHIFT
    first = fma(n, -HALF_PI_1, x)
    part = n * HALF_PI_2
    part_low = fma(n, HALF_PI_2, -part)
    r = first - part
    back = r - first
    error = (first - (r - back)) - (part + back)
    return float_bits(shifted), r, fma(n, -HALF_PI_3, error - part_low)


def sin_reduced(r: Single, low: Single) -> Single:
    """Return the sine of ``r + low`` for ``|r| <= pi/4`` and a little more."""
    z = r * r
    return r + fma(r * z, polynomial(z, SIN_SINGLE), low)


def cos_reduced(r: Single, low: Single) -> Single:
    """Return the cosine of ``r + low`` for ``|r| <= pi/4`` and a little more."""
    z = r * r
    half = HALF * z
    head = ONE - half
    return head + (((ONE - head) - half) + fma(z * z, polynomial(z, COS_SINGLE), -(r * low)))


def sin_quadrant(quadrant: Whole, r: Single, low: Single) -> Single:
    """Return the sine of ``quadrant * pi/2 + r + low``."""
    value = cos_reduced(r, low) if (quadrant & 1) != 0 else sin_reduced(r, low)
    return -value if (quadrant & 2) != 0 else value


def sin_single(x: Single) -> Single:
    """Return the sine of an angle in radians."""
    quadrant, r, low = reduce_angle(x)
    result = x if x == ZERO else sin_quadrant(quadrant, r, low)
    if abs(x) > LIMIT:
        result = library_sin(x)
    return result


def cos_single(x: Single) -> Single:
    """Return the cosine of an angle in radians."""
    quadrant, r, low = reduce_angle(x)
    result = sin_quadrant(quadrant + 1, r, low)
    if abs(x) > LIMIT:
        result = library_cos(x)
    return result


def sincos_single(x: Single) -> tuple[Single, Single]:
    """Return sine and cosine."""
    quadrant, r, low = reduce_angle(x)
    odd = (quadrant & 1) != 0
    sine, cosine = sin_reduced(r, low), cos_reduced(r, low)
    first = cosine if odd else sine
    second = sine if odd else cosine
    first = x if x == ZERO else (-first if (quadrant & 2) != 0 else first)
    second = -second if ((quadrant + 1) & 2) != 0 else second
    if abs(x) > LIMIT:
        first = library_sin(x)
        second = library_cos(x)
    return first, second


def tan_single(x: Single) -> Single:
    """Return the tangent of an angle in radians: the quotient with sums of two numbers."""
    quadrant, r, low = reduce_angle(x)
    odd = (quadrant & 1) != 0
    z = r * r
    tail = fma(r * z, polynomial(z, SIN_SINGLE), low - HALF * z * low)
    sine = r + tail
    sine_low = (r - sine) + tail
    half = HALF * z
    head = ONE - half
    rest = ((ONE - head) - half) + fma(z * z, polynomial(z, COS_SINGLE), -(r * low))
    cosine = head + rest
    cosine_low = (head - cosine) + rest
    top, top_low = (-cosine if odd else sine), (-cosine_low if odd else sine_low)
    bottom, bottom_low = (sine if odd else cosine), (sine_low if odd else cosine_low)
    reciprocal = ONE / bottom
    quotient = top * reciprocal
    error = fma(-quotient, bottom, top) + fma(-quotient, bottom_low, top_low)
    result = x if x == ZERO else fma(error, reciprocal, quotient)
    if abs(x) > LIMIT:
        result = library_tan(x)
    return result


def reduce_turns(x: Single) -> tuple[Whole, Single, Single]:
    """Return n, r and low with ``pi * x = n * pi/2 + r + low`` up to whole turns."""
    part = x - TWO * rint(HALF * x)
    shifted = TWO * part + SHIFT
    rest = part - HALF * (shifted - SHIFT)
    r = rest * PI_HIGH
    return float_bits(shifted), r, fma(rest, PI_LOW, fma(rest, PI_HIGH, -r))


def sinpi_single(x: Single) -> Single:
    """Return ``sin(pi * x)``; a zero has the sign of ``x``."""
    quadrant, r, low = reduce_turns(x)
    result = sin_quadrant(quadrant, r, low)
    return copysign(ZERO, x) if result == ZERO else result


def cospi_single(x: Single) -> Single:
    """Return ``cos(pi * x)``; a zero is positive."""
    quadrant, r, low = reduce_turns(x)
    return sin_quadrant(quadrant + 1, r, low) + ZERO
