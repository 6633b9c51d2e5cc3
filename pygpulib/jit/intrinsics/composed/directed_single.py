"""Directed rounding in single precision, by way of double precision.

Products, quotients and roots of singles come out of double precision on the right side of every
single: they are either singles themselves or further away than doubles are rounded. Sums are pairs
of doubles.
"""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.bits import bits_float, float_bits
from pygpulib.jit.intrinsics.composed.directed_double import two_sum
from pygpulib.jit.intrinsics.floating import sqrt
from pygpulib.jit.intrinsics.scalars import Double, Single


def _above_single(x: Single) -> Single:
    bits = float_bits(x)
    return bits_float(np.int32(1 if x == 0.0 else (bits + 1 if x > 0.0 else bits - 1)))


def up_single(nearest: Single, error: Double) -> Single:
    """Return the smallest number that is not below the exact one."""
    return _above_single(nearest) if error > 0.0 else nearest


def down_single(nearest: Single, error: Double) -> Single:
    """Return the largest number that is not above the exact one."""
    return -_above_single(-nearest) if error < 0.0 else nearest


def toward_zero_single(nearest: Single, error: Double) -> Single:
    """Return the number that is nearest to the exact one and not larger in size."""
    back = (error < 0.0) & (nearest > 0.0) | (error > 0.0) & (nearest < 0.0)
    return bits_float(np.int32(float_bits(nearest) - 1)) if back else nearest


def narrow(value: Double, low: Double) -> tuple[Single, Double]:
    """Return a single, and the sign of what it is smaller by than ``value + low``."""
    nearest = np.float32(value)
    rest = value - np.float64(nearest)
    is_infinite = abs(value) == math.inf
    return nearest, (0.0 if is_infinite else (rest if rest != 0.0 else low))


def narrow_double(value: Double) -> tuple[Single, Double]:
    """Return a single and the sign of its error."""
    return narrow(value, 0.0)


def add_single(x: Single, y: Single) -> tuple[Single, Double]:
    """Return the sum and the sign of its error."""
    total, error = two_sum(np.float64(x), np.float64(y))
    return narrow(total, error)


def subtract_single(x: Single, y: Single) -> tuple[Single, Double]:
    """Return the difference and the sign of its error."""
    return add_single(x, -y)


def multiply_single(x: Single, y: Single) -> tuple[Single, Double]:
    """Return the product and the sign of its error."""
    return narrow(np.float64(x) * np.float64(y), 0.0)


def divide_single(x: Single, y: Single) -> tuple[Single, Double]:
    """Return the quotient and the sign of its error."""
    return narrow(np.float64(x) / np.float64(y), 0.0)


def reciprocal_single(x: Single) -> tuple[Single, Double]:
    """Return one over a number and the sign of its error."""
    return narrow(1.0 / np.float64(x), 0.0)


def sqrt_single(x: Single) -> tuple[Single, Double]:
    """Return the square root and the sign of its error."""
    return narrow(sqrt(np.float64(x)), 0.0)


def fma_single(x: Single, y: Single, z: Single) -> tuple[Single, Double]:
    """Return ``x * y + z``, and the sign of its error."""
    total, error = two_sum(np.float64(x) * np.float64(y), np.float64(z))
    return narrow(total, error)


def add_down_single(x: Single, y: Single) -> Single:
    """Return the sum rounded down; where numbers cancel, that is the negative zero."""
    nearest, error = add_single(-x, -y)
    return -up_single(nearest, error)


def subtract_down_single(x: Single, y: Single) -> Single:
    """Return the difference rounded down."""
    return add_down_single(x, -y)


def fma_down_single(x: Single, y: Single, z: Single) -> Single:
    """Return ``x * y + z`` rounded down."""
    nearest, error = fma_single(-x, y, -z)
    return -up_single(nearest, error)
