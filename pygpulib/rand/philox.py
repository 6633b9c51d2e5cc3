"""Philox4x32-10: a function of a counter, 65536 sub-sequences of it.

A sub-sequence is a stream, and its state the number of blocks it has delivered. Every visit yields
four values, from one block of four words or from two; calls may begin and end between them.
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib.errors import ArgumentError
from pygpulib.rand.compiling import Function, Value, device
from pygpulib.rand.conversions import FROM_BITS, Conversion, Method
from pygpulib.rand.engine import EngineState
from pygpulib.rand.streams_interleaved import (
    Family,
    InterleavedEngine,
    Kernels,
    make_kernels,
    make_states,
)

Counters: TypeAlias = NDArray[np.uint64]

_STREAMS = 65536
_LAST_STREAM = np.uint64(_STREAMS - 1)
_VALUES = 4
_ROW = _STREAMS * _VALUES

_FACTOR_0, _FACTOR_1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL_0, _WEYL_1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ONE = np.uint64(1)
_ROUNDS = tuple(np.uint64(number) for number in range(10))

_COUNTERS, _KEY = 0, 1
"""Rows of the array of states: the counters, and the key in the first two columns of the other."""


@device
def _load(states: Value, stream: Value) -> Value:
    # Behind the last stream the first ones come again.
    number = stream & _LAST_STREAM
    return states[_COUNTERS, stream], number, states[_KEY, 0], states[_KEY, 1]


@device
def _store(states: Value, stream: Value, state: Value) -> None:
    states[_COUNTERS, stream] = state[0]


@device
def _block(counter: Value, stream: Value, key_0: Value, key_1: Value) -> Value:
    """Return four words. The upper halves of the numbers in between are arbitrary."""
    c0, c1, c2, c3 = counter, counter >> _HALF, stream, np.uint64(0)
    for number in _ROUNDS:
        # The lower halves. Written as shifts they stay where they are in vectors of 64 bits, whose
        # multiplication ignores the upper halves; masks are taken for 32-bit numbers.
        first = ((c0 << _HALF) >> _HALF) * _FACTOR_0
        second = ((c2 << _HALF) >> _HALF) * _FACTOR_1
        c0 = (second >> _HALF) ^ c1 ^ ((key_0 + number * _WEYL_0) & _WORD)
        c2 = (first >> _HALF) ^ c3 ^ ((key_1 + number * _WEYL_1) & _WORD)
        c1 = second
        c3 = first
    return np.uint32(c0), np.uint32(c1), np.uint32(c2), np.uint32(c3)


def _make_unit(conversion: Conversion) -> Function:
    """Return a function that makes four values of one or two blocks."""
    convert = conversion.function
    match conversion.draws, conversion.values:
        case 1, 1:
            return _unit_of_single_draws(convert)
        case 2, 2:
            return _unit_of_pairs(convert)
        case 2, 1:
            return _unit_of_two_draws(convert)
        case _:
            return _unit_of_four_draws(convert)


def _unit_of_single_draws(convert: Function) -> Function:
    @device
    def unit(state: Value, a: Value, b: Value, table: Value, aliases: Value) -> Value:
        counter, stream, key_0, key_1 = state
        w = _block(counter, stream, key_0, key_1)
        return (counter + _ONE, stream, key_0, key_1), (
            *convert(w[0], a, b, table, aliases),
            *convert(w[1], a, b, table, aliases),
            *convert(w[2], a, b, table, aliases),
            *convert(w[3], a, b, table, aliases),
        )

    return unit


def _unit_of_pairs(convert: Function) -> Function:
    @device
    def unit(state: Value, a: Value, b: Value, table: Value, aliases: Value) -> Value:
        counter, stream, key_0, key_1 = state
        w = _block(counter, stream, key_0, key_1)
        return (counter + _ONE, stream, key_0, key_1), (
            *convert(w[0], w[1], a, b, table, aliases),
            *convert(w[2], w[3], a, b, table, aliases),
        )

    return unit


def _unit_of_two_draws(convert: Function) -> Function:
    @device
    def unit(state: Value, a: Value, b: Value, table: Value, aliases: Value) -> Value:
        counter, stream, key_0, key_1 = state
        w = _block(counter, stream, key_0, key_1)
        x = _block(counter + _ONE, stream, key_0, key_1)
        return (counter + _ONE + _ONE, stream, key_0, key_1), (
            *convert(w[0], w[1], a, b, table, aliases),
            *convert(w[2], w[3], a, b, table, aliases),
            *convert(x[0], x[1], a, b, table, aliases),
            *convert(x[2], x[3], a, b, table, aliases),
        )

    return unit


def _unit_of_four_draws(convert: Function) -> Function:
    @device
    def unit(state: Value, a: Value, b: Value, table: Value, aliases: Value) -> Value:
        counter, stream, key_0, key_1 = state
        w = _block(counter, stream, key_0, key_1)
        x = _block(counter + _ONE, stream, key_0, key_1)
        return (counter + _ONE + _ONE, stream, key_0, key_1), (
            *convert(w[0], w[1], w[2], w[3], a, b, table, aliases),
            *convert(x[0], x[1], x[2], x[3], a, b, table, aliases),
        )

    return unit


@cache
def _kernels(method: Method) -> Kernels:
    conversion = FROM_BITS[method]
    takes_two_blocks = conversion.draws > conversion.values
    unit = _make_unit(conversion)
    return make_kernels(Family(_load, _store, unit, _STREAMS, _VALUES, True, takes_two_blocks))


class PhiloxEngine(InterleavedEngine):
    """Philox4x32-10 with cuRAND's sub-sequences, on this processor."""

    streams = _STREAMS

    def _find_kernels(self, method: Method) -> Kernels:
        return _kernels(method)

    def _go_on(self) -> tuple[int, int]:
        # As many values on as there were visits; only at the very start, where cuRAND has
        # nothing to skip, it goes on with the value that is next.
        delivered = self._origin % _VALUES + self._delivered
        distance = self._distance + delivered // _VALUES
        return distance, self.offset + distance or delivered

    def _start(self, position: int) -> tuple[Counters, int]:
        rows, following = divmod(position, _ROW)
        states = make_states(2, _STREAMS, np.uint64)
        states[_COUNTERS] = rows
        states[_COUNTERS, : following // _VALUES] += _ONE
        states[_KEY, :2] = self.seed & 0xFFFFFFFF, self.seed >> 32
        return states, following

    def get_state(self) -> EngineState:
        """Return the state, to go on from later or elsewhere."""
        state = super().get_state()
        # Nearly all counters are the same.
        memory = zlib.compress(state.memory, 1) if state.memory else b""
        return self._state(state.position, memory)

    def set_state(self, state: EngineState) -> None:
        """Go on from a state that an engine of the same kind returned."""
        try:
            memory = zlib.decompress(state.memory) if state.memory else b""
        except zlib.error as cause:
            raise ArgumentError("the state of a generator is damaged") from cause
        super().set_state(
            EngineState(
                state.kind,
                state.ordering,
                state.seed,
                state.offset,
                state.dimensions,
                state.position,
                memory,
            )
        )
