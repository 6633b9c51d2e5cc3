"""Powers with whole exponents, exponents of floats, and quotients."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.decomposition import fmod, frexp, remainder
from pygpulib.jit.intrinsics.scalars import Real, Whole

_NO_EXPONENT = -(2**31)
_INFINITE_EXPONENT = 2**31 - 1


def whole_power(x: Real, exponent: Whole, one: Real) -> Real:
    """Return ``x**exponent`` by squaring; ``one`` has the type of ``x``."""
    rest = abs(np.int64(exponent))
    factor, result = x, one
    while rest != 0:
        result = result * factor if rest & 1 != 0 else result
        factor = factor * factor
        rest >>= 1
    return one / result if exponent < 0 else result


def exponent_of(x: Real) -> Whole:
    """Return the exponent of the power of two that is not above ``abs(x)``."""
    _, exponent = frexp(x)
    large = np.int32(_INFINITE_EXPONENT if abs(x) == math.inf else _NO_EXPONENT)
    return np.int32(exponent - 1) if (abs(x) < math.inf) & (x != 0.0) else large


def float_exponent_of(x: Real) -> Real:
    """Return the exponent as a float: infinities, of zero the negative one, and nan as it is."""
    _, exponent = frexp(x)
    special = x * x if x != 0.0 else -math.inf
    return exponent - 1.0 if (abs(x) < math.inf) & (x != 0.0) else special


def remainder_and_quotient(x: Real, y: Real) -> tuple[Real, Whole]:
    """Return the remainder of the nearest quotient, and that quotient's sign and last 3 bits."""
    rest = remainder(x, y)
    size, divisor = np.float64(abs(x)), np.float64(abs(y))
    eight = 8.0 * divisor
    part = fmod(size, eight) if eight < math.inf else size
    near = np.rint(part / divisor - remainder(size, divisor) / divisor)
    quotient = np.int32(np.int64(near if near == near else 0.0) & 7)
    is_number = (size < math.inf) & (divisor < math.inf) & (divisor > 0.0)
    signed = -quotient if (x < 0.0) != (y < 0.0) else quotient
    return rest, np.int32(signed if is_number else 0)
