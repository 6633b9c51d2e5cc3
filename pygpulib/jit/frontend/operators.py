"""Functions that mean an operator: those of the ``operator`` module and of NumPy."""

from __future__ import annotations

import ast
import math
import operator

import numpy as np

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.frontend import (
    arithmetic,
    arrays,
    builtins,
    calls,
    comparisons,
    complexes,
    elementwise,
    expressions,
    forms,
    inference,
    literals,
    methods,
)
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import (
    Arguments,
    Handler,
    Keywords,
    bind,
    function_name,
    numbers,
    register,
)
from pygpulib.jit.frontend.values import (
    Array,
    Complex,
    Elementwise,
    NoneValue,
    Number,
    Operand,
)
from pygpulib.jit.intrinsics.selection import selp

BINARY: dict[type[ast.operator], tuple[object, ...]] = {
    ast.Add: (operator.add, operator.iadd, np.add),
    ast.Sub: (operator.sub, operator.isub, np.subtract),
    ast.Mult: (operator.mul, operator.imul, np.multiply),
    ast.Div: (operator.truediv, operator.itruediv, np.true_divide),
    ast.FloorDiv: (operator.floordiv, operator.ifloordiv, np.floor_divide),
    ast.Mod: (operator.mod, operator.imod, np.remainder),
    ast.Pow: (operator.pow, operator.ipow, np.power),
    ast.LShift: (operator.lshift, operator.ilshift, np.left_shift),
    ast.RShift: (operator.rshift, operator.irshift, np.right_shift),
    ast.BitAnd: (operator.and_, operator.iand, np.bitwise_and),
    ast.BitOr: (operator.or_, operator.ior, np.bitwise_or),
    ast.BitXor: (operator.xor, operator.ixor, np.bitwise_xor),
}

COMPARISONS: dict[type[ast.cmpop], tuple[object, ...]] = {
    ast.Eq: (operator.eq, np.equal),
    ast.NotEq: (operator.ne, np.not_equal),
    ast.Lt: (operator.lt, np.less),
    ast.LtE: (operator.le, np.less_equal),
    ast.Gt: (operator.gt, np.greater),
    ast.GtE: (operator.ge, np.greater_equal),
    ast.Is: (operator.is_,),
    ast.IsNot: (operator.is_not,),
}

# For these, complex numbers have an order.
_NUMPY_ORDER = (np.less, np.less_equal, np.greater, np.greater_equal)

UNARY: dict[type[ast.unaryop], tuple[object, ...]] = {
    ast.USub: (operator.neg, np.negative),
    ast.UAdd: (operator.pos, np.positive),
    ast.Invert: (operator.invert, operator.inv, np.invert),
}


def _operands(
    ctx: Context, spelling: object, count: int, call: tuple[Arguments, Keywords], node: ast.AST
) -> list[Operand]:
    names = ("x1", "x2")[:count]
    given = bind(ctx, function_name(spelling), names, count, *call, node)
    return [operand for operand in given if operand is not None]


