"""Functions of integers that take them apart: halves of products, means, bytes."""

from __future__ import annotations

import numpy as np

from pygpulib.jit.intrinsics.scalars import Whole

_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)


def high_product(x: Whole, y: Whole) -> Whole:
    """Return the upper half of the product of two int32."""
    return np.int32((np.int64(x) * np.int64(y)) >> 32)


def high_product_unsigned(x: Whole, y: Whole) -> Whole:
    """Return the upper half of the product of two uint32."""
    return np.uint32((np.uint64(x) * np.uint64(y)) >> _HALF)


def high_product_unsigned_long(x: Whole, y: Whole) -> Whole:
    """Return the upper half of the product of two uint64."""
    x_high, x_low = x >> _HALF, x & _WORD
    y_high, y_low = y >> _HALF, y & _WORD
    first = x_high * y_low + ((x_low * y_low) >> _HALF)
    second = x_low * y_high + (first & _WORD)
    return x_high * y_high + (first >> _HALF) + (second >> _HALF)


def high_product_long(x: Whole, y: Whole) -> Whole:
    """Return the upper half of the product of two int64."""
    product = np.int64(high_product_unsigned_long(np.uint64(x), np.uint64(y)))
    return product - (y if x < 0 else 0) - (x if y < 0 else 0)


def product_24(x: Whole, y: Whole) -> Whole:
    """Return the product of the lower 24 bits of two int32."""
    left = np.int64(np.int32(np.int64(x) << 8) >> 8)
    right = np.int64(np.int32(np.int64(y) << 8) >> 8)
    return np.int32(left * right)


def product_24_unsigned(x: Whole, y: Whole) -> Whole:
    """Return the product of the lower 24 bits of two uint32."""
    return np.uint32((np.int64(x) & 0xFFFFFF) * (np.int64(y) & 0xFFFFFF))


def mean_down(x: Whole, y: Whole) -> Whole:
    """Return the mean of two integers of 32 bits, rounded down."""
    return (np.int64(x) + np.int64(y)) >> 1


def mean_up(x: Whole, y: Whole) -> Whole:
    """Return the mean of two integers of 32 bits, rounded up."""
    return (np.int64(x) + np.int64(y) + 1) >> 1


def choose_bytes(x: Whole, y: Whole, selector: Whole) -> Whole:
    """Return four of the eight bytes of two uint32; hexadecimal digits say which."""
    both = np.uint64(x) | (np.uint64(y) << _HALF)
    result = np.uint64(0)
    for place in range(4):
        chosen = np.uint64((np.int64(selector) >> (4 * place)) & 7)
        byte = (both >> (chosen << np.uint64(3))) & np.uint64(255)
        result |= byte << np.uint64(8 * place)
    return np.uint32(result)
