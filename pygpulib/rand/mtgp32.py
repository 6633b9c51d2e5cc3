"""MTGP32: Saito's variant of the Mersenne Twister for GPUs, with a period of 2**11213 - 1.

Sub-sequences with parameters of their own deliver 256 numbers each in turn, which is a *row*. Their
256 threads compute the next 256 words from the last 351 ones, which lie in a ring of 1024 words.
The ring's words up to a row follow from those before it, so computing a row twice does no harm:
calls may begin and end anywhere in it.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib.errors import ArgumentError
from pygpulib.jit.intrinsics.sync import syncthreads
from pygpulib.jit.intrinsics.threads import blockIdx, threadIdx
from pygpulib.rand.compiling import Value, kernel
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
_THREADS = 256
_SIZE = 351
_RING = 1024
_WORD = 2**32 - 1
_MULTIPLIER = np.uint32(1812433253)
_SIXTEEN = np.uint64(15)
_WITHIN = np.uint64(_RING - 1)


@cache
def _kernel(method: Method) -> Kernel:
    """Return the kernel that computes rows; its blocks are sub-sequences."""
    convert = SOURCES[Kind.MTGP32].functions[method]

    @kernel
    def rows(  # noqa: PLR0913, PLR0917
        rings: Value,
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
        pick, left, right = positions[stream], shifts_left[stream], shifts_right[stream]
        ring, matrix, tempers = rings[stream], recursion[stream], tempering[stream]
        lane = np.uint64(threadIdx.x)
        for row in range(first_row, first_row + rows):
            at = np.uint64(row) * np.uint64(_THREADS) + lane
            near = ring[(at + pick - np.uint64(1)) & _WITHIN]
            far = ring[(at + pick) & _WITHIN]
            x = np.uint32((ring[at & _WITHIN] & mask) ^ ring[(at + np.uint64(1)) & _WITHIN])
            x = np.uint32(x ^ (x << left))
            y = np.uint32(x ^ (far >> right))
            word = np.uint32(y ^ matrix[np.uint64(y) & _SIXTEEN])
            ring[(at + np.uint64(_SIZE)) & _WITHIN] = word
            near = np.uint32(near ^ (near >> np.uint32(16)))
            near = np.uint32(near ^ (near >> np.uint32(8)))
            draw = np.uint32(word ^ tempers[np.uint64(near) & _SIXTEEN])
            place = (np.uint64(row) * streams + stream) * np.uint64(_THREADS) + lane - begin
            # Below 0 is far above the size.
            if place < size:
                out[place] = convert(draw, a, b, table, aliases)
            syncthreads()

    return rows


class Mtgp32Engine(TwisterEngine):
    """MTGP32 with cuRAND's sub-sequences, on this processor."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self._given: MtgpParameters = mtgp_parameters()
        self._rings: Words | None = None
        self._next = 0

    @property
    def _streams(self) -> int:
        return _STREAMS_LEGACY if self.ordering is Ordering.PSEUDO_LEGACY else _STREAMS

    def _write(self, out: NDArray[Any]) -> None:
        if self._rings is None:
            self._rings = seed_rings(self._given, self.seed, self._streams)
        streams = self._streams
        row = streams * _THREADS
        first_row, inside = divmod(self._next, row)
        end = self._next + out.size
        rows = -(-end // row) - first_row
        # Of a single row only those that deliver; of several rows all.
        first = inside // _THREADS if rows == 1 else 0
        last = (inside + out.size - 1) // _THREADS if rows == 1 else streams - 1
        given, parameters = self._given, self._parameters
        _kernel(self._method)[last - first + 1, _THREADS](
            self._rings,
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
        self._rings, self._next = None, 0

    def get_state(self) -> EngineState:
        """Return the state, to go on from later or elsewhere."""
        return self._state((self._next,), b"" if self._rings is None else self._rings.tobytes())

    def set_state(self, state: EngineState) -> None:
        """Go on from a state that an engine of the same kind returned."""
        self._take_settings(state)
        (self._next,) = state.position
        self._rings = None
        if not state.memory:
            return
        if len(state.memory) != self._streams * _RING * 4:
            raise ArgumentError(
                "the state of a generator is damaged",
                detail=f"it holds {len(state.memory)} bytes, expected {self._streams * _RING * 4}",
            )
        words = np.frombuffer(state.memory, np.uint32)
        self._rings = words.reshape(self._streams, _RING).copy()


def seed_rings(given: MtgpParameters, seed: int, streams: int) -> Words:
    """Return the rings of all sub-sequences before the first row."""
    hidden = given.recursion[:streams, 4] ^ given.recursion[:streams, 8] << np.uint32(16)
    folded = hidden + (hidden >> np.uint32(16))
    folded += folded >> np.uint32(8)
    filler = (folded & np.uint32(0xFF)) * np.uint32(0x01010101)
    rings = np.zeros((streams, _RING), np.uint32)
    rings[:, :_SIZE] = filler[:, None]
    numbers = np.arange(1, streams + 1, dtype=np.uint32)
    word = numbers + np.uint32((seed ^ seed >> 32) & _WORD)
    rings[:, 0], rings[:, 1] = word, hidden
    for i in range(1, _SIZE):
        rings[:, i] ^= _MULTIPLIER * (word ^ (word >> np.uint32(30))) + np.uint32(i)
        word = rings[:, i]
    return rings
