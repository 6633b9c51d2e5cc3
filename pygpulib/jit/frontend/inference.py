"""Types of results, joins of types, conversions, and what is known about values.

The rules are those of numba: integers compute in 64 bits, a float meets an integer as NumPy has
it, and two types that meet in one variable become NumPy's common type.
"""

from __future__ import annotations

import ast
import math
from functools import cache
from types import ModuleType

from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.elements import common_unit
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import (
    Array,
    Closure,
    Complex,
    Elementwise,
    Maybe,
    Member,
    Method,
    NoneValue,
    Number,
    Object,
    Operand,
    Range,
    Record,
    Slice,
    Text,
    Time,
    Tuple,
    Unbound,
    Vector,
    type_of,
)
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.arithmetic import constant as fold_constant
from pygpulib.jit.ir.builder import wrap_integer
from pygpulib.jit.ir.ops import AddressSpace

# ------------------------------------------------------------------------------ dtypes of results


@cache
def promote(left: DType, right: DType) -> DType:
    """Return the dtype of a variable that is of one dtype or the other."""
    return dtypes.promote(left, right)


@cache
def widen(dtype: DType) -> DType:
    """Return the dtype in which numbers of a dtype compute: 64 bits for integers and bool."""
    if dtype.is_storage:
        return dtypes.float32
    if dtype.is_integer or dtype.is_bool:
        return dtypes.int64 if dtype.is_signed or dtype.is_bool else dtypes.uint64
    return dtype


@cache
def promote_arithmetic(left: DType, right: DType) -> DType:
    """Return the dtype of a sum: ``int64``, or ``uint64`` of two unsigned integers; else common."""
    if left.is_storage or right.is_storage:
        return promote(widen(left), widen(right))
    common = promote(left, right)
    if all(dtype.is_integer or dtype.is_bool for dtype in (left, right)):
        both_unsigned = widen(left) is widen(right) is dtypes.uint64
        return dtypes.uint64 if both_unsigned else dtypes.int64
    return common


def promote_binary(operator: type[ast.operator], left: DType, right: DType) -> DType | None:
    """Return the dtype that a binary operator computes in, or None if it does not apply."""
    common = promote_arithmetic(left, right)
    if operator in (ast.LShift, ast.RShift):
        return widen(left) if common.is_integer else None
    if operator in (ast.BitAnd, ast.BitOr, ast.BitXor):
        if left.is_bool and right.is_bool:
            return left
        return common if common.is_integer else None
    if operator is ast.Div:
        return dtypes.float64 if common.is_integer else common
    if operator in (ast.FloorDiv, ast.Mod) and common.is_complex:
        return None
    if operator is ast.Pow and left.is_float and right.is_integer:
        common = widen(left)
    if operator in (ast.FloorDiv, ast.Mod, ast.Pow) and common is dtypes.float16:
        return dtypes.float32
    return common


@cache
def promote_compared(left: DType, right: DType) -> DType:
    """Return the dtype in which two numbers are compared; int64 with uint64 is up to the caller."""
    if left.is_bool and right.is_bool:
        return dtypes.uint8
    if any(dtype.is_integer or dtype.is_bool for dtype in (left, right)) and (
        left.is_small or right.is_small
    ):
        return dtypes.float64  # which does not round the integer
    common = promote(left, right)
    if all(dtype.is_integer or dtype.is_bool for dtype in (left, right)):
        return dtypes.int64 if common.is_float else common
    return common


def join(left: types.Type, right: types.Type) -> types.Type | None:
    """Return the type of a variable that is one or the other, or None if there is none."""
    if left == right:
        return left
    match left, right:
        case types.ScalarType(), types.ScalarType():
            if isinstance(left, types.WeakType) or isinstance(right, types.WeakType):
                from pygpulib.jit.frontend import literals  # imports this module

                return literals.join(left, right)
            return types.scalar_type(promote(left.dtype, right.dtype))
        case types.ArrayType(), types.ArrayType() if (left.element, left.ndim) == (
            right.element,
            right.ndim,
        ):
            return types.ArrayType(
                left.element,
                left.ndim,
                left.layout if left.layout == right.layout else "A",
                readonly=left.readonly or right.readonly,
                space=left.space if left.space is right.space else AddressSpace.GLOBAL,
            )
        case types.TupleType(), types.TupleType():
            return _join_tuples(left, right)
        case types.OptionalType(), _:
            return _join_optional(left, right)
        case _, types.OptionalType():
            return _join_optional(right, left)
        case (types.NoneType(), other) | (other, types.NoneType()):
            return types.OptionalType(other)
        case _:
            return _join_values(left, right)


