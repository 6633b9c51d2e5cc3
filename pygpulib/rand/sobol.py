"""The Sobol sequences of 32 and 64 bits, plain and scrambled.

Point ``i`` is a sum of the direction numbers that the Gray code of ``i`` selects. Sixteen points in
a row whose first index is a multiple of 16 are computed together: from one such group to the next
all of them change by the same number.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib.jit.intrinsics.integer_math import ffs
from pygpulib.jit.intrinsics.threads import blockIdx, gridDim, threadIdx
from pygpulib.rand.compiling import Value, kernel
from pygpulib.rand.directions import joe_kuo
from pygpulib.rand.kinds import Kind
from pygpulib.rand.single_draws import SOURCES, SingleDrawEngine
from pygpulib.rand.tables import scrambled_directions

if TYPE_CHECKING:
    from pygpulib.jit.dispatcher import Kernel
    from pygpulib.rand.conversions import Method
    from pygpulib.rand.engine import EngineState

Words: TypeAlias = NDArray[Any]

_GROUP = 16
_GROUP_BITS = 4
# So many groups are worth a block of their own.
_SHARE = 64
_MAX_BLOCKS = 64
# Dimensions whose direction numbers are expanded at a time.
_TABLE_STEP = 1024
_MASK = 2**64 - 1


@cache
def _kernel(kind: Kind, method: Method) -> Kernel:
    """Return the kernel that writes consecutive points of all dimensions.

    Its blocks share the groups along x, and are one dimension each along y.
    """
    convert = SOURCES[kind].functions[method]
    bits = 64 if kind in {Kind.SOBOL64, Kind.SCRAMBLED_SOBOL64} else 32
    word: Value = np.uint64 if bits == 64 else np.uint32
    last = bits - 1

    @kernel
    def points(  # noqa: PLR0913, PLR0917
        directions: Value,
        constants: Value,
        out: Value,
        first: Value,
        count: Value,
        a: Value,
        b: Value,
        table: Value,
        aliases: Value,
    ) -> None:
        dimension = np.uint64(blockIdx.y)
        lane = np.uint64(threadIdx.x)
        group = first >> np.uint64(_GROUP_BITS)
        before = first & np.uint64(_GROUP - 1)
        groups = (before + count + np.uint64(_GROUP - 1)) >> np.uint64(_GROUP_BITS)
        share = (groups - np.uint64(1)) // np.uint64(gridDim.x) + np.uint64(1)
        begin = np.uint64(blockIdx.x) * share
        end = min(begin + share, groups)
        group += begin
        # Sequences of 32 bits begin again after 2**32 points.
        index = word((group << np.uint64(_GROUP_BITS)) + lane)
        code = np.uint64(index ^ (index >> word(1)))
        point = word(constants[dimension])
        for bit in range(bits):
            if (code >> np.uint64(bit)) & np.uint64(1):
                point = word(point ^ directions[dimension, np.uint64(bit)])
        common = directions[dimension, np.uint64(_GROUP_BITS - 1)]
        start = (begin << np.uint64(_GROUP_BITS)) - before
        row = dimension * count
        while begin < end:
            # Whole groups need no comparison in each lane. Below 0 is far above all counts.
            place = start + lane
            if start < count and start + np.uint64(_GROUP) <= count:  # noqa: SIM114
                out[row + place] = convert(point, a, b, table, aliases)
            elif place < count:
                out[row + place] = convert(point, a, b, table, aliases)
            group += np.uint64(1)
            # After the last index comes 0 again.
            changing = min(np.uint64(ffs(group)) + np.uint64(_GROUP_BITS - 1), np.uint64(last))
            point = word(point ^ directions[dimension, changing] ^ common)
            start += np.uint64(_GROUP)
            begin += np.uint64(1)

    return points


class SobolEngine(SingleDrawEngine):
    """A Sobol sequence with cuRAND's points, on this processor."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        self._delivered = 0
        self._tables: tuple[Words, Words] | None = None

    def _write(self, out: Words) -> None:
        if self._tables is None:
            self._tables = _directions(self.kind, self.dimensions)
        directions, constants = self._tables
        count = out.size // self.dimensions
        blocks = min(_MAX_BLOCKS, count // (_GROUP * _SHARE) + 1)
        given = self._parameters
        _kernel(self.kind, self._method)[(blocks, self.dimensions), _GROUP](
            directions,
            constants,
            out,
            np.uint64((self.offset + self._delivered) & _MASK),
            np.uint64(count),
            given.a,
            given.b,
            given.table,
            given.aliases,
        )
        self._delivered += count

    def _restart(self, *, keep_position: bool) -> None:
        self._tables = None
        if not keep_position:
            self._delivered = 0

    def get_state(self) -> EngineState:
        """Return the state, to go on from later or elsewhere."""
        return self._state((self._delivered,))

    def set_state(self, state: EngineState) -> None:
        """Go on from a state that an engine of the same kind returned."""
        self._take_settings(state)
        self._tables = None
        (self._delivered,) = state.position


def _directions(kind: Kind, dimensions: int) -> tuple[Words, Words]:
    """Return the direction numbers and constants of at least so many dimensions."""
    match kind:
        case Kind.SCRAMBLED_SOBOL32:
            return scrambled_directions(32)
        case Kind.SCRAMBLED_SOBOL64:
            return scrambled_directions(64)
        case _:
            bits = 32 if kind is Kind.SOBOL32 else 64
            return _plain_directions(bits, -(-dimensions // _TABLE_STEP) * _TABLE_STEP)


@cache
def _plain_directions(bits: int, dimensions: int) -> tuple[Words, Words]:
    dtype = np.dtype(f"uint{bits}")
    return joe_kuo(bits, dimensions).astype(dtype), np.zeros(dimensions, dtype)