def _binary(spelling: object, kind: type[ast.operator]) -> Handler:
    def apply(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
        left, right = _operands(ctx, spelling, 2, (args, kwargs), node)
        return arithmetic.binary(ctx, kind, left, right, node)

    return apply


def _comparison(spelling: object, kind: type[ast.cmpop]) -> Handler:
    def apply(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
        left, right = _operands(ctx, spelling, 2, (args, kwargs), node)
        if spelling in _NUMPY_ORDER and (isinstance(left, Complex) or isinstance(right, Complex)):
            return calls.apply_complex(ctx, spelling, [left, right], node)
        return comparisons.compare(ctx, kind, left, right, node)

    return apply


def _unary(spelling: object, kind: type[ast.unaryop]) -> Handler:
    def apply(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
        (operand,) = _operands(ctx, spelling, 1, (args, kwargs), node)
        if isinstance(operand, Number) and operand.dtype.is_bool and spelling is np.invert:
            return comparisons.negate(ctx, operand)
        return arithmetic.unary(ctx, kind, operand, node)

    return apply


def _register_operators() -> None:
    for binary, spellings in BINARY.items():
        for spelling in spellings:
            register(spelling)(_binary(spelling, binary))
    for comparison, spellings in COMPARISONS.items():
        for spelling in spellings:
            register(spelling)(_comparison(spelling, comparison))
    for unary, spellings in UNARY.items():
        for spelling in spellings:
            register(spelling)(_unary(spelling, unary))


_register_operators()

# ------------------------------------------------------------------------------------------ logic


def _truths(
    ctx: Context, spelling: object, call: tuple[Arguments, Keywords], node: ast.AST
) -> list[Number]:
    operands = _operands(ctx, spelling, 2, call, node)
    return [comparisons.truth(ctx, operand, node) for operand in operands]


@register(np.logical_and)
def _logical_and(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    return comparisons.both(ctx, *_truths(ctx, np.logical_and, (args, kwargs), node))


@register(np.logical_or)
def _logical_or(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    return comparisons.either(ctx, *_truths(ctx, np.logical_or, (args, kwargs), node))


@register(np.logical_xor)
def _logical_xor(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    left, right = _truths(ctx, np.logical_xor, (args, kwargs), node)
    return arithmetic.binary(ctx, ast.BitXor, left, right, node)


@register(np.logical_not, operator.not_)
def _logical_not(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (operand,) = _operands(ctx, np.logical_not, 1, (args, kwargs), node)
    return comparisons.negate(ctx, comparisons.truth(ctx, operand, node))


@register(operator.truth)
def _truth(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (operand,) = _operands(ctx, operator.truth, 1, (args, kwargs), node)
    return comparisons.truth(ctx, operand, node)


@register(operator.getitem)
def _getitem(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    operand, index = _operands(ctx, operator.getitem, 2, (args, kwargs), node)
    return expressions.subscript(ctx, operand, index, node)


@register(operator.setitem)
def _setitem(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    operand, index, value = bind(ctx, "operator.setitem", ("a", "b", "c"), 3, args, kwargs, node)
    assert operand is not None
    assert index is not None
    assert value is not None
    arrays.store(ctx, operand, index, value, node)
    return NoneValue()


@register(operator.contains)
def _contains(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    container, item = _operands(ctx, operator.contains, 2, (args, kwargs), node)
    return comparisons.compare(ctx, ast.In, item, container, node)


@register(operator.concat, operator.iconcat)
def _concat(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    left, right = _operands(ctx, operator.concat, 2, (args, kwargs), node)
    return arithmetic.binary(ctx, ast.Add, left, right, node)


@register(operator.index)
def _index(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (operand,) = _operands(ctx, operator.index, 1, (args, kwargs), node)
    whole = inference.integer(ctx, operand)
    if whole is None or not (isinstance(operand, Number) and not operand.dtype.is_float):
        calls.fail_types(ctx, "operator.index", [operand], node)
    return whole


# ---------------------------------------------------------------------------------------- choices


@register(selp)
def _selp(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    return _select(ctx, "cuda.selp", (args, kwargs), node)


@register(np.where)
def _where(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    if kwargs or not any(isinstance(one, Array | Elementwise) for one in args):
        return _select(ctx, "numpy.where", (args, kwargs), node)
    return elementwise.combine(
        ctx, args, lambda items: _select(ctx, "numpy.where", (items, {}), node)
    )


def _select(ctx: Context, name: str, call: tuple[Arguments, Keywords], node: ast.AST) -> Operand:
    parameters = ("condition", "if_true", "if_false")
    condition, *choices = bind(ctx, name, parameters, 3, *call, node)
    known = [choice for choice in choices if isinstance(choice, Number | Complex)]
    if len(known) != len(choices) or not isinstance(condition, Number | Complex):
        given = (condition, *choices)
        ctx.fail(
            KernelTypeError,
            f"{name} does not take "
            f"({', '.join(inference.describe(one) for one in given if one is not None)})",
            node,
            detail="expected a condition and two numbers",
            help="write an if statement, or x if condition else y",
        )
    holds = comparisons.truth(ctx, condition, node)
    joined = inference.join(*(forms.form_of(choice) for choice in known))
    assert isinstance(joined, types.ScalarType)
    dtype = joined.dtype
    if not dtype.is_complex:
        one, other = (
            inference.cast(ctx, number, dtype) for number in numbers(ctx, name, known, node)
        )
        return Number(ctx.builder.select(holds.value, one.value, other.value))
    left, right = (inference.as_complex(ctx, choice, dtype) for choice in known)
    real = ctx.builder.select(holds.value, left.real, right.real)
    return Complex(real, ctx.builder.select(holds.value, left.imag, right.imag), dtype)


# ---------------------------------------------------------------------------------------- extremes


def _extreme(spelling: object, kind: type[ast.cmpop]) -> Handler:
    """Return the meaning of NumPy's minimum or maximum: floats have intrinsics of their own."""

    def apply(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
        operands = _operands(ctx, spelling, 2, (args, kwargs), node)
        if any(isinstance(operand, Complex) for operand in operands):
            return calls.apply_complex(ctx, spelling, operands, node)
        left, right = numbers(ctx, function_name(spelling), operands, node)
        left, right = literals.settle(ctx, (left, right))
        dtype = inference.promote(left.dtype, right.dtype)
        if dtype.is_float:
            return calls.apply_intrinsic(ctx, spelling, [left, right], node)
        return builtins.better(ctx, kind, left, right)

    return apply


register(np.minimum)(_extreme(np.minimum, ast.Lt))
register(np.fmin)(_extreme(np.fmin, ast.Lt))
register(np.maximum)(_extreme(np.maximum, ast.Gt))
register(np.fmax)(_extreme(np.fmax, ast.Gt))


# ------------------------------------------------------------------------------ functions of NumPy


@register(np.square)
def _square(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (operand,) = _operands(ctx, np.square, 1, (args, kwargs), node)
    return arithmetic.binary(ctx, ast.Mult, operand, operand, node)


@register(np.reciprocal)
def _reciprocal(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (operand,) = _operands(ctx, np.reciprocal, 1, (args, kwargs), node)
    if isinstance(operand, Complex):
        one: Operand = inference.constant(ctx, 1, operand.dtype.component)
        return arithmetic.binary(ctx, ast.Div, one, operand, node)
    (number,) = numbers(ctx, "numpy.reciprocal", [operand], node)
    kind = ast.Div if number.dtype.is_float else ast.FloorDiv
    one = inference.constant(ctx, 1, inference.widen(number.dtype))
    return arithmetic.binary(ctx, kind, one, number, node)


@register(np.sign)
def _sign(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (operand,) = _operands(ctx, np.sign, 1, (args, kwargs), node)
    (number,) = numbers(ctx, "numpy.sign", [operand], node)
    wide = inference.cast(ctx, number, inference.widen(number.dtype))
    zero, one = (inference.constant(ctx, value, wide.dtype) for value in (0, 1))
    minus = arithmetic.unary(ctx, ast.USub, one, node)
    assert isinstance(minus, Number)
    select = ctx.builder.select
    is_positive = comparisons.numbers(ctx, ast.Gt, wide, zero)
    result = select(is_positive.value, one.value, wide.value)  # zeros and nan stay themselves
    if wide.dtype is not dtypes.uint64:
        is_negative = comparisons.numbers(ctx, ast.Lt, wide, zero)
        result = select(is_negative.value, minus.value, result)
    return Number(result)


@register(np.conjugate)
def _conjugate(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (operand,) = _operands(ctx, np.conjugate, 1, (args, kwargs), node)
    if isinstance(operand, Complex):
        return complexes.conjugate(ctx, operand)
    return numbers(ctx, "numpy.conjugate", [operand], node)[0]


@register(np.real)
def _real(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (operand,) = _operands(ctx, np.real, 1, (args, kwargs), node)
    return _part(ctx, operand, "real", node)


@register(np.imag)
def _imag(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (operand,) = _operands(ctx, np.imag, 1, (args, kwargs), node)
    return _part(ctx, operand, "imag", node)


def _part(ctx: Context, operand: Operand, name: str, node: ast.AST) -> Operand:
    if isinstance(operand, Number | Complex | Array):
        return methods.attribute(ctx, operand, name, node)
    ctx.fail(
        KernelTypeError,
        f"numpy.{name} does not take {inference.describe(operand)}",
        node,
        help="pass a number",
    )


@register(np.angle)
def _angle(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (operand,) = _operands(ctx, np.angle, 1, (args, kwargs), node)
    real, imag = (_part(ctx, operand, name, node) for name in ("real", "imag"))
    parts = numbers(ctx, "numpy.angle", [imag, real], node)
    return calls.apply_intrinsic(ctx, math.atan2, parts, node)