def _join_values(left: types.Type, right: types.Type) -> types.Type | None:
    """Join the types of two values that are neither numbers nor made of several."""
    match left, right:
        case types.RecordType(), types.RecordType() if left.layout.fields == right.layout.fields:
            layout = left.layout if left.layout == right.layout else left.layout.packed
            space = left.space if left.space is right.space else AddressSpace.GLOBAL
            return types.RecordType(layout, left.readonly or right.readonly, space)
        case types.TimeType(), types.TimeType() if left.layout.kind == right.layout.kind:
            unit = common_unit(left.layout, right.layout, left.layout.kind)
            return None if unit is None else types.TimeType(unit)
        case types.VectorType(), types.VectorType() if left.count == right.count:
            return types.VectorType(promote(left.dtype, right.dtype), left.count)
        case (types.EnumType(cls), types.ScalarType() as other) | (
            types.ScalarType() as other,
            types.EnumType(cls),
        ) if issubclass(cls, int):
            return join(types.int64, other)
        case _:
            return None


def _join_optional(left: types.OptionalType, right: types.Type) -> types.Type | None:
    if isinstance(right, types.NoneType):
        return left
    inner = join(left.inner, right.inner if isinstance(right, types.OptionalType) else right)
    return None if inner is None else types.OptionalType(inner)


def _join_tuples(left: types.TupleType, right: types.TupleType) -> types.Type | None:
    if len(left.items) != len(right.items):
        return None
    items = [join(a, b) for a, b in zip(left.items, right.items, strict=True)]
    if any(item is None for item in items):
        return None
    cls = left.cls if left.cls is right.cls else None
    return types.TupleType(tuple(item for item in items if item is not None), cls)


# ------------------------------------------------------------------------------------- constants


def constant(ctx: Context, value: bool | float, dtype: DType) -> Number:
    """Append a constant of a dtype; integers wrap, floats round."""
    if dtype.is_bool:
        value = bool(value)
    elif dtype.is_integer:
        value = wrap_integer(int(value), dtype)
    elif dtype is dtypes.float64:
        value = float(value)
    else:
        value = float(fold_constant(value, dtype)[0])
    return Number(ctx.builder.constant(value, dtype), value)


def _convert_literal(value: bool | float, dtype: DType) -> bool | float | None:
    """Return a literal that can become a constant of the dtype, or None to leave it to run time."""
    if isinstance(value, float) and dtype.is_integer:
        return int(value) if math.isfinite(value) and abs(value) < 2.0**63 else None
    return value


# ----------------------------------------------------------------------------------- conversions


def cast(ctx: Context, number: Number, dtype: DType) -> Number:
    """Convert a real number to a real dtype, keeping what is known about it."""
    source = number.dtype
    if source is dtype:
        return replace(number, is_weak=False) if number.is_weak else number
    if number.literal is not None:
        literal = _convert_literal(number.literal, dtype)
        if literal is not None:
            return constant(ctx, literal, dtype)
    value = ctx.builder.cast(number.value, dtype)
    if dtype.is_integer and _holds(dtype, source) and is_nonnegative(ctx, number):
        ctx.nonnegative.add(value)
    if dtype.is_float and number.value in ctx.integral:
        ctx.integral.add(value)
    return Number(value)


def _holds(dtype: DType, source: DType) -> bool:
    """Return whether an integer dtype holds every value of another one that is not negative."""
    return dtype.bits > source.bits or (
        dtype.bits == source.bits and (source.is_signed or not dtype.is_signed)
    )


def as_complex(ctx: Context, operand: Number | Complex, dtype: DType) -> Complex:
    """Convert a number to a complex dtype; a real number gets the imaginary part 0."""
    part = dtype.component
    if isinstance(operand, Number):
        return Complex(cast(ctx, operand, part).value, ctx.builder.constant(0.0, part), dtype)
    if operand.dtype is dtype:
        return replace(operand, is_weak=False) if operand.is_weak else operand
    return Complex(
        ctx.builder.cast(operand.real, part), ctx.builder.cast(operand.imag, part), dtype
    )


def convert(ctx: Context, operand: Operand, type_: types.Type, node: ast.AST) -> Operand:
    """Convert an operand to a type, or fail at the node."""
    match operand, type_:
        case Number(), types.ScalarType(dtype):
            return (
                as_complex(ctx, operand, dtype) if dtype.is_complex else cast(ctx, operand, dtype)
            )
        case Complex(), types.ScalarType(dtype) if dtype.is_complex:
            return as_complex(ctx, operand, dtype)
        case NoneValue(), types.NoneType():
            return operand
        case Tuple(items), types.TupleType() if len(items) == len(type_.items):
            converted = (convert(ctx, *pair, node) for pair in zip(items, type_.items, strict=True))
            return Tuple(tuple(converted), type_.cls)
        case Array(), types.ArrayType() if join(operand.type, type_) == type_:
            pointer = ctx.builder.pointer_cast(operand.pointer, type_.space)
            return Array(type_, pointer, operand.shape, operand.strides, operand.name)
        case _:
            return _convert_other(ctx, operand, type_, node)


