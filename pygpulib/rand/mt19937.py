"""MT19937, the Mersenne Twister: 8192 sub-sequences, each 2**2048 steps after the one before.

Numbers come in *rows* of 65536: eight of each sub-sequence. The 624 words of a state make 78 rows,
in a fixed order. Sub-sequences are set up when their first numbers are asked for: jumping to all of
them takes a while.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib.errors import ArgumentError
from pygpulib.jit.intrinsics.sync import syncwarp
from pygpulib.jit.intrinsics.threads import blockIdx, gridDim, threadIdx
from pygpulib.rand.compiling import Value, device, kernel
from pygpulib.rand.kinds import Kind
from pygpulib.rand.mt19937_jump import WINDOW, stream_jump, twist_on
from pygpulib.rand.single_draws import SOURCES, TwisterEngine

if TYPE_CHECKING:
    from pygpulib.jit.dispatcher import Kernel
    from pygpulib.rand.conversions import Method
    from pygpulib.rand.engine import EngineState

Words: TypeAlias = NDArray[np.uint32]

_STREAMS = 8192
_LANES = 8
_ROW = _STREAMS * _LANES
_ROWS = 78
_SIZE = 624
_MIDDLE = 397
# A row of the array of states: there is room for one more word, and rows are aligned.
_STRIDE = 640
_WORD = 2**32 - 1

_WARP = 32
_THREADS = 16
# Sub-sequences of a block: its threads write 128 numbers of a row.
_TILE = 16
# Sub-sequences that jump at a time, so that the words they need stay in a processor's caches.
_BATCH = 32
# Words of a state that a thread of a jump sums up.
_SUMS = 3
# How often a warp goes on until all words before, and after, the turn are replaced.
_FIRST_PART = -(-(_SIZE - _MIDDLE) // _WARP)
_SECOND_PART = -(-_MIDDLE // _WARP)


@cache
def _order() -> Words:
    """Return which draw of a state is number ``lane`` of row ``row``, in the order of the rows."""
    order = np.zeros((_ROWS, _LANES), np.uint32)
    start = singles = 0
    for chunk, size in enumerate([57, 56, 57, 57, 56, 57, 57, 57, 56, 57, 57]):
        if size % 7:
            order[0, singles] = start
            singles += 1
            start += 1
        begin = 1 + 7 * chunk
        order[begin : begin + 7] = start + np.arange(56).reshape(_LANES, 7).T
        start += 56
    return order.reshape(-1)


# ----------------------------------------------------------------------------------- the kernels


@device
def _twist(oldest: Value, following: Value, middle: Value) -> Value:
    mixed = np.uint32((oldest & np.uint32(0x80000000)) | (following & np.uint32(0x7FFFFFFF)))
    odd = np.uint32(mixed & np.uint32(1)) * np.uint32(0x9908B0DF)
    return np.uint32(middle ^ (mixed >> np.uint32(1)) ^ odd)


@device
def _temper(word: Value) -> Value:
    word = np.uint32(word ^ (word >> np.uint32(11)))
    word = np.uint32(word ^ ((word << np.uint32(7)) & np.uint32(0x9D2C5680)))
    word = np.uint32(word ^ ((word << np.uint32(15)) & np.uint32(0xEFC60000)))
    return np.uint32(word ^ (word >> np.uint32(18)))


@kernel
def _advance(states: Value) -> None:
    """Replace all words of each state by the next ones; a warp has a sub-sequence."""
    state = states[np.uint64(blockIdx.x)]
    lane = np.uint64(threadIdx.x)
    turn = np.uint64(_SIZE - _MIDDLE)
    new = np.uint32(0)
    place = lane
    for _ in range(_FIRST_PART):
        if place < turn:
            middle = state[place + np.uint64(_MIDDLE)]
            new = _twist(state[place], state[place + np.uint64(1)], middle)
        syncwarp()
        if place < turn:
            state[place] = new
        syncwarp()
        place += np.uint64(_WARP)
    # The first word, which is new by now, follows the last one.
    if lane == 0:
        state[np.uint64(_SIZE)] = state[lane]
    syncwarp()
    place = turn + lane
    for _ in range(_SECOND_PART):
        if place < np.uint64(_SIZE):
            new = _twist(state[place], state[place + np.uint64(1)], state[place - turn])
        syncwarp()
        if place < np.uint64(_SIZE):
            state[place] = new
        syncwarp()
        place += np.uint64(_WARP)


@kernel
def _extend(states: Value, first: Value, windows: Value, count: Value) -> None:
    """Write the words that a jump needs; a thread has a sub-sequence."""
    number = blockIdx.x * _THREADS + threadIdx.x
    if number < count:
        state, window = states[np.uint64(first + number)], windows[np.uint64(number)]
        for i in range(_SIZE):
            window[np.uint64(i)] = state[np.uint64(i)]
        oldest = state[np.uint64(0)]
        for i in range(WINDOW - _SIZE):
            place = np.uint64(i)
            following = window[place + np.uint64(1)]
            new = _twist(oldest, following, window[place + np.uint64(_MIDDLE)])
            window[place + np.uint64(_SIZE)] = new
            oldest = following


@kernel
def _sum_up(windows: Value, places: Value, states: Value, first: Value) -> None:
    """Write the states that a jump leads to: blocks have some words of one, threads three."""
    window = windows[np.uint64(blockIdx.x)]
    word = np.uint64(blockIdx.y * (_THREADS * _SUMS) + threadIdx.x)
    low = middle = high = np.uint32(0)
    for i in range(places.size):
        place = np.uint64(places[np.uint64(i)]) + word
        low = np.uint32(low ^ window[place])
        middle = np.uint32(middle ^ window[place + np.uint64(_THREADS)])
        high = np.uint32(high ^ window[place + np.uint64(2 * _THREADS)])
    state = states[np.uint64(first + blockIdx.x)]
    state[word] = low
    state[word + np.uint64(_THREADS)] = middle
    state[word + np.uint64(2 * _THREADS)] = high


@cache
def _rows_kernel(method: Method) -> Kernel:
    """Return the kernel that writes what some rows have of the numbers asked for."""
    convert = SOURCES[Kind.MT19937].functions[method]

    @kernel
    def rows(  # noqa: PLR0913, PLR0917
        words: Value,
        order: Value,
        out: Value,
        begin: Value,
        first_row: Value,
        rows: Value,
        first_tile: Value,
        tiles: Value,
        a: Value,
        b: Value,
        table: Value,
        aliases: Value,
    ) -> None:
        size = np.uint64(out.size)
        thread = np.uint64(threadIdx.x)
        # A thread writes one lane of every second sub-sequence.
        lane, second = thread % np.uint64(_LANES), thread // np.uint64(_LANES)
        for tile in range(first_tile + blockIdx.x, first_tile + tiles, gridDim.x):
            for row in range(first_row, first_row + rows):
                draw = np.uint64(order[np.uint64(row * _LANES) + lane]) + second * np.uint64(
                    _STRIDE
                )
                start = np.uint64(row * _ROW + tile * _TILE * _LANES) - begin
                word = np.uint64(tile * _TILE * _STRIDE)
                for _ in range(_TILE // 2):
                    place = start + thread
                    # Most need no comparison in each lane. Below 0 is far above all sizes.
                    if start < size and start + np.uint64(_THREADS) <= size:  # noqa: SIM114
                        out[place] = convert(_temper(words[word + draw]), a, b, table, aliases)
                    elif place < size:
                        out[place] = convert(_temper(words[word + draw]), a, b, table, aliases)
                    start += np.uint64(_THREADS)
                    word += np.uint64(2 * _STRIDE)

    return rows


# ------------------------------------------------------------------------------------ the engine


class Mt19937Engine(TwisterEngine):
    """MT19937 with cuRAND's sub-sequences, on this processor."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self._begin_again()

    def _begin_again(self) -> None:
        self._states = np.empty((0, _STRIDE), np.uint32)
        # Numbers delivered, and which 624 draws of each sub-sequence the states are.
        self._next = 0
        self._block = 0

    def _write(self, out: NDArray[Any]) -> None:
        written = 0
        while written < out.size:
            block, inside = divmod(self._next, _ROW * _ROWS)
            count = min(out.size - written, _ROW * _ROWS - inside)
            if block != self._block:
                _advance[_STREAMS, _WARP](self._states)
                self._block = block
            self._write_rows(out[written : written + count], inside)
            written += count
            self._next += count

    def _write_rows(self, out: NDArray[Any], begin: int) -> None:
        """Write numbers that the present words hold."""
        end = begin + out.size
        first_row, last_row = begin // _ROW, (end - 1) // _ROW
        # Of a single row only the tiles that deliver; of several rows all.
        first, last = 0, _STREAMS // _TILE - 1
        if first_row == last_row:
            first, last = begin % _ROW // (_TILE * _LANES), (end - 1) % _ROW // (_TILE * _LANES)
        self._set_up((last + 1) * _TILE)
        tiles, given = last - first + 1, self._parameters
        _rows_kernel(self._method)[min(tiles, 64), _THREADS](
            self._states.reshape(-1),
            _order(),
            out,
            np.uint64(begin),
            first_row,
            last_row - first_row + 1,
            first,
            tiles,
            given.a,
            given.b,
            given.table,
            given.aliases,
        )

    def _set_up(self, streams: int) -> None:
        """Make sure that there are the states of at least so many sub-sequences."""
        known = len(self._states)
        if streams <= known:
            return
        wanted = 1 << (streams - 1).bit_length()
        states = np.zeros((wanted, _STRIDE), np.uint32)
        if known:
            states[:known] = self._states
        else:
            states[0, :_SIZE] = twist_on(seed_words(self.seed), 2 * _SIZE)[_SIZE:]
            known = 1
        while known < wanted:
            _jump(states, known)
            known *= 2
        self._states = states

    def get_state(self) -> EngineState:
        """Return the state, to go on from later or elsewhere."""
        return self._state((self._next, self._block), self._states[:, :_SIZE].tobytes())

    def set_state(self, state: EngineState) -> None:
        """Go on from a state that an engine of the same kind returned."""
        self._take_settings(state)
        self._next, self._block = state.position
        if len(state.memory) % (4 * _SIZE):
            raise ArgumentError(
                "the state of a generator is damaged",
                detail=f"it holds {len(state.memory)} bytes, expected a multiple of {4 * _SIZE}",
            )
        words = np.frombuffer(state.memory, np.uint32).reshape(-1, _SIZE)
        self._states = np.zeros((len(words), _STRIDE), np.uint32)
        self._states[:, :_SIZE] = words


def seed_words(seed: int) -> Words:
    """Return the words before the first ones, from the low 32 bits of a seed."""
    words = np.empty(_SIZE, np.uint32)
    word = seed & _WORD
    for i in range(_SIZE):
        words[i] = word
        word = 1812433253 * (word ^ word >> 30) + i + 1 & _WORD
    return words


def _jump(states: Words, known: int) -> None:
    """Write as many states as are known after them; `known` is a power of two."""
    places = stream_jump(known.bit_length() - 1)
    windows = np.empty((min(known, _BATCH), WINDOW), np.uint32)
    for first in range(0, known, _BATCH):
        count = min(_BATCH, known - first)
        _extend[-(-count // _THREADS), _THREADS](states, first, windows, count)
        _sum_up[(count, _SIZE // (_THREADS * _SUMS)), _THREADS](
            windows, places, states, known + first
        )
