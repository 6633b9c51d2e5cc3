"""Arithmetic operators on real numbers, and the choice of what an operator means."""

from __future__ import annotations

import ast
import math
import operator as python_operator
from collections.abc import Callable
from typing import Any, NoReturn

from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.errors import KernelTypeError
from pygpulib.jit.frontend import (
    calls,
    comparisons,
    complexes,
    datetimes,
    elementwise,
    inference,
    inline,
    literals,
    optionals,
    structs,
    tuples,
    vectors,
)
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.faults import raise_if
from pygpulib.jit.frontend.values import (
    Array,
    Complex,
    Elementwise,
    Number,
    Operand,
    Text,
    Time,
    Tuple,
    Vector,
)
from pygpulib.jit.intrinsics.procedures import integer_power, power_of_half
from pygpulib.jit.ir import ops as ir

_KINDS: dict[type[ast.operator], ir.BinaryKind] = {
    ast.Add: ir.BinaryKind.ADD,
    ast.Sub: ir.BinaryKind.SUBTRACT,
    ast.Mult: ir.BinaryKind.MULTIPLY,
    ast.Div: ir.BinaryKind.DIVIDE,
    ast.FloorDiv: ir.BinaryKind.FLOOR_DIVIDE,
    ast.Mod: ir.BinaryKind.MODULO,
    ast.LShift: ir.BinaryKind.SHIFT_LEFT,
    ast.RShift: ir.BinaryKind.SHIFT_RIGHT,
    ast.BitAnd: ir.BinaryKind.AND,
    ast.BitOr: ir.BinaryKind.OR,
    ast.BitXor: ir.BinaryKind.XOR,
}

SYMBOLS: dict[type[ast.operator | ast.unaryop], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.Pow: "**",
    ast.LShift: "<<",
    ast.RShift: ">>",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.BitXor: "^",
    ast.MatMult: "@",
    ast.USub: "-",
    ast.UAdd: "+",
    ast.Invert: "~",
}

_PYTHON: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: python_operator.add,
    ast.Sub: python_operator.sub,
    ast.Mult: python_operator.mul,
    ast.Div: python_operator.truediv,
    ast.FloorDiv: python_operator.floordiv,
    ast.Mod: python_operator.mod,
    ast.LShift: python_operator.lshift,
    ast.RShift: python_operator.rshift,
    ast.BitAnd: python_operator.and_,
    ast.BitOr: python_operator.or_,
    ast.BitXor: python_operator.xor,
}

MAX_EXPANDED_EXPONENT = 16
"""Up to here a float to the power of a literal becomes multiplications."""

_EXACT_EXPONENTS = (-1.0, 0.0, 1.0, 2.0)

MAX_FOLDED_EXPONENT = 128
"""Up to here a power of integer literals is computed exactly, as CPython's compiler does."""


def binary(
    ctx: Context,
    operator: type[ast.operator],
    left: Operand,
    right: Operand,
    node: ast.AST,
) -> Operand:
    """Apply a binary operator.

    Parameters
    ----------
    ctx : Context
        Where we are.
    operator : type
        Class of the AST node, for example ``ast.Add``.
    left, right : Operand
        What it is applied to.
    node : ast.AST
        Where errors point.

    Returns
    -------
    Operand
        The result, typed as numba types it.
    """
    left, right = optionals.plain(ctx, left), optionals.plain(ctx, right)
    match left, right:
        case Number(), Number():
            return real(ctx, operator, left, right, node)
        case ((Number() | Complex()), (Number() | Complex())):
            dtype = inference.promote_binary(operator, left.dtype, right.dtype)
            if dtype is not None and dtype.is_complex:
                dtype = literals.common_complex(left, right) or dtype
                result = complexes.binary(ctx, operator, left, right, dtype, node)
                return literals.like((left, right), result)
        case ((Array() | Elementwise()), (Array() | Elementwise() | Number() | Complex())) | (
            (Number() | Complex()),
            (Array() | Elementwise()),
        ):
            return elementwise.combine(
                ctx, (left, right), lambda items: binary(ctx, operator, items[0], items[1], node)
            )
        case Tuple(), Tuple() if operator is ast.Add:
            return Tuple((*left.items, *right.items))
        case Tuple(), Number() if operator is ast.Mult:
            return tuples.repeat(ctx, left, right, node)
        case Number(), Tuple() if operator is ast.Mult:
            return tuples.repeat(ctx, right, left, node)
        case Text(), Text() if operator is ast.Add:
            return Text(left.text + right.text)
        case Text(text), Number(literal=int(count)) if operator is ast.Mult:
            return Text(text * count)
    return _binary_other(ctx, operator, left, right, node)


