"""Carry a computation into the next iteration where the loop has done it already.

In ``while z.real * z.real + z.imag * z.imag < 4: z = z * z + c`` the squares of the test are the
squares that the next iteration starts with. An operation ``P`` on carried values whose
counterpart on their *next* values is computed in the body, on every way to the next iteration,
becomes a carried value itself: it starts as ``P`` on the initial values, computed before the
loop, and goes on as the counterpart.

Such a value occupies a register all the time, so only operations that cost more than that are
carried: multiplication, division and intrinsics. Cheap ones are followed (their counterparts
lead to those of dearer operations) but computed anew.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pygpulib._record import field, record, replace
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import (
    blocks_of,
    expression_key,
    is_pure,
    operands_of,
    rebuild,
    rebuild_function,
    replace_blocks,
    replace_values,
    results_of,
    walk,
)

_DEAR = frozenset(
    {
        ir.BinaryKind.MULTIPLY,
        ir.BinaryKind.DIVIDE,
        ir.BinaryKind.FLOOR_DIVIDE,
        ir.BinaryKind.MODULO,
        ir.BinaryKind.REMAINDER,
    }
)


def carry_common(function: ir.Function) -> ir.Function:
    """Make loop-carried values of what an iteration computes for the next one.

    Parameters
    ----------
    function : ir.Function
        Common subexpressions should have been shared before. Results are the same bit for bit.

    Returns
    -------
    ir.Function
        The same object if there is nothing to carry. Operations that lost their last use stay.
    """
    return rebuild_function(function, _carry_in_loop)


def _carry_in_loop(op: ir.Op) -> Sequence[ir.Op] | None:
    if not isinstance(op, ir.For | ir.Loop) or not op.inits or not _has_dear_pair(op.body):
        return None
    body = _LoopBody(op)
    if not body.continues:
        return None
    body.find_nexts()
    chosen = body.choose()
    return _rebuild_loop(op, body, chosen) if chosen else None


def _is_dear(op: ir.Op) -> bool:
    return isinstance(op, ir.Call) or (isinstance(op, ir.Binary) and op.kind in _DEAR)


def _has_dear_pair(body: ir.Block) -> bool:
    """Return whether two dear operations might be one another's counterparts: a quick no."""
    seen: set[object] = set()
    for op in walk(body):
        if isinstance(op, ir.Call | ir.Binary) and _is_dear(op):
            what = op.kind if isinstance(op, ir.Binary) else op.intrinsic
            if what in seen:
                return True
            seen.add(what)
    return False


@record(frozen=False)
class _Exit:
    """A way to the next iteration: the operation, and the expressions available there."""

    op: ir.Continue
    available: dict[object, ir.Value]


@record(frozen=False)
class _LoopBody:
    """What a loop computes, and which of it is known one iteration ahead.

    Attributes
    ----------
    loop : For or Loop
        The loop.
    pure : list
        Its pure operations with one result, in order, nested blocks included.
    inside : set
        Every value defined in the body.
    continues : list
        The ways to the next iteration.
    nexts : dict
        By value: what it will be in the next iteration, one value for each of ``continues``.
    varying : set
        Those with ``nexts`` that depend on a carried value.
    """

    loop: ir.For | ir.Loop
    pure: list[ir.Op] = field(default_factory=list)
    inside: set[ir.Value] = field(default_factory=set)
    continues: list[_Exit] = field(default_factory=list)
    nexts: dict[ir.Value, tuple[ir.Value, ...]] = field(default_factory=dict)
    varying: set[ir.Value] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.inside.update(self.loop.body.params)
        self._walk(self.loop.body, {})

    @property
    def carried(self) -> tuple[ir.Value, ...]:
        """The block parameters that stand for carried values."""
        params = self.loop.body.params
        return params[1:] if isinstance(self.loop, ir.For) else params

    def _walk(self, block: ir.Block, available: dict[object, ir.Value] | None) -> None:
        """Collect a block; ``available`` is None where ``Continue`` means another loop."""
        for op in block.ops:
            results = results_of(op)
            self.inside.update(results)
            if len(results) == 1 and is_pure(op) and not isinstance(op, ir.Undefined):
                self.pure.append(op)
                key = expression_key(op)
                if available is not None and key is not None:
                    available.setdefault(key, results[0])
            elif isinstance(op, ir.Continue) and available is not None:
                self.continues.append(_Exit(op, dict(available)))
            is_transparent = isinstance(op, ir.If) and available is not None
            for nested in blocks_of(op):
                self.inside.update(nested.params)
                self._walk(nested, dict(available or {}) if is_transparent else None)

    def find_nexts(self) -> None:
        """Find what each value will be in the next iteration, as far as that is computed."""
        for position, param in enumerate(self.carried):
            self.nexts[param] = tuple(exit_.op.values[position] for exit_ in self.continues)
            self.varying.add(param)
        for op in self.pure:
            operands = operands_of(op)
            found = []
            for number, exit_ in enumerate(self.continues):
                ahead = {value: self._next(value, number) for value in operands}
                known = {value: new for value, new in ahead.items() if new is not None}
                if len(known) < len(ahead):
                    break
                value = exit_.available.get(expression_key(op, known))
                if value is None:
                    break
                found.append(value)
            else:
                result = results_of(op)[0]
                self.nexts[result] = tuple(found)
                if any(value in self.varying for value in operands):
                    self.varying.add(result)

    def _next(self, value: ir.Value, number: int) -> ir.Value | None:
        if value not in self.inside:
            return value
        nexts = self.nexts.get(value)
        return None if nexts is None else nexts[number]

    def choose(self) -> list[ir.Op]:
        """Choose what to carry: dear operations that are still used if the others are carried."""
        if not any(_is_dear(op) and results_of(op)[0] in self.varying for op in self.pure):
            return []
        uses: dict[ir.Value, int] = {}
        for op in walk(self.loop.body):
            for value in operands_of(op):
                uses[value] = uses.get(value, 0) + 1
        chosen = []
        for op in reversed(self.pure):
            result = results_of(op)[0]
            is_used = uses.get(result, 0) > 0
            if is_used and not (_is_dear(op) and result in self.varying):
                continue
            if is_used:
                chosen.append(op)
            for value in operands_of(op):
                uses[value] -= 1
        return chosen[::-1]


