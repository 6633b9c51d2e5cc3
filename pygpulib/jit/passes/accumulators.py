"""How much a carried value grows in a loop that runs a bounded number of times.

Intervals alone say of ``for x in row: total += x`` only that ``total`` grows. If what is added does
not depend on carried values, its interval times the number of iterations bounds the sum.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pygpulib._record import field, record
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.passes.intervals import BOOLS, Interval, binary_interval, cast_interval

_NOTHING = Interval(0, 0)


@record(frozen=False)
class Accumulators:
    """What is needed to follow a sum through branches and loops.

    Nothing here may rest on what an unfinished analysis assumes of carried values, nor on
    conditions, which may compare with them: the interval of a term is found from scratch.

    Attributes
    ----------
    definitions : mapping
        The operation that defines an integer, and every operation with blocks that gives one.
    ranges : mapping
        The intervals found so far.
    block_params : set
        Induction variables and carried values of all loops.
    nexts : dict
        By induction variable: what each ``Continue`` passes.
    broken : set
        The induction variables of loops with a ``Break``.
    """

    definitions: Mapping[ir.Value, ir.Op]
    ranges: Mapping[ir.Value, Interval]
    block_params: set[ir.Value] = field(default_factory=set)
    nexts: dict[ir.Value, Sequence[tuple[ir.Value, ...]]] = field(default_factory=dict)
    broken: set[ir.Value] = field(default_factory=set)

    def note(
        self, induction: ir.Value, nexts: Sequence[tuple[ir.Value, ...]], *, is_broken: bool
    ) -> None:
        """Take note of how the iterations of a ``For`` end."""
        self.nexts[induction] = nexts
        if is_broken:
            self.broken.add(induction)

    def bound(self, loop: ir.For, position: int) -> Interval | None:
        """Return what the loop adds to a carried value from start to end, at any time."""
        induction, *params = loop.body.params
        grown = [
            self._growth(values[position], params[position])
            for values in self.nexts.get(induction, ())
        ]
        known = [growth for growth in grown if growth is not None]
        if not known or len(known) < len(grown):
            return None
        trips = self._count_trips(loop)
        if trips is None:
            return None
        low = min(growth.low for growth in known)
        high = max(growth.high for growth in known)
        return Interval(min(low, 0) * trips, max(high, 0) * trips)

    def _count_trips(self, loop: ir.For) -> int | None:
        """Return the most iterations, or None if the bounds or the direction are unknown."""
        start, stop, step = map(self._interval, (loop.start, loop.stop, loop.step))
        if start is None or stop is None or step is None:
            return None
        if step.low > 0:
            return max(0, -((start.low - stop.high) // step.low))
        if step.high < 0:
            return max(0, -((stop.low - start.high) // -step.high))
        return None

    def _growth(self, value: ir.Value, start: ir.Value) -> Interval | None:
        """Return what has been added to ``start`` to get ``value``, if it is such a sum."""
        if value is start:
            return _NOTHING
        match self.definitions.get(value):
            case ir.Binary(ir.BinaryKind.ADD, left, right):
                return self._sum(left, right, start) or self._sum(right, left, start)
            case ir.Select(_, if_true, if_false):
                return self._either([if_true, if_false], start)
            case ir.If(_, then_block, else_block, results):
                position = results.index(value)
                ends = (then_block.terminator, else_block.terminator)
                passed = [end.values[position] for end in ends if isinstance(end, ir.Yield)]
                return self._either(passed, start)
            case ir.For() as loop:
                if loop.body.params[0] in self.broken:
                    return None
                position = loop.results.index(value)
                before = self._growth(loop.inits[position], start)
                inside = self.bound(loop, position) if before is not None else None
                return None if inside is None or before is None else _add(before, inside)
            case _:
                return None

    def _sum(self, total: ir.Value, term: ir.Value, start: ir.Value) -> Interval | None:
        growth = self._growth(total, start)
        added = None if growth is None else self._interval(term)
        return None if growth is None or added is None else _add(growth, added)

    def _either(self, values: Sequence[ir.Value], start: ir.Value) -> Interval | None:
        joined: Interval | None = None
        for value in values:
            growth = self._growth(value, start)
            if growth is None:
                return None
            joined = growth if joined is None else joined.join(growth)
        return joined

    def _interval(self, value: ir.Value) -> Interval | None:
        """Return the interval of a value that no loop and no condition has a part in."""
        if value in self.block_params:
            return None
        match self.definitions.get(value):
            case None:
                return self.ranges[value]
            case ir.Cast(operand):
                inner = self._interval(operand)
                return None if inner is None else cast_interval(inner, value.type)
            case ir.Binary(kind, left, right):
                x, y = self._interval(left), self._interval(right)
                assert isinstance(value.type, DType)
                return None if x is None or y is None else binary_interval(kind, x, y, value.type)
            case ir.Compare():
                return BOOLS
            case _:
                return None


def _add(x: Interval, y: Interval) -> Interval:
    return Interval(x.low + y.low, x.high + y.high)
