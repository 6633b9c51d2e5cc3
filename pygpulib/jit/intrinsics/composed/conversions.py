"""Conversions between integers and floats with a direction of rounding, and of bits."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.bits import bits_float, float_bits
from pygpulib.jit.intrinsics.composed.select import at_most
from pygpulib.jit.intrinsics.scalars import Double, Real, Single, Whole

_LOW_WORD = 0xFFFFFFFF
_INT32_LOW, _INT32_HIGH = -(2.0**31), 2.0**31 - 1.0
_UINT32_HIGH = 2.0**32 - 1.0
_INT64_END = 2**63
_INT64_END_REAL, _UINT64_END_REAL = 2.0**63, 2.0**64
_NO_INT64 = -(2**63)


def to_int32(x: Real, no_number: Whole) -> Whole:
    """Return a whole number as the nearest int32."""
    wide = min(max(np.float64(x), _INT32_LOW), _INT32_HIGH)
    return np.int32(wide) if x == x else np.int32(no_number)


def to_uint32(x: Real, no_number: Whole) -> Whole:
    """Return a whole number as the nearest uint32."""
    wide = min(max(np.float64(x), 0.0), _UINT32_HIGH)
    return np.uint32(np.int64(wide)) if x == x else np.uint32(no_number)


def to_int64(x: Real) -> Whole:
    """Return a whole number as the nearest int64; nan is the least one."""
    return np.int64(x) if x == x else np.int64(_NO_INT64)


def to_uint64(x: Real) -> Whole:
    """Return a whole number as the nearest uint64; nan is ``2**63``."""
    wide = np.uint64(0.0 if x < 0.0 else np.float64(x))
    return wide if x == x else np.uint64(_INT64_END)


def signed_error(whole: Whole, near: Real) -> Double:
    """Return the sign of what a float is smaller by than the int64 that it was rounded from."""
    back = np.int64(near)
    is_below = (back < whole) & (near < _INT64_END_REAL)
    is_above = (back > whole) | (near >= _INT64_END_REAL)
    return -1.0 if is_above else (1.0 if is_below else 0.0)


def unsigned_error(whole: Whole, near: Real) -> Double:
    """Return the sign of what a float is smaller by than the uint64 that it was rounded from."""
    back = np.uint64(near)
    is_below = (back < whole) & (near < _UINT64_END_REAL)
    is_above = (back > whole) | (near >= _UINT64_END_REAL)
    return -1.0 if is_above else (1.0 if is_below else 0.0)


def high_word(x: Double) -> Whole:
    """Return the upper half of a number's bits."""
    return np.int32(float_bits(x) >> 32)


def low_word(x: Double) -> Whole:
    """Return the lower half of a number's bits."""
    return np.int32(float_bits(x) & _LOW_WORD)


def from_words(high: Whole, low: Whole) -> Double:
    """Return the number with these halves of its bits."""
    return bits_float((np.int64(high) << 32) | (np.int64(low) & _LOW_WORD))


def nearest_int64(x: Real) -> Whole:
    """Return the nearest int64, of two the even one."""
    return to_int64(np.rint(x))


def nearest_int64_away(x: Real) -> Whole:
    """Return the nearest int64, of two the one further from zero."""
    whole = np.trunc(x)
    far = abs(x - whole) >= 0.5
    return to_int64(whole + math.copysign(1.0, x) if far else whole)


def saturate(x: Single) -> Single:
    """Return the nearest number from 0 to 1; nan is 0."""
    return np.float32(at_most(x, 1.0) if x > 0.0 else 0.0)
