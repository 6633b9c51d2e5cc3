"""Compute at compile time what is known then, and drop what cannot run."""

from __future__ import annotations

from pygpulib._record import replace
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import replace_blocks, replace_values, results_of
from pygpulib.jit.passes.identities import Foldable, Number, find_equal, number_of


def fold_constants(function: ir.Function) -> ir.Function:
    """Fold constants, apply exact identities, and splice branches whose condition is known.

    Parameters
    ----------
    function : Function
        A well-formed function.

    Returns
    -------
    Function
        The same object if nothing could be folded. Operations that lost their last use stay.
    """
    body = _Folder().fold(function.body)
    return function if body is function.body else replace(function, body=body)


class _Folder:
    """Rebuilds blocks in the order of execution."""

    def __init__(self) -> None:
        self._values: dict[ir.Value, ir.Value] = {}
        self._definitions: dict[ir.Value, ir.Op] = {}

    def fold(self, block: ir.Block) -> ir.Block:
        """Return the block folded; the same object if nothing changed."""
        ops: list[ir.Op] = []
        for op in block.ops:
            self._fold_op(replace_values(op, self._values) if self._values else op, ops)
            if ops and ops[-1].is_terminator:
                break
        is_same = len(ops) == len(block.ops) and all(
            new is old for new, old in zip(ops, block.ops, strict=True)
        )
        return block if is_same else ir.Block(block.params, tuple(ops))

    def _fold_op(self, op: ir.Op, ops: list[ir.Op]) -> None:
        """Append what takes the place of an operation."""
        match op:
            case ir.Const():
                self._keep(op, ops)
            case ir.If():
                self._fold_if(op, ops)
            case ir.For() if self._never_runs(op):
                self._values.update(zip(op.results, op.inits, strict=True))
            case ir.For() | ir.Loop() | ir.Scope():
                ops.append(replace_blocks(op, self.fold))
            case (
                ir.Unary()
                | ir.Binary()
                | ir.Compare()
                | ir.Select()
                | ir.Cast()
                | ir.Bitcast()
                | ir.PointerAdd()
            ):
                self._fold_value(op, ops)
            case _:
                ops.append(op)

    def _fold_value(self, op: Foldable, ops: list[ir.Op]) -> None:
        equal = find_equal(op, self._definitions)
        match equal:
            case None:
                self._keep(op, ops)
            case ir.Value():
                self._values[op.result] = equal
            case bool() | int() | float():
                self._keep(ir.Const(op.result, _spell(equal, op.result), span=op.span), ops)
            case _:
                self._keep(equal, ops)

    def _keep(self, op: ir.Op, ops: list[ir.Op]) -> None:
        ops.append(op)
        for result in results_of(op):
            self._definitions[result] = op

    # ---------------------------------------------------------------------------------- control

    def _fold_if(self, op: ir.If, ops: list[ir.Op]) -> None:
        condition = number_of(op.condition, self._definitions)
        if condition is not None:
            self._splice(op, op.then_block if condition else op.else_block, ops)
            return
        new = replace_blocks(op, self.fold)
        assert isinstance(new, ir.If)
        if any(isinstance(b.terminator, ir.Yield) for b in (new.then_block, new.else_block)):
            ops.append(new)
        else:
            # Folding inside may have taken the last way out of both branches.
            ops.append(replace(new, results=()) if new.results else new)
            ops.append(ir.Unreachable(span=op.span))

    def _splice(self, op: ir.If, block: ir.Block, ops: list[ir.Op]) -> None:
        *inner, last = self.fold(block).ops
        ops.extend(inner)
        if isinstance(last, ir.Yield):
            self._values.update(zip(op.results, last.values, strict=True))
        else:
            ops.append(last)

    def _never_runs(self, op: ir.For) -> bool:
        if op.start is op.stop:
            return True
        start, stop, step = (
            number_of(value, self._definitions) for value in (op.start, op.stop, op.step)
        )
        if step == 0:
            return True
        if start is None or stop is None or step is None:
            return False
        return start >= stop if step > 0 else start <= stop


def _spell(number: Number, result: ir.Value) -> Number:
    """Return the number as a constant of the result's type has it."""
    assert isinstance(result.type, DType)
    return bool(number) if result.type.is_bool else number
