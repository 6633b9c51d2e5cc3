"""Dates and spans of time: NumPy's rules, with the unit known and the number an int64.

The smallest number is "not a time" (NaT): what is computed from it is NaT, and it compares unequal
to everything.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Mapping, Sequence
from typing import NoReturn

import numpy as np

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.elements import TIME_UNITS, TimeLayout, common_unit, unit_factor
from pygpulib.jit.frontend import arithmetic, calls, comparisons, inference
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import bind, register
from pygpulib.jit.frontend.values import Number, Operand, Text, Time
from pygpulib.jit.ir import ops as ir

_NAT = -(1 << 63)


def constant(ctx: Context, value: np.datetime64 | np.timedelta64) -> Time:
    """Return a date or span that is known now."""
    layout = TimeLayout(value.dtype.kind, *np.datetime_data(value.dtype))
    number = int(value.astype(np.int64))
    return Time(types.TimeType(layout), ctx.builder.constant(number, dtypes.int64))


def convert(ctx: Context, operand: Time, layout: TimeLayout, node: ast.AST) -> Time:
    """Return a time in another unit, or fail where a kernel cannot convert it."""
    source = operand.type.layout
    factor = unit_factor(source, layout)
    if source.kind != layout.kind or factor is None:
        ctx.fail(
            KernelTypeError,
            f"{source} cannot be converted to {layout} in a kernel",
            node,
            help=f"convert the array with .astype({str(layout)!r}) on the host",
        )
    return Time(types.TimeType(layout), _scaled(ctx, operand.value, factor))


def _scaled(ctx: Context, value: ir.Value, factor: int) -> ir.Value:
    if factor == 1:
        return value
    builder = ctx.builder
    scaled = builder.binary(ir.BinaryKind.MULTIPLY, value, builder.constant(factor, dtypes.int64))
    return builder.select(_is_nat(ctx, value), value, scaled)


def _is_nat(ctx: Context, value: ir.Value) -> ir.Value:
    nat = ctx.builder.constant(_NAT, dtypes.int64)
    return ctx.builder.compare(ir.CompareKind.EQ, value, nat)


def _in_common(
    ctx: Context, left: Time, right: Time, kind: str, symbol: str, node: ast.AST
) -> tuple[TimeLayout, ir.Value, ir.Value]:
    layout = common_unit(left.type.layout, right.type.layout, kind)
    if layout is None:
        _fail(ctx, symbol, left, right, node)
    values = []
    for operand in (left, right):
        factor = unit_factor(operand.type.layout, layout)
        assert factor is not None
        values.append(_scaled(ctx, operand.value, factor))
    return layout, values[0], values[1]


def _advice(left: Operand, right: Operand) -> str:
    if isinstance(left, Time) and isinstance(right, Time) and _have_other_units(left, right):
        return "bring both to one unit on the host, with .astype('datetime64[s]') for example"
    return "add and subtract times, multiply and divide spans of time by numbers"


def _have_other_units(left: Time, right: Time) -> bool:
    return common_unit(left.type.layout, right.type.layout, left.type.layout.kind) is None


def _fail(ctx: Context, symbol: str, left: Operand, right: Operand, node: ast.AST) -> NoReturn:
    ctx.fail(
        KernelTypeError,
        f"the operator {symbol} does not take {inference.describe(left)} and "
        f"{inference.describe(right)}",
        node,
        help=_advice(left, right),
    )


# ------------------------------------------------------------------------------------- arithmetic


def binary(
    ctx: Context, operator: type[ast.operator], left: Operand, right: Operand, node: ast.AST
) -> Operand:
    """Apply a binary operator of which at least one operand is a time."""
    symbol = arithmetic.SYMBOLS[operator]
    if isinstance(left, Time) and isinstance(right, Time):
        return _of_times(ctx, operator, left, right, node)
    if isinstance(left, Time) and isinstance(right, Number):
        if left.type.layout.kind == "m":
            return _with_number(ctx, operator, left, right, node)
        return _shifted(ctx, operator, left, right, node)
    if isinstance(left, Number) and isinstance(right, Time):
        if operator is ast.Mult and right.type.layout.kind == "m":
            return _with_number(ctx, operator, right, left, node)
        if operator is ast.Add:
            return _shifted(ctx, operator, right, left, node)
    _fail(ctx, symbol, left, right, node)


def _of_times(
    ctx: Context, operator: type[ast.operator], left: Time, right: Time, node: ast.AST
) -> Operand:
    kinds, symbol = left.type.layout.kind + right.type.layout.kind, arithmetic.SYMBOLS[operator]
    results = {
        (ast.Add, "mm"): "m",
        (ast.Add, "Mm"): "M",
        (ast.Add, "mM"): "M",
        (ast.Sub, "mm"): "m",
        (ast.Sub, "Mm"): "M",
        (ast.Sub, "MM"): "m",
        (ast.Mod, "mm"): "m",
        (ast.Div, "mm"): "",
        (ast.FloorDiv, "mm"): "",
    }
    kind = results.get((operator, kinds))
    if kind is None:
        _fail(ctx, symbol, left, right, node)
    layout, a, b = _in_common(ctx, left, right, kind or "m", symbol, node)
    if operator is ast.Div:
        numerator, denominator = (_as_float(ctx, value) for value in (a, b))
        return arithmetic.real(ctx, operator, numerator, denominator, node)
    nat = ctx.builder.constant(_NAT, dtypes.int64)
    undefined = ctx.builder.binary(ir.BinaryKind.OR, _is_nat(ctx, a), _is_nat(ctx, b))
    if operator is ast.Mod:
        is_zero = ctx.builder.compare(ir.CompareKind.EQ, b, ctx.builder.constant(0, dtypes.int64))
        undefined = ctx.builder.binary(ir.BinaryKind.OR, undefined, is_zero)
    result = arithmetic.real(ctx, operator, Number(a), Number(b), node)
    if operator is ast.FloorDiv:
        zero = ctx.builder.constant(0, dtypes.int64)
        return Number(ctx.builder.select(undefined, zero, result.value))
    return Time(types.TimeType(layout), ctx.builder.select(undefined, nat, result.value))


def _as_float(ctx: Context, value: ir.Value) -> Number:
    """Return a number of units as a float, nan for NaT."""
    number = ctx.builder.cast(value, dtypes.float64)
    nan = ctx.builder.constant(math.nan, dtypes.float64)
    return Number(ctx.builder.select(_is_nat(ctx, value), nan, number))


def _shifted(
    ctx: Context, operator: type[ast.operator], date: Time, number: Number, node: ast.AST
) -> Operand:
    """Add a number of units to a date, or take it away."""
    whole = inference.integer(ctx, number)
    if whole is None or operator not in (ast.Add, ast.Sub):
        _fail(ctx, arithmetic.SYMBOLS[operator], date, number, node)
    span = TimeLayout("m", date.type.layout.unit, date.type.layout.count)
    count = inference.cast(ctx, whole, dtypes.int64)
    return _of_times(ctx, operator, date, Time(types.TimeType(span), count.value), node)


def _with_number(
    ctx: Context, operator: type[ast.operator], span: Time, number: Number, node: ast.AST
) -> Operand:
    """Multiply or divide a span by a number; or add a number of units.

    Like NumPy, ``//`` cuts off what ``/`` cuts off.
    """
    if operator in (ast.Add, ast.Sub):
        return _shifted(ctx, operator, span, number, node)
    if operator not in (ast.Mult, ast.Div, ast.FloorDiv):
        _fail(ctx, arithmetic.SYMBOLS[operator], span, number, node)
    nat = ctx.builder.constant(_NAT, dtypes.int64)
    undefined = Number(_is_nat(ctx, span.value))
    whole = inference.integer(ctx, number)
    if whole is not None:
        if operator is not ast.Mult:
            zero = inference.constant(ctx, 0, whole.dtype)
            is_zero = comparisons.numbers(ctx, ast.Eq, whole, zero)
            undefined = comparisons.either(ctx, undefined, is_zero)
        factor = inference.cast(ctx, whole, dtypes.int64)
        if operator is ast.Mult:
            value = arithmetic.real(ctx, operator, Number(span.value), factor, node).value
        else:
            value = _truncated(ctx, span.value, factor.value)
    else:
        wide = inference.cast(ctx, number, dtypes.float64)
        as_float = Number(ctx.builder.cast(span.value, dtypes.float64))
        kind = ast.Mult if operator is ast.Mult else ast.Div
        product = arithmetic.real(ctx, kind, as_float, wide, node)
        value, is_finite = _whole(ctx, product)
        undefined = comparisons.either(ctx, undefined, comparisons.negate(ctx, is_finite))
    return Time(span.type, ctx.builder.select(undefined.value, nat, value))


def _truncated(ctx: Context, left: ir.Value, right: ir.Value) -> ir.Value:
    """Return the quotient of two integers, rounded towards zero."""
    builder = ctx.builder
    rest = builder.binary(ir.BinaryKind.REMAINDER, left, right)
    exact = builder.binary(ir.BinaryKind.SUBTRACT, left, rest)
    return builder.binary(ir.BinaryKind.FLOOR_DIVIDE, exact, right)


def _whole(ctx: Context, number: Number) -> tuple[ir.Value, Number]:
    """Return a float as an integer, and whether it is finite."""
    limit = inference.constant(ctx, 2.0**63, dtypes.float64)
    below = inference.constant(ctx, -(2.0**63), dtypes.float64)
    fits = comparisons.both(
        ctx,
        comparisons.numbers(ctx, ast.Lt, number, limit),
        comparisons.numbers(ctx, ast.GtE, number, below),
    )
    return ctx.builder.cast(number.value, dtypes.int64), fits


def unary(ctx: Context, operator: type[ast.unaryop], operand: Time, node: ast.AST) -> Operand:
    """Apply ``-`` or ``+`` to a span; the opposite of NaT is NaT."""
    if operand.type.layout.kind == "m" and operator is ast.UAdd:
        return operand
    if operand.type.layout.kind == "m" and operator is ast.USub:
        return Time(operand.type, ctx.builder.unary(ir.UnaryKind.NEGATE, operand.value))
    ctx.fail(
        KernelTypeError,
        f"the operator {arithmetic.SYMBOLS[operator]} does not take {inference.describe(operand)}",
        node,
        help="it takes numbers and spans of time",
    )


def absolute(ctx: Context, operand: Time) -> Time:
    """Return the length of a span; NaT stays what it is."""
    return Time(operand.type, ctx.builder.unary(ir.UnaryKind.ABSOLUTE, operand.value))


def compare(
    ctx: Context, operator: type[ast.cmpop], left: Time, right: Time, node: ast.AST
) -> Number:
    """Compare two dates or two spans; NaT is unequal to everything."""
    symbol = comparisons.SYMBOLS[operator]
    if left.type.layout.kind != right.type.layout.kind:
        _fail(ctx, symbol, left, right, node)
    _, a, b = _in_common(ctx, left, right, left.type.layout.kind, symbol, node)
    result = comparisons.numbers(ctx, operator, Number(a), Number(b))
    undefined = ctx.builder.binary(ir.BinaryKind.OR, _is_nat(ctx, a), _is_nat(ctx, b))
    if operator is ast.NotEq:
        return comparisons.either(ctx, Number(undefined), result)
    return comparisons.both(ctx, comparisons.negate(ctx, Number(undefined)), result)


# --------------------------------------------------------------------------------------- functions


@register(np.isnat)
def _isnat(
    ctx: Context, args: Sequence[Operand], kwargs: Mapping[str, Operand], node: ast.AST
) -> Operand:
    (operand,) = bind(ctx, "numpy.isnat", ("x",), 1, args, kwargs, node)
    if not isinstance(operand, Time):
        assert operand is not None
        calls.fail_types(ctx, "numpy.isnat", [operand], node)
    return Number(_is_nat(ctx, operand.value))


@register(np.timedelta64)
def _timedelta(
    ctx: Context, args: Sequence[Operand], kwargs: Mapping[str, Operand], node: ast.AST
) -> Operand:
    value, unit = bind(ctx, "numpy.timedelta64", ("value", "unit"), 1, args, kwargs, node)
    whole = None if value is None else inference.integer(ctx, value)
    name = unit.text if isinstance(unit, Text) else "generic"
    if whole is None or name not in TIME_UNITS or not isinstance(unit, Text | None):
        given = [operand for operand in (value, unit) if operand is not None]
        calls.fail_types(ctx, "numpy.timedelta64", given, node)
    count = inference.cast(ctx, whole, dtypes.int64)
    return Time(types.TimeType(TimeLayout("m", name)), count.value)


@register(np.datetime64)
def _datetime(
    ctx: Context, args: Sequence[Operand], kwargs: Mapping[str, Operand], node: ast.AST
) -> Operand:
    value, unit = bind(ctx, "numpy.datetime64", ("value", "unit"), 1, args, kwargs, node)
    given = [operand for operand in (value, unit) if operand is not None]
    texts = [operand.text for operand in given if isinstance(operand, Text)]
    if len(texts) != len(given):
        calls.fail_types(ctx, "numpy.datetime64", given, node)
    try:
        name = f"M8[{texts[1]}]" if len(texts) == 2 else "M8"
        known = np.asarray([texts[0]], name)[0]
    except (TypeError, ValueError) as error:
        ctx.fail(
            KernelTypeError,
            f"numpy.datetime64 does not take {', '.join(map(repr, texts))}: {error}",
            node,
        )
    return constant(ctx, known)
