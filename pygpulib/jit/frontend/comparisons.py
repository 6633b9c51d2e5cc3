"""Comparisons, membership, identity and truth."""

from __future__ import annotations

import ast
import operator as python_operator
from collections.abc import Callable
from enum import Enum
from typing import Any, NoReturn

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit.frontend import (
    arrays,
    chars,
    complexes,
    datetimes,
    enums,
    inference,
    literals,
    optionals,
    structs,
)
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import (
    Array,
    Chars,
    Complex,
    Maybe,
    Member,
    NoneValue,
    Number,
    Object,
    Operand,
    Range,
    Text,
    Time,
    Tuple,
)
from pygpulib.jit.ir import ops as ir

_Comparison = type[ast.cmpop]

_KINDS: dict[_Comparison, ir.CompareKind] = {
    ast.Eq: ir.CompareKind.EQ,
    ast.NotEq: ir.CompareKind.NE,
    ast.Lt: ir.CompareKind.LT,
    ast.LtE: ir.CompareKind.LE,
    ast.Gt: ir.CompareKind.GT,
    ast.GtE: ir.CompareKind.GE,
}

_MIRRORED: dict[_Comparison, _Comparison] = {
    ast.Eq: ast.Eq,
    ast.NotEq: ast.NotEq,
    ast.Lt: ast.Gt,
    ast.LtE: ast.GtE,
    ast.Gt: ast.Lt,
    ast.GtE: ast.LtE,
}

_PYTHON: dict[_Comparison, Callable[[Any, Any], bool]] = {
    ast.Eq: python_operator.eq,
    ast.NotEq: python_operator.ne,
    ast.Lt: python_operator.lt,
    ast.LtE: python_operator.le,
    ast.Gt: python_operator.gt,
    ast.GtE: python_operator.ge,
}

OF_ELEMENTS = frozenset(_KINDS)
"""The comparisons that arrays take, element by element."""

SYMBOLS: dict[_Comparison, str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
}

# ------------------------------------------------------------------------------------------ logic


def boolean(ctx: Context, value: bool) -> Number:
    """Return a truth value known now."""
    return inference.constant(ctx, value, dtypes.bool_)


def both(ctx: Context, left: Number, right: Number) -> Number:
    """Return whether both truth values hold."""
    for known, other in ((left, right), (right, left)):
        if known.literal is not None:
            return other if known.literal else known
    return Number(ctx.builder.binary(ir.BinaryKind.AND, left.value, right.value))


def either(ctx: Context, left: Number, right: Number) -> Number:
    """Return whether one of two truth values holds."""
    for known, other in ((left, right), (right, left)):
        if known.literal is not None:
            return known if known.literal else other
    return Number(ctx.builder.binary(ir.BinaryKind.OR, left.value, right.value))


def negate(ctx: Context, operand: Number) -> Number:
    """Return whether a truth value does not hold."""
    if operand.literal is not None:
        return boolean(ctx, not operand.literal)
    return Number(ctx.builder.unary(ir.UnaryKind.NOT, operand.value))


def truth(ctx: Context, operand: Operand, node: ast.AST) -> Number:
    """Return the truth value of an operand, as ``bool(x)`` does."""
    match operand:
        case Number():
            return inference.cast(ctx, operand, dtypes.bool_)
        case Complex(real, imag):
            parts = (inference.cast(ctx, Number(part), dtypes.bool_) for part in (real, imag))
            return either(ctx, *parts)
        case Tuple(items):
            return boolean(ctx, bool(items))
        case NoneValue():
            return boolean(ctx, False)
        case Text(text):
            return boolean(ctx, bool(text))
        case Object(value) if isinstance(value, Enum):
            return boolean(ctx, bool(value))
        case Maybe(has_value, value):
            return both(ctx, has_value, truth(ctx, value, node))
        case Member():
            number = optionals.plain(ctx, operand)
            return boolean(ctx, True) if number is operand else truth(ctx, number, node)
        case _:
            return _truth_of_other(ctx, operand, node)


