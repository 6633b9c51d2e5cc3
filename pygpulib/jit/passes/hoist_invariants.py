"""Compute before a loop what is the same in every iteration.

A pure operation goes out of as many loops as its operands allow, also from under a condition: it
cannot fault, so running it in vain only costs its time. That is why calls and divisions stay
where a condition guards them, and why loads stay at all: their address may be valid only there.
"""

from __future__ import annotations

from pygpulib._record import replace
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import blocks_of, is_pure, operands_of, replace_blocks, results_of

_DIVISIONS = frozenset(
    {
        ir.BinaryKind.DIVIDE,
        ir.BinaryKind.FLOOR_DIVIDE,
        ir.BinaryKind.MODULO,
        ir.BinaryKind.REMAINDER,
    }
)


def hoist_invariants(function: ir.Function) -> ir.Function:
    """Move loop-invariant pure operations out of loops.

    Parameters
    ----------
    function : ir.Function
        Any function.

    Returns
    -------
    ir.Function
        The same object if nothing moves.
    """
    body = _Hoister().block(function.body, 0, is_guarded=False)
    return function if body is function.body else replace(function, body=body)


class _Hoister:
    """The walk; a *depth* is a number of loops around a point.

    Attributes
    ----------
    depths : dict
        Depth of the definition of a value; 0 where there is no entry.
    before : list
        By depth: the operations before the innermost open loop that stands at this depth.
    """

    def __init__(self) -> None:
        self.depths: dict[ir.Value, int] = {}
        self.before: list[list[ir.Op]] = []

    def block(self, block: ir.Block, depth: int, *, is_guarded: bool) -> ir.Block:
        """Return a block without what moved before the loops around it."""
        ops: list[ir.Op] = []
        changed = False
        for param in block.params:
            self.depths[param] = depth
        for op in block.ops:
            home = self._home(op, depth) if depth > 0 else depth
            if home < depth and is_pure(op) and not (is_guarded and _is_costly(op)):
                self.before[home].append(op)
                changed = True
            else:
                home = depth
                start = len(ops)
                new = self._nested(op, ops, depth, is_guarded) if blocks_of(op) else op
                changed = changed or new is not op or len(ops) > start
                ops.append(new)
            if home > 0:
                for result in results_of(op):
                    self.depths[result] = home
        return ir.Block(block.params, tuple(ops)) if changed else block

    def _home(self, op: ir.Op, depth: int) -> int:
        """Return the least depth at which all operands are known."""
        if op.is_terminator:
            return depth
        return max((self.depths.get(value, 0) for value in operands_of(op)), default=0)

    def _nested(self, op: ir.Op, ops: list[ir.Op], depth: int, is_guarded: bool) -> ir.Op:
        if not isinstance(op, ir.For | ir.Loop):
            guarded = is_guarded or isinstance(op, ir.If)
            return replace_blocks(op, lambda block: self.block(block, depth, is_guarded=guarded))
        self.before.append(ops)
        new = replace_blocks(op, lambda block: self.block(block, depth + 1, is_guarded=False))
        self.before.pop()
        return new


def _is_costly(op: ir.Op) -> bool:
    return isinstance(op, ir.Call) or (isinstance(op, ir.Binary) and op.kind in _DIVISIONS)
