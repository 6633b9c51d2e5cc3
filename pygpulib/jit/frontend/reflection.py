"""Questions about types, answered while compiling: ``isinstance``, ``hasattr``, ``type``."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import numpy as np

from pygpulib.core.dtypes import DType
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.elements import RecordLayout
from pygpulib.jit.frontend import arrays, comparisons, inference, methods, optionals, tuples
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import bind, register
from pygpulib.jit.frontend.values import (
    Array,
    Complex,
    Maybe,
    Member,
    NoneValue,
    Number,
    Object,
    Operand,
    Record,
    Struct,
    Text,
    Time,
    Tuple,
    Vector,
    type_of,
)

_NUMBER_NAMES = ("conjugate", "dtype", "imag", "item", "real", "view")


@register(isinstance)
def _isinstance(
    ctx: Context, args: Sequence[Operand], kwargs: Mapping[str, Operand], node: ast.AST
) -> Operand:
    if len(args) != 2 or kwargs:
        bind(ctx, "isinstance", ("obj", "class_or_tuple"), 2, args, kwargs, node)
    operand = optionals.present(ctx, args[0]) if isinstance(args[0], Maybe) else args[0]
    classes = _classes(ctx, args[1], node)
    if isinstance(operand, Struct) and not all(isinstance(cls, types.Type) for cls in classes):
        ctx.fail(
            KernelTypeError,
            f"of which class {operand.type} is, is not known in kernels",
            node,
            help="name its type in place of the class",
        )
    found = [_is_instance(operand, cls) for cls in classes]
    return comparisons.boolean(ctx, any(found))


def _classes(ctx: Context, operand: Operand, node: ast.AST) -> list[object]:
    match operand:
        case Tuple(items):
            return [cls for item in items for cls in _classes(ctx, item, node)]
        case Object(type() as cls):
            return [cls]
        case Object(types.Type() as type_):
            return [type_]
        case NoneValue():
            return [type(None)]
        case _:
            ctx.fail(
                KernelTypeError,
                f"isinstance does not take {inference.describe(operand)} as a class",
                node,
                help="use a class such as int or numpy.float32, or a tuple of classes",
            )


def _is_instance(operand: Operand, cls: object) -> bool:
    """Return whether an operand is an instance; numbers count as Python's of their kind too."""
    if isinstance(cls, types.Type):
        return type_of(operand) == cls
    assert isinstance(cls, type)
    match operand:
        case Number() | Complex():
            python: type = complex if isinstance(operand, Complex) else _python_type(operand.dtype)
            return issubclass(python, cls) or issubclass(operand.dtype.numpy.type, cls)
        case Time():
            return issubclass(operand.type.layout.numpy.type, cls)
        case Object(value):
            return isinstance(value, cls)
        case _:
            return issubclass(_class_of(operand), cls)


def _class_of(operand: Operand) -> type:
    """Return the class that an operand has in Python."""
    match operand:
        case Array():
            return np.ndarray
        case Tuple(_, made):
            return made if isinstance(made, type) else tuple
        case Text():
            return str
        case NoneValue():
            return type(None)
        case Member(enumeration):
            return enumeration
        case Record():
            return np.void
        case _:
            return object


def _python_type(dtype: DType) -> type:
    if dtype.is_bool:
        return bool
    return int if dtype.is_integer else float


@register(type)
def _type(
    ctx: Context, args: Sequence[Operand], kwargs: Mapping[str, Operand], node: ast.AST
) -> Operand:
    (operand,) = bind(ctx, "type", ("obj",), 1, args, kwargs, node)
    match operand:
        case Number() | Complex():
            return Object(types.scalar_type(operand.dtype))
        case Vector():
            return Object(operand.type)
        case Member(cls) | Tuple(_, type() as cls):
            return Object(cls)
        case Tuple():
            return Object(tuple)
        case _:
            assert operand is not None
            ctx.fail(
                KernelTypeError,
                f"type does not take {inference.describe(operand)}",
                node,
                help="it takes numbers, vectors, tuples and members of enumerations",
            )


# -------------------------------------------------------------------------------------- attributes


@register(hasattr)
def _hasattr(
    ctx: Context, args: Sequence[Operand], kwargs: Mapping[str, Operand], node: ast.AST
) -> Operand:
    operand, name = bind(ctx, "hasattr", ("obj", "name"), 2, args, kwargs, node)
    assert operand is not None
    return comparisons.boolean(ctx, _has(operand, _name(ctx, "hasattr", name, node)))


@register(getattr)
def _getattr(
    ctx: Context, args: Sequence[Operand], kwargs: Mapping[str, Operand], node: ast.AST
) -> Operand:
    operand, name, default = bind(ctx, "getattr", ("obj", "name", "default"), 2, args, kwargs, node)
    assert operand is not None
    text = _name(ctx, "getattr", name, node)
    if default is not None and not _has(operand, text):
        return default
    return methods.attribute(ctx, operand, text, node)


def _name(ctx: Context, function: str, name: Operand | None, node: ast.AST) -> str:
    if isinstance(name, Text):
        return name.text
    assert name is not None
    ctx.fail(
        KernelTypeError,
        f"{function} does not take {inference.describe(name)} as a name",
        node,
        help="use a string that is a compile-time constant",
    )


def _has(operand: Operand, name: str) -> bool:
    """Return whether an operand has an attribute."""
    match operand:
        case Object(value):
            return hasattr(value, name)
        case Array():
            element = operand.type.element
            is_field = isinstance(element, RecordLayout) and element.field(name) is not None
            return is_field or name in arrays.attribute_names()
        case Record():
            return operand.type.layout.field(name) is not None
        case Tuple():
            return name in tuples.field_names(operand.cls)
        case Vector():
            return name in tuple("xyzw"[: operand.type.count])
        case Member():
            return name in ("name", "value")
        case Number() | Complex():
            return name in _NUMBER_NAMES
        case _:
            return False