def _truth_of_other(ctx: Context, operand: Operand, node: ast.AST) -> Number:
    own = structs.apply(ctx, bool, "bool", (operand,), node)
    if own is not None and not structs.are_involved((own,)):
        return truth(ctx, own, node)
    advice = "compare it with something"
    if isinstance(operand, Array):
        advice = "index the array, or test its size"
    ctx.fail(
        KernelTypeError,
        f"{inference.describe(operand)} has no truth value",
        node,
        help=advice,
    )


# ------------------------------------------------------------------------------------ comparisons


def compare(
    ctx: Context, operator: _Comparison, left: Operand, right: Operand, node: ast.AST
) -> Number:
    """Apply a comparison operator, ``is`` and ``in`` included; the result is a truth value.

    Parameters
    ----------
    ctx : Context
        Where we are.
    operator : type
        Class of the AST node, for example ``ast.Lt``.
    left, right : Operand
        What is compared.
    node : ast.AST
        Where errors point.
    """
    if operator in (ast.NotIn, ast.IsNot):
        positive = ast.In if operator is ast.NotIn else ast.Is
        return negate(ctx, compare(ctx, positive, left, right, node))
    if operator is ast.Is:
        return _identical(ctx, left, right, node)
    if operator is ast.In:
        return _contains(ctx, left, right, node)
    if structs.are_involved((left, right)):
        return _structs(ctx, operator, left, right, node)
    match left, right:
        case Number(), Number():
            return numbers(ctx, operator, left, right)
        case ((Number() | Complex()), (Number() | Complex())):
            return _complexes(ctx, operator, left, right, node)
        case Tuple(), Tuple():
            return _tuples(ctx, operator, left, right, node)
        case Text(), Text():
            return boolean(ctx, _PYTHON[operator](left.text, right.text))
        case Time(), Time():
            return datetimes.compare(ctx, operator, left, right, node)
        case _:
            return _equality(ctx, operator, left, right, node)


def _structs(
    ctx: Context, operator: _Comparison, left: Operand, right: Operand, node: ast.AST
) -> Number:
    """Compare operands of which one is of a type made by a program, as overloads say."""
    title = f"the comparison {SYMBOLS[operator]}"
    result = structs.apply(ctx, structs.FUNCTIONS[operator], title, (left, right), node)
    if result is not None:
        return truth(ctx, result, node)
    if not (isinstance(left, Maybe | NoneValue) or isinstance(right, Maybe | NoneValue)):
        _fail(ctx, operator, left, right, node)
    return _equality(ctx, operator, left, right, node)


def _equality(
    ctx: Context, operator: _Comparison, left: Operand, right: Operand, node: ast.AST
) -> Number:
    """Compare operands that are equal or not, but have no order."""
    if isinstance(left, Maybe) or isinstance(right, Maybe):
        return _optionals(ctx, operator, left, right, node)
    plain = [optionals.plain(ctx, one) for one in (left, right)]
    if plain[0] is not left or plain[1] is not right:
        return compare(ctx, operator, plain[0], plain[1], node)
    result: Number | None
    if isinstance(left, Member) and isinstance(right, Member):
        result = enums.equal(ctx, left, right)
    elif isinstance(left, Chars) or isinstance(right, Chars):
        result = chars.equal(ctx, left, right)
    else:
        known = _known_equality(left, right)
        result = None if known is None else boolean(ctx, known)
    if result is None or operator not in (ast.Eq, ast.NotEq):
        _fail(ctx, operator, left, right, node)
    return result if operator is ast.Eq else negate(ctx, result)


def _optionals(
    ctx: Context, operator: _Comparison, left: Operand, right: Operand, node: ast.AST
) -> Number:
    if operator is ast.Eq:
        return optionals.equal(ctx, left, right, node)
    if operator is ast.NotEq:
        return negate(ctx, optionals.equal(ctx, left, right, node))
    first, second = (optionals.plain(ctx, one) for one in (left, right))
    return compare(ctx, operator, first, second, node)


