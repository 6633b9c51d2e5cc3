"""Shapes that are known when the kernel runs: packed arrays, and arrays reshaped."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError, KernelValueError
from pygpulib.jit.frontend import arrays, inference, integers
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.faults import raise_if
from pygpulib.jit.frontend.values import Array, Number, Operand, Tuple
from pygpulib.jit.ir import ops as ir


def extents(ctx: Context, name: str, shape: Operand, node: ast.AST) -> list[Number]:
    """Return the extents of a shape, an integer or a tuple of integers, as int64.

    Parameters
    ----------
    ctx : Context
        Where we are.
    name : str
        What messages call whoever asks.
    shape : Operand
        The shape.
    node : ast.AST
        Where errors point.
    """
    items = shape.items if isinstance(shape, Tuple) else (shape,)
    found = [inference.index(ctx, item) for item in items]
    known = [each for each in found if each is not None]
    if len(known) != len(found):
        ctx.fail(
            KernelTypeError,
            f"{inference.describe(shape)} is no shape for {name}",
            node,
            detail="expected an integer or a tuple of integers",
            help="write the shape as N or (N, M)",
        )
    return [inference.cast(ctx, each, dtypes.int64) for each in known]


def packed_strides(
    ctx: Context, shape: Sequence[Number], first: Number, layout: str
) -> tuple[ir.Value, ...]:
    """Return the strides of elements ``first`` bytes apart that follow each other in an order."""
    strides: list[ir.Value] = []
    stride = first
    for extent in shape if layout == "F" else reversed(shape):
        strides.append(stride.value)
        stride = integers.multiply(ctx, stride, extent)
    return tuple(strides if layout == "F" else reversed(strides))


def reshape(ctx: Context, array: Array, args: Sequence[Operand], node: ast.AST) -> Array:
    """Return ``array.reshape(shape)`` or ``array.reshape(n, m, ...)``, a view.

    One extent may be -1. Elements are in C order, so that they have to follow each other so, or
    stand at equal distances along one dimension.
    """
    if not args:
        ctx.fail(KernelTypeError, "reshape is called without a shape", node, help="pass a shape")
    if array.type.layout != "C" and array.type.ndim != 1:
        ctx.fail(
            KernelTypeError,
            f"{arrays.title(array)} cannot be reshaped, because it is not C-contiguous",
            node,
            detail="the elements would have to be copied, which kernels cannot do",
            help="reshape it on the host, or pass a C-contiguous array",
        )
    shape = extents(ctx, "reshape", args[0] if len(args) == 1 else Tuple(tuple(args)), node)
    whole = arrays.size(ctx, array)
    shape = _complete(ctx, whole, shape, node)
    _check_size(ctx, array, whole, shape, node)
    is_packed = array.type.layout == "C"
    first = integers.literal(ctx, array.type.element.size_bytes)
    if not is_packed:
        first = Number(array.strides[0])
    values = tuple(extent.value for extent in shape)
    ctx.nonnegative.update(values)
    type_ = replace(array.type, ndim=len(shape), layout="C" if is_packed else "A")
    strides = packed_strides(ctx, shape, first, "C")
    return Array(type_, array.pointer, values, strides, array.name)


def _complete(ctx: Context, whole: Number, shape: Sequence[Number], node: ast.AST) -> list[Number]:
    """Return the shape with what an extent of -1 stands for."""
    if sum(extent.literal == -1 for extent in shape) > 1:
        ctx.fail(
            KernelValueError,
            "reshape can only find out one extent, and several are -1",
            node,
            help="write all extents but one",
        )
    zero, one = integers.literal(ctx, 0), integers.literal(ctx, 1)
    unknown = [integers.is_less(ctx, extent, zero) for extent in shape]
    known = one
    for extent, is_unknown in zip(shape, unknown, strict=True):
        known = integers.multiply(ctx, known, integers.choose(ctx, is_unknown, one, extent))
    if all(is_unknown.literal is False for is_unknown in unknown):
        return list(shape)
    # An empty rest leaves no elements for the extent that is asked for.
    rest = integers.floor_divide(ctx, whole, integers.maximum(ctx, known, one))
    return [
        integers.choose(ctx, is_unknown, rest, extent)
        for extent, is_unknown in zip(shape, unknown, strict=True)
    ]


def _check_size(
    ctx: Context, array: Array, whole: Number, shape: Sequence[Number], node: ast.AST
) -> None:
    """Refuse a shape of another size: now where all is known, with ``debug`` when it runs."""
    size = integers.literal(ctx, 1)
    for extent in shape:
        size = integers.multiply(ctx, size, extent)
    message = f"{arrays.title(array)} has {{}} elements, and the new shape has {{}}"
    if size.literal is not None and whole.literal is not None:
        if size.literal != whole.literal:
            ctx.fail(
                KernelValueError,
                message.format(whole.literal, size.literal),
                node,
                help="choose a shape of as many elements",
            )
    elif ctx.options.debug:
        differs = ctx.builder.compare(ir.CompareKind.NE, size.value, whole.value)
        raise_if(ctx, differs, ValueError, message, (whole.value, size.value))
