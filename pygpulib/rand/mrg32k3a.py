"""MRG32k3a: L'Ecuyer's combination of two recurrences, many streams of it.

States and products are float64 in the kernels: everything that occurs is an integer below 2**53,
and floating-point units have no slow division to do.
"""

from __future__ import annotations

from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib.jit.intrinsics.bits import float_bits
from pygpulib.rand import distributions as dist
from pygpulib.rand import poisson_tables as poisson
from pygpulib.rand.compiling import Value, device
from pygpulib.rand.conversions import Method, make_conversions
from pygpulib.rand.kinds import Ordering
from pygpulib.rand.streams_interleaved import (
    Family,
    InterleavedEngine,
    Kernels,
    make_kernels,
    make_states,
)
from pygpulib.rand.units import make_load, make_store, make_unit

Doubles: TypeAlias = NDArray[np.float64]
Residues: TypeAlias = NDArray[np.uint64]

_STREAMS = 81920
_LEGACY_STREAMS = 4096
_STREAM_EXPONENT = 76
"""Neighbouring streams are ``2**76`` steps apart."""

_M1, _M2 = 4294967087, 4294944443
_MODULUS_1, _MODULUS_2 = float(_M1), float(_M2)
_INVERSE_1, _INVERSE_2 = 1.0 / _M1, 1.0 / _M2
_A1, _B1 = 1403580.0, 810728.0
_A2, _B2 = 527612.0, 1370589.0
_TO_BITS = 1.000000048662
# The last bits of such a sum are those of the integer that was added.
_BITS_OFFSET = 2.0**52

_SHIFT_1 = ((0, 1, 0), (0, 0, 1), (_M1 - 810728, 1403580, 0))
_SHIFT_2 = ((0, 1, 0), (0, 0, 1), (_M2 - 1370589, 0, 527612))

_ROWS = 8
_WORDS = 6
"""Rows of the array of states, and how many of them are the states of streams. The others are two
draws that are kept because one of the two Poisson numbers that they give is still to be delivered,
or 0."""


@device
def _step(state: Value) -> Value:
    s0, s1, s2, t0, t1, t2 = state
    p = _A1 * s1 - _B1 * s0
    p -= np.rint(p * _INVERSE_1) * _MODULUS_1
    p += _MODULUS_1 if p < 0.0 else 0.0
    q = _A2 * t2 - _B2 * t0
    q -= np.rint(q * _INVERSE_2) * _MODULUS_2
    q += _MODULUS_2 if q < 0.0 else 0.0
    return s1, s2, p, t1, t2, q


@device
def _output(state: Value) -> Value:
    """Return the draw: an integer from 1 to the larger modulus."""
    z = state[2] - state[5]
    return z + (_MODULUS_1 if z <= 0.0 else 0.0)


# ----------------------------------------------------------------------- from draws to numbers


@device
def _double(z: Value) -> Value:
    return z * _INVERSE_1


@device
def _single(z: Value) -> Value:
    return np.float32(z * _INVERSE_1)


@device
def _polar_single(x: Value, y: Value) -> Value:
    return _single(x), dist.angle_single(_single(y))


@device
def _polar_double(x: Value, y: Value) -> Value:
    return _double(x), dist.angle_double(_double(y))


@device
def _bits(z: Value) -> Value:
    # The largest draw becomes 2**32, which wraps to 0.
    return np.uint32(float_bits(np.floor(z * _TO_BITS) + _BITS_OFFSET))


@device
def _poisson_normal(state: Value, a: Value, b: Value, _table: Value, _aliases: Value) -> Value:
    """Return a Poisson number: two draws make two normal numbers, one for the next visit."""
    words = state[:_WORDS]
    x, y = state[_WORDS:]
    is_kept = x > 0.0
    if not is_kept:
        words = _step(words)
        x = _output(words)
        words = _step(words)
        y = _output(words)
    number = poisson.round_one(_polar_single(x, y), is_kept, a, b)
    return (*words, 0.0 if is_kept else x, y), (number,)