def _fail(
    ctx: Context, operator: _Comparison, left: Operand, right: Operand, node: ast.AST
) -> NoReturn:
    advice = "compare numbers, or tuples of numbers"
    if isinstance(left, Array) or isinstance(right, Array):
        advice = "comparisons work on elements: index the arrays"
    ctx.fail(
        KernelTypeError,
        f"the comparison {SYMBOLS[operator]} does not take "
        f"{inference.describe(left)} and {inference.describe(right)}",
        node,
        help=advice,
    )


def _known_equality(left: Operand, right: Operand) -> bool | None:
    """Return whether two operands that are not both numbers are equal, where that is known."""
    match left, right:
        case Object(a), Object(b):
            return a is b or bool(a == b)
        case NoneValue(), NoneValue():
            return True
        case (NoneValue(), _) | (_, NoneValue()):
            return False
        case (Member(), _) | (_, Member()):
            return False
        case (Text(), Number() | Complex() | Tuple()) | (Number() | Complex() | Tuple(), Text()):
            return False
        case (Tuple(), Number() | Complex()) | (Number() | Complex(), Tuple()):
            return False
        case _:
            return None


def numbers(ctx: Context, operator: _Comparison, left: Number, right: Number) -> Number:
    """Compare two real numbers by value, whatever their dtypes."""
    if left.is_weak != right.is_weak and (left.dtype.is_float or right.dtype.is_float):
        left, right = literals.settle(ctx, (left, right))
    if left.literal is not None and right.literal is not None:
        return boolean(ctx, _PYTHON[operator](left.literal, right.literal))
    pair = (left.dtype, right.dtype)
    if dtypes.uint64 in pair and any(dtype.is_signed for dtype in pair):
        return _mixed_signs(ctx, operator, left, right)
    dtype = inference.promote_compared(*pair)
    values = (inference.cast(ctx, number, dtype).value for number in (left, right))
    return Number(ctx.builder.compare(_KINDS[operator], *values))


def _mixed_signs(ctx: Context, operator: _Comparison, left: Number, right: Number) -> Number:
    if not left.dtype.is_signed:
        return _mixed_signs(ctx, _MIRRORED[operator], right, left)
    if left.literal is not None and left.literal < 0:
        return boolean(ctx, operator in (ast.Lt, ast.LtE, ast.NotEq))
    unsigned = inference.cast(ctx, left, dtypes.uint64)
    result = Number(ctx.builder.compare(_KINDS[operator], unsigned.value, right.value))
    if left.literal is not None:
        return result
    zero = inference.constant(ctx, 0, left.dtype)
    if operator in (ast.Lt, ast.LtE, ast.NotEq):
        return either(ctx, numbers(ctx, ast.Lt, left, zero), result)
    return both(ctx, numbers(ctx, ast.GtE, left, zero), result)


def _complexes(
    ctx: Context,
    operator: _Comparison,
    left: Number | Complex,
    right: Number | Complex,
    node: ast.AST,
) -> Number:
    if operator not in (ast.Eq, ast.NotEq):
        complexes.fail_order(ctx, SYMBOLS[operator], node)
    dtype = literals.common_complex(left, right)
    dtype = dtype or inference.promote_arithmetic(left.dtype, right.dtype)
    parts = (inference.as_complex(ctx, operand, dtype) for operand in (left, right))
    result = complexes.equal(ctx, *parts)
    return result if operator is ast.Eq else negate(ctx, result)


def _tuples(
    ctx: Context, operator: _Comparison, left: Tuple, right: Tuple, node: ast.AST
) -> Number:
    if operator is ast.NotEq:
        return negate(ctx, _tuples(ctx, ast.Eq, left, right, node))
    if operator is ast.Eq and len(left.items) != len(right.items):
        return boolean(ctx, False)
    result = boolean(ctx, _PYTHON[operator](len(left.items), len(right.items)))
    strict = {ast.LtE: ast.Lt, ast.GtE: ast.Gt}.get(operator, operator)
    for a, b in reversed(list(zip(left.items, right.items, strict=False))):
        result = both(ctx, compare(ctx, ast.Eq, a, b, node), result)
        if operator is not ast.Eq:
            result = either(ctx, compare(ctx, strict, a, b, node), result)
    return result


