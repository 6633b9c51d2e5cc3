"""Arithmetic on complex numbers, in terms of their parts."""

from __future__ import annotations

import ast
import math

from pygpulib.core.dtypes import DType
from pygpulib.errors import KernelTypeError
from pygpulib.jit.frontend import calls, inference
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.faults import raise_if
from pygpulib.jit.frontend.values import Complex, Number, Operand
from pygpulib.jit.ir import ops as ir

MAX_EXPANDED_EXPONENT = 100
"""Up to here a whole exponent means repeated multiplication, as in CPython."""

_ADD = ir.BinaryKind.ADD
_SUBTRACT = ir.BinaryKind.SUBTRACT
_MULTIPLY = ir.BinaryKind.MULTIPLY
_DIVIDE = ir.BinaryKind.DIVIDE


def binary(
    ctx: Context,
    operator: type[ast.operator],
    left: Number | Complex,
    right: Number | Complex,
    dtype: DType,
    node: ast.AST,
) -> Operand:
    """Apply ``+ - * / **`` in a complex dtype."""
    if operator is ast.Pow:
        return _power(ctx, left, right, dtype, node)
    a = inference.as_complex(ctx, left, dtype)
    b = inference.as_complex(ctx, right, dtype)
    if operator is ast.Mult:
        return multiply(ctx, a, b)
    if operator is ast.Div:
        return divide(ctx, a, b)
    kind = _ADD if operator is ast.Add else _SUBTRACT
    return Complex(
        ctx.builder.binary(kind, a.real, b.real), ctx.builder.binary(kind, a.imag, b.imag), dtype
    )


def multiply(ctx: Context, a: Complex, b: Complex) -> Complex:
    """Return the product, in the plain form of four multiplications."""
    op = ctx.builder.binary
    real = op(_SUBTRACT, op(_MULTIPLY, a.real, b.real), op(_MULTIPLY, a.imag, b.imag))
    imag = op(_ADD, op(_MULTIPLY, a.real, b.imag), op(_MULTIPLY, a.imag, b.real))
    return Complex(real, imag, a.dtype)


def divide(ctx: Context, a: Complex, b: Complex) -> Complex:
    """Return the quotient by Smith's method, as CPython computes it."""
    op, select = ctx.builder.binary, ctx.builder.select
    size_real = ctx.builder.unary(ir.UnaryKind.ABSOLUTE, b.real)
    size_imag = ctx.builder.unary(ir.UnaryKind.ABSOLUTE, b.imag)
    if ctx.options.debug and not ctx.options.fastmath:
        zero = inference.constant(ctx, 0, a.dtype.component).value
        total = op(_ADD, size_real, size_imag)
        is_zero = ctx.builder.compare(ir.CompareKind.EQ, total, zero)
        raise_if(ctx, is_zero, ZeroDivisionError, "complex division by zero")
    # Swapping the parts of both numbers turns the case |b.real| < |b.imag| into the other one,
    # except for the order of the difference in the imaginary part.
    is_regular = ctx.builder.compare(ir.CompareKind.GE, size_real, size_imag)
    large = select(is_regular, b.real, b.imag)
    small = select(is_regular, b.imag, b.real)
    p = select(is_regular, a.real, a.imag)
    q = select(is_regular, a.imag, a.real)
    ratio = op(_DIVIDE, small, large)
    scale = op(_ADD, large, op(_MULTIPLY, small, ratio))
    real = op(_DIVIDE, op(_ADD, p, op(_MULTIPLY, q, ratio)), scale)
    shifted = op(_MULTIPLY, p, ratio)
    difference = op(_SUBTRACT, select(is_regular, q, shifted), select(is_regular, shifted, q))
    return Complex(real, op(_DIVIDE, difference, scale), a.dtype)


def _power(
    ctx: Context, left: Number | Complex, right: Number | Complex, dtype: DType, node: ast.AST
) -> Operand:
    exponent = right.literal if isinstance(right, Number) else None
    if (
        exponent is not None
        and abs(exponent) <= MAX_EXPANDED_EXPONENT
        and exponent == math.floor(exponent)
    ):
        return _expanded_power(ctx, inference.as_complex(ctx, left, dtype), int(exponent))
    operands = [inference.as_complex(ctx, operand, dtype) for operand in (left, right)]
    return calls.apply_complex(ctx, pow, operands, node)


def _expanded_power(ctx: Context, base: Complex, exponent: int) -> Complex:
    one = inference.as_complex(ctx, inference.constant(ctx, 1, base.dtype.component), base.dtype)
    if exponent == 0:
        return one
    result: Complex | None = None
    square, rest = base, abs(exponent)
    while rest:
        if rest & 1:
            result = square if result is None else multiply(ctx, result, square)
        rest >>= 1
        if rest:
            square = multiply(ctx, square, square)
    assert result is not None
    return divide(ctx, one, result) if exponent < 0 else result


def absolute(ctx: Context, operand: Complex, node: ast.AST) -> Number:
    """Return the absolute value, in the dtype of the parts."""
    return calls.apply_intrinsic(
        ctx, math.hypot, [Number(operand.real), Number(operand.imag)], node
    )


def conjugate(ctx: Context, operand: Complex) -> Complex:
    """Return the number with the sign of its imaginary part changed."""
    imag = ctx.builder.unary(ir.UnaryKind.NEGATE, operand.imag)
    return Complex(operand.real, imag, operand.dtype)


def equal(ctx: Context, a: Complex, b: Complex) -> Number:
    """Return whether both parts are equal."""
    real = ctx.builder.compare(ir.CompareKind.EQ, a.real, b.real)
    imag = ctx.builder.compare(ir.CompareKind.EQ, a.imag, b.imag)
    return Number(ctx.builder.binary(ir.BinaryKind.AND, real, imag))


def fail_order(ctx: Context, symbol: str, node: ast.AST) -> None:
    """Raise the error for comparing the order of complex numbers."""
    ctx.fail(
        KernelTypeError,
        f"the comparison {symbol} does not take complex numbers",
        node,
        help="compare abs(z), z.real or z.imag",
    )
