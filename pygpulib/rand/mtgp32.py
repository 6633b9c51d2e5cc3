"""MTGP32: Saito's variant of the Mersenne Twister for GPUs, with a period of 2**11213 - 1.

Sub-sequences with parameters of their own deliver 256 numbers each in turn, which is a *row*. Its
256 words follow from the 351 words before it, and need none of each other. A state holds 351
words and those of some rows after them; then the last 351 words go to its beginning. To compute a
row twice does no harm, so calls may begin and end anywhere.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib.errors import ArgumentError
from pygpulib.jit.intrinsics.sync import syncwarp
from pygpulib.jit.intrinsics.threads import blockIdx, threadIdx
from pygpulib.rand.compiling import Value, device, kernel
from pygpulib.rand.kinds import Kind, Ordering
from pygpulib.rand.single_draws import SOURCES, TwisterEngine
from pygpulib.rand.tables import MtgpParameters, mtgp_parameters

if TYPE_CHECKING:
    from pygpulib.jit.dispatcher import Kernel
    from pygpulib.rand.conversions import Method
    from pygpulib.rand.engine import EngineState

Words: TypeAlias = NDArray[np.uint32]

_STREAMS = 192
_STREAMS_LEGACY = 64
_ROW = 256
_SIZE = 351
# Rows that a state has room for, and its words.
_SLOTS = 16
_WORDS = 4480
_WARP = 32
_WORD = 2**32 - 1
_MULTIPLIER = np.uint32(1812433253)


@device
def _sum_rows(matrix: Value, row: Value) -> Value:
    """Return the sum of the rows of a matrix of four rows that four bits select.

    The table holds all sums; putting them together is faster than looking them up.
    """
    one = np.uint32(1)
    return np.uint32(
        (matrix[1] * (row & one))
        ^ (matrix[2] * (row >> np.uint32(1) & one))
        ^ (matrix[4] * (row >> np.uint32(2) & one))
        ^ (matrix[8] * (row >> np.uint32(3) & one))
    )


@device
def _move_down(state: Value, lane: Value) -> None:
    """Let the words after the last slot be those before the first one."""
    for i in range(0, _SIZE, _WARP):
        place = np.uint64(i) + lane
        if place < np.uint64(_SIZE):
            state[place] = state[place + np.uint64(_SLOTS * _ROW)]


@cache
def _kernel(method: Method) -> Kernel:
    """Return the kernel that computes rows; its blocks are sub-sequences, and a warp each."""
    convert = SOURCES[Kind.MTGP32].functions[method]

    @kernel
    def rows(  # noqa: PLR0913, PLR0917
        states: Value,
        positions: Value,
        shifts_left: Value,
        shifts_right: Value,
        recursion: Value,
        tempering: Value,
        mask: Value,
        out: Value,
        begin: Value,
        first_row: Value,
        rows: Value,
        first_stream: Value,
        streams: Value,
        a: Value,
        b: Value,
        table: Value,
        aliases: Value,
    ) -> None:
        stream = first_stream + np.uint64(blockIdx.x)
        size = np.uint64(out.size)
        pick = np.uint64(positions[stream])
        left, right = shifts_left[stream], shifts_right[stream]
        state, matrix, tempers = states[stream], recursion[stream], tempering[stream]
        lane = np.uint64(threadIdx.x)
        for row in range(first_row, first_row + rows):
            slot = row % _SLOTS
            if slot == 0 and row > 0:
                _move_down(state, lane)
                syncwarp()
            at = np.uint64(slot * _ROW) + lane
            start = (np.uint64(row) * streams + stream) * np.uint64(_ROW) - begin
            for _ in range(_ROW // _WARP):
                x = np.uint32((state[at] & mask) ^ state[at + np.uint64(1)])
                x = np.uint32(x ^ (x << left))
                y = np.uint32(x ^ (state[at + pick] >> right))
                word = np.uint32(y ^ _sum_rows(matrix, y))
                state[at + np.uint64(_SIZE)] = word
                near = state[at + pick - np.uint64(1)]
                near = np.uint32(near ^ (near >> np.uint32(16)))
                near = np.uint32(near ^ (near >> np.uint32(8)))
                draw = np.uint32(word ^ _sum_rows(tempers, near))
                place = start + lane
                # Most need no comparison in each lane. Below 0 is far above all sizes.
                if start < size and start + np.uint64(_WARP) <= size:  # noqa: SIM114
                    out[place] = convert(draw, a, b, table, aliases)
                elif place < size:
                    out[place] = convert(draw, a, b, table, aliases)
                at += np.uint64(_WARP)
                start += np.uint64(_WARP)
            syncwarp()

    return rows


class Mtgp32Engine(TwisterEngine):
    """MTGP32 with cuRAND's sub-sequences, on this processor."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self._given: MtgpParameters = mtgp_parameters()
        self._states: Words | None = None
        self._next = 0

    @property
    def _streams(self) -> int:
        return _STREAMS_LEGACY if self.ordering is Ordering.PSEUDO_LEGACY else _STREAMS

    def _write(self, out: NDArray[Any]) -> None:
        if self._states is None:
            self._states = seed_states(self._given, self.seed, self._streams)
        streams = self._streams
        row = streams * _ROW
        first_row, inside = divmod(self._next, row)
        end = self._next + out.size
        rows = -(-end // row) - first_row
        # Of a single row only those that deliver; of several rows all.
        first = inside // _ROW if rows == 1 else 0
        last = (inside + out.size - 1) // _ROW if rows == 1 else streams - 1
        given, parameters = self._given, self._parameters
        _kernel(self._method)[last - first + 1, _WARP](
            self._states,
            given.positions,
            given.shifts_left,
            given.shifts_right,
            given.recursion,
            given.tempering,
            np.uint32(given.mask),
            out,
            np.uint64(self._next),
            first_row,
            rows,
            np.uint64(first),
            np.uint64(streams),
            parameters.a,
            parameters.b,
            parameters.table,
            parameters.aliases,
        )
        self._next = end

    def _begin_again(self) -> None:
        self._states, self._next = None, 0

    def get_state(self) -> EngineState:
        """Return the state, to go on from later or elsewhere."""
        return self._state((self._next,), b"" if self._states is None else self._states.tobytes())

    def set_state(self, state: EngineState) -> None:
        """Go on from a state that an engine of the same kind returned."""
        self._take_settings(state)
        (self._next,) = state.position
        self._states = None
        if not state.memory:
            return
        if len(state.memory) != self._streams * _WORDS * 4:
            raise ArgumentError(
                "the state of a generator is damaged",
                detail=f"it holds {len(state.memory)} bytes, expected {self._streams * _WORDS * 4}",
            )
        words = np.frombuffer(state.memory, np.uint32)
        self._states = words.reshape(self._streams, _WORDS).copy()


def seed_states(given: MtgpParameters, seed: int, streams: int) -> Words:
    """Return the states of all sub-sequences before the first row."""
    hidden = given.recursion[:streams, 4] ^ given.recursion[:streams, 8] << np.uint32(16)
    folded = hidden + (hidden >> np.uint32(16))
    folded += folded >> np.uint32(8)
    filler = (folded & np.uint32(0xFF)) * np.uint32(0x01010101)
    states = np.zeros((streams, _WORDS), np.uint32)
    states[:, :_SIZE] = filler[:, None]
    numbers = np.arange(1, streams + 1, dtype=np.uint32)
    word = numbers + np.uint32((seed ^ seed >> 32) & _WORD)
    states[:, 0], states[:, 1] = word, hidden
    for i in range(1, _SIZE):
        states[:, i] ^= _MULTIPLIER * (word ^ (word >> np.uint32(30))) + np.uint32(i)
        word = states[:, i]
    return states