_CONVERSIONS = make_conversions(_bits, _single, _double, _double, _polar_single, _polar_double, 1)


@cache
def _kernels(method: Method, streams: int) -> Kernels:
    if method is Method.POISSON_NORMAL:
        words, unit, values = _ROWS, _poisson_normal, 1
    else:
        conversion = _CONVERSIONS[method]
        words, unit, values = _WORDS, make_unit(_step, _output, conversion), conversion.values
    return make_kernels(Family(make_load(words), make_store(words), unit, streams, values, False))


class Mrg32k3aEngine(InterleavedEngine):
    """MRG32k3a with cuRAND's streams, on this processor."""

    @property
    def streams(self) -> int:
        """How many streams there are: the ordering LEGACY has fewer."""
        return _LEGACY_STREAMS if self.ordering is Ordering.PSEUDO_LEGACY else _STREAMS

    def _find_kernels(self, method: Method) -> Kernels:
        return _kernels(method, self.streams)

    def _start(self, position: int) -> tuple[Doubles, int]:
        rows, following = divmod(position, self.streams)
        streams = self.streams
        states = make_states(_ROWS, streams, np.float64)
        seed_1, seed_2 = seed_state(self.seed)
        for part, seed, recurrence in ((0, seed_1, _RECURRENCES[0]), (3, seed_2, _RECURRENCES[1])):
            first = recurrence.follow(recurrence.power(rows), seed[:, None])
            words = recurrence.spread(first, streams)
            moved = recurrence.follow(recurrence.power(1), words[:, :following])
            words[:, :following] = moved
            states[part : part + 3, :streams] = words
        return states, following


# ------------------------------------------------------------------------------- seeds and jumps


def seed_state(seed: int) -> tuple[Residues, Residues]:
    """Return the first state of a seed, three words of each recurrence."""
    low = (seed & 0xFFFFFFFF) ^ 0x55555555 if seed else 1
    high = (seed >> 32) ^ 0xAAAAAAAA if seed else 1
    first = [12345 * word % _M1 for word in (low, high, low)]
    second = [12345 * word % _M2 for word in (high, low, high)]
    return np.array(first, np.uint64), np.array(second, np.uint64)


class _Recurrence:
    """One of the two recurrences, and its steps as matrices modulo its modulus."""

    def __init__(self, modulus: int, step: tuple[tuple[int, ...], ...]) -> None:
        self.modulus = np.uint64(modulus)
        self._powers = [np.array(step, np.uint64)]

    def follow(self, matrix: Residues, states: Residues) -> Residues:
        """Return the images of states, given as columns."""
        # A product of two residues fits into 64 bits, the sum of three does not.
        parts = [matrix[:, k, None] * states[k] % self.modulus for k in range(3)]
        images: Residues = (parts[0] + parts[1] + parts[2]) % self.modulus
        return images

    def power(self, steps: int) -> Residues:
        """Return the matrix of so many steps."""
        result = np.eye(3, dtype=np.uint64)
        for exponent in range(steps.bit_length()):
            if steps >> exponent & 1:
                result = self.follow(self._power_of_two(exponent), result)
        return result

    def _power_of_two(self, exponent: int) -> Residues:
        powers = self._powers
        while len(powers) <= exponent:
            powers.append(self.follow(powers[-1], powers[-1]))
        return powers[exponent]

    def spread(self, first: Residues, streams: int) -> Residues:
        """Return the states of all streams from that of the first."""
        states, exponent = first, _STREAM_EXPONENT
        while states.shape[1] < streams:
            missing = states[:, : streams - states.shape[1]]
            moved = self.follow(self._power_of_two(exponent), missing)
            states = np.concatenate([states, moved], axis=1)
            exponent += 1
        return states


_RECURRENCES = (_Recurrence(_M1, _SHIFT_1), _Recurrence(_M2, _SHIFT_2))
