"""Simplify what the ranges of integers decide.

A result of which only one value is possible becomes a constant, a selection that always goes one
way becomes that operand. This is what removes the wrap-around of negative indices
(``i + n if i < 0 else i``) where the index cannot be negative.
"""

from __future__ import annotations

from collections.abc import Sequence

from pygpulib._record import replace
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import rebuild_function
from pygpulib.jit.passes.find_ranges import Ranges, find_ranges
from pygpulib.jit.passes.intervals import range_of_type

_DIVISIONS = frozenset({ir.BinaryKind.FLOOR_DIVIDE, ir.BinaryKind.MODULO})


def fold_ranges(function: ir.Function, ranges: Ranges | None = None) -> ir.Function:
    """Replace operations whose outcome the ranges of their operands decide.

    Parameters
    ----------
    function : ir.Function
        Any function.
    ranges : Ranges, optional
        What :func:`find_ranges` says about it.

    Returns
    -------
    ir.Function
        The same object if nothing is decided.
    """
    known = find_ranges(function) if ranges is None else ranges
    values: dict[ir.Value, ir.Value] = {}
    casts: dict[ir.Value, ir.Value] = {}

    def fold(op: ir.Op) -> Sequence[ir.Op] | None:
        if not isinstance(op, ir.Binary | ir.Compare | ir.Select | ir.Cast | ir.Unary):
            return None
        interval = known.get(op.result)
        if interval is not None and interval.low == interval.high:
            assert isinstance(op.result.type, DType)
            number = bool(interval.low) if op.result.type.is_bool else interval.low
            return (ir.Const(op.result, number, span=op.span),)
        same = _find_same(op, known, casts)
        if same is not None:
            values[op.result] = same
            return ()
        return _strengthen(op, known)

    return rebuild_function(function, fold, values)


def is_tracked(value: ir.Value) -> bool:
    """Whether a value has a range: integers and truth values do."""
    return range_of_type(value.type) is not None


def _find_same(
    op: ir.Binary | ir.Compare | ir.Select | ir.Cast | ir.Unary,
    ranges: Ranges,
    casts: dict[ir.Value, ir.Value],
) -> ir.Value | None:
    """Return the operand that an operation always gives back, if there is one."""
    match op:
        case ir.Select(condition, if_true, if_false):
            decided = ranges[condition].single
            return None if decided is None else if_true if decided else if_false
        case ir.Cast(operand, result):
            original = casts.get(operand)
            if original is not None and original.type == result.type:
                return original
            if is_tracked(operand) and is_tracked(result) and ranges[operand] == ranges[result]:
                # It changes no number, so a cast back gives the operand.
                casts[result] = operand
            return None
        case ir.Unary(ir.UnaryKind.ABSOLUTE, operand) if is_tracked(operand):
            return operand if ranges[operand].low >= 0 else None
        case ir.Binary(kind, left, right) if is_tracked(left):
            return _find_same_operand(kind, left, right, ranges)
        case _:
            return None


def _find_same_operand(
    kind: ir.BinaryKind, left: ir.Value, right: ir.Value, ranges: Ranges
) -> ir.Value | None:
    x, y = ranges[left], ranges[right]
    match kind:
        case ir.BinaryKind.MINIMUM | ir.BinaryKind.MAXIMUM:
            small, large = (left, right) if kind is ir.BinaryKind.MINIMUM else (right, left)
            return small if x.high <= y.low else large if y.high <= x.low else None
        case ir.BinaryKind.MODULO | ir.BinaryKind.REMAINDER:
            return left if x.low >= 0 and x.high < y.low else None
        case ir.BinaryKind.AND:
            mask = y.single
            is_all = mask is not None and x.low >= 0 and mask & (mask + 1) == 0 and x.high <= mask
            return left if is_all else None
        case _:
            return None


def _strengthen(op: ir.Op, ranges: Ranges) -> Sequence[ir.Op] | None:
    """Divide by a power of two without dividing; else use C's remainder where signs allow."""
    if not isinstance(op, ir.Binary) or op.kind not in _DIVISIONS or not is_tracked(op.left):
        return None
    divisor = ranges[op.right].single
    if divisor is not None and divisor > 0 and divisor & (divisor - 1) == 0:
        if op.kind is ir.BinaryKind.MODULO:
            return _with_constant(op, ir.BinaryKind.AND, divisor - 1)
        return _with_constant(op, ir.BinaryKind.SHIFT_RIGHT, divisor.bit_length() - 1)
    if op.kind is ir.BinaryKind.MODULO and min(ranges[op.left].low, ranges[op.right].low) >= 0:
        return (replace(op, kind=ir.BinaryKind.REMAINDER),)
    return None


def _with_constant(op: ir.Binary, kind: ir.BinaryKind, number: int) -> Sequence[ir.Op]:
    constant = ir.Value(op.right.type)
    return (
        ir.Const(constant, number, span=op.span),
        replace(op, kind=kind, right=constant),
    )
