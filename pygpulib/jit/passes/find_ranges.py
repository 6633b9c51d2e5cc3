"""Which integers a value can be.

A forward walk with intervals. Conditions count: inside ``if 0 < i`` the walk knows ``i >= 1``, and
behind ``if i >= n: return`` that ``i < n``; a value computed there profits. The interval of a value
holds wherever the value is in scope; that of a condition says whether it always or never holds.

A loop is walked until its carried values stay within what was assumed at its head, with a bound
that keeps moving given up for the bound of the type.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pygpulib._record import field, record
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.passes.accumulators import Accumulators
from pygpulib.jit.passes.intervals import (
    Interval,
    binary_interval,
    cast_interval,
    compare_interval,
    range_of_type,
    unary_interval,
)

_MAX_THREADS = 1024
_MAX_GRID_X = (1 << 31) - 1
_MAX_GRID_YZ = (1 << 16) - 1

_REGISTERS = {
    ir.Register.TID_X: Interval(0, _MAX_THREADS - 1),
    ir.Register.TID_Y: Interval(0, _MAX_THREADS - 1),
    ir.Register.TID_Z: Interval(0, 63),
    ir.Register.NTID_X: Interval(1, _MAX_THREADS),
    ir.Register.NTID_Y: Interval(1, _MAX_THREADS),
    ir.Register.NTID_Z: Interval(1, 64),
    ir.Register.CTAID_X: Interval(0, _MAX_GRID_X - 1),
    ir.Register.CTAID_Y: Interval(0, _MAX_GRID_YZ - 1),
    ir.Register.CTAID_Z: Interval(0, _MAX_GRID_YZ - 1),
    ir.Register.NCTAID_X: Interval(1, _MAX_GRID_X),
    ir.Register.NCTAID_Y: Interval(1, _MAX_GRID_YZ),
    ir.Register.NCTAID_Z: Interval(1, _MAX_GRID_YZ),
    ir.Register.LANEID: Interval(0, 31),
    ir.Register.WARPSIZE: Interval(32, 32),
    ir.Register.DYNAMIC_SHARED_BYTES: Interval(0, 2**31 - 1),
}

_NEGATED = {
    ir.CompareKind.EQ: ir.CompareKind.NE,
    ir.CompareKind.NE: ir.CompareKind.EQ,
    ir.CompareKind.LT: ir.CompareKind.GE,
    ir.CompareKind.GE: ir.CompareKind.LT,
    ir.CompareKind.GT: ir.CompareKind.LE,
    ir.CompareKind.LE: ir.CompareKind.GT,
}

_MAX_ROUNDS = 5


class Ranges(dict[ir.Value, Interval]):
    """Interval by value; where nothing is known, the range of the value's integer type or bool."""

    def __missing__(self, value: ir.Value) -> Interval:
        whole = range_of_type(value.type)
        if whole is None:
            raise KeyError(value)
        return whole


def find_ranges(function: ir.Function) -> Ranges:
    """Find an interval for every integer and truth value of a function.

    Parameters
    ----------
    function : ir.Function
        What to analyse; its ``param_ranges`` are believed.

    Returns
    -------
    Ranges
        By value, the interval that it lies in whenever it is computed.
    """
    finder = _Finder()
    for value, (low, high) in function.param_ranges.items():
        finder.ranges[value] = Interval(low, high)
    finder.walk(function.body)
    return finder.ranges


@record(frozen=False)
class _Exits:
    """What leaves a loop or scope, joined over all ways out; None where nothing came yet."""

    results: list[Interval | None]
    carried: list[Interval | None]
    passed: list[tuple[ir.Value, ...]] = field(default_factory=list)
    is_broken: bool = False


@record(frozen=False)
class _Carried:
    """A carried integer of the loop being walked: where it stands, and how it starts."""

    position: int
    param: ir.Value
    init: Interval
    is_bounded: bool = False


def _widen(old: Interval, joined: Interval, whole: Interval, rounds: int) -> Interval:
    """Return a guess for where an interval ends that has begun to grow."""
    if rounds >= _MAX_ROUNDS:
        return whole
    if rounds == 1:
        return joined
    low = old.low if joined.low == old.low else 0 if joined.low >= 0 else whole.low
    return Interval(low, old.high if joined.high == old.high else whole.high)