def _rebuild_loop(loop: ir.For | ir.Loop, body: _LoopBody, chosen: list[ir.Op]) -> Sequence[ir.Op]:
    """Return the operations before the loop, and the loop that carries ``chosen``."""
    ahead = dict(zip(body.carried, loop.inits, strict=True))
    before: list[ir.Op] = []
    definitions = {results_of(op)[0]: op for op in body.pure}
    olds = [results_of(op)[0] for op in chosen]
    news = [ir.Value(old.type, old.hint) for old in olds]
    inits = [_compute_before(old, definitions, ahead, before) for old in olds]
    extra = {
        id(exit_.op): tuple(body.nexts[old][number] for old in olds)
        for number, exit_ in enumerate(body.continues)
    }
    is_for = isinstance(loop, ir.For)
    # Nobody reads the new results of a For, so what Break passes for them does not matter.
    extended = _extend(loop.body, extra, tuple(news) if is_for else ())
    dropped = set(olds)

    def drop(op: ir.Op) -> Sequence[ir.Op] | None:
        results = results_of(op)
        return () if len(results) == 1 and results[0] in dropped else None

    new_body = rebuild(extended, drop, dict(zip(olds, news, strict=True)))
    results = tuple(ir.Value(old.type) for old in olds) if is_for else ()
    new_loop = replace(
        loop,
        inits=(*loop.inits, *inits),
        body=ir.Block((*new_body.params, *news), new_body.ops),
        results=(*loop.results, *results),
    )
    return [*before, new_loop]


def _compute_before(
    value: ir.Value,
    definitions: Mapping[ir.Value, ir.Op],
    ahead: dict[ir.Value, ir.Value],
    before: list[ir.Op],
) -> ir.Value:
    """Append what computes a value of the first iteration to ``before``; return the value."""
    if value in ahead:
        return ahead[value]
    op = definitions.get(value)
    if op is None:
        return value
    for operand in operands_of(op):
        _compute_before(operand, definitions, ahead, before)
    moved = replace_values(op, ahead)
    result = ir.Value(value.type, value.hint)
    # A Call keeps its results in a tuple, everything else has one.
    change = {"results": (result,)} if isinstance(op, ir.Call) else {"result": result}
    before.append(replace(moved, **change))
    ahead[value] = result
    return result


def _extend(
    block: ir.Block, extra: Mapping[int, tuple[ir.Value, ...]], broken: tuple[ir.Value, ...]
) -> ir.Block:
    """Pass more values to the next iteration (by the identity of ``Continue``), and at breaks."""

    def extend(op: ir.Op) -> ir.Op:
        match op:
            case ir.Continue(values):
                return replace(op, values=(*values, *extra[id(op)]))
            case ir.Break(values):
                return replace(op, values=(*values, *broken))
            case ir.If():
                return replace_blocks(op, lambda nested: _extend(nested, extra, broken))
            case _:
                return op

    return ir.Block(block.params, tuple(map(extend, block.ops)))
