"""Philox4x32-10: a function of a counter, 65536 sub-sequences of it.

A sub-sequence is a stream, and its state the number of blocks it has delivered. Every visit yields
four values, from one block of four words or from two; calls may begin and end between them.

Because a state is a number, a visit needs none of those before it: many values are written in the
order of memory, and the counters move on together.
"""

from __future__ import annotations

import zlib
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib.errors import ArgumentError
from pygpulib.jit.intrinsics.threads import blockIdx, gridDim, threadIdx
from pygpulib.rand.compiling import Function, Value, device, kernel
from pygpulib.rand.conversions import FROM_BITS, Conversion, Method
from pygpulib.rand.engine import AnyArray, EngineState
from pygpulib.rand.streams_interleaved import (
    THREADS,
    Family,
    InterleavedEngine,
    Kernels,
    find_rotation,
    make_kernels,
    make_states,
)
from pygpulib.rand.substreams import WEYL_0, WEYL_1, philox_round, philox_words
from pygpulib.rand.units import make_put

if TYPE_CHECKING:
    from pygpulib.jit.dispatcher import Kernel

Counters: TypeAlias = NDArray[np.uint64]

_STREAMS = 65536
_LAST_STREAM = np.uint64(_STREAMS - 1)
_VALUES = 4
_ROW = _STREAMS * _VALUES

_MANY_VALUES = 4096
"""From so many values on whole units have a kernel of their own."""
_UNITS_OF_LINE = 4
"""Units between places that are aligned in memory, for 32-bit values; 64-bit ones need fewer."""

_WORD = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)
_ROUNDS = tuple(range(10))

_COUNTERS, _KEYS = 0, 1
"""Rows of the array of states: the counters, and in the first columns of the other the two words
of the key for each round."""


@device
def _load(states: Value, stream: Value) -> Value:
    # Behind the last stream the first ones come again.
    return states[_COUNTERS, stream], stream & _LAST_STREAM, states


@device
def _store(states: Value, stream: Value, state: Value) -> None:
    states[_COUNTERS, stream] = state[0]


@device
def _block(counter: Value, stream: Value, states: Value) -> Value:
    """Return four words."""
    block = (counter, counter >> _HALF, stream, np.uint64(0))
    for number in _ROUNDS:
        block = philox_round(block, states[_KEYS, 2 * number], states[_KEYS, 2 * number + 1])
    return philox_words(block)


def _blocks_of(conversion: Conversion) -> int:
    """Return how many blocks become four values."""
    return conversion.draws // conversion.values


def _threads_of(conversion: Conversion) -> int:
    """Return how many units are made together: half as many where each needs many registers."""
    return THREADS // 2 if conversion.draws > 2 else THREADS


def _make_unit(conversion: Conversion) -> Function:
    """Return a function that makes four values of one or two blocks."""
    convert, draws = conversion.function, conversion.draws
    blocks = tuple(map(np.uint64, range(_blocks_of(conversion))))
    count = np.uint64(len(blocks))
    starts = tuple(range(0, 4 * len(blocks), draws))

    @device
    def unit(state: Value, a: Value, b: Value, table: Value, aliases: Value) -> Value:
        counter, stream, states = state
        words, numbers = (), ()
        for block in blocks:
            words += _block(counter + block, stream, states)
        for start in starts:
            numbers += convert(words[start : start + draws], a, b, table, aliases)
        return (counter + count, stream, states), numbers

    return unit


def _make_units(conversion: Conversion) -> Kernel:
    """Return a kernel that writes units from `at` on: as many gangs of them as it is told.

    The counters stay as they are, so that no block has to know what the others do.
    """
    unit, put, blocks = _make_unit(conversion), make_put(_VALUES), np.uint64(_blocks_of(conversion))
    threads = np.uint64(_threads_of(conversion))

    @kernel
    def units(  # noqa: PLR0913, PLR0917
        states: Value,
        out: Value,
        at: Value,
        first: Value,
        gangs: Value,
        a: Value,
        b: Value,
        table: Value,
        aliases: Value,
    ) -> None:
        share = (gangs + gridDim.x - 1) // gridDim.x
        for gang in range(blockIdx.x * share, min((blockIdx.x + 1) * share, gangs)):
            number = np.uint64(gang) * threads
            begin = (np.uint64(first) + number) & _LAST_STREAM
            counter, stream, _ = _load(states, begin + np.uint64(threadIdx.x))
            counter += number // np.uint64(_STREAMS) * blocks
            _, numbers = unit((counter, stream, states), a, b, table, aliases)
            put(
                out, np.uint64(at) + (number + np.uint64(threadIdx.x)) * np.uint64(_VALUES), numbers
            )

    return units


@cache
def _kernels(method: Method) -> Kernels:
    conversion = FROM_BITS[method]
    family = Family(_load, _store, _make_unit(conversion), _STREAMS, _VALUES, True)
    return make_kernels(family, _make_units(conversion))


def _advance(counters: Counters, first: int, visits: int, blocks: int) -> None:
    """Let the counters go on, after so many visits of streams one after the other."""
    rows, rest = divmod(visits, _STREAMS)
    if rows:
        counters += np.uint64(rows * blocks)
    end = first + rest
    counters[first:end] += np.uint64(blocks)
    counters[: max(end - _STREAMS, 0)] += np.uint64(blocks)


class PhiloxEngine(InterleavedEngine):
    """Philox4x32-10 with cuRAND's sub-sequences, on this processor."""

    streams = _STREAMS

    def _find_kernels(self, method: Method) -> Kernels:
        self._conversion = FROM_BITS[method]
        return _kernels(method)

    def _write(self, out: AnyArray, begin: int, end: int) -> None:
        if end - begin <= _MANY_VALUES:
            self._fill_spans(out, 0, begin, end)
        else:
            self._fill_units(out, begin, end)

    def _fill_units(self, out: AnyArray, begin: int, end: int) -> None:
        """Write the rest of a unit, whole units, and the beginning of a unit.

        The first whole unit is one from which on vectors of values are aligned in memory.
        """
        kernels, given, states = self._kernels, self._parameters, self._states
        assert states is not None
        first = -(-begin // _VALUES)
        first += (find_rotation(out, begin, _VALUES) - first) % _UNITS_OF_LINE
        threads = _threads_of(self._conversion)
        gangs = (end // _VALUES - first) // threads
        self._fill_spans(out, 0, begin, first * _VALUES)
        done = first * _VALUES - begin
        first %= _STREAMS
        counters = states[_COUNTERS]
        counters[_STREAMS:] = counters[:THREADS]
        kernels.rows[kernels.blocks, threads](
            states, out, done, first, gangs, given.a, given.b, given.table, given.aliases
        )
        units = gangs * threads
        _advance(counters[:_STREAMS], first, units, _blocks_of(self._conversion))
        place = (first + units) % _STREAMS * _VALUES
        rest = end - begin - done - units * _VALUES
        self._fill_spans(out, end - begin - rest, place, place + rest)

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
        states[_COUNTERS, : following // _VALUES] += np.uint64(1)
        for column, word, step in (
            (0, self.seed & 0xFFFFFFFF, WEYL_0),
            (1, self.seed >> 32, WEYL_1),
        ):
            steps = np.arange(len(_ROUNDS), dtype=np.uint64) * step
            states[_KEYS, column : 2 * len(_ROUNDS) : 2] = (np.uint64(word) + steps) & _WORD
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
