"""What ``print`` shows of values that are more than one number: arrays, records, dates, strings.

The threads hand over the numbers that such a value is made of, and the host puts it together again
in NumPy, which knows how it looks.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from itertools import product
from math import prod
from typing import Any

import numpy as np

from pygpulib._record import record
from pygpulib.core.dtypes import DType
from pygpulib.errors import KernelTypeError
from pygpulib.jit.elements import Element, RecordLayout, TextLayout
from pygpulib.jit.frontend import arrays, chars, inference, integers, records
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import Array, Chars, Complex, Number, Operand, Record, Time
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.printing import ShownMemory

MAX_NUMBERS = 512
"""Of how many numbers a printed array or record may be made."""


@record
class Leaf:
    """A number inside a value: where it lies there, its NumPy type, and its value."""

    offset: int
    dtype: np.dtype[Any]
    value: ir.Value


def of_memory(
    ctx: Context, operand: Array | Record | Chars | Time, node: ast.AST, *, is_quoted: bool
) -> tuple[ir.Shown, tuple[ir.Value, ...]]:
    """Return how a value in memory is shown, and its numbers.

    Parameters
    ----------
    ctx : Context
        Where we are.
    operand : Array, Record, Chars or Time
        What is printed.
    node : ast.AST
        Where errors point.
    is_quoted : bool
        Whether it stands in a tuple, where Python shows what makes it.
    """
    shape = _shape(ctx, operand, node) if isinstance(operand, Array) else ()
    element = _element(operand)
    count = prod(shape) * _count(element)
    if count > MAX_NUMBERS:
        ctx.fail(
            KernelTypeError,
            f"{inference.describe(operand)} is made of {count} numbers, and print() takes "
            f"{MAX_NUMBERS} at most in a kernel",
            node,
            help="print a part of it",
        )
    if isinstance(operand, Array):
        leaves = list(_items(ctx, operand, shape))
    else:
        leaves = list(_leaves(ctx, operand, 0))
    places = tuple((leaf.offset, leaf.dtype) for leaf in leaves)
    is_array = isinstance(operand, Array)
    show = ShownMemory(element.numpy, shape if is_array else None, places, is_quoted)
    return ir.Shown(len(leaves), show), tuple(leaf.value for leaf in leaves)


def _element(operand: Array | Record | Chars | Time) -> Element:
    return operand.type.element if isinstance(operand, Array) else operand.type.layout


def _count(element: Element) -> int:
    """Return of how many numbers an element is made."""
    match element:
        case RecordLayout(fields):
            return sum(prod(field.shape) * _count(field.element) for field in fields)
        case TextLayout(_, length):
            return length
        case DType(is_complex=True):
            return 2
        case _:
            return 1


def _shape(ctx: Context, array: Array, node: ast.AST) -> tuple[int, ...]:
    """Return the shape of an array, or fail if it is not known now."""
    shape = [ctx.builder.known(extent) for extent in array.shape]
    known = [int(extent) for extent in shape if extent is not None]
    if len(known) != len(shape):
        index = ", ".join("0" * array.type.ndim)
        ctx.fail(
            KernelTypeError,
            f"{arrays.title(array)} cannot be printed in a kernel, because its shape is not known "
            "when the kernel is compiled",
            node,
            help=f"print its elements, such as {array.name or 'a'}[{index}]",
        )
    return tuple(known)


# ---------------------------------------------------------------------------------------- numbers


def _leaves(ctx: Context, operand: Operand, offset: int) -> Iterator[Leaf]:
    """Yield the numbers that a value is made of; it lies so far from the start of the whole."""
    match operand:
        case Number(value):
            yield Leaf(offset, operand.dtype.numpy, value)
        case Complex(real, imag, dtype):
            part = dtype.component.numpy
            yield Leaf(offset, part, real)
            yield Leaf(offset + part.itemsize, part, imag)
        case Time(_, value):
            yield Leaf(offset, np.dtype(np.int64), value)
        case Chars(type_):
            unit = type_.layout.unit.numpy
            for position in range(type_.layout.length):
                value = chars.read(ctx, operand, position)
                yield Leaf(offset + position * unit.itemsize, unit, value)
        case Record():
            for field in operand.type.layout.fields:
                start, size = offset + field.offset, field.element.size_bytes
                for number, item in enumerate(records.items(ctx, operand, field)):
                    yield from _leaves(ctx, item, start + number * size)
        case _:
            raise AssertionError(operand)


def _items(ctx: Context, array: Array, shape: Sequence[int]) -> Iterator[Leaf]:
    """Yield the numbers in an array, whose elements are packed in the whole."""
    size = array.type.element.size_bytes
    for number, index in enumerate(product(*map(range, shape))):
        item = arrays.load(ctx, array, [integers.literal(ctx, each) for each in index])
        yield from _leaves(ctx, item, number * size)
