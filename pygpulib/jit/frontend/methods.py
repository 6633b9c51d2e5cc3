"""Attributes and methods of values."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

from pygpulib.errors import KernelTypeError
from pygpulib.jit.frontend import (
    arrays,
    builtins,
    calls,
    casts,
    complexes,
    elementwise,
    enums,
    expressions,
    inference,
    optionals,
    overloading,
    records,
    reductions,
    shapes,
    structs,
    tuples,
    vectors,
    views,
)
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import (
    Array,
    Complex,
    Maybe,
    Member,
    Method,
    NoneValue,
    Number,
    Object,
    Operand,
    Record,
    Struct,
    Time,
    Tuple,
    Vector,
)
from pygpulib.jit.intrinsics.integer_math import popc
from pygpulib.jit.intrinsics.threads import ThreadVector

_NUMBER_METHODS = ("conjugate", "item", "view")


def attribute(ctx: Context, operand: Operand, name: str, node: ast.AST) -> Operand:
    """Return ``operand.name``."""
    if isinstance(operand, Maybe):
        operand = optionals.present(ctx, operand)
    if overloading.has_method(operand, name):
        return Method(operand, name)
    return overloading.find_attribute(ctx, operand, name, node) or _own_attribute(
        ctx, operand, name, node
    )


def _own_attribute(ctx: Context, operand: Operand, name: str, node: ast.AST) -> Operand:
    match operand:
        case Object(value):
            return _object_attribute(ctx, value, name, node)
        case Array():
            return arrays.attribute(ctx, operand, name, node)
        case Tuple():
            return tuples.attribute(ctx, operand, name, node)
        case Record() | Member() | Vector() | Struct():
            return _part_of(ctx, operand, name, node)
        case Number() | Complex():
            found = _number_attribute(ctx, operand, name)
        case Time() if name == "view":
            found = Method(operand, name)
        case _:
            found = None
    if found is None:
        ctx.fail(
            KernelTypeError,
            f"{inference.describe(operand)} has no attribute {name!r}",
            node,
            help="attributes of modules, arrays, records, namedtuples and complex numbers are "
            "available",
        )
    return found


def _part_of(
    ctx: Context, operand: Record | Member | Vector | Struct, name: str, node: ast.AST
) -> Operand:
    match operand:
        case Record():
            return records.attribute(ctx, operand, name, node)
        case Member():
            return enums.attribute(ctx, operand, name, node)
        case Vector():
            return vectors.attribute(ctx, operand, name, node)
        case Struct():
            return structs.attribute(ctx, operand, name, node)


def _number_attribute(ctx: Context, operand: Number | Complex, name: str) -> Operand | None:
    match operand:
        case _ if name in _NUMBER_METHODS:
            return Method(operand, name)
        case _ if name == "dtype":
            return Object(operand.dtype.numpy)
        case Complex(real, imag) if name in ("real", "imag"):
            return Number(real if name == "real" else imag)
        case Number() if name == "real":
            return operand
        case Number() if name == "imag":
            return inference.constant(ctx, 0, operand.dtype)
        case Number(dtype=dtype) if name == "bit_count" and (dtype.is_integer or dtype.is_bool):
            return Method(operand, name)
        case _:
            return None


def _object_attribute(ctx: Context, value: object, name: str, node: ast.AST) -> Operand:
    if isinstance(value, ThreadVector) and name in value.registers:
        return expressions.read_register(ctx, value.registers[name])
    try:
        found = getattr(value, name)
    except AttributeError:
        from difflib import get_close_matches

        close = get_close_matches(name, dir(value), n=1)
        ctx.fail(
            KernelTypeError,
            f"{inference.describe(Object(value))} has no attribute {name!r}",
            node,
            help=f"did you mean {close[0]!r}?" if close else "check the spelling",
        )
    return expressions.from_python(ctx, found, name, node)


def call(
    ctx: Context,
    method: Method,
    args: Sequence[Operand],
    kwargs: Mapping[str, Operand],
    node: ast.AST,
) -> Operand:
    """Call a method of a value."""
    if overloading.has_method(method.receiver, method.name):
        return overloading.call_method(ctx, method.receiver, method.name, args, kwargs, node)
    receiver = method.receiver
    found: Operand | None = None
    if isinstance(receiver, Array) and not kwargs:
        found = _call_of_array(ctx, receiver, method.name, args, node)
    elif not kwargs:
        found = _call_of_number(ctx, receiver, method.name, args, node)
    if found is not None:
        return found
    given = ", ".join(inference.describe(one) for one in (*args, *kwargs.values()))
    ctx.fail(
        KernelTypeError,
        f"the method {method.name!r} of {inference.describe(method.receiver)} does not take "
        f"({given})",
        node,
        help="check the number and the types of the arguments",
    )


def _call_of_array(
    ctx: Context, array: Array, name: str, args: Sequence[Operand], node: ast.AST
) -> Operand | None:
    """Call a method of an array; None if it does not take such arguments."""
    match name, tuple(args):
        case "view", (Object(wanted),):
            return casts.view(ctx, array, wanted, node)
        case "transpose", ():
            return views.transpose(array)
        case "reshape", extents:
            return shapes.reshape(ctx, array, extents, node)
        case "fill", (value,):
            elementwise.fill(ctx, array, value, node)
            return NoneValue()
        case "item", indices:
            return arrays.subscript(ctx, array, Tuple(indices), node)
        case name, () if name in reductions.METHODS:
            return reductions.call(ctx, reductions.METHODS[name], array, node)
        case _:
            return None


def _call_of_number(
    ctx: Context, receiver: Operand, name: str, args: Sequence[Operand], node: ast.AST
) -> Operand | None:
    """Call a method of a number or date; None if it does not take such arguments."""
    match receiver, name, tuple(args):
        case Complex(), "conjugate", ():
            return complexes.conjugate(ctx, receiver)
        case ((Number() | Complex()), ("conjugate" | "item"), ()):
            return receiver
        case Number(), "bit_count", ():
            return calls.apply_intrinsic(ctx, popc, [builtins.absolute(ctx, receiver)], node)
        case ((Number() | Complex() | Time()), "view", (Object(wanted),)):
            return casts.view(ctx, receiver, wanted, node)
        case _:
            return None
