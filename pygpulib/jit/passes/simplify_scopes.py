"""Dissolve scopes.

The front end makes a scope of every inlined call. Where the only ``Return`` is the last operation
the scope means nothing, and dissolving it lets the other passes see across. An early return under
a condition becomes the branch of an ``If`` whose other branch is the rest of the scope::

    scope { if c { return a } else { yield }; rest; return b }
    =  if c { yield a } else { rest; yield b }

Scopes that are left from inside a loop stay.
"""

from __future__ import annotations

from collections.abc import Sequence

from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import blocks_of, rebuild_function, substitute, walk

Ops = tuple[ir.Op, ...]


def simplify_scopes(function: ir.Function) -> ir.Function:
    """Replace every scope that is not left from inside a loop by operations without returns.

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
        ops = _merge_returns(op.body.ops, tuple(value.type for value in op.results))
        if ops is None:
            return None
        *rest, last = ops
        assert isinstance(last, ir.Return)
        values.update(zip(op.results, last.values, strict=True))
        return rest

    return rebuild_function(function, dissolve, values)


def _may_return(op: ir.Op) -> bool:
    """Return whether an operation may leave the scope that it stands in."""
    if isinstance(op, ir.Return):
        return True
    if isinstance(op, ir.Scope):
        return False
    return any(_may_return(inner) for block in blocks_of(op) for inner in block.ops)


def _merge_returns(ops: Ops, types: tuple[ir.Type, ...]) -> Ops | None:
    """Return operations of which only the last is a ``Return``, or None if that cannot be had."""
    position = next((n for n, op in enumerate(ops) if _may_return(op)), None)
    if position is None:
        return None
    if position == len(ops) - 1:
        return ops
    branch, rest = ops[position], ops[position + 1 :]
    if not isinstance(branch, ir.If):
        return None
    both = (branch.then_block, branch.else_block)
    falls = [isinstance(block.terminator, ir.Yield) for block in both]
    if all(falls) or (any(falls) and any(map(_is_collective, rest))):
        # The rest must not be there twice, nor may what all threads do together become part of
        # a branch.
        return None
    blocks = []
    for block in both:
        merged = _merge_returns(_continue(branch, block, rest), types)
        if merged is None:
            return None
        *inner, last = merged
        assert isinstance(last, ir.Return)
        blocks.append(ir.Block((), (*inner, ir.Yield(last.values, span=last.span))))
    results = tuple(map(ir.Value, types))
    new = ir.If(branch.condition, blocks[0], blocks[1], results, span=branch.span)
    return (*ops[:position], new, ir.Return(results))


def _continue(branch: ir.If, block: ir.Block, rest: Ops) -> Ops:
    """Return the operations of a block, followed by the rest if control comes out of it."""
    *inner, last = block.ops
    if not isinstance(last, ir.Yield):
        return block.ops
    following = ir.Block((), rest)
    if branch.results:
        following = substitute(following, dict(zip(branch.results, last.values, strict=True)))
    return (*inner, *following.ops)


def _is_collective(op: ir.Op) -> bool:
    block = ir.Block((), (op,))
    return any(
        inner.intrinsic.effect is ir.Effect.CONVERGE
        if isinstance(inner, ir.Call)
        else inner.effect is ir.Effect.CONVERGE
        for inner in walk(block)
    )
