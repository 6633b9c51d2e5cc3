"""Many states of xoroshiro128+ at once, 2**64 steps apart.

A step is linear over the numbers modulo 2, so 2**64 steps are one matrix of 128 by 128 bits, and
its powers reach any state from the first. A matrix is kept as the images of the 128 unit vectors,
and applied through tables of what each byte of a state contributes.
"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib.jit.intrinsics.random.xoroshiro import JUMP, seed_word

Words: TypeAlias = NDArray[np.uint64]
"""States as rows of two words."""


def byte_tables(matrix: Words) -> Words:
    """Return the contributions ``[byte position, byte]`` to the image of a state."""
    columns = matrix.reshape(16, 8, 2)
    tables = np.zeros((16, 256, 2), np.uint64)
    for bit in range(8):
        half = 1 << bit
        tables[:, half : 2 * half] = tables[:, :half] ^ columns[:, bit, None]
    return tables


def apply(tables: Words, states: Words) -> Words:
    """Return the images of states under the matrix that the tables stand for."""
    parts = np.ascontiguousarray(states, "<u8").view(np.uint8).reshape(-1, 16)
    images = np.zeros((len(parts), 2), np.uint64)
    for position in range(16):
        images ^= tables[position].take(parts[:, position], axis=0)
    return images


def first_states(count: int, seed: int, start: int) -> Words:
    """Return the first states of a seed, from the ``start``-th on."""
    with np.errstate(over="ignore"):
        word = seed_word(np.uint64(seed))
    states = np.array([[word, word]], np.uint64)
    for exponent in range(start.bit_length()):
        if start >> exponent & 1:
            states = apply(jump_tables(exponent), states)
    exponent = 0
    while len(states) < count:
        states = np.concatenate([states, apply(jump_tables(exponent), states)])
        exponent += 1
    return states[:count]


def jump_tables(exponent: int) -> Words:
    """Return the tables of ``2**exponent`` jumps."""
    return byte_tables(_jump_matrix(exponent))


@cache
def _jump_matrix(exponent: int) -> Words:
    if exponent == 0:
        return _one_jump()
    half = _jump_matrix(exponent - 1)
    return apply(byte_tables(half), half)


def _one_jump() -> Words:
    """Return the images of the unit vectors after 2**64 steps."""
    bits = np.uint64(1) << np.arange(64, dtype=np.uint64)
    zeros = np.zeros(64, np.uint64)
    s0, s1 = np.concatenate([bits, zeros]), np.concatenate([zeros, bits])
    images = np.zeros((128, 2), np.uint64)
    for word in JUMP:
        for bit in range(64):
            if word >> bit & 1:
                images[:, 0] ^= s0
                images[:, 1] ^= s1
            s1 = s1 ^ s0
            s0 = _rotate(s0, 55) ^ s1 ^ (s1 << np.uint64(14))
            s1 = _rotate(s1, 36)
    return images


def _rotate(words: NDArray[np.uint64], count: int) -> NDArray[Any]:
    return (words << np.uint64(count)) | (words >> np.uint64(64 - count))
