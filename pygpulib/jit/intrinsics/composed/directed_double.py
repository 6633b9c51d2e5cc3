"""Directed rounding in double precision, from the sign of the error of rounding to nearest.

Operations return the result rounded to nearest and a number with the sign of what it is too small
by. Products, quotients and roots are computed of the mantissas, where errors are numbers too, and
scaled afterwards (T. J. Dekker, *A floating-point technique for extending the available
precision*, Numerische Mathematik 18, 1971).
"""

from __future__ import annotations

import math

from pygpulib.jit.intrinsics.bits import bits_float, float_bits
from pygpulib.jit.intrinsics.decomposition import frexp, ldexp
from pygpulib.jit.intrinsics.floating import fma, sqrt
from pygpulib.jit.intrinsics.scalars import Double, Whole

_FAR = 400


def above_double(x: Double) -> Double:
    """Return the next number above a number that is not infinity."""
    bits = float_bits(x)
    return bits_float(1 if x == 0.0 else (bits + 1 if x > 0.0 else bits - 1))


def up_double(nearest: Double, error: Double) -> Double:
    """Return the smallest number that is not below the exact one."""
    return above_double(nearest) if error > 0.0 else nearest


def down_double(nearest: Double, error: Double) -> Double:
    """Return the largest number that is not above the exact one."""
    return -above_double(-nearest) if error < 0.0 else nearest


def toward_zero_double(nearest: Double, error: Double) -> Double:
    """Return the number that is nearest to the exact one and not larger in size."""
    back = (error < 0.0) & (nearest > 0.0) | (error > 0.0) & (nearest < 0.0)
    return bits_float(float_bits(nearest) - 1) if back else nearest


def _overflowed(result: Double, error: Double) -> Double:
    """Return the error of finite operands' result: infinity is too far out."""
    return -result if abs(result) == math.inf else error


def two_sum(x: Double, y: Double) -> tuple[Double, Double]:
    """Return a sum and its error: an infinity where numbers overflow, nan for infinities."""
    total = x + y
    large, small = (x, y) if abs(x) > abs(y) else (y, x)
    return total, small - (total - large)


def _scaled(mantissa: Double, error: Double, exponent: Whole) -> tuple[Double, Double]:
    """Return ``mantissa * 2**exponent`` and the sign of its error."""
    result = ldexp(mantissa, exponent)
    rest = mantissa - ldexp(result, -exponent)
    return result, _overflowed(result, rest if rest != 0.0 else error)


def multiply_double(x: Double, y: Double) -> tuple[Double, Double]:
    """Return the product and the sign of its error."""
    left, left_exponent = frexp(x)
    right, right_exponent = frexp(y)
    product = left * right
    error = fma(left, right, -product)
    result, sign = _scaled(product, error, left_exponent + right_exponent)
    is_regular = (abs(product) < math.inf) & (product != 0.0)
    return (result if is_regular else product), (sign if is_regular else 0.0)


def divide_double(x: Double, y: Double) -> tuple[Double, Double]:
    """Return the quotient and the sign of its error."""
    left, left_exponent = frexp(x)
    right, right_exponent = frexp(y)
    quotient = left / right
    error = fma(-quotient, right, left) * right
    result, sign = _scaled(quotient, error, left_exponent - right_exponent)
    is_regular = (abs(quotient) < math.inf) & (quotient != 0.0)
    return (result if is_regular else quotient), (sign if is_regular else 0.0)


def reciprocal_double(x: Double) -> tuple[Double, Double]:
    """Return one over a number and the sign of its error."""
    return divide_double(1.0, x)


def sqrt_double(x: Double) -> tuple[Double, Double]:
    """Return the square root and the sign of its error."""
    mantissa, exponent = frexp(x)
    even = 2.0 * mantissa if exponent & 1 != 0 else mantissa
    root = sqrt(even)
    error = fma(-root, root, even)
    is_regular = (x > 0.0) & (x < math.inf)
    return sqrt(x), (error if is_regular else 0.0)


def fma_double(x: Double, y: Double, z: Double) -> tuple[Double, Double]:
    """Return ``x * y + z`` and the sign of its error.

    All is scaled so that the larger one of product and addend is about one. The other one, where
    it is too small to matter but for its sign, is not that small then.
    """
    result = fma(x, y, z)
    left, left_exponent = frexp(x)
    right, right_exponent = frexp(y)
    addend, addend_exponent = frexp(z)
    product = left * right
    product_exponent = left_exponent + right_exponent
    if product == 0.0 or not abs(product) < math.inf or not abs(z) < math.inf:
        return result, 0.0
    if z == 0.0:
        return multiply_double(x, y)
    scale = max(product_exponent, addend_exponent)
    product_shift = max(product_exponent - scale, -_FAR)
    addend_shift = max(addend_exponent - scale, -_FAR)
    high = ldexp(product, product_shift)
    low = ldexp(fma(left, right, -product), product_shift)
    total, rest = two_sum(high, ldexp(addend, addend_shift))
    first, second = two_sum(total - ldexp(result, -scale), rest)
    third, fourth = two_sum(first, low)
    return result, _overflowed(result, third + (fourth + second))


def add_down_double(x: Double, y: Double) -> Double:
    """Return the sum rounded down; where numbers cancel, that is the negative zero."""
    nearest, error = two_sum(-x, -y)
    return -up_double(nearest, error)


def fma_down_double(x: Double, y: Double, z: Double) -> Double:
    """Return ``x * y + z`` rounded down."""
    nearest, error = fma_double(-x, y, -z)
    return -up_double(nearest, error)


def subtract_double(x: Double, y: Double) -> tuple[Double, Double]:
    """Return the difference and the sign of its error."""
    return two_sum(x, -y)


def subtract_down_double(x: Double, y: Double) -> Double:
    """Return the difference rounded down."""
    return add_down_double(x, -y)
