"""Remove what no effect of the program depends on.

First everything behind a point that control does not pass is cut off. Then liveness spreads from
the operations that have an effect to what they read and to the constructs they stand in; a result
of a construct spreads to the values that its terminators bring. What stays unmarked goes, position
by position: also results, carried values, and values that terminators bring.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import compress
from typing import Any

from pygpulib._record import record, replace
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import blocks_of, replace_blocks
from pygpulib.jit.passes.liveness import Liveness, Region, find_live

Kept = Sequence[bool]
"""Which positions stay."""


def remove_dead_ops(function: ir.Function) -> ir.Function:
    """Remove dead operations, results, carried values and code that is never reached.

    Parameters
    ----------
    function : Function
        A function that is well formed, except that blocks may go on after a terminator.

    Returns
    -------
    Function
        The same object if everything is live. A ``Loop`` always stays: it may be endless.
    """
    body = _cut_unreachable(function.body)
    everything = [True] * len(function.result_types)
    body = _Sweeper(find_live(body)).sweep(body, _Keeps(return_=everything))
    return function if body is function.body else replace(function, body=body)


# ---------------------------------------------------------------------------------- unreachable


def _cut_unreachable(block: ir.Block) -> ir.Block:
    ops: list[ir.Op] = []
    for position, op in enumerate(block.ops):
        new = replace_blocks(op, _cut_unreachable) if blocks_of(op) else op
        if isinstance(new, Region) and not _is_passed(new):
            ops.append(replace(new, results=()) if new.results else new)
            following = block.ops[position + 1]
            is_marked = isinstance(following, ir.Unreachable)
            ops.append(following if is_marked else ir.Unreachable(span=new.span))
            break
        ops.append(new)
        if new.is_terminator:
            break
    return _with_ops(block, ops)


def _with_ops(block: ir.Block, ops: Sequence[ir.Op]) -> ir.Block:
    is_same = len(ops) == len(block.ops) and all(
        new is old for new, old in zip(ops, block.ops, strict=True)
    )
    return block if is_same else ir.Block(block.params, tuple(ops))


def _is_passed(op: Region) -> bool:
    """Return whether control can come out at the end of a construct."""
    match op:
        case ir.If():
            return any(isinstance(block.terminator, ir.Yield) for block in blocks_of(op))
        case ir.For():
            return True
        case ir.Loop():
            return _holds(op.body, ir.Break, (ir.For, ir.Loop, ir.Scope))
        case ir.Scope():
            return _holds(op.body, ir.Return, (ir.Scope,))


def _holds(block: ir.Block, wanted: type[ir.Op], border: tuple[type[ir.Op], ...]) -> bool:
    """Return whether a terminator stands in a block, not counting constructs of their own."""
    for op in block.ops:
        if isinstance(op, wanted):
            return True
        inner = () if isinstance(op, border) else blocks_of(op)
        if any(_holds(nested, wanted, border) for nested in inner):
            return True
    return False


# ----------------------------------------------------------------------------------------- sweep


@record(eq=True)
class _Keeps:
    """Which values each terminator still brings."""

    return_: Kept
    yield_: Kept = ()
    continue_: Kept = ()
    break_: Kept = ()


class _Sweeper:
    """Rebuilds blocks from what is live."""

    def __init__(self, live: Liveness) -> None:
        self._live = live

    def sweep(self, block: ir.Block, keeps: _Keeps) -> ir.Block:
        """Return the block without what is dead; the same object if nothing is."""
        ops = [
            self._sweep_op(op, keeps)
            for op in block.ops
            if op.is_terminator or op in self._live.ops
        ]
        return _with_ops(block, ops)

    def _sweep_op(self, op: ir.Op, keeps: _Keeps) -> ir.Op:
        match op:
            case ir.Yield():
                return _replace(op, values=_filter(op.values, keeps.yield_))
            case ir.Continue():
                return _replace(op, values=_filter(op.values, keeps.continue_))
            case ir.Break():
                return _replace(op, values=_filter(op.values, keeps.break_))
            case ir.Return():
                return _replace(op, values=_filter(op.values, keeps.return_))
            case ir.If() | ir.For() | ir.Loop() | ir.Scope():
                return self._sweep_region(op, keeps)
            case _:
                return op

    def _sweep_region(self, op: Region, keeps: _Keeps) -> ir.Op:
        kept = [self._live.is_kept(value) for value in op.results]
        match op:
            case ir.If():
                inner = replace(keeps, yield_=kept)
                return _replace(
                    op,
                    then_block=self.sweep(op.then_block, inner),
                    else_block=self.sweep(op.else_block, inner),
                    results=_filter(op.results, kept),
                )
            case ir.Scope():
                body = self.sweep(op.body, _Keeps(return_=kept))
                return _replace(op, body=body, results=_filter(op.results, kept))
            case ir.For() | ir.Loop():
                return self._sweep_loop(op, keeps, kept)

    def _sweep_loop(self, op: ir.For | ir.Loop, keeps: _Keeps, kept: list[bool]) -> ir.Op:
        first = len(op.body.params) - len(op.inits)
        carried = [self._live.is_kept(value) for value in op.body.params[first:]]
        if isinstance(op, ir.For):
            # A result of a For is its carried value: both stay, or both go.
            kept = carried = [a or b for a, b in zip(kept, carried, strict=True)]
        body = self.sweep(op.body, _Keeps(keeps.return_, (), carried, kept))
        if not all(carried):
            params = (*op.body.params[:first], *_filter(op.body.params[first:], carried))
            body = ir.Block(params, body.ops)
        return _replace(
            op,
            inits=_filter(op.inits, carried),
            body=body,
            results=_filter(op.results, kept),
        )


def _filter(values: tuple[ir.Value, ...], kept: Kept) -> tuple[ir.Value, ...]:
    assert len(values) == len(kept)
    return values if all(kept) else tuple(compress(values, kept))


def _replace(op: ir.Op, **fields: Any) -> ir.Op:  # noqa: ANN401 - as in replace
    """Return the operation with other fields; the same object if none is another."""
    if all(getattr(op, name) is value for name, value in fields.items()):
        return op
    return replace(op, **fields)
