"""XORWOW: Marsaglia's xorshift generator with a Weyl sequence, 4096 streams of it."""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib.rand import distributions as dist
from pygpulib.rand import poisson_tables as poisson
from pygpulib.rand.binary_jumps import minimal_polynomial, power_of_t
from pygpulib.rand.compiling import Value, device
from pygpulib.rand.conversions import FROM_BITS, Method
from pygpulib.rand.kinds import Ordering
from pygpulib.rand.streams_interleaved import (
    Family,
    InterleavedEngine,
    Kernels,
    make_kernels,
    make_states,
)
from pygpulib.rand.units import make_load, make_store, make_unit

Words: TypeAlias = NDArray[np.uint32]

STREAMS = 4096
_STREAM_EXPONENT = 67
"""Neighbouring streams are ``2**67`` steps apart."""
_SEED_STEP = 3133713
"""With the ordering SEEDED, neighbouring streams have seeds that differ by this."""

_WEYL = np.uint32(362437)
_WORD = 2**32 - 1
_ROWS = 9
_WORDS = 6
"""Rows of the array of states, and how many of them are the states of streams. The others are
whether two draws are kept, and these, because one of the two Poisson numbers that they give is
still to be delivered."""


@device
def _step(state: Value) -> Value:
    v0, v1, v2, v3, v4, weyl = state
    t = np.uint32(v0 ^ (v0 >> np.uint32(2)))
    new = np.uint32(v4 ^ (v4 << np.uint32(4)) ^ t ^ (t << np.uint32(1)))
    return v1, v2, v3, v4, new, np.uint32(weyl + _WEYL)


@device
def _output(state: Value) -> Value:
    return np.uint32(state[4] + state[5])


@device
def _poisson_normal(state: Value, a: Value, b: Value, _table: Value, _aliases: Value) -> Value:
    """Return a Poisson number: two draws make two normal numbers, one for the next visit."""
    words = state[:_WORDS]
    is_kept, x, y = state[_WORDS:]
    if is_kept == 0:
        words = _step(words)
        x = _output(words)
        words = _step(words)
        y = _output(words)
    number = poisson.round_one(dist.polar_single(x, y), is_kept != 0, a, b)
    return (*words, np.uint32(is_kept == 0), x, y), (number,)


@cache
def _kernels(method: Method) -> Kernels:
    if method is Method.POISSON_NORMAL:
        words, unit, values = _ROWS, _poisson_normal, 1
    else:
        conversion = FROM_BITS[method]
        words, unit, values = _WORDS, make_unit(_step, _output, conversion), conversion.values
    return make_kernels(Family(make_load(words), make_store(words), unit, STREAMS, values, False))


class XorwowEngine(InterleavedEngine):
    """XORWOW with cuRAND's streams, on this processor."""

    streams = STREAMS

    def _find_kernels(self, method: Method) -> Kernels:
        return _kernels(method)

    def _start(self, position: int) -> tuple[Words, int]:
        rows, following = divmod(position, STREAMS)
        states = make_states(_ROWS, STREAMS, np.uint32)
        words = states[:_WORDS, :STREAMS]
        if self.ordering is Ordering.PSEUDO_SEEDED:
            seeds = np.arange(STREAMS, dtype=np.uint64) * np.uint64(_SEED_STEP)
            words[...] = seed_states(seeds + np.uint64(self.seed))
            if rows:
                words[:5] = _apply(_byte_tables(_matrix(_jump(rows))), words[:5])
        else:
            first = seed_states(np.array([self.seed], np.uint64))
            words[:5] = _spread(_follow(first[:5], _jump(rows)))
            words[5] = first[5]
        words[5] += np.uint32(rows * int(_WEYL) & _WORD)
        words[:, :following] = _advance(words[:, :following])
        return states, following


# ------------------------------------------------------------------------------- seeds and jumps


def seed_states(seeds: NDArray[np.uint64]) -> Words:
    """Return the first states of some seeds as columns: five words, and the Weyl sequence."""
    low = (seeds & np.uint64(_WORD)).astype(np.uint32)
    high = (seeds >> np.uint64(32)).astype(np.uint32)
    a = (low ^ np.uint32(0xAAD26B49)) * np.uint32(1099087573)
    b = (high ^ np.uint32(0xF7DCEFDD)) * np.uint32(2591861531)
    return np.stack(
        [
            np.uint32(123456789) + a,
            np.uint32(362436069) ^ a,
            np.uint32(521288629) + b,
            np.uint32(88675123) ^ b,
            np.uint32(5783321) + a,
            np.uint32(6615241) + a + b,
        ]
    )


def _advance(states: Words) -> Words:
    """Return the states after one step; the Weyl sequence is optional."""
    first, last = states[0], states[4]
    t = first ^ (first >> np.uint32(2))
    new = last ^ (last << np.uint32(4)) ^ t ^ (t << np.uint32(1))
    following = [states[1], states[2], states[3], last, new]
    return np.stack([*following, states[5] + _WEYL] if len(states) == 6 else following)


@cache
def _modulus() -> int:
    """Return the minimal polynomial of the step of the five words."""
    state = np.array([[1], [0], [0], [0], [0]], np.uint32)
    bits = []
    for _ in range(2 * 160):
        bits.append(int(state[0, 0] & 1))
        state = _advance(state)
    return minimal_polynomial(bits)


def _jump(steps: int) -> int:
    """Return the polynomial of so many steps."""
    return power_of_t(steps, _modulus())


def _follow(states: Words, jump: int) -> Words:
    """Return the states after the steps that a polynomial stands for."""
    result = np.zeros_like(states)
    while jump:
        if jump & 1:
            result ^= states
        states = _advance(states)
        jump >>= 1
    return result


def _matrix(jump: int) -> Words:
    """Return what a jump makes of each of the 160 states with a single bit, as columns."""
    units = np.zeros((5, 160), np.uint32)
    bits = np.arange(160)
    units[bits // 32, bits] = np.uint32(1) << (bits % 32).astype(np.uint32)
    return _follow(units, jump)


def _byte_tables(matrix: Words) -> Words:
    """Return what each byte of a state contributes: indexed by its position and value."""
    images = np.ascontiguousarray(matrix.T).reshape(20, 8, 5)
    tables = np.zeros((20, 256, 5), np.uint32)
    for bit in range(8):
        half = 1 << bit
        tables[:, half : 2 * half] = tables[:, :half] ^ images[:, bit, None]
    return tables


def _apply(tables: Words, states: Words) -> Words:
    """Return the images of states, given as columns."""
    parts = np.ascontiguousarray(states.T).astype("<u4").view(np.uint8).reshape(-1, 20)
    images = tables[0].take(parts[:, 0], axis=0)
    for position in range(1, 20):
        images ^= tables[position].take(parts[:, position], axis=0)
    return np.ascontiguousarray(images.T)


@cache
def _stream_tables() -> tuple[Words, ...]:
    """Return the tables of jumps over 1, 2, 4, ... streams."""
    matrix = _matrix(_jump(1 << _STREAM_EXPONENT))
    tables = [_byte_tables(matrix)]
    for _ in range(STREAMS.bit_length() - 2):
        matrix = _apply(tables[-1], matrix)
        tables.append(_byte_tables(matrix))
    return tuple(tables)


def _spread(first: Words) -> Words:
    """Return the states of all streams from that of the first."""
    states = first
    for tables in _stream_tables():
        states = np.concatenate([states, _apply(tables, states)], axis=1)
    return states