def _binary_other(
    ctx: Context, operator: type[ast.operator], left: Operand, right: Operand, node: ast.AST
) -> Operand:
    """Apply a binary operator to operands that are not numbers."""
    pair = (left, right)
    if any(isinstance(one, Time) for one in pair):
        return datetimes.binary(ctx, operator, left, right, node)
    if any(isinstance(one, Vector) for one in pair):
        result = vectors.binary(ctx, operator, left, right, node)
        if result is not None:
            return result
    found = structs.apply(
        ctx, structs.FUNCTIONS[operator], f"the operator {SYMBOLS[operator]}", pair, node
    )
    if found is not None:
        return found
    _fail_binary(ctx, operator, left, right, node)


def _fail_binary(
    ctx: Context, operator: type[ast.operator], left: Operand, right: Operand, node: ast.AST
) -> NoReturn:
    advice = "convert the operands to types that have this operator"
    if isinstance(left, Array) or isinstance(right, Array):
        advice = "operators work on elements: index the arrays, as in a[i] + b[i]"
    ctx.fail(
        KernelTypeError,
        f"the operator {SYMBOLS[operator]} does not take "
        f"{inference.describe(left)} and {inference.describe(right)}",
        node,
        help=advice,
    )


def real(
    ctx: Context, operator: type[ast.operator], left: Number, right: Number, node: ast.AST
) -> Number:
    """Apply a binary operator to two real numbers."""
    if left.is_weak or right.is_weak:
        return literals.combine(
            ctx, operator, left, right, lambda a, b: real(ctx, operator, a, b, node)
        )
    dtype = inference.promote_binary(operator, left.dtype, right.dtype)
    if dtype is None:
        return _on_whole_numbers(ctx, operator, left, right, node)
    folded = _fold(ctx, operator, left, right, dtype)
    if folded is not None:
        return folded
    if dtype is dtypes.bfloat16 and operator in (ast.FloorDiv, ast.Mod, ast.Pow):
        # Of several steps, only the result is rounded.
        left = inference.cast(ctx, left, dtypes.float32)
        result = real(ctx, operator, left, _narrowed(ctx, right), node)
        return inference.cast(ctx, result, dtype)
    if operator is ast.Pow:
        return _power(ctx, left, right, dtype, node)
    left, right = inference.cast(ctx, left, dtype), inference.cast(ctx, right, dtype)
    divides = operator in (ast.Div, ast.FloorDiv, ast.Mod) and not right.literal
    # Fast arithmetic does not look at what it divides floats by.
    if ctx.options.debug and divides and not (ctx.options.fastmath and dtype.is_float):
        zero = inference.constant(ctx, 0, dtype)
        is_zero = ctx.builder.compare(ir.CompareKind.EQ, right.value, zero.value)
        raise_if(ctx, is_zero, ZeroDivisionError, "division by zero")
    value = ctx.builder.binary(_KINDS[operator], left.value, right.value)
    if dtype is dtypes.int64 and _keeps_sign(ctx, operator, left, right):
        ctx.nonnegative.add(value)
    return Number(value)


def _narrowed(ctx: Context, number: Number) -> Number:
    """Return an operand of a bfloat16 as float32; literal exponents stay what they are."""
    return number if number.literal is not None else inference.cast(ctx, number, dtypes.float32)


