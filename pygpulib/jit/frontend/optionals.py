"""Values that may be None, and other operands that stand for a plain one."""

from __future__ import annotations

import ast

from pygpulib.core.dtypes import DType
from pygpulib.jit import types
from pygpulib.jit.frontend import comparisons, enums, inference
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.faults import raise_if
from pygpulib.jit.frontend.values import Maybe, Member, NoneValue, Number, Operand, unflatten


def plain(ctx: Context, operand: Operand) -> Operand:
    """Return what an operation on an operand is about.

    That is the value of an optional one, and the number that a member of an ``IntEnum`` is.
    """
    if isinstance(operand, Maybe):
        operand = present(ctx, operand)
    if isinstance(operand, Member):
        return enums.plain(ctx, operand)
    return operand


def present(ctx: Context, operand: Maybe) -> Operand:
    """Return the value of an operand that may be None; with ``debug`` None ends the thread."""
    if ctx.options.debug:
        is_none = comparisons.negate(ctx, operand.has_value)
        raise_if(ctx, is_none.value, TypeError, "expected a value, got None")
    return operand.value


def convert(ctx: Context, operand: Operand, type_: types.OptionalType, node: ast.AST) -> Maybe:
    """Return an operand, which may be None, as one of an optional type."""
    if isinstance(operand, NoneValue):
        return Maybe(comparisons.boolean(ctx, False), _any_value(ctx, type_.inner))
    if isinstance(operand, Maybe):
        return Maybe(operand.has_value, inference.convert(ctx, operand.value, type_.inner, node))
    value = inference.convert(ctx, operand, type_.inner, node)
    return Maybe(comparisons.boolean(ctx, True), value)


def _any_value(ctx: Context, type_: types.Type) -> Operand:
    """Return some value of a type: zeros where they can be made."""
    parts = [
        ctx.builder.constant(0, part) if isinstance(part, DType) else ctx.builder.undefined(part)
        for part in type_.flat()
    ]
    return unflatten(type_, iter(parts))


def equal(ctx: Context, left: Operand, right: Operand, node: ast.AST) -> Number:
    """Return whether two operands are equal, of which at least one may be None."""
    if isinstance(left, Maybe) and isinstance(right, Maybe):
        same = comparisons.compare(ctx, ast.Eq, left.value, right.value, node)
        both = comparisons.both(ctx, comparisons.both(ctx, left.has_value, right.has_value), same)
        neither = comparisons.negate(ctx, comparisons.either(ctx, left.has_value, right.has_value))
        return comparisons.either(ctx, both, neither)
    maybe, other = (left, right) if isinstance(left, Maybe) else (right, left)
    assert isinstance(maybe, Maybe)
    if isinstance(other, NoneValue):
        return comparisons.negate(ctx, maybe.has_value)
    same = comparisons.compare(ctx, ast.Eq, maybe.value, other, node)
    return comparisons.both(ctx, maybe.has_value, same)