class _Finder:
    """One analysis."""

    def __init__(self) -> None:
        self.ranges = Ranges()
        self.definitions: dict[ir.Value, ir.Op] = {}
        self.heads: dict[ir.Value, Interval] = {}
        self.loops: list[_Exits] = []
        self.scopes: list[_Exits] = []
        # What conditions have narrowed for the blocks that are open: values and their intervals
        # before, to be put back when the block ends.
        self.narrowed: list[tuple[ir.Value, Interval]] = []
        self.sums = Accumulators(self.definitions, self.ranges)

    def walk(self, block: ir.Block) -> None:
        """Analyse a block; what conditions say holds up to its end."""
        mark = len(self.narrowed)
        self._walk_ops(block)
        self._restore(mark)

    def _walk_ops(self, block: ir.Block) -> None:
        for op in block.ops:
            handler = _HANDLERS.get(op.__class__)
            if handler is not None:
                handler(self, op)

    def _restore(self, mark: int) -> None:
        while len(self.narrowed) > mark:
            value, interval = self.narrowed.pop()
            self.ranges[value] = interval

    # ---------------------------------------------------------------------- straight-line code

    def const(self, op: ir.Const) -> None:
        if isinstance(op.value, int):
            number = int(op.value)
            self.ranges[op.result] = Interval(number, number)

    def register(self, op: ir.ReadRegister) -> None:
        self.ranges[op.result] = _REGISTERS[op.register]

    def unary(self, op: ir.Unary) -> None:
        dtype = op.result.type
        if range_of_type(dtype) is not None and isinstance(dtype, DType):
            self.definitions[op.result] = op
            self.ranges[op.result] = unary_interval(op.kind, self.ranges[op.operand], dtype)

    def binary(self, op: ir.Binary) -> None:
        dtype = op.result.type
        if range_of_type(dtype) is not None and isinstance(dtype, DType):
            self.definitions[op.result] = op
            left, right = self.ranges[op.left], self.ranges[op.right]
            self.ranges[op.result] = binary_interval(op.kind, left, right, dtype)

    def compare(self, op: ir.Compare) -> None:
        if range_of_type(op.left.type) is not None:
            self.definitions[op.result] = op
            left, right = self.ranges[op.left], self.ranges[op.right]
            self.ranges[op.result] = compare_interval(op.kind, left, right)

    def cast(self, op: ir.Cast) -> None:
        if range_of_type(op.operand.type) is None or range_of_type(op.result.type) is None:
            return
        self.definitions[op.result] = op
        self.ranges[op.result] = cast_interval(self.ranges[op.operand], op.result.type)

    def select(self, op: ir.Select) -> None:
        if range_of_type(op.result.type) is None:
            return
        self.definitions[op.result] = op
        decided = self.ranges[op.condition].single
        if decided is None:
            chosen = self._assuming(op.condition, True, op.if_true).join(
                self._assuming(op.condition, False, op.if_false)
            )
        else:
            chosen = self.ranges[op.if_true if decided else op.if_false]
        self.ranges[op.result] = chosen

    def _assuming(self, condition: ir.Value, truth: bool, value: ir.Value) -> Interval:
        """Return the interval of a value in case the condition holds, or does not."""
        mark = len(self.narrowed)
        self._assume(condition, truth)
        interval = self.ranges[value]
        self._restore(mark)
        return interval

    # --------------------------------------------------------------------------------- control

    def if_(self, op: ir.If) -> None:
        ends: list[ir.Yield] = []
        gone: bool | None = None
        found: list[Interval | None] = [None] * len(op.results)
        for truth, block in ((True, op.then_block), (False, op.else_block)):
            mark = len(self.narrowed)
            self._assume(op.condition, truth)
            self._walk_ops(block)
            end = block.terminator
            if isinstance(end, ir.Yield):
                ends.append(end)
                self._join(found, end.values)
            else:
                gone = truth
            self._restore(mark)
        self._set(op, found)
        if gone is not None and ends:
            self._assume(op.condition, not gone)

    def for_(self, op: ir.For) -> None:
        induction, *carried = op.body.params
        self.ranges[induction] = self._induction(op)
        exits = self._walk_loop(op, tuple(carried))
        self._join(exits.results, tuple(carried))
        self._set(op, exits.results)

    def _induction(self, op: ir.For) -> Interval:
        start, stop, step = self.ranges[op.start], self.ranges[op.stop], self.ranges[op.step]
        upwards = Interval(start.low, max(start.low, stop.high - 1))
        downwards = Interval(min(start.high, stop.low + 1), start.high)
        if step.low >= 0:
            return upwards
        return downwards if step.high <= 0 else upwards.join(downwards)

    def loop(self, op: ir.Loop) -> None:
        exits = self._walk_loop(op, op.body.params)
        self._set(op, exits.results)

    def _walk_loop(self, op: ir.For | ir.Loop, params: tuple[ir.Value, ...]) -> _Exits:
        """Walk a body until the carried values stay within what was assumed of them."""
        self.sums.block_params.update(op.body.params)
        tracked = [
            _Carried(position, param, self.ranges[op.inits[position]])
            for position, param in enumerate(params)
            if range_of_type(param.type) is not None
        ]
        for each in tracked:
            # What an earlier walk of the surrounding loop found is a good guess.
            self.heads[each.param] = self.heads.get(each.param, each.init).join(each.init)
            self._bound_sum(op, each)
        rounds = 0
        is_tightened = False
        while True:
            for each in tracked:
                self.ranges[each.param] = self.heads[each.param]
            self.loops.append(_Exits([None] * len(op.results), [None] * len(params)))
            self.walk(op.body)
            exits = self.loops.pop()
            if isinstance(op, ir.For):
                self.sums.note(op.body.params[0], exits.passed, is_broken=exits.is_broken)
            rounds += 1
            if self._grow_heads(op, tracked, exits.carried, rounds):
                continue
            if is_tightened or rounds <= 2 or not self._tighten_heads(tracked, exits.carried):
                return exits
            is_tightened = True

    def _bound_sum(self, op: ir.For | ir.Loop, carried: _Carried) -> bool:
        """Take the bound of a sum for the head, if there is one; then it needs no more checks."""
        added = self.sums.bound(op, carried.position) if isinstance(op, ir.For) else None
        if added is None:
            return False
        init = carried.init
        head = Interval(init.low + added.low, init.high + added.high)
        if not head.is_inside(self.ranges.__missing__(carried.param)):
            return False
        self.heads[carried.param] = head
        carried.is_bounded = True
        return True

    def _grow_heads(
        self,
        op: ir.For | ir.Loop,
        tracked: list[_Carried],
        nexts: list[Interval | None],
        rounds: int,
    ) -> bool:
        """Take what the body passes on into account; return whether that is news."""
        grown = False
        for each in tracked:
            old, new = self.heads[each.param], nexts[each.position]
            if each.is_bounded or new is None or new.is_inside(old):
                continue
            grown = True
            if rounds > 1 or not self._bound_sum(op, each):
                whole = self.ranges.__missing__(each.param)
                self.heads[each.param] = _widen(old, old.join(new), whole, rounds)
        return grown

    def _tighten_heads(self, tracked: list[_Carried], nexts: list[Interval | None]) -> bool:
        """Take back what widening overshot: what is passed is all that can come."""
        is_news = False
        for each in tracked:
            passed = nexts[each.position]
            if passed is not None and not each.is_bounded:
                tight = each.init.join(passed)
                is_news = is_news or tight != self.heads[each.param]
                self.heads[each.param] = tight
        return is_news

    def scope(self, op: ir.Scope) -> None:
        self.scopes.append(_Exits([None] * len(op.results), []))
        self.walk(op.body)
        self._set(op, self.scopes.pop().results)

    def continue_(self, op: ir.Continue) -> None:
        self.loops[-1].passed.append(op.values)
        self._join(self.loops[-1].carried, op.values)

    def break_(self, op: ir.Break) -> None:
        self.loops[-1].is_broken = True
        self._join(self.loops[-1].results, op.values)

    def return_(self, op: ir.Return) -> None:
        if self.scopes:
            self._join(self.scopes[-1].results, op.values)

    def _join(self, joined: list[Interval | None], values: tuple[ir.Value, ...]) -> None:
        for position, value in enumerate(values):
            if range_of_type(value.type) is not None:
                old, new = joined[position], self.ranges[value]
                joined[position] = new if old is None else old.join(new)

    def _set(self, op: ir.If | ir.For | ir.Loop | ir.Scope, joined: list[Interval | None]) -> None:
        for result, interval in zip(op.results, joined, strict=True):
            self.definitions[result] = op
            if interval is not None:
                self.ranges[result] = interval

    # ------------------------------------------------------------------------------ conditions

    def _assume(self, condition: ir.Value, truth: bool) -> None:
        """Narrow what follows from a condition, up to the end of the open block."""
        self._narrow(condition, Interval(int(truth), int(truth)))
        match self.definitions.get(condition):
            case ir.Compare(kind, left, right):
                self._assume_compare(kind if truth else _NEGATED[kind], left, right)
            case ir.Binary(ir.BinaryKind.AND, left, right) if truth:
                self._assume(left, True)
                self._assume(right, True)
            case ir.Binary(ir.BinaryKind.OR, left, right) if not truth:
                self._assume(left, False)
                self._assume(right, False)
            case ir.Unary(ir.UnaryKind.NOT, operand):
                self._assume(operand, not truth)
            case ir.Cast(operand):
                kind = ir.CompareKind.NE if truth else ir.CompareKind.EQ
                self._assume_bounds(kind, operand, Interval(0, 0))
            case ir.Select(chooser, if_true, if_false):
                self._assume_choice(chooser, if_true, if_false, truth)
            case ir.If() as op:
                position = op.results.index(condition)
                ends = [
                    end.values[position] if isinstance(end, ir.Yield) else None
                    for end in (op.then_block.terminator, op.else_block.terminator)
                ]
                self._assume_choice(op.condition, ends[0], ends[1], truth)
            case _:
                pass

    def _assume_choice(
        self,
        chooser: ir.Value,
        if_true: ir.Value | None,
        if_false: ir.Value | None,
        truth: bool,
    ) -> None:
        """Narrow what follows if the chosen one of two conditions is ``truth``."""

        def is_possible(value: ir.Value | None) -> bool:
            return value is not None and self.ranges[value].single in (None, truth)

        if if_true is not None and not is_possible(if_false):
            self._assume(chooser, True)
            self._assume(if_true, truth)
        elif if_false is not None and not is_possible(if_true):
            self._assume(chooser, False)
            self._assume(if_false, truth)

    def _assume_compare(self, kind: ir.CompareKind, left: ir.Value, right: ir.Value) -> None:
        left_before = self.ranges[left]
        self._assume_bounds(kind, left, self.ranges[right])
        self._assume_bounds(_MIRRORED.get(kind, kind), right, left_before)

    def _assume_bounds(self, kind: ir.CompareKind, value: ir.Value, other: Interval) -> None:
        """Narrow a value that compares with one of ``other`` as ``kind`` says."""
        low, high = self.ranges[value]
        match kind:
            case ir.CompareKind.LT:
                high = min(high, other.high - 1)
            case ir.CompareKind.LE:
                high = min(high, other.high)
            case ir.CompareKind.GT:
                low = max(low, other.low + 1)
            case ir.CompareKind.GE:
                low = max(low, other.low)
            case ir.CompareKind.EQ:
                low, high = max(low, other.low), min(high, other.high)
            case ir.CompareKind.NE:
                low += low == other.single
                high -= high == other.single
        self._narrow(value, Interval(low, high))

    def _narrow(self, value: ir.Value, interval: Interval) -> None:
        before = self.ranges[value]
        # An empty interval means that control does not come here: any answer is right.
        if interval == before or interval.low > interval.high:
            return
        self.narrowed.append((value, before))
        self.ranges[value] = interval
        match self.definitions.get(value):
            case ir.Cast(operand):
                possible = self.ranges[operand]
                met = possible.meet(interval)
                # If the cast changes no number, what holds for its result holds for its operand.
                if met is not None and cast_interval(possible, value.type) == possible:
                    self._narrow(operand, met)
            case _:
                pass


_MIRRORED = {
    ir.CompareKind.LT: ir.CompareKind.GT,
    ir.CompareKind.GT: ir.CompareKind.LT,
    ir.CompareKind.LE: ir.CompareKind.GE,
    ir.CompareKind.GE: ir.CompareKind.LE,
}

_HANDLERS: Mapping[type[object], Callable[[_Finder, Any], None]] = {
    ir.Const: _Finder.const,
    ir.ReadRegister: _Finder.register,
    ir.Unary: _Finder.unary,
    ir.Binary: _Finder.binary,
    ir.Compare: _Finder.compare,
    ir.Cast: _Finder.cast,
    ir.Select: _Finder.select,
    ir.If: _Finder.if_,
    ir.For: _Finder.for_,
    ir.Loop: _Finder.loop,
    ir.Scope: _Finder.scope,
    ir.Continue: _Finder.continue_,
    ir.Break: _Finder.break_,
    ir.Return: _Finder.return_,
}
