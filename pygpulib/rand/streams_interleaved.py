"""Generators made of many streams that deliver in turn.

The numbers of a call come from the streams one after the other, starting with the stream that is
next; after the last one it is the first one's turn again. What a stream delivers when it is its
turn is a *unit*: some draws that become some values. A *row* is one unit of every stream. Calls
of different kinds take different numbers of draws, so every stream has its own state.

A call is the rest of a row, whole rows, and the beginning of a row. Streams are threads. For whole
rows the state of a stream stays in registers over several rows.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from pygpulib._record import record
from pygpulib.errors import ArgumentError
from pygpulib.jit.backends.cpu.pool import get_num_threads
from pygpulib.jit.intrinsics.threads import blockDim, blockIdx, gridDim, threadIdx
from pygpulib.rand.compiling import Function, Value, kernel
from pygpulib.rand.conversions import Method, Parameters, method_of, parameters_of
from pygpulib.rand.engine import AnyArray, BaseEngine, EngineState
from pygpulib.rand.units import make_put

if TYPE_CHECKING:
    from pygpulib.jit.dispatcher import Kernel
    from pygpulib.rand.kinds import Kind
    from pygpulib.rand.request import Request

THREADS = 32
"""Threads of a block for whole rows; for a part of a row they are fewer."""
_SPAN_THREADS = 16
# Rows for which the state of a stream stays in registers.
_ROWS = 16
# So many values are not worth the help of another thread.
_SMALL = 1024
# So many blocks for each thread of the processor keep all of them at work to the end.
_BLOCKS_OF_THREAD = 4
# From so many rows on it pays to align them.
_ROTATED = 4
_ALIGNMENT = 64


@record
class Family:
    """The device functions that make up the kernels of one generator and method.

    Attributes
    ----------
    load : Function
        From the array of states and a stream to its state, a tuple.
    store : Function
        Writes the state of a stream back.
    unit : Function
        From a state and the parameters to the next state and a tuple of values.
    streams : int
        How many streams there are.
    values : int
        Values of a unit: 1, 2 or 4.
    resumes : bool
        Whether a call may begin within a unit, and leave a unit before its end.
    """

    load: Function
    store: Function
    unit: Function
    streams: int
    values: int
    resumes: bool


@record
class Kernels:
    """The kernels of a family.

    Attributes
    ----------
    rows, span : Kernel
        For whole rows, and for a part of a row.
    values : int
        Values of a unit.
    scale : int
        Values from one position of the engine to the next.
    row : int
        Values of a row.
    blocks : int
        Blocks that share the streams, at most; a power of 2.
    """

    rows: Kernel
    span: Kernel
    values: int
    scale: int
    row: int
    blocks: int


# ----------------------------------------------------------------------------------- the kernels


def _make_rows(family: Family) -> Kernel:
    """Return a kernel that writes whole rows from `at` on."""
    load, store, unit, put = family.load, family.store, family.unit, make_put(family.values)
    streams, values = family.streams, family.values
    step = np.uint64(streams * values)

    @kernel
    def rows(  # noqa: PLR0913, PLR0917
        states: Value,
        out: Value,
        at: Value,
        rotation: Value,
        rows: Value,
        a: Value,
        b: Value,
        table: Value,
        aliases: Value,
    ) -> None:
        share = streams // gridDim.x
        first = blockIdx.x * share
        for row in range(0, rows, _ROWS):
            count = min(_ROWS, rows - row)
            for other in range(0, share, blockDim.x):
                stream = np.uint64(rotation + first + other + threadIdx.x)
                state = load(states, stream)
                place = np.uint64(at + (row * streams + first + other + threadIdx.x) * values)
                for _ in range(count):
                    state, numbers = unit(state, a, b, table, aliases)
                    put(out, place, numbers)
                    place += step
                store(states, stream, state)

    return rows


def _make_span(family: Family) -> Kernel:
    """Return a kernel that writes the values from `begin` to `end` of one row."""
    load, store, unit = family.load, family.store, family.unit
    values, resumes = family.values, family.resumes

    @kernel
    def span(  # noqa: PLR0913, PLR0917
        states: Value,
        out: Value,
        at: Value,
        begin: Value,
        end: Value,
        a: Value,
        b: Value,
        table: Value,
        aliases: Value,
    ) -> None:
        first = begin // values
        units = (end - 1) // values + 1 - first
        share = (units + gridDim.x - 1) // gridDim.x
        for other in range(0, share, blockDim.x):
            inside = other + threadIdx.x
            number = blockIdx.x * share + inside
            if inside < share and number < units:
                stream = np.uint64(first + number)
                state, numbers = unit(load(states, stream), a, b, table, aliases)
                place = (first + number) * values
                for k in range(values):
                    if begin <= place + k and place + k < end:
                        out[np.uint64(at + place + k - begin)] = numbers[k]
                if not resumes or place + values <= end:
                    store(states, stream, state)

    return span


def make_kernels(family: Family, rows: Kernel | None = None) -> Kernels:
    """Return the kernels of a family, to be compiled when they are first launched.

    Parameters
    ----------
    family : Family
        What they are made of.
    rows : Kernel, optional
        What the engine has instead of the kernel for whole rows.
    """
    return Kernels(
        rows or _make_rows(family),
        _make_span(family),
        family.values,
        1 if family.resumes else family.values,
        family.streams * family.values,
        min(64, family.streams // 128),
    )


# ------------------------------------------------------------------------------------ the engine


def make_states(rows: int, streams: int, dtype: DTypeLike) -> NDArray[Any]:
    """Return an array for the states of streams, a row for each of their words.

    It has some more columns, for the first streams when rows are counted from another one.
    """
    columns = streams + THREADS
    size = rows * columns * np.dtype(dtype).itemsize
    memory = np.zeros(size + _ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % _ALIGNMENT
    return memory[start : start + size].view(dtype).reshape(rows, columns)


def find_rotation(out: AnyArray, begin: int, values: int) -> int:
    """Return with which stream rows have to begin for their values to be aligned in memory."""
    assert isinstance(out, np.ndarray)
    per_line = _ALIGNMENT // out.itemsize
    first = (begin - out.ctypes.data // out.itemsize) % per_line
    return first // values if first % values == 0 else 0


class InterleavedEngine(BaseEngine):
    """A generator whose streams deliver in turn; what the streams are, subclasses say."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self._states: NDArray[Any] | None = None
        # The unit, or the value if calls may begin within units, that is next.
        self._next = 0
        # Where the generator was started last, as a position and as a distance from the offset,
        # and how many units or values it has delivered since.
        self._origin = 0
        self._distance = 0
        self._delivered = 0
        # What was asked for last, and how it is served.
        self._request: Request | None = None
        self._kernels: Kernels
        self._parameters: Parameters

    @property
    @abstractmethod
    def streams(self) -> int:
        """How many streams there are."""

    @abstractmethod
    def _find_kernels(self, method: Method) -> Kernels:
        """Return the kernels for a method."""

    @abstractmethod
    def _start(self, position: int) -> tuple[NDArray[Any], int]:
        """Return the states of all streams at a position, and which unit or value is next."""

    def _go_on(self) -> tuple[int, int]:
        """Return distance and position at which the generator goes on with another seed."""
        distance = self._distance + self._delivered
        return distance, self.offset + distance

    def fill(self, request: Request, out: AnyArray, stream: int = 0) -> None:  # noqa: ARG002
        """Write the next numbers; see :meth:`Engine.fill`."""
        assert isinstance(out, np.ndarray)
        if request is not self._request:
            self._prepare(request)
        size = out.size
        if not size:
            return
        if self._states is None:
            self._states, self._next = self._start(self._origin)
        if out.dtype.kind == "i":
            out = out.view(request.dtype)
        kernels = self._kernels
        scale = kernels.scale
        begin = self._next * scale
        end = begin + size
        self._write(out, begin, end)
        self._next = -(-end // scale) % (kernels.row // scale)
        self._delivered += -(-size // scale)

    def _write(self, out: AnyArray, begin: int, end: int) -> None:
        """Write the values from `begin` on, which is in the first row."""
        if end <= self._kernels.row:
            self._fill_span(out, 0, begin, end)
        else:
            self._fill_rows(out, begin, end)

    def _prepare(self, request: Request) -> None:
        self.check(request)
        self._parameters = parameters_of(request)
        self._kernels = self._find_kernels(method_of(request))
        self._request = request

    def _fill_span(self, out: AnyArray, at: int, begin: int, end: int) -> None:
        """Write the values from `begin` to `end` of a row."""
        kernels, given = self._kernels, self._parameters
        blocks = 1 if end - begin <= _SMALL else self._count_blocks()
        kernels.span[blocks, _SPAN_THREADS](
            self._states, out, at, begin, end, given.a, given.b, given.table, given.aliases
        )

    def _count_blocks(self) -> int:
        """Return how many blocks share the streams.

        The fewer there are, the longer are the pieces of memory that a block fills. They are a
        power of 2, however many threads there are, so that each has equally many whole warps.
        """
        wanted = _BLOCKS_OF_THREAD * get_num_threads()
        return min(self._kernels.blocks, 1 << (wanted - 1).bit_length())

    def _fill_spans(self, out: AnyArray, at: int, begin: int, end: int) -> None:
        """Write less than two rows, `begin` being in the first one."""
        row = self._kernels.row
        if begin < row:
            middle = min(row, end)
            if begin < middle:
                self._fill_span(out, at, begin, middle)
            at, begin = at + middle - begin, middle
        if begin < end:
            self._fill_span(out, at, begin - row, end - row)

    def _fill_rows(self, out: AnyArray, begin: int, end: int) -> None:
        """Write the rest of a row, whole rows, and the beginning of a row.

        Rows may be counted from another stream than the first, so that vectors of their values
        are aligned in memory.
        """
        kernels, given = self._kernels, self._parameters
        row, streams = kernels.row, self.streams
        rotation = find_rotation(out, begin, kernels.values) if end - begin > _ROTATED * row else 0
        first = rotation * kernels.values
        start = first if begin <= first else row + first
        rows = (end - start) // row
        if rows < 1:
            self._fill_spans(out, 0, begin, end)
            return
        self._fill_spans(out, 0, begin, start)
        states = self._states
        assert states is not None
        if rotation:
            states[:, streams : streams + rotation] = states[:, :rotation]
        kernels.rows[self._count_blocks(), THREADS](
            states, out, start - begin, rotation, rows,
            given.a, given.b, given.table, given.aliases,
        )  # fmt: skip
        if rotation:
            states[:, :rotation] = states[:, streams : streams + rotation]
        done = start - begin + rows * row
        self._fill_spans(out, done, first, first + end - begin - done)

    def _restart(self, *, keep_position: bool) -> None:
        self._distance, self._origin = self._go_on() if keep_position else (0, self.offset)
        self._delivered = 0
        self._states = None

    def get_state(self) -> EngineState:
        """Return the state, to go on from later or elsewhere."""
        position = (self._next, self._origin, self._distance, self._delivered)
        return self._state(position, b"" if self._states is None else self._states.tobytes())

    def set_state(self, state: EngineState) -> None:
        """Go on from a state that an engine of the same kind returned."""
        self._take_settings(state)
        self._request = None
        self._next, self._origin, self._distance, self._delivered = state.position
        self._states = None
        if state.memory:
            like, _ = self._start(0)
            if len(state.memory) != like.nbytes:
                raise ArgumentError(
                    "the state of a generator is damaged",
                    detail=f"it holds {len(state.memory)} bytes, expected {like.nbytes}",
                )
            like[...] = np.frombuffer(state.memory, like.dtype).reshape(like.shape)
            self._states = like
