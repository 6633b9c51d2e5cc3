"""Powers and roots in double precision."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.bits import float_bits
from pygpulib.jit.intrinsics.composed.coefficients import CBRT_SEED, LOG_TAIL_DOUBLE
from pygpulib.jit.intrinsics.composed.exp_double import (
    SHIFT,
    SHIFT_BITS,
    exp_fraction_of_sum,
    scale_double,
)
from pygpulib.jit.intrinsics.composed.log_double import LN2_REST, LN2_SHORT, split_power
from pygpulib.jit.intrinsics.composed.parts_double import frexp_double, power_of_two_double
from pygpulib.jit.intrinsics.composed.polynomial import polynomial
from pygpulib.jit.intrinsics.composed.select import at_least, at_most
from pygpulib.jit.intrinsics.floating import copysign, floor, fma, sqrt
from pygpulib.jit.intrinsics.scalars import Double

TWO_THIRDS_HIGH = 0.6666666666666666
TWO_THIRDS_LOW = 3.700743415417188e-17
CBRT_2 = 1.2599210498948732
CBRT_4 = 1.5874010519681994
LONGEST = 2.0**66
THIRD = 0.3333333333333333
BIG, SMALL = 2.0**500, 2.0**-400
UP, DOWN = 2.0**600, 2.0**-600


def log_two_parts(x: Double) -> tuple[Double, Double]:
    """Return the logarithm of a positive finite number as a sum of two, to about 65 bits.

    ``2 atanh(s)`` with s, its square and the two leading terms carried as sums of two numbers
    (T. J. Dekker, *A floating-point technique for extending the available precision*, 1971).
    """
    exponent, f = split_power(x)
    k = np.float64(exponent)
    bottom = 2.0 + f
    bottom_low = (2.0 - bottom) + f
    s = f / bottom
    s_low = (fma(-s, bottom, f) - s * bottom_low) / bottom
    z = s * s
    z_low = fma(s, s, -z) + 2.0 * (s * s_low)
    tail = z * polynomial(z, LOG_TAIL_DOUBLE)
    w = TWO_THIRDS_HIGH + tail
    w_low = ((TWO_THIRDS_HIGH - w) + tail) + TWO_THIRDS_LOW
    t = z * w
    t_low = fma(z, w, -t) + fma(z, w_low, z_low * w)
    u = s * t
    u_low = fma(s, t, -u) + fma(s, t_low, s_low * t)
    double = 2.0 * s
    head = double + u
    rest = ((double - head) + u) + (u_low + 2.0 * s_low)
    base = k * LN2_SHORT
    high = base + head
    low = ((base - high) + head) + (rest + k * LN2_REST)
    total = high + low
    return total, (high - total) + low


def positive_power(x: Double, y: Double) -> Double:
    """Return ``x ** y`` for x >= 0."""
    exponent = at_most(at_least(y, -LONGEST), LONGEST)
    log_high, log_low = log_two_parts(x)
    product = exponent * log_high
    moderate = abs(product) < 800.0
    low = fma(exponent, log_high, -product) + exponent * log_low if moderate else 0.0
    fraction, power = exp_fraction_of_sum(at_most(at_least(product, -800.0), 800.0), low)
    result = scale_double(1.0 + fraction, power)
    result = (0.0 if y > 0.0 else math.inf) if x == 0.0 else result
    return (math.inf if y > 0.0 else 0.0) if x == math.inf else result


def pow_double(x: Double, y: Double) -> Double:
    """Return ``x`` to the power ``y``."""
    magnitude = positive_power(abs(x), y)
    whole = floor(y) == y
    half = y * 0.5
    odd = whole & (floor(half) != half)
    result = -magnitude if (float_bits(x) < 0) & odd else magnitude
    result = math.nan if (x < 0.0) & (x > -math.inf) & (not whole) else result
    result = result if (x == x) & (y == y) else x + y
    return 1.0 if (x == 1.0) | (y == 0.0) else result


def cbrt_double(x: Double) -> Double:
    """Return the cube root: a polynomial, one step of Halley's and one of Newton's method."""
    mantissa, exponent = frexp_double(abs(x))
    t = 2.0 * mantissa
    count = np.float64(exponent) - 1.0
    shifted = fma(count - 1.0, THIRD, SHIFT)
    third = shifted - SHIFT
    rest = count - 3.0 * third
    value = t * (4.0 if rest > 1.5 else (2.0 if rest > 0.5 else 1.0))
    seed = polynomial(t, CBRT_SEED)
    y = seed * (CBRT_4 if rest > 1.5 else (CBRT_2 if rest > 0.5 else 1.0))
    cube = y * y * y
    y = y * ((cube + 2.0 * value) / (2.0 * cube + value))
    square = y * y
    excess = fma(square, y, -value) + fma(y, y, -square) * y
    y = y - excess / (3.0 * square)
    result = y * power_of_two_double(float_bits(shifted) - SHIFT_BITS)
    return copysign(result, x) if (abs(x) < math.inf) & (x != 0.0) else x


def hypot_double(x: Double, y: Double) -> Double:
    """Return the length of the vector (``x``, ``y``).

    The larger component is scaled to the middle of the range; the rounding errors of the squares
    correct the root (C. F. Borges, *An improved algorithm for hypot(a, b)*, 2019).
    """
    a, b = abs(x), abs(y)
    big, small = (max(b, a)), (min(a, b))
    scale = DOWN if big > BIG else (UP if big < SMALL else 1.0)
    back = UP if big > BIG else (DOWN if big < SMALL else 1.0)
    p, q = big * scale, small * scale
    p_square, q_square = p * p, q * q
    total = p_square + q_square
    error = ((p_square - total) + q_square) + (fma(p, p, -p_square) + fma(q, q, -q_square))
    root = sqrt(total)
    better = root + (fma(-root, root, total) + error) / (2.0 * root)
    result = (better if root > 0.0 else root) * back
    result = result if (x == x) & (y == y) else x + y
    return math.inf if (a == math.inf) | (b == math.inf) else result


def rsqrt_double(x: Double) -> Double:
    """Return the reciprocal of the square root."""
    return 1.0 / sqrt(x)
