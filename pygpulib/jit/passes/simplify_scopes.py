"""Dissolve scopes that control cannot leave early.

The front end makes a scope of every inlined call. Where the only ``Return`` is the last operation
the scope means nothing, and dissolving it lets the other passes see across.
"""

from __future__ import annotations

from collections.abc import Sequence

from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import blocks_of, rebuild_function


def simplify_scopes(function: ir.Function) -> ir.Function:
    """Put the body of every scope that only ends in ``Return`` in the scope's place.

    Parameters
    ----------
    function : ir.Function
        A function of any form.

    Returns
    -------
    ir.Function
        The same object if there is no such scope.
    """
    values: dict[ir.Value, ir.Value] = {}

    def dissolve(op: ir.Op) -> Sequence[ir.Op] | None:
        if not isinstance(op, ir.Scope):
            return None
        *ops, last = op.body.ops
        if not isinstance(last, ir.Return) or not is_straight(op.body):
            return None
        values.update(zip(op.results, last.values, strict=True))
        return ops

    return rebuild_function(function, dissolve, values)


def is_straight(body: ir.Block) -> bool:
    """Return whether the only ``Return`` of a scope or function is its last operation."""
    is_last = isinstance(body.terminator, ir.Return)
    return is_last and not any(_returns(op) for op in body.ops[:-1])


def _returns(op: ir.Op) -> bool:
    """Return whether an operation may leave the scope that it stands in."""
    if isinstance(op, ir.Return):
        return True
    if isinstance(op, ir.Scope):
        return False
    return any(_returns(inner) for block in blocks_of(op) for inner in block.ops)
