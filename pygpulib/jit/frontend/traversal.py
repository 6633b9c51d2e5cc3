"""Going through many dimensions in order: ``numpy.ndindex``, ``numpy.ndenumerate``, ``a.flat``."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import numpy as np

from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit.frontend import arrays, inference, integers, iteration
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import bind, register
from pygpulib.jit.frontend.values import Array, Number, Object, Operand, Tuple
from pygpulib.jit.ir import ops as ir


def unravel(ctx: Context, shape: Sequence[Number], position: Number) -> list[Number]:
    """Return the indices of a position in C order."""
    indices: list[Number] = []
    rest = position
    for extent in reversed(shape[1:]):
        index = ctx.builder.binary(ir.BinaryKind.MODULO, rest.value, extent.value)
        ctx.nonnegative.add(index)
        indices.insert(0, Number(index))
        rest = integers.floor_divide(ctx, rest, extent)
        ctx.nonnegative.add(rest.value)
    return [rest, *indices] if shape else []


def flat(ctx: Context, array: Array) -> Operand:
    """Return ``array.flat``: a view where the elements follow each other, else their sequence."""
    if array.type.layout == "C":
        total = arrays.size(ctx, array)
        step = integers.literal(ctx, array.type.element.size_bytes)
        ctx.nonnegative.add(total.value)
        type_ = replace(array.type, ndim=1)
        return Array(type_, array.pointer, (total.value,), (step.value,), array.name)
    shape = [integers.extent(ctx, value) for value in array.shape]
    return Object(
        iteration.Sequence(
            arrays.size(ctx, array),
            lambda position: arrays.load(ctx, array, unravel(ctx, shape, position)),
        )
    )


@register(np.ndindex)
def _ndindex(
    ctx: Context, args: Sequence[Operand], kwargs: Mapping[str, Operand], node: ast.AST
) -> Operand:
    given = args[0].items if len(args) == 1 and isinstance(args[0], Tuple) else args
    extents = [inference.integer(ctx, operand) for operand in given]
    shape = [
        integers.maximum(ctx, inference.cast(ctx, extent, dtypes.int64), integers.literal(ctx, 0))
        for extent in extents
        if extent is not None
    ]
    if kwargs or not shape or len(shape) != len(extents):
        ctx.fail(
            KernelTypeError,
            "numpy.ndindex does not take "
            f"({', '.join(inference.describe(one) for one in (*args, *kwargs.values()))})",
            node,
            help="pass one integer per dimension, or a tuple of integers",
        )
    total = integers.literal(ctx, 1)
    for extent in shape:
        total = integers.multiply(ctx, total, extent)
    return Object(
        iteration.Sequence(total, lambda position: Tuple(tuple(unravel(ctx, shape, position))))
    )


@register(np.ndenumerate)
def _ndenumerate(
    ctx: Context, args: Sequence[Operand], kwargs: Mapping[str, Operand], node: ast.AST
) -> Operand:
    (array,) = bind(ctx, "numpy.ndenumerate", ("arr",), 1, args, kwargs, node)
    if not isinstance(array, Array):
        assert array is not None
        ctx.fail(
            KernelTypeError,
            f"numpy.ndenumerate does not take {inference.describe(array)}",
            node,
            help="pass an array",
        )
    shape = [integers.extent(ctx, value) for value in array.shape]

    def item(position: Number) -> Operand:
        indices = unravel(ctx, shape, position)
        return Tuple((Tuple(tuple(indices)), arrays.load(ctx, array, indices)))

    return Object(iteration.Sequence(arrays.size(ctx, array), item))
