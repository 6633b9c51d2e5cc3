"""Elements in memory: what reading and writing one means, whatever it is."""

from __future__ import annotations

import ast
from typing import NoReturn, assert_never

from pygpulib._record import record, replace
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.elements import Element, RecordLayout, TextLayout, TimeLayout
from pygpulib.jit.frontend import chars, datetimes, inference, integers, optionals, records
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import (
    Array,
    Chars,
    Complex,
    Maybe,
    Member,
    Number,
    Object,
    Operand,
    Record,
    Text,
    Time,
    Tuple,
)
from pygpulib.jit.ir import ops as ir


@record
class Place:
    """Where an element lies.

    Attributes
    ----------
    pointer, index, scale : Value, Value, int
        Its address, as memory operations take it.
    name : str
        What messages call the array or record that it belongs to.
    readonly : bool
        Whether it may only be read.
    is_aligned : bool
        Whether the address is a multiple of what the element needs.
    access : Access or None
        The mark that the memory operations carry.
    """

    pointer: ir.Value
    index: ir.Value
    scale: int
    name: str = ""
    readonly: bool = False
    is_aligned: bool = True
    access: ir.Access | None = None

    @property
    def space(self) -> ir.AddressSpace:
        """The kind of memory."""
        assert isinstance(self.pointer.type, ir.Pointer)
        return self.pointer.type.space


def element_place(array: Array, address: tuple[ir.Value, ir.Value, int]) -> Place:
    """Return the place of an array's element, given its address."""
    access = ir.Access(array.name, array.type.ndim)
    return Place(*address, array.name, array.type.readonly, access=access)


def address_of(ctx: Context, place: Place) -> ir.Value:
    """Return the address of a place as one pointer."""
    return ctx.builder.offset(place.pointer, place.index, place.scale)


# ------------------------------------------------------------------------------ reading, writing


def load(ctx: Context, element: Element, place: Place) -> Operand:
    """Read an element; records and strings stay where they are."""
    match element:
        case DType() if element.is_complex:
            real, imag = _parts(ctx, element, place)
            part = element.component
            return Complex(load_number(ctx, part, real), load_number(ctx, part, imag), element)
        case DType():
            return Number(load_number(ctx, element, place))
        case TimeLayout():
            return Time(types.TimeType(element), load_number(ctx, dtypes.int64, place))
        case RecordLayout():
            layout = element if place.is_aligned else element.packed
            type_ = types.RecordType(layout, place.readonly, place.space)
            return Record(type_, address_of(ctx, place), place.name)
        case TextLayout():
            text = types.CharsType(_layout(element, place), place.readonly, place.space)
            return Chars(text, address_of(ctx, place))
        case _:
            assert_never(element)


def _layout(element: TextLayout, place: Place) -> TextLayout:
    return element if place.is_aligned else replace(element, packed=True)


def store(ctx: Context, element: Element, place: Place, value: Operand, node: ast.AST) -> None:
    """Write an element; the value is one that :func:`adapt` gave."""
    match element, value:
        case DType(), Number():
            store_number(ctx, value.value, place)
        case DType(), Complex(real, imag):
            for part, there in zip((real, imag), _parts(ctx, element, place), strict=True):
                store_number(ctx, part, there)
        case TimeLayout(), Time():
            store_number(ctx, value.value, place)
        case RecordLayout(), _:
            records.assign(ctx, element, place, value, node)
        case TextLayout(), _:
            chars.assign(ctx, _layout(element, place), address_of(ctx, place), value)
        case _:
            raise AssertionError((element, value))


def adapt(ctx: Context, element: Element, value: Operand, owner: str, node: ast.AST) -> Operand:
    """Return a value as an element can take it, or fail.

    Parameters
    ----------
    ctx : Context
        Where we are.
    element : Element
        What is written to.
    value : Operand
        What is to be written.
    owner : str
        What messages call the array or field.
    node : ast.AST
        Where errors point.
    """
    if isinstance(value, Maybe):
        value = optionals.present(ctx, value)
    if isinstance(value, Member):
        value = optionals.plain(ctx, value)
    match element, value:
        case DType(), Number():
            return inference.convert(ctx, value, types.scalar_type(element), node)
        case DType(), Complex() if element.is_complex:
            return inference.convert(ctx, value, types.scalar_type(element), node)
        case TimeLayout(), Time():
            return datetimes.convert(ctx, value, element, node)
        case _ if _takes(element, value):
            return value
        case _:
            _refuse(ctx, element, value, owner, node)


