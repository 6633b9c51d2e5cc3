"""Python's built-in functions, and where a thread is."""

from __future__ import annotations

import ast
import math
import operator
from collections.abc import Sequence

import numpy as np

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.frontend import (
    arithmetic,
    calls,
    chars,
    comparisons,
    complexes,
    datetimes,
    expressions,
    inference,
    inline,
    integers,
    literals,
)
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import (
    Arguments,
    Handler,
    Keywords,
    bind,
    no_keywords,
    numbers,
    register,
)
from pygpulib.jit.frontend.values import (
    Array,
    Chars,
    Complex,
    NoneValue,
    Number,
    Operand,
    Range,
    Record,
    Text,
    Time,
    Tuple,
    Vector,
)
from pygpulib.jit.intrinsics import procedures, threads
from pygpulib.jit.ir import ops as ir

# ------------------------------------------------------------------------------------ conversions


@register(int)
def _int(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (value,) = bind(ctx, "int", ("x",), 0, args, kwargs, node)
    if value is None:
        return integers.literal(ctx, 0)
    if isinstance(value, Number) and value.dtype.is_integer:
        return value
    return inference.convert(ctx, value, types.int64, node)


@register(float)
def _float(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (value,) = bind(ctx, "float", ("x",), 0, args, kwargs, node)
    if value is None:
        return inference.constant(ctx, 0.0, dtypes.float64)
    if isinstance(value, Text) and value.text.strip("+-").lower() in ("inf", "infinity", "nan"):
        return inference.constant(ctx, float(value.text), dtypes.float64)
    if isinstance(value, Number) and value.dtype.is_float:
        return literals.strong(value)
    return inference.convert(ctx, value, types.float64, node)


@register(complex)
def _complex(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    real, imag = bind(ctx, "complex", ("real", "imag"), 0, args, kwargs, node)
    if isinstance(real, Complex) and imag is None:
        return literals.strong(real)
    if real is None:
        real = inference.constant(ctx, 0.0, dtypes.float64)
    given = [real] if imag is None else [real, imag]
    parts = numbers(ctx, "complex", given, node)
    single = all(part.dtype.is_float and part.dtype is not dtypes.float64 for part in parts)
    dtype = dtypes.complex64 if single else dtypes.complex128
    if imag is None:
        return inference.as_complex(ctx, parts[0], dtype)
    first, second = (inference.cast(ctx, part, dtype.component).value for part in parts)
    return Complex(first, second, dtype)


@register(bool, np.bool_)
def _bool(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (value,) = bind(ctx, "bool", ("x",), 0, args, kwargs, node)
    return comparisons.boolean(ctx, False) if value is None else comparisons.truth(ctx, value, node)


@register(tuple)
def _tuple(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (value,) = bind(ctx, "tuple", ("iterable",), 0, args, kwargs, node)
    if value is None:
        return Tuple(())
    if isinstance(value, Tuple):
        return Tuple(value.items)
    ctx.fail(
        KernelTypeError,
        f"tuple does not take {inference.describe(value)}",
        node,
        help="its length must be known when the kernel is compiled: write the items out",
    )


@register(slice)
def _slice(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    first, second, third = bind(ctx, "slice", ("start", "stop", "step"), 1, args, kwargs, node)
    parts = [None, first, None] if len(args) == 1 else [first, second, third]
    return expressions.make_slice(ctx, parts, node)


@register(range)
def _range(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    given = bind(ctx, "range", ("start", "stop", "step"), 1, args, kwargs, node)
    bounds: list[Number] = []
    for value in given:
        whole = None if value is None else inference.integer(ctx, value)
        if whole is not None:
            bounds.append(whole)
        elif value is not None:
            ctx.fail(
                KernelTypeError,
                f"range does not take {inference.describe(value)}",
                node,
                detail="expected integers",
                help="convert the bounds with int(...)",
            )
    # An unsigned 64-bit bound keeps its values only if everything else is not negative either.
    unsigned = dtypes.uint64 in [bound.dtype for bound in bounds] and all(
        not bound.dtype.is_signed or (bound.literal is not None and bound.literal >= 0)
        for bound in bounds
    )
    dtype = dtypes.uint64 if unsigned else dtypes.int64
    bounds = [inference.cast(ctx, bound, dtype) for bound in bounds]
    if len(bounds) == 1:
        bounds.insert(0, inference.constant(ctx, 0, dtype))
    if len(bounds) == 2:
        bounds.append(inference.constant(ctx, 1, dtype))
    if bounds[2].literal == 0:
        ctx.fail(KernelTypeError, "the step of a range cannot be zero", node, help="use 1 or -1")
    return Range(*bounds)


# ---------------------------------------------------------------------------------------- numbers


@register(abs, operator.abs, np.absolute)
def _abs(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (value,) = bind(ctx, "abs", ("x",), 1, args, kwargs, node)
    if isinstance(value, Complex):
        return complexes.absolute(ctx, value, node)
    if isinstance(value, Time) and value.type.layout.kind == "m":
        return datetimes.absolute(ctx, value)
    (number,) = numbers(ctx, "abs", [value], node)
    return literals.like((number,), absolute(ctx, number))


def absolute(ctx: Context, number: Number) -> Number:
    """Return the absolute value of a real number."""
    wide = inference.cast(ctx, number, inference.widen(number.dtype))
    if wide.literal is not None:
        return inference.constant(ctx, abs(wide.literal), wide.dtype)
    if wide.dtype is dtypes.uint64:
        return wide
    result = ctx.builder.unary(ir.UnaryKind.ABSOLUTE, wide.value)
    if wide.dtype.is_integer:
        ctx.nonnegative.add(result)
    if wide.value in ctx.integral:
        ctx.integral.add(result)
    return Number(result)


@register(round)
def _round(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    value, digits = bind(ctx, "round", ("number", "ndigits"), 1, args, kwargs, node)
    (number,) = numbers(ctx, "round", [value], node)
    if digits is not None and not isinstance(digits, NoneValue):
        return _round_to_digits(ctx, "round", number, digits, node)
    if not number.dtype.is_float:
        return inference.cast(ctx, number, inference.widen(number.dtype))
    whole = calls.apply_intrinsic(ctx, np.rint, [number], node)
    return inference.cast(ctx, whole, dtypes.int64)


@register(np.round, np.around)
def _numpy_round(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    value, digits = bind(ctx, "numpy.round", ("a", "decimals"), 1, args, kwargs, node)
    (number,) = numbers(ctx, "numpy.round", [value], node)
    if digits is not None:
        return _round_to_digits(ctx, "numpy.round", number, digits, node)
    if not number.dtype.is_float:
        return inference.cast(ctx, number, inference.widen(number.dtype))
    return calls.apply_intrinsic(ctx, np.rint, [number], node)


def _round_to_digits(
    ctx: Context, name: str, number: Number, digits: Operand, node: ast.AST
) -> Operand:
    places = inference.integer(ctx, digits)
    if places is not None and number.dtype.is_float:
        wide = inference.cast(ctx, number, dtypes.float64)
        result = inline.call(ctx, procedures.round_to_digits, [wide, places], {}, node)
        return inference.convert(ctx, result, types.scalar_type(number.dtype), node)
    if places is not None and places.literal is not None and places.literal >= 0:
        return inference.cast(ctx, number, inference.widen(number.dtype))
    ctx.fail(
        KernelTypeError,
        f"{name} does not take ({inference.describe(number)}, {inference.describe(digits)})",
        node,
        detail="expected a float and an integer number of digits",
        help="convert the arguments with float(...) and int(...)",
    )


def _register_rounding() -> None:
    """Register ``math.floor`` and its kind, which leave integers alone."""

    def handler(spelling: object) -> Handler:
        def apply(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
            no_keywords(ctx, spelling, kwargs, node)
            if len(args) == 1 and isinstance(args[0], Number) and not args[0].dtype.is_float:
                return inference.cast(ctx, args[0], inference.widen(args[0].dtype))
            return calls.apply_function(ctx, spelling, args, node)

        return apply

    for spelling in (math.floor, math.ceil, math.trunc):
        register(spelling)(handler(spelling))


_register_rounding()


@register(pow)
def _pow(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    base, exponent = bind(ctx, "pow", ("base", "exp"), 2, args, kwargs, node)
    assert base is not None
    assert exponent is not None
    return arithmetic.binary(ctx, ast.Pow, base, exponent, node)


@register(divmod)
def _divmod(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    left, right = bind(ctx, "divmod", ("x", "y"), 2, args, kwargs, node)
    assert left is not None
    assert right is not None
    operators: tuple[type[ast.operator], ...] = (ast.FloorDiv, ast.Mod)
    return Tuple(tuple(arithmetic.binary(ctx, one, left, right, node) for one in operators))


@register(math.log)
def _log(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    value, base = bind(ctx, "math.log", ("x", "base"), 1, args, kwargs, node)
    if base is None:
        return calls.apply_function(ctx, math.log, args, node)
    operands = numbers(ctx, "math.log", [value, base], node)
    above, below = (calls.apply_intrinsic(ctx, math.log, [one], node) for one in operands)
    return arithmetic.real(ctx, ast.Div, above, below, node)


# ------------------------------------------------------------------------- several numbers to one


@register(len)
def _len(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (value,) = bind(ctx, "len", ("obj",), 1, args, kwargs, node)
    match value:
        case Tuple(items):
            return integers.literal(ctx, len(items))
        case Array() if value.type.ndim > 0:
            return integers.extent(ctx, value.shape[0])
        case Text(text):
            return integers.literal(ctx, len(text))
        case Chars():
            return chars.length(ctx, value)
        case Record():
            return integers.literal(ctx, len(value.type.layout.fields))
        case Vector():
            return integers.literal(ctx, value.type.count)
        case Range():
            from pygpulib.jit.frontend import iteration

            return iteration.length_of_range(ctx, value, node)
        case _:
            assert value is not None
    ctx.fail(
        KernelTypeError,
        f"{inference.describe(value)} has no length",
        node,
        help="len takes arrays, tuples and ranges",
    )


@register(min)
def _min(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    return _extreme(ctx, "min", ast.Lt, args, kwargs, node)


@register(max)
def _max(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    return _extreme(ctx, "max", ast.Gt, args, kwargs, node)


def _extreme(
    ctx: Context,
    name: str,
    operator: type[ast.cmpop],
    args: Arguments,
    kwargs: Keywords,
    node: ast.AST,
) -> Operand:
    items: Sequence[Operand] = args
    if len(args) == 1 and isinstance(args[0], Array) and args[0].type.ndim == 1:
        function = procedures.smallest if name == "min" else procedures.largest
        return inline.call(ctx, function, [args[0]], {}, node)
    if len(args) == 1 and isinstance(args[0], Tuple):
        items = args[0].items
    if kwargs or not items or (len(args) == 1 and items is args):
        ctx.fail(
            KernelTypeError,
            f"{name} does not take "
            f"({', '.join(inference.describe(one) for one in (*args, *kwargs.values()))})",
            node,
            help="pass two or more numbers, a tuple that is not empty, or a 1-d array",
        )
    best, *rest = numbers(ctx, name, items, node)
    for candidate in rest:
        best = better(ctx, operator, best, candidate)
    return best


def better(ctx: Context, operator: type[ast.cmpop], best: Number, candidate: Number) -> Number:
    """Return the candidate if it compares so with the best so far, else the best."""
    if best.is_weak or candidate.is_weak:
        settled = literals.settle(ctx, (best, candidate))
        found = literals.like((best, candidate), better(ctx, operator, *settled))
        assert isinstance(found, Number)
        return found
    dtype = inference.promote(best.dtype, candidate.dtype)
    wins = comparisons.numbers(ctx, operator, candidate, best)
    one, other = (inference.cast(ctx, number, dtype) for number in (candidate, best))
    if wins.literal is not None:
        return one if wins.literal else other
    result = ctx.builder.select(wins.value, one.value, other.value)
    known = [inference.is_nonnegative(ctx, number) for number in (one, other)]
    if dtype.is_integer and (all(known) or (operator is ast.Gt and any(known))):
        ctx.nonnegative.add(result)
    if one.value in ctx.integral and other.value in ctx.integral:
        ctx.integral.add(result)
    return Number(result)


@register(sum)
def _sum(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    value, start = bind(ctx, "sum", ("iterable", "start"), 1, args, kwargs, node)
    total: Operand = integers.literal(ctx, 0) if start is None else start
    if isinstance(value, Array) and value.type.ndim == 1:
        return inline.call(ctx, procedures.total, [value, total], {}, node)
    if not isinstance(value, Tuple):
        assert value is not None
        ctx.fail(
            KernelTypeError,
            f"sum does not take {inference.describe(value)}",
            node,
            help="pass a tuple or a 1-d array",
        )
    for item in value.items:
        total = arithmetic.binary(ctx, ast.Add, total, item, node)
    return total


# ---------------------------------------------------------------------------------------- threads

_AXES = (
    (ir.Register.TID_X, ir.Register.CTAID_X, ir.Register.NTID_X, ir.Register.NCTAID_X),
    (ir.Register.TID_Y, ir.Register.CTAID_Y, ir.Register.NTID_Y, ir.Register.NCTAID_Y),
    (ir.Register.TID_Z, ir.Register.CTAID_Z, ir.Register.NTID_Z, ir.Register.NCTAID_Z),
)


@register(threads.grid)
def _grid(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    count = _axis_count(ctx, "cuda.grid", args, kwargs, node)
    return _per_axis([_position(ctx, axis) for axis in range(count)])


@register(threads.gridsize)
def _gridsize(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    count = _axis_count(ctx, "cuda.gridsize", args, kwargs, node)
    extents = []
    for _, _, block, grid in _AXES[:count]:
        extents.append(integers.multiply(ctx, _read(ctx, block), _read(ctx, grid)))
    return _per_axis(extents)


def _axis_count(ctx: Context, name: str, args: Arguments, kwargs: Keywords, node: ast.AST) -> int:
    (ndim,) = bind(ctx, name, ("ndim",), 1, args, kwargs, node)
    count = ndim.literal if isinstance(ndim, Number) else None
    if not isinstance(count, int) or not 1 <= count <= len(_AXES):
        assert ndim is not None
        given = inference.describe(ndim) if count is None else str(count)
        ctx.fail(
            KernelTypeError,
            f"the argument of {name} must be a compile-time constant",
            node,
            detail=f"RequireLiteralValue: expected the literal 1, 2 or 3, got {given}",
            help=f"write {name}(1), {name}(2) or {name}(3)",
        )
    return count


def _per_axis(values: list[Number]) -> Operand:
    return values[0] if len(values) == 1 else Tuple(tuple(values))


def _position(ctx: Context, axis: int) -> Number:
    thread, block, extent, _ = _AXES[axis]
    first = integers.multiply(ctx, _read(ctx, extent), _read(ctx, block))
    return integers.add(ctx, first, _read(ctx, thread))


def _read(ctx: Context, register_: ir.Register) -> Number:
    return inference.cast(ctx, expressions.read_register(ctx, register_), dtypes.int64)