# ------------------------------------------------------------------------- identity, membership


def _identical(ctx: Context, left: Operand, right: Operand, node: ast.AST) -> Number:
    if isinstance(left, Maybe) or isinstance(right, Maybe):
        return optionals.equal(ctx, left, right, node)
    if isinstance(left, Member) and isinstance(right, Member):
        return enums.equal(ctx, left, right)
    if isinstance(left, Number) and isinstance(right, Number):
        if left.dtype.is_bool != right.dtype.is_bool:
            return boolean(ctx, False)
        return numbers(ctx, ast.Eq, left, right)
    if isinstance(left, Object) and isinstance(right, Object):
        return boolean(ctx, left.value is right.value)
    if isinstance(left, NoneValue) or isinstance(right, NoneValue):
        return boolean(ctx, isinstance(left, NoneValue) and isinstance(right, NoneValue))
    _fail(ctx, ast.Is, left, right, node)


def _contains(ctx: Context, item: Operand, container: Operand, node: ast.AST) -> Number:
    match container:
        case Tuple(items):
            result = boolean(ctx, False)
            for candidate in items:
                result = either(ctx, result, compare(ctx, ast.Eq, candidate, item, node))
            return result
        case Array(type_) if type_.ndim == 1:
            return _array_contains(ctx, item, container, node)
        case Text(text) if isinstance(item, Text):
            return boolean(ctx, item.text in text)
        case Range() if isinstance(item, Number):
            return _range_contains(ctx, item, container, node)
        case _:
            title = "the comparison in"
            found = structs.apply(ctx, python_operator.contains, title, (container, item), node)
            if found is None:
                _fail(ctx, ast.In, item, container, node)
            return truth(ctx, found, node)


def _range_contains(ctx: Context, item: Number, container: Range, node: ast.AST) -> Number:
    """Return whether a number is a whole number of steps from the start, and before the stop."""
    from pygpulib.jit.frontend import arithmetic

    start, stop, step = container.start, container.stop, container.step
    zero = inference.constant(ctx, 0, step.dtype)
    distance = arithmetic.binary(ctx, ast.Sub, item, start, node)
    rest = arithmetic.binary(ctx, ast.Mod, distance, step, node)
    assert isinstance(rest, Number)
    upwards = both(ctx, numbers(ctx, ast.GtE, item, start), numbers(ctx, ast.Lt, item, stop))
    downwards = both(ctx, numbers(ctx, ast.LtE, item, start), numbers(ctx, ast.Gt, item, stop))
    is_inside = either(
        ctx,
        both(ctx, numbers(ctx, ast.Gt, step, zero), upwards),
        both(ctx, numbers(ctx, ast.Lt, step, zero), downwards),
    )
    return both(ctx, is_inside, numbers(ctx, ast.Eq, rest, zero))


def _array_contains(ctx: Context, item: Operand, array: Array, node: ast.AST) -> Number:
    """Search a one-dimensional array with a loop that ends at the first hit."""
    builder = ctx.builder
    index = ir.Value(dtypes.int64)
    ctx.nonnegative.add(index)
    start, step = (builder.constant(number, dtypes.int64) for number in (0, 1))
    absent = builder.constant(False, dtypes.bool_)
    with builder.collect() as body:
        element = arrays.load(ctx, array, [Number(index)])
        hit = compare(ctx, ast.Eq, element, item, node)
        with builder.collect() as found:
            builder.append(ir.Break((builder.constant(True, dtypes.bool_),)))
        builder.append(
            ir.If(hit.value, ir.Block((), tuple(found)), ir.Block((), (ir.Yield(()),)), ())
        )
        builder.append(ir.Continue((absent,)))
    result = ir.Value(dtypes.bool_)
    block = ir.Block((index, ir.Value(dtypes.bool_)), tuple(body))
    builder.append(
        ir.For(start, array.shape[0], step, (absent,), block, (result,), span=builder.span)
    )
    return Number(result)
