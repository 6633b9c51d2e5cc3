"""Taking floats apart and putting them together: mantissa, exponent, fraction, sign."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.bits import bits_float, float_bits
from pygpulib.jit.intrinsics.floating import copysign, trunc
from pygpulib.jit.intrinsics.scalars import Double, Truth, Whole

_NORMAL = 2.0**-1022
_LIFT = 2.0**54
_FRACTION = -0x7FF0000000000001  # sign and fraction
_HALF = 0x3FE0000000000000


def power_of_two_double(exponent: Whole) -> Double:
    """Return ``2.0**exponent`` for exponents of normal numbers."""
    return bits_float((exponent + 1023) << 52)


def frexp_double(x: Double) -> tuple[Double, Whole]:
    """Return mantissa in [0.5, 1) and exponent; zero, infinities and nan as they are."""
    small = abs(x) < _NORMAL
    bits = float_bits(x * _LIFT if small else x)
    exponent = ((bits >> 52) & 0x7FF) - (1076 if small else 1022)
    mantissa = bits_float((bits & _FRACTION) | _HALF)
    regular = (abs(x) < math.inf) & (x != 0.0)
    return (mantissa if regular else x), np.int32(exponent if regular else 0)


def ldexp_double(x: Double, exponent: Whole) -> Double:
    """Return ``x * 2.0**exponent`` rounded once.

    The mantissa is scaled in two steps, of which only the second can leave the normal range.
    """
    mantissa, own = frexp_double(x)
    total = np.int64(own) + exponent
    total = max(total, -1200)
    total = min(total, 1200)
    half = total >> 1
    return mantissa * power_of_two_double(half) * power_of_two_double(total - half)


def modf_double(x: Double) -> tuple[Double, Double]:
    """Return fraction and whole part, both with the sign of the operand."""
    whole = trunc(x)
    return copysign(0.0 if abs(x) == math.inf else x - whole, x), whole


def signbit_double(x: Double) -> Truth:
    """Return whether the sign is set, of zero and nan too."""
    return float_bits(x) < 0
