"""Taking floats apart and putting them together: mantissa, exponent, fraction, sign."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.bits import bits_float, float_bits
from pygpulib.jit.intrinsics.floating import copysign, trunc
from pygpulib.jit.intrinsics.scalars import Double, Single, Truth, Whole

_NORMAL_DOUBLE = 2.0**-1022
_LIFT_DOUBLE = 2.0**54
_FRACTION_DOUBLE = -0x7FF0000000000001  # sign and fraction
_HALF_DOUBLE = 0x3FE0000000000000

_NORMAL_SINGLE = np.float32(2.0**-126)
_LIFT_SINGLE = np.float32(2.0**25)
_ZERO_SINGLE = np.float32(0)
_INFINITY_SINGLE = np.float32(math.inf)
_FRACTION_SINGLE = np.int32(-0x7F800001)
_HALF_SINGLE = np.int32(0x3F000000)


def power_of_two_double(exponent: Whole) -> Double:
    """Return ``2.0**exponent`` for exponents of normal numbers."""
    return bits_float((exponent + 1023) << 52)


def power_of_two_single(exponent: Whole) -> Single:
    """Return ``2.0**exponent`` for exponents of normal numbers."""
    return bits_float(np.int32(np.int32(exponent + 127) << 23))


def frexp_double(x: Double) -> tuple[Double, Whole]:
    """Return mantissa in [0.5, 1) and exponent; zero, infinities and nan as they are."""
    small = abs(x) < _NORMAL_DOUBLE
    bits = float_bits(x * _LIFT_DOUBLE if small else x)
    exponent = ((bits >> 52) & 0x7FF) - (1076 if small else 1022)
    mantissa = bits_float((bits & _FRACTION_DOUBLE) | _HALF_DOUBLE)
    regular = (abs(x) < math.inf) & (x != 0.0)
    return (mantissa if regular else x), np.int32(exponent if regular else 0)


def frexp_single(x: Single) -> tuple[Single, Whole]:
    """Return mantissa in [0.5, 1) and exponent; zero, infinities and nan as they are."""
    small = abs(x) < _NORMAL_SINGLE
    bits = float_bits(x * _LIFT_SINGLE if small else x)
    exponent = ((bits >> 23) & 0xFF) - (151 if small else 126)
    mantissa = bits_float(np.int32((bits & _FRACTION_SINGLE) | _HALF_SINGLE))
    regular = (abs(x) < _INFINITY_SINGLE) & (x != _ZERO_SINGLE)
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


def ldexp_single(x: Single, exponent: Whole) -> Single:
    """Return ``x * 2.0**exponent`` rounded once (see :func:`ldexp_double`)."""
    mantissa, own = frexp_single(x)
    total = np.int64(own) + exponent
    total = max(total, -200)
    total = min(total, 200)
    half = np.int32(total >> 1)
    rest = np.int32(total - half)
    return mantissa * power_of_two_single(half) * power_of_two_single(rest)


def modf_double(x: Double) -> tuple[Double, Double]:
    """Return fraction and whole part, both with the sign of the operand."""
    whole = trunc(x)
    return copysign(0.0 if abs(x) == math.inf else x - whole, x), whole


def modf_single(x: Single) -> tuple[Single, Single]:
    """Return fraction and whole part, both with the sign of the operand."""
    whole = trunc(x)
    return copysign(_ZERO_SINGLE if abs(x) == _INFINITY_SINGLE else x - whole, x), whole


def signbit_double(x: Double) -> Truth:
    """Return whether the sign is set, of zero and nan too."""
    return float_bits(x) < 0


def signbit_single(x: Single) -> Truth:
    """Return whether the sign is set, of zero and nan too."""
    return float_bits(x) < 0
