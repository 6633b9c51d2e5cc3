"""Records: their fields, arrays of them, and assignment as a whole."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import prod
from typing import NoReturn

from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.elements import Element, Field, RecordLayout
from pygpulib.jit.frontend import arrays, elementwise, inference, integers, places
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import Array, Number, Object, Operand, Record, Text, Tuple
from pygpulib.jit.ir import ops as ir

_MOST_WORDS = 16
"""A record of more words than this is copied by a loop."""

_WORDS = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}


# ----------------------------------------------------------------------------------------- fields


def attribute(ctx: Context, operand: Record, name: str, node: ast.AST) -> Operand:
    """Return a field of a record: ``r.name``."""
    if name == "dtype":
        return Object(operand.type.layout.numpy)
    field = _find(ctx, operand.type.layout, name, node)
    if field.shape:
        return _inner_array(ctx, operand, field, node)
    return places.load(ctx, field.element, _place(ctx, operand, field))


def items(ctx: Context, operand: Record, field: Field) -> Iterator[Operand]:
    """Yield the elements of a field one after the other; of one that is no array, the only one."""
    size = field.element.size_bytes
    for position in range(prod(field.shape)):
        item = replace(field, offset=field.offset + position * size, shape=())
        yield places.load(ctx, field.element, _place(ctx, operand, item))


def subscript(ctx: Context, operand: Record, index: Operand, node: ast.AST) -> Operand:
    """Return a field of a record by a name that is known now, or by its number."""
    return attribute(ctx, operand, _name(ctx, operand.type.layout, index, node), node)


def store(ctx: Context, operand: Record, index: Operand, value: Operand, node: ast.AST) -> None:
    """Write to a field of a record: ``r["name"] = value``."""
    store_attribute(ctx, operand, _name(ctx, operand.type.layout, index, node), value, node)


def store_attribute(
    ctx: Context, operand: Record, name: str, value: Operand, node: ast.AST
) -> None:
    """Write to a field of a record: ``r.name = value``."""
    field = _find(ctx, operand.type.layout, name, node)
    if operand.type.readonly:
        ctx.fail(
            KernelTypeError,
            f"the field {name!r} belongs to {_title(operand)}, which is read-only",
            node,
            help="pass it as an argument of the kernel, and make it writable on the host",
        )
    _store_field(ctx, operand, field, value, node)


def _store_field(
    ctx: Context, operand: Record, field: Field, value: Operand, node: ast.AST
) -> None:
    if field.shape:
        target = _inner_array(ctx, operand, field, node)
        if isinstance(value, Tuple):
            _fill_from_tuple(ctx, target, value, node)
        else:
            elementwise.fill(ctx, target, value, node)
        return
    adapted = places.adapt(ctx, field.element, value, f"the field {field.name!r}", node)
    places.store(ctx, field.element, _place(ctx, operand, field), adapted, node)


def _fill_from_tuple(ctx: Context, target: Array, value: Tuple, node: ast.AST) -> None:
    for position, item in enumerate(value.items):
        arrays.store(ctx, target, integers.literal(ctx, position), item, node)


def _title(operand: Record) -> str:
    return f"the array {operand.name!r}" if operand.name else "a record"


def _place(ctx: Context, operand: Record, field: Field) -> places.Place:
    """Return the place of a field that is no array."""
    type_ = operand.type
    return places.Place(
        operand.pointer,
        integers.literal(ctx, field.offset).value,
        1,
        operand.name,
        type_.readonly,
        type_.layout.holds_aligned(field),
    )


def _inner_array(ctx: Context, operand: Record, field: Field, node: ast.AST) -> Array:
    """Return the array that a field is."""
    element = _view_element(ctx, operand.type.layout, field, node)
    type_ = types.ArrayType(
        element, len(field.shape), "C", operand.type.readonly, operand.type.space
    )
    offset = integers.literal(ctx, field.offset).value
    shape, strides = _inner_extents(ctx, field)
    pointer = ctx.builder.offset(operand.pointer, offset, 1)
    return Array(type_, pointer, shape, strides, operand.name)


def _inner_extents(ctx: Context, field: Field) -> tuple[tuple[ir.Value, ...], tuple[ir.Value, ...]]:
    """Return shape and strides of the array in a field."""
    steps = [
        prod(field.shape[axis + 1 :]) * field.element.size_bytes for axis in range(len(field.shape))
    ]
    shape, strides = (
        tuple(integers.literal(ctx, number).value for number in numbers)
        for numbers in (field.shape, steps)
    )
    ctx.nonnegative.update(shape)
    return shape, strides


def _view_element(ctx: Context, layout: RecordLayout, field: Field, node: ast.AST) -> Element:
    """Return the element of a view of a field, or fail where its elements are not aligned."""
    if layout.holds_aligned(field):
        return field.element
    if isinstance(field.element, RecordLayout):
        return field.element.packed
    ctx.fail(
        KernelTypeError,
        f"the field {field.name!r} of type {field.element} is not aligned in {layout}, and there "
        "are no views of such fields",
        node,
        help="make the dtype with numpy.dtype(..., align=True), or read the field of one record",
    )


# -------------------------------------------------------------------------------- arrays of records


def field_view(ctx: Context, array: Array, name: str, node: ast.AST) -> Array:
    """Return the view of one field of all records of an array: ``a["name"]``."""
    layout = array.type.element
    assert isinstance(layout, RecordLayout)
    field = _find(ctx, layout, name, node)
    element = _view_element(ctx, layout, field, node)
    offset = integers.literal(ctx, field.offset).value
    shape, strides = _inner_extents(ctx, field)
    type_ = replace(array.type, element=element, ndim=array.type.ndim + len(shape), layout="A")
    pointer = ctx.builder.offset(array.pointer, offset, 1)
    return Array(type_, pointer, (*array.shape, *shape), (*array.strides, *strides), array.name)


def field_name(ctx: Context, array: Array, index: Operand, node: ast.AST) -> str | None:
    """Return the name of a field if an index of an array is one, else None."""
    if not isinstance(index, Text):
        return None
    if not isinstance(array.type.element, RecordLayout):
        ctx.fail(
            KernelTypeError,
            f"{arrays.title(array)} has no field {index.text!r}: its elements are "
            f"{array.type.element}",
            node,
            help="only arrays of records have fields",
        )
    return index.text


# ------------------------------------------------------------------------------------------- names


def _find(ctx: Context, layout: RecordLayout, name: str, node: ast.AST) -> Field:
    field = layout.field(name)
    if field is None:
        _fail_unknown(ctx, layout, name, node)
    return field


def _fail_unknown(ctx: Context, layout: RecordLayout, name: str, node: ast.AST) -> NoReturn:
    from difflib import get_close_matches

    names = [field.name for field in layout.fields]
    close = get_close_matches(name, names, n=1)
    ctx.fail(
        KernelTypeError,
        f"the record has no field {name!r}",
        node,
        detail=f"its fields are {', '.join(map(str, layout.fields))}",
        help=f"did you mean {close[0]!r}?" if close else "check the spelling",
    )


def _name(ctx: Context, layout: RecordLayout, index: Operand, node: ast.AST) -> str:
    if isinstance(index, Text):
        return index.text
    number = index.literal if isinstance(index, Number) and index.dtype.is_integer else None
    count = len(layout.fields)
    if number is not None and -count <= number < count:
        return layout.fields[int(number)].name
    ctx.fail(
        KernelTypeError,
        f"a record cannot be indexed with {inference.describe(index)}",
        node,
        detail=f"its fields are {', '.join(map(str, layout.fields))}",
        help="use the name of a field, as in r['x'] or r.x; it must be a compile-time constant",
    )


# ------------------------------------------------------------------------------------- assignment


def assign(
    ctx: Context, element: RecordLayout, place: places.Place, value: Operand, node: ast.AST
) -> None:
    """Write a record, or a tuple of one value per field, to a place."""
    there = places.address_of(ctx, place)
    if isinstance(value, Tuple):
        target = Record(types.RecordType(element, space=place.space), there, place.name)
        for field, item in zip(element.fields, value.items, strict=True):
            _store_field(ctx, target, field, item, node)
        return
    assert isinstance(value, Record)
    unit = min(element.alignment, value.type.layout.alignment)
    _copy(ctx, there, value.pointer, element.size_bytes // unit, _WORDS[unit])


def _copy(ctx: Context, target: ir.Value, source: ir.Value, count: int, word: DType) -> None:
    """Copy words; all of them are read first where they are few."""
    builder, size = ctx.builder, word.size_bytes
    if count <= _MOST_WORDS:
        positions = [integers.literal(ctx, position).value for position in range(count)]
        found = [builder.load(source, position, size, word) for position in positions]
        for position, value in zip(positions, found, strict=True):
            builder.store(target, position, value, size)
        return
    index = ir.Value(dtypes.int64)
    start, stop, step = (builder.constant(number, dtypes.int64) for number in (0, count, 1))
    with builder.collect() as ops:
        builder.store(target, index, builder.load(source, index, size, word), size)
        builder.append(ir.Continue(()))
    block = ir.Block((index,), tuple(ops))
    builder.append(ir.For(start, stop, step, (), block, (), span=builder.span))
