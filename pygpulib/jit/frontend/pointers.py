"""Addresses as values: their elements, and arrays over the memory there."""

from __future__ import annotations

import ast

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.elements import Element
from pygpulib.jit.frontend import inference, integers, memory, places, shapes
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import Arguments, Keywords, bind, register
from pygpulib.jit.frontend.values import (
    Address,
    Array,
    NoneValue,
    Operand,
)
from pygpulib.jit.intrinsics.pointers import carray, farray


def load(ctx: Context, address: Address, index: Operand, node: ast.AST) -> Operand:
    """Return ``address[index]``; as in C, a negative index lies before the address."""
    element, place = _place(ctx, address, index, node)
    return places.load(ctx, element, place)


def store(ctx: Context, address: Address, index: Operand, value: Operand, node: ast.AST) -> None:
    """Write ``address[index] = value``."""
    element, place = _place(ctx, address, index, node)
    adapted = places.adapt(ctx, element, value, _title(address), node)
    places.store(ctx, element, place, adapted, node)


def _place(
    ctx: Context, address: Address, index: Operand, node: ast.AST
) -> tuple[Element, places.Place]:
    whole = inference.index(ctx, index)
    element = address.type.element
    if element is None:
        ctx.fail(
            KernelTypeError,
            f"{_title(address)} does not say what lies there",
            node,
            help="declare it as CPointer(float32), or use carray(pointer, shape, dtype)",
        )
    if whole is None:
        ctx.fail(
            KernelTypeError,
            f"{_title(address)} cannot be indexed with {inference.describe(index)}",
            node,
            help="index pointers with one integer; carray(pointer, shape) makes an array",
        )
    offset = inference.cast(ctx, whole, dtypes.int64)
    place = places.Place(address.pointer, offset.value, element.size_bytes, address.name)
    return element, place


def _title(address: Address) -> str:
    return f"the pointer {address.name!r}" if address.name else "the pointer"


@register(carray)
def _carray(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    return _as_array(ctx, "carray", "C", args, kwargs, node)


@register(farray)
def _farray(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    return _as_array(ctx, "farray", "F", args, kwargs, node)


def _as_array(
    ctx: Context, name: str, layout: str, args: Arguments, kwargs: Keywords, node: ast.AST
) -> Array:
    address, shape, dtype = bind(ctx, name, ("ptr", "shape", "dtype"), 2, args, kwargs, node)
    assert shape is not None
    if not isinstance(address, Address):
        assert address is not None
        ctx.fail(
            KernelTypeError,
            f"{name} does not take {inference.describe(address)}",
            node,
            detail="expected a pointer: a parameter that the signature of the kernel declares as "
            "CPointer(...) or voidptr",
            help="use arrays as they are",
        )
    element = _element(ctx, name, address, dtype, node)
    extents = shapes.extents(ctx, name, shape, node)
    first = integers.literal(ctx, element.size_bytes)
    strides = shapes.packed_strides(ctx, extents, first, layout)
    type_ = types.ArrayType(element, len(extents), layout)
    values = tuple(extent.value for extent in extents)
    ctx.nonnegative.update(values)
    return Array(type_, address.pointer, values, strides, address.name)


def _element(
    ctx: Context, name: str, address: Address, dtype: Operand | None, node: ast.AST
) -> Element:
    """Return what the elements of an array over a pointer are."""
    known = address.type.element
    given = known
    if dtype is not None and not isinstance(dtype, NoneValue):
        given = memory.element_from(ctx, name, dtype, node)
    if given is None:
        ctx.fail(
            KernelTypeError,
            f"{name} needs a dtype, because {_title(address)} does not say what lies there",
            node,
            help=f"write {name}(pointer, shape, float32)",
        )
    if known is not None and given != known:
        ctx.fail(
            KernelTypeError,
            f"{name} is asked for elements of {given}, and {_title(address)} points to {known}",
            node,
            help="leave the dtype out, or declare the parameter as voidptr",
        )
    return given
