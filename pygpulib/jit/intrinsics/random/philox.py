"""Random numbers without states: Philox4x32-10 of Salmon, Moraes, Dror and Shaw.

A number is a function of a seed, an index and a position in the sequence of that index, so any of
them can be had in any order, by any thread, and again.
"""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.random.xoroshiro import unit_double
from pygpulib.jit.intrinsics.scalars import Double, Single, Whole

_ROUNDS = 10
_FACTORS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))
_TWO_PI = 2.0 * math.pi
_TWO_PI_SINGLE = np.float32(2.0 * math.pi)
_MINUS_TWO_SINGLE = np.float32(-2.0)
_UNIT_SINGLE = np.float32(2.0**-24)
_ONE = np.uint64(1)


def _split(x: Whole) -> tuple[Whole, Whole]:
    wide = np.uint64(x)
    return np.uint32(wide), np.uint32(wide >> 32)


def philox_block(
    counter: tuple[Whole, Whole, Whole, Whole], key: tuple[Whole, Whole]
) -> tuple[Whole, Whole, Whole, Whole]:
    """Return the four uint32 that belong to a counter of four words and a key of two."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(_ROUNDS):
        first = _FACTORS[0] * np.uint64(c0)
        second = _FACTORS[1] * np.uint64(c2)
        c0 = np.uint32(second >> 32) ^ c1 ^ k0
        c2 = np.uint32(first >> 32) ^ c3 ^ k1
        c1 = np.uint32(second)
        c3 = np.uint32(first)
        c0 = np.uint32(c0)
        c2 = np.uint32(c2)
        k0 = np.uint32(k0 + _WEYL[0])
        k1 = np.uint32(k1 + _WEYL[1])
    return c0, c1, c2, c3


def _words(seed: Whole, index: Whole, n: Whole) -> tuple[Whole, Whole, Whole, Whole]:
    n0, n1 = _split(n)
    i0, i1 = _split(index)
    return philox_block((n0, n1, i0, i1), _split(seed))


def philox_uint32(seed: Whole, index: Whole, n: Whole) -> Whole:
    """Return 32 random bits as an uint32.

    Parameters
    ----------
    seed : int
        Which numbers; 64 bits count.
    index : int
        Which sequence, usually the number of the thread.
    n : int
        Which number of the sequence.
    """
    return _words(seed, index, n)[0]


def philox_uint64(seed: Whole, index: Whole, n: Whole) -> Whole:
    """Return 64 random bits as an uint64; see :func:`philox_uint32`."""
    words = _words(seed, index, n)
    return np.uint64(words[0]) | (np.uint64(words[1]) << 32)


def philox_uniform(seed: Whole, index: Whole, n: Whole) -> Double:
    """Return a float64 from the uniform distribution on [0, 1); see :func:`philox_uint32`."""
    return unit_double(philox_uint64(seed, index, n))


def philox_uniform_float32(seed: Whole, index: Whole, n: Whole) -> Single:
    """Return a float32 from the uniform distribution on [0, 1); see :func:`philox_uint32`."""
    return np.float32(philox_uint32(seed, index, n) >> 8) * _UNIT_SINGLE


def philox_normal(seed: Whole, index: Whole, n: Whole) -> Double:
    """Return a float64 of mean 0 and variance 1; see :func:`philox_uint32`."""
    w0, w1, w2, w3 = _words(seed, index, n)
    # In (0, 1], so that the logarithm is finite.
    radius = 1.0 - unit_double(np.uint64(w0) | (np.uint64(w1) << 32))
    angle = unit_double(np.uint64(w2) | (np.uint64(w3) << 32))
    return math.sqrt(-2.0 * math.log(radius)) * math.cos(_TWO_PI * angle)


def philox_normal_float32(seed: Whole, index: Whole, n: Whole) -> Single:
    """Return a float32 of mean 0 and variance 1; see :func:`philox_uint32`."""
    w0, w1, _, _ = _words(seed, index, n)
    radius = np.float32((w0 >> 8) + _ONE) * _UNIT_SINGLE
    angle = np.float32(w1 >> 8) * _UNIT_SINGLE
    return math.sqrt(_MINUS_TWO_SINGLE * math.log(radius)) * math.cos(_TWO_PI_SINGLE * angle)


def philox_randint(seed: Whole, index: Whole, n: Whole, low: Whole, high: Whole) -> Whole:
    """Return an int64 with ``low <= x < high``; see :func:`philox_uint32`.

    The bias is below ``(high - low) / 2**64``, and the range may span at most 2**32 numbers.
    """
    span = np.uint64(high - low)
    bits = philox_uint64(seed, index, n)
    # The upper half of a product of 64 and 32 bits.
    upper = (bits >> 32) * span + (((bits & np.uint64(0xFFFFFFFF)) * span) >> 32)
    return low + np.int64(upper >> 32)