def _convert_other(ctx: Context, operand: Operand, type_: types.Type, node: ast.AST) -> Operand:
    # These modules import this one.
    from pygpulib.jit.frontend import datetimes, optionals

    match operand, type_:
        case _, types.OptionalType():
            return optionals.convert(ctx, operand, type_, node)
        case ((Maybe() | Member()), types.ScalarType()):
            plain = optionals.plain(ctx, operand)
            if not isinstance(plain, Member):
                return convert(ctx, plain, type_, node)
        case Record(), types.RecordType() if join(operand.type, type_) == type_:
            pointer = ctx.builder.pointer_cast(operand.pointer, type_.space)
            return Record(type_, pointer, operand.name)
        case Time(), types.TimeType(layout):
            return datetimes.convert(ctx, operand, layout, node)
        case Time(_, value), types.ScalarType(dtype) if dtype.is_integer:
            return cast(ctx, Number(value), dtype)
        case Vector(_, items), types.VectorType(dtype, count) if len(items) == count:
            return Vector(type_, tuple(cast(ctx, Number(one), dtype).value for one in items))
        case Maybe(), _:
            return convert(ctx, optionals.present(ctx, operand), type_, node)
        case _ if type_of(operand) == type_:
            return operand
    return _fail_conversion(ctx, operand, type_, node)


def _fail_conversion(ctx: Context, operand: Operand, type_: types.Type, node: ast.AST) -> Operand:
    hint = "take .real, .imag or abs() of it" if isinstance(operand, Complex) else ""
    ctx.fail(
        KernelTypeError,
        f"{describe(operand)} cannot be converted to {type_}",
        node,
        help=hint or "use values of one type here",
    )


def reinterpret(ctx: Context, value: ir.Value, dtype: DType) -> ir.Value:
    """Read the bits of a value as a number of another type of the same size."""
    if value.type == dtype:
        return value
    result = ir.Value(dtype)
    ctx.builder.append(ir.Bitcast(value, result, span=ctx.builder.span))
    return result


# ------------------------------------------------------------------------------------------ facts


def is_nonnegative(ctx: Context, number: Number) -> bool:
    """Return whether an integer or truth value is known not to be negative."""
    if number.literal is not None:
        return number.literal >= 0
    dtype = number.dtype
    return dtype.is_bool or (
        dtype.is_integer and (not dtype.is_signed or number.value in ctx.nonnegative)
    )


def integer(ctx: Context, operand: Operand) -> Number | None:
    """Return an operand that can serve as an index, a count or a bound as a number, else None.

    Integers and truth values can, and floats that are results of ``math.floor`` and its kind.
    """
    if isinstance(operand, Maybe | Member):
        from pygpulib.jit.frontend import optionals

        operand = optionals.plain(ctx, operand)
    if not isinstance(operand, Number):
        return None
    if operand.dtype.is_integer:
        return operand
    if operand.dtype.is_bool or operand.value in ctx.integral:
        return cast(ctx, operand, dtypes.int64)
    return None


def index(ctx: Context, operand: Operand) -> Number | None:
    """Return an operand that can be an index of an array as a number, else None.

    Truth values cannot: to NumPy they are masks.
    """
    is_truth = isinstance(operand, Number) and operand.dtype.is_bool
    return None if is_truth else integer(ctx, operand)


# --------------------------------------------------------------------------------------- messages


_TITLES: dict[type, str] = {
    Closure: "a function defined in the kernel",
    Elementwise: "an expression of arrays",
    NoneValue: "None",
    Range: "a range",
    Slice: "a slice",
    Unbound: "a variable without a value",
}


def describe(operand: Operand) -> str:
    """Return what an operand is, in the user's words."""
    match operand:
        case Text(text):
            return f"the string {text!r}"
        case Object(value):
            return _describe_object(value)
        case Method(_, name):
            return f"the method {name!r}"
        case Tuple(items):
            return f"a tuple ({', '.join(describe(item) for item in items)})"
        case _:
            return _TITLES.get(type(operand)) or str(type_of(operand))


def _describe_object(value: object) -> str:
    name = getattr(value, "__name__", None)
    if isinstance(value, types.Type):
        return f"the type {value}"
    if isinstance(value, ModuleType):
        return f"the module {name}"
    if isinstance(value, type):
        return f"the class {name}"
    if name is not None and callable(value):
        return f"the function {name}"
    cls = type(value)
    if cls.__module__.startswith("pygpulib.") and cls.__repr__ is not object.__repr__:
        return repr(value)
    return f"an object of class {type(value).__name__}"
