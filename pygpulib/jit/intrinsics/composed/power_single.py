"""Powers and roots in single precision, through double precision."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.bits import float_bits
from pygpulib.jit.intrinsics.composed.coefficients import CBRT_SEED
from pygpulib.jit.intrinsics.composed.exp_double import SHIFT, SHIFT_BITS, exp_medium
from pygpulib.jit.intrinsics.composed.log_double import log_medium
from pygpulib.jit.intrinsics.composed.parts_double import frexp_double, power_of_two_double
from pygpulib.jit.intrinsics.composed.polynomial import polynomial
from pygpulib.jit.intrinsics.composed.power_double import CBRT_2, CBRT_4, THIRD
from pygpulib.jit.intrinsics.composed.select import at_least, at_most
from pygpulib.jit.intrinsics.floating import copysign, floor, fma, sqrt
from pygpulib.jit.intrinsics.scalars import Single

ZERO = np.float32(0)
HALF = np.float32(0.5)
ONE = np.float32(1)
INFINITY = np.float32(math.inf)
NAN = np.float32(math.nan)
LONGEST = 2.0**40


def positive_power(x: Single, y: Single) -> Single:
    """Return ``x ** y`` for x >= 0."""
    exponent = at_most(at_least(np.float64(y), -LONGEST), LONGEST)
    product = exponent * log_medium(np.float64(x))
    result = np.float32(exp_medium(at_most(at_least(product, -200.0), 200.0)))
    result = (ZERO if y > ZERO else INFINITY) if x == ZERO else result
    return (INFINITY if y > ZERO else ZERO) if x == INFINITY else result


def pow_single(x: Single, y: Single) -> Single:
    """Return ``x`` to the power ``y``."""
    magnitude = positive_power(abs(x), y)
    whole = floor(y) == y
    half = y * HALF
    odd = whole & (floor(half) != half)
    result = -magnitude if (float_bits(x) < 0) & odd else magnitude
    result = NAN if (x < ZERO) & (x > -INFINITY) & (not whole) else result
    result = result if (x == x) & (y == y) else x + y
    return ONE if (x == ONE) | (y == ZERO) else result


def cbrt_single(x: Single) -> Single:
    """Return the cube root: a polynomial and one step of Newton's method in double precision."""
    mantissa, exponent = frexp_double(np.float64(abs(x)))
    t = 2.0 * mantissa
    count = np.float64(exponent) - 1.0
    shifted = fma(count - 1.0, THIRD, SHIFT)
    rest = count - 3.0 * (shifted - SHIFT)
    value = t * (4.0 if rest > 1.5 else (2.0 if rest > 0.5 else 1.0))
    y = polynomial(t, CBRT_SEED) * (CBRT_4 if rest > 1.5 else (CBRT_2 if rest > 0.5 else 1.0))
    square = y * y
    y = y - (square * y - value) / (3.0 * square)
    result = np.float32(y * power_of_two_double(float_bits(shifted) - SHIFT_BITS))
    return copysign(result, x) if (abs(x) < INFINITY) & (x != ZERO) else x


def hypot_single(x: Single, y: Single) -> Single:
    """Return the length of the vector (``x``, ``y``)."""
    a, b = np.float64(x), np.float64(y)
    result = np.float32(sqrt(a * a + b * b))
    return INFINITY if (abs(x) == INFINITY) | (abs(y) == INFINITY) else result


def rsqrt_single(x: Single) -> Single:
    """Return the reciprocal of the square root."""
    return ONE / sqrt(x)
