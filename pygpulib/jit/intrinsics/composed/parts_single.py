"""Taking floats apart and putting them together: mantissa, exponent, fraction, sign."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.bits import bits_float, float_bits
from pygpulib.jit.intrinsics.floating import copysign, trunc
from pygpulib.jit.intrinsics.scalars import Single, Truth, Whole

_NORMAL = np.float32(2.0**-126)
_LIFT = np.float32(2.0**25)
_ZERO = np.float32(0)
_INFINITY = np.float32(math.inf)
_FRACTION = np.int32(-0x7F800001)
_HALF = np.int32(0x3F000000)


def power_of_two_single(exponent: Whole) -> Single:
    """Return ``2.0**exponent`` for exponents of normal numbers."""
    return bits_float(np.int32(np.int32(exponent + 127) << 23))


def frexp_single(x: Single) -> tuple[Single, Whole]:
    """Return mantissa in [0.5, 1) and exponent; zero, infinities and nan as they are."""
    small = abs(x) < _NORMAL
    bits = float_bits(x * _LIFT if small else x)
    exponent = ((bits >> 23) & 0xFF) - (151 if small else 126)
    mantissa = bits_float(np.int32((bits & _FRACTION) | _HALF))
    regular = (abs(x) < _INFINITY) & (x != _ZERO)
    return (mantissa if regular else x), np.int32(exponent if regular else 0)


def ldexp_single(x: Single, exponent: Whole) -> Single:
    """Return ``x * 2.0**exponent`` rounded once (see ``parts_double``)."""
    mantissa, own = frexp_single(x)
    total = np.int64(own) + exponent
    total = max(total, -200)
    total = min(total, 200)
    half = np.int32(total >> 1)
    rest = np.int32(total - half)
    return mantissa * power_of_two_single(half) * power_of_two_single(rest)


def modf_single(x: Single) -> tuple[Single, Single]:
    """Return fraction and whole part, both with the sign of the operand."""
    whole = trunc(x)
    return copysign(_ZERO if abs(x) == _INFINITY else x - whole, x), whole


def signbit_single(x: Single) -> Truth:
    """Return whether the sign is set, of zero and nan too."""
    return float_bits(x) < 0
