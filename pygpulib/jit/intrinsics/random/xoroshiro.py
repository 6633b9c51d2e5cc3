"""The generator xoroshiro128+ of Blackman and Vigna, one state per thread.

A state is a record of two 64-bit words in an array. The functions advance the state at an index
and belong in kernels.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from pygpulib.jit.intrinsics.scalars import Double, Single, Whole

States: TypeAlias = Any
"""An array of states."""

STATE = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
"""One state."""

JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)
"""The coefficients, modulo 2, of the polynomial that advances a state by 2**64 steps."""

_UNIT = 2.0**-53
_TWO_PI = 2.0 * math.pi
_TWO_PI_SINGLE = np.float32(2.0 * math.pi)
_MINUS_TWO_SINGLE = np.float32(-2.0)
_MIX = (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)


def _rotate(x: Whole, count: Whole) -> Whole:
    return (x << count) | (x >> (64 - count))


def seed_word(seed: Whole) -> Whole:
    """Return the first output of splitmix64, which spreads the bits of a seed."""
    z = np.uint64(seed) + np.uint64(_MIX[0])
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_MIX[1])
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_MIX[2])
    return z ^ (z >> np.uint64(31))


def init_xoroshiro128p_state(states: States, index: Whole, seed: Whole) -> None:
    """Set a state from a seed.

    Parameters
    ----------
    states : 1-d array of xoroshiro128p_dtype
        The states.
    index : int
        Which of them.
    seed : uint64
        Any number.
    """
    z = seed_word(seed)
    states[index].s0 = z
    states[index].s1 = z


def xoroshiro128p_next(states: States, index: Whole) -> Whole:
    """Return 64 random bits as an uint64, and advance the state at an index."""
    s0 = states[index].s0
    s1 = states[index].s1
    result = s0 + s1
    s1 ^= s0
    states[index].s0 = _rotate(s0, 55) ^ s1 ^ (s1 << 14)
    states[index].s1 = _rotate(s1, 36)
    return result


def xoroshiro128p_jump(states: States, index: Whole) -> None:
    """Advance the state at an index by 2**64 steps."""
    s0 = np.uint64(0)
    s1 = np.uint64(0)
    for word in JUMP:
        for bit in range(64):
            if np.uint64(word) & (np.uint64(1) << bit):
                s0 ^= states[index].s0
                s1 ^= states[index].s1
            xoroshiro128p_next(states, index)
    states[index].s0 = s0
    states[index].s1 = s1


def unit_double(bits: Whole) -> Double:
    """Return a float64 in [0, 1) made of the upper 53 of 64 random bits."""
    return np.float64(bits >> 11) * _UNIT


def xoroshiro128p_uniform_float32(states: States, index: Whole) -> Single:
    """Return a float32 from the uniform distribution on [0, 1), and advance a state.

    Parameters
    ----------
    states : 1-d array of xoroshiro128p_dtype
        The states.
    index : int
        Which of them.
    """
    return np.float32(unit_double(xoroshiro128p_next(states, index)))


def xoroshiro128p_uniform_float64(states: States, index: Whole) -> Double:
    """Return a float64 from the uniform distribution on [0, 1), and advance a state.

    Parameters
    ----------
    states : 1-d array of xoroshiro128p_dtype
        The states.
    index : int
        Which of them.
    """
    return unit_double(xoroshiro128p_next(states, index))


def xoroshiro128p_normal_float32(states: States, index: Whole) -> Single:
    """Return a float32 of mean 0 and variance 1 (Box and Muller), and advance a state twice.

    Parameters
    ----------
    states : 1-d array of xoroshiro128p_dtype
        The states.
    index : int
        Which of them.
    """
    radius = xoroshiro128p_uniform_float32(states, index)
    angle = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(_MINUS_TWO_SINGLE * math.log(radius)) * math.cos(_TWO_PI_SINGLE * angle)


def xoroshiro128p_normal_float64(states: States, index: Whole) -> Double:
    """Return a float64 of mean 0 and variance 1 (Box and Muller), and advance a state twice.

    As numba's, it is computed from two uniform float32, so that there are no more than 2**48
    different numbers; :func:`philox_normal` uses all bits.

    Parameters
    ----------
    states : 1-d array of xoroshiro128p_dtype
        The states.
    index : int
        Which of them.
    """
    radius = xoroshiro128p_uniform_float32(states, index)
    angle = xoroshiro128p_uniform_float32(states, index)
    return math.sqrt(-2.0 * math.log(radius)) * math.cos(_TWO_PI * angle)