def _takes(element: Element, value: Operand) -> bool:
    """Return whether a record or string can be written as it is."""
    match element, value:
        case RecordLayout(), Record():
            return value.type.layout.fields == element.fields
        case RecordLayout(), Tuple(items):
            return len(items) == len(element.fields)
        case TextLayout(), Object(bytes()):
            return True
        case TextLayout(kind), Text(text):
            return kind == "U" or text.isascii()
        case TextLayout(), Chars():
            return value.type.layout.kind == element.kind
        case _:
            return False


def _refuse(ctx: Context, element: Element, value: Operand, owner: str, node: ast.AST) -> NoReturn:
    if isinstance(value, Complex):
        advice = "store .real, .imag or abs() of it"
    elif isinstance(element, DType):
        advice = "store a number"
    elif isinstance(element, RecordLayout):
        advice = "store a record of the same fields, or a tuple of one value per field"
    else:
        advice = f"store a value of dtype {element}"
    ctx.fail(
        KernelTypeError,
        f"{inference.describe(value)} cannot be stored in an element of {owner}, whose dtype is "
        f"{element}",
        node,
        help=advice,
    )


# ------------------------------------------------------------------------------------------ parts


def _parts(ctx: Context, element: DType, place: Place) -> tuple[Place, Place]:
    """Return the places of the real and the imaginary part of a complex element."""
    size = element.component.size_bytes
    per_part = 1 if place.scale == 1 else size
    factor = integers.literal(ctx, place.scale // per_part)
    real = integers.multiply(ctx, Number(place.index), factor)
    imag = integers.add(ctx, real, integers.literal(ctx, size // per_part))
    return (
        replace(place, index=real.value, scale=per_part),
        replace(place, index=imag.value, scale=per_part),
    )


def load_number(ctx: Context, dtype: DType, place: Place) -> ir.Value:
    """Read a real number; byte by byte where it may lie anywhere."""
    if place.is_aligned:
        return ctx.builder.load(place.pointer, place.index, place.scale, dtype, place.access)
    unsigned, builder = _unsigned(dtype), ctx.builder
    pointer = address_of(ctx, place)
    bits = builder.constant(0, unsigned)
    for position in range(dtype.size_bytes):
        offset = integers.literal(ctx, position).value
        byte = builder.cast(builder.load(pointer, offset, 1, dtypes.uint8), unsigned)
        shift = builder.constant(8 * position, unsigned)
        shifted = builder.binary(ir.BinaryKind.SHIFT_LEFT, byte, shift)
        bits = builder.binary(ir.BinaryKind.OR, bits, shifted)
    return inference.reinterpret(ctx, bits, dtype)


def store_number(ctx: Context, value: ir.Value, place: Place) -> None:
    """Write a real number; byte by byte where it may lie anywhere."""
    builder = ctx.builder
    if place.is_aligned:
        builder.store(place.pointer, place.index, value, place.scale, place.access)
        return
    assert isinstance(value.type, DType)
    unsigned = _unsigned(value.type)
    bits = inference.reinterpret(ctx, value, unsigned)
    pointer = address_of(ctx, place)
    for position in range(unsigned.size_bytes):
        shift = builder.constant(8 * position, unsigned)
        byte = builder.cast(builder.binary(ir.BinaryKind.SHIFT_RIGHT, bits, shift), dtypes.uint8)
        builder.store(pointer, integers.literal(ctx, position).value, byte, 1)


def _unsigned(dtype: DType) -> DType:
    sizes = {1: dtypes.uint8, 2: dtypes.uint16, 4: dtypes.uint32, 8: dtypes.uint64}
    return sizes[dtype.size_bytes]
