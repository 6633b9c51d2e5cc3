"""Arithmetic on int64 numbers for indices and extents, simplified where operands are known."""

from __future__ import annotations

from pygpulib.core import dtypes
from pygpulib.jit.frontend import inference
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import Number
from pygpulib.jit.ir import ops as ir


def literal(ctx: Context, value: int) -> Number:
    """Return a constant."""
    return inference.constant(ctx, value, dtypes.int64)


def extent(ctx: Context, value: ir.Value) -> Number:
    """Return the extent of an array as a number that is known not to be negative."""
    ctx.nonnegative.add(value)
    return Number(value)


def add(ctx: Context, left: Number, right: Number) -> Number:
    """Return the sum."""
    if left.literal == 0:
        return right
    if right.literal == 0:
        return left
    if left.literal is not None and right.literal is not None:
        return literal(ctx, int(left.literal + right.literal))
    return _combine(ctx, ir.BinaryKind.ADD, left, right, keeps_sign=True)


def subtract(ctx: Context, left: Number, right: Number) -> Number:
    """Return the difference."""
    if right.literal == 0:
        return left
    if left.literal is not None and right.literal is not None:
        return literal(ctx, int(left.literal - right.literal))
    return _combine(ctx, ir.BinaryKind.SUBTRACT, left, right, keeps_sign=False)


def multiply(ctx: Context, left: Number, right: Number) -> Number:
    """Return the product."""
    for known, other in ((left, right), (right, left)):
        if known.literal == 1:
            return other
        if known.literal == 0:
            return known
    if left.literal is not None and right.literal is not None:
        return literal(ctx, int(left.literal * right.literal))
    return _combine(ctx, ir.BinaryKind.MULTIPLY, left, right, keeps_sign=True)


def floor_divide(ctx: Context, left: Number, right: Number) -> Number:
    """Return the quotient, rounded down."""
    if right.literal == 1:
        return left
    if left.literal is not None and right.literal:
        return literal(ctx, int(left.literal // right.literal))
    return _combine(ctx, ir.BinaryKind.FLOOR_DIVIDE, left, right, keeps_sign=True)


def minimum(ctx: Context, left: Number, right: Number) -> Number:
    """Return the smaller number."""
    if left.literal is not None and right.literal is not None:
        return left if left.literal <= right.literal else right
    return _combine(ctx, ir.BinaryKind.MINIMUM, left, right, keeps_sign=True)


def maximum(ctx: Context, left: Number, right: Number) -> Number:
    """Return the larger number."""
    if left.literal is not None and right.literal is not None:
        return left if left.literal >= right.literal else right
    known = inference.is_nonnegative(ctx, left) or inference.is_nonnegative(ctx, right)
    result = _combine(ctx, ir.BinaryKind.MAXIMUM, left, right, keeps_sign=False)
    if known:
        ctx.nonnegative.add(result.value)
    return result


def choose(ctx: Context, condition: Number, if_true: Number, if_false: Number) -> Number:
    """Return one of two numbers."""
    if condition.literal is not None:
        return if_true if condition.literal else if_false
    if if_true.value is if_false.value:
        return if_true
    value = ctx.builder.select(condition.value, if_true.value, if_false.value)
    if inference.is_nonnegative(ctx, if_true) and inference.is_nonnegative(ctx, if_false):
        ctx.nonnegative.add(value)
    return Number(value)


def is_less(ctx: Context, left: Number, right: Number) -> Number:
    """Return whether the left number is smaller."""
    if left.literal is not None and right.literal is not None:
        return inference.constant(ctx, left.literal < right.literal, dtypes.bool_)
    if right.literal == 0 and inference.is_nonnegative(ctx, left):
        return inference.constant(ctx, False, dtypes.bool_)
    return Number(ctx.builder.compare(ir.CompareKind.LT, left.value, right.value))


def _combine(
    ctx: Context, kind: ir.BinaryKind, left: Number, right: Number, *, keeps_sign: bool
) -> Number:
    value = ctx.builder.binary(kind, left.value, right.value)
    if keeps_sign and inference.is_nonnegative(ctx, left) and inference.is_nonnegative(ctx, right):
        ctx.nonnegative.add(value)
    return Number(value)