def _on_whole_numbers(
    ctx: Context, operator: type[ast.operator], left: Number, right: Number, node: ast.AST
) -> Number:
    """Apply an operator of integers to operands that are not both typed as such."""
    a, b = inference.integer(ctx, left), inference.integer(ctx, right)
    if a is None or b is None:
        _fail_binary(ctx, operator, left, right, node)
    return real(ctx, operator, a, b, node)


def _keeps_sign(ctx: Context, operator: type[ast.operator], left: Number, right: Number) -> bool:
    """Return whether an integer result cannot be negative, overflow aside."""
    if operator in (ast.Add, ast.Mult, ast.FloorDiv, ast.BitOr, ast.BitXor):
        return inference.is_nonnegative(ctx, left) and inference.is_nonnegative(ctx, right)
    if operator is ast.Mod:
        return inference.is_nonnegative(ctx, right)
    if operator is ast.RShift:
        return inference.is_nonnegative(ctx, left)
    if operator is ast.BitAnd:
        return inference.is_nonnegative(ctx, left) or inference.is_nonnegative(ctx, right)
    return False


def fold_python(
    operator: type[ast.operator], left: complex, right: complex
) -> int | float | complex | None:
    """Return what Python gives for two number literals, or None if that is no number or huge."""
    if operator in (ast.Pow, ast.LShift):
        least = -MAX_FOLDED_EXPONENT if operator is ast.Pow else 0
        is_small = isinstance(right, int) and least <= right <= MAX_FOLDED_EXPONENT
        if not is_small or not isinstance(left, int):
            return None
    function = pow if operator is ast.Pow else _PYTHON[operator]
    try:
        value = function(left, right)
    except (ArithmeticError, TypeError, ValueError):
        return None
    return value if isinstance(value, int | float | complex) else None


def _fold(
    ctx: Context, operator: type[ast.operator], left: Number, right: Number, dtype: DType
) -> Number | None:
    """Return the constant result of two literals, or None where run time decides."""
    a, b = left.literal, right.literal
    if a is None or b is None or (dtype.is_float and dtype is not dtypes.float64):
        return None
    if dtype.is_float:
        a, b = float(a), float(b)
    if operator is ast.Pow:
        return _fold_power(ctx, a, b, dtype)
    if operator in (ast.LShift, ast.RShift) and not 0 <= b < dtype.bits:
        return None
    try:
        value = _PYTHON[operator](a, b)
    except ArithmeticError:
        return None
    return inference.constant(ctx, value, dtype)


def _fold_power(ctx: Context, a: float, b: float, dtype: DType) -> Number | None:
    if dtype.is_integer:
        return inference.constant(ctx, pow(int(a), int(b), 1 << 64), dtype) if b >= 0 else None
    try:
        return inference.constant(ctx, math.pow(a, b), dtype)
    except ArithmeticError:
        return None
    except ValueError:  # a negative number to a fractional power
        return None


def _power(ctx: Context, left: Number, right: Number, dtype: DType, node: ast.AST) -> Number:
    exponent = right.literal
    base = inference.cast(ctx, left, dtype)
    least, most = (0, 64) if dtype.is_integer else (-MAX_EXPANDED_EXPONENT, MAX_EXPANDED_EXPONENT)
    # One multiplication or division is exact, as good functions are for such exponents.
    if (isinstance(exponent, int) or exponent in _EXACT_EXPONENTS) and least <= exponent <= most:
        return _expanded_power(ctx, base, int(exponent))
    if isinstance(exponent, float) and abs(exponent) == 0.5:
        return _power_of_half(ctx, base, exponent, node)
    if dtype.is_integer:
        # The base may wrap; an unsigned exponent keeps its value.
        operands = [inference.cast(ctx, left, dtypes.int64), inference.cast(ctx, right, dtype)]
        result = inline.call(ctx, integer_power, operands, {}, node)
        assert isinstance(result, Number)
        return inference.cast(ctx, result, dtype)
    return calls.apply_intrinsic(ctx, math.pow, [base, inference.cast(ctx, right, dtype)], node)


def _power_of_half(ctx: Context, base: Number, exponent: float, node: ast.AST) -> Number:
    """Return the square root, or one over it."""
    root = inline.call(ctx, power_of_half, [base], {}, node)
    assert isinstance(root, Number)
    root = inference.cast(ctx, root, base.dtype)
    return _inverse(ctx, root) if exponent < 0 else root


def _inverse(ctx: Context, number: Number) -> Number:
    one = inference.constant(ctx, 1, number.dtype)
    return Number(ctx.builder.binary(ir.BinaryKind.DIVIDE, one.value, number.value))


def _expanded_power(ctx: Context, base: Number, exponent: int) -> Number:
    """Multiply a number with itself, squaring as often as possible."""
    if exponent == 0:
        return inference.constant(ctx, 1, base.dtype)
    square, rest = base.value, abs(exponent)
    value: ir.Value | None = None
    while rest:
        if rest & 1:
            value = square if value is None else _multiply(ctx, value, square)
        rest >>= 1
        if rest:
            square = _multiply(ctx, square, square)
    assert value is not None
    return _inverse(ctx, Number(value)) if exponent < 0 else Number(value)


def _multiply(ctx: Context, left: ir.Value, right: ir.Value) -> ir.Value:
    return ctx.builder.binary(ir.BinaryKind.MULTIPLY, left, right)


def _of_element(ctx: Context, operator: type[ast.unaryop], item: Operand, node: ast.AST) -> Operand:
    """Apply a unary operator to an element; NumPy's ``~`` negates truth values."""
    if operator is ast.Invert and isinstance(item, Number) and item.dtype.is_bool:
        return comparisons.negate(ctx, item)
    return unary(ctx, operator, item, node)


def unary(ctx: Context, operator: type[ast.unaryop], operand: Operand, node: ast.AST) -> Operand:
    """Apply ``-``, ``+`` or ``~``."""
    operand = optionals.plain(ctx, operand)
    match operand:
        case Number() if operator is not ast.Invert:
            return literals.like((operand,), _signed(ctx, operator, operand))
        case Number():
            whole = inference.integer(ctx, operand)
            if whole is not None:
                return literals.like((operand,), _inverted(ctx, whole))
        case Array() | Elementwise():
            return elementwise.combine(
                ctx, (operand,), lambda items: _of_element(ctx, operator, items[0], node)
            )
        case Complex() if operator is ast.UAdd:
            return operand
        case Complex() if operator is ast.USub:
            negate = ir.UnaryKind.NEGATE
            real_part = ctx.builder.unary(negate, operand.real)
            return replace(operand, real=real_part, imag=ctx.builder.unary(negate, operand.imag))
        case Time():
            return datetimes.unary(ctx, operator, operand, node)
        case Vector():
            return vectors.each(ctx, operand, lambda item: unary(ctx, operator, item, node))
        case _:
            title = f"the operator {SYMBOLS[operator]}"
            found = structs.apply(ctx, structs.FUNCTIONS[operator], title, (operand,), node)
            if found is not None:
                return found
    ctx.fail(
        KernelTypeError,
        f"the operator {SYMBOLS[operator]} does not take {inference.describe(operand)}",
        node,
        help="it takes integers" if operator is ast.Invert else "it takes numbers",
    )


def _signed(ctx: Context, operator: type[ast.unaryop], operand: Number) -> Number:
    wide = inference.cast(ctx, operand, inference.widen(operand.dtype))
    if operator is ast.UAdd:
        return wide
    if wide.literal is not None:
        return inference.constant(ctx, -wide.literal, wide.dtype)
    value = ctx.builder.unary(ir.UnaryKind.NEGATE, wide.value)
    if wide.value in ctx.integral:
        ctx.integral.add(value)
    return Number(value)


def _inverted(ctx: Context, operand: Number) -> Number:
    wide = inference.cast(ctx, operand, inference.widen(operand.dtype))
    if wide.literal is not None:
        return inference.constant(ctx, ~int(wide.literal), wide.dtype)
    return Number(ctx.builder.unary(ir.UnaryKind.NOT, wide.value))
