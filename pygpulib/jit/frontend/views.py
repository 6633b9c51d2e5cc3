"""Views of arrays: slices, new axes, transposition, parts of complex numbers."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pygpulib._record import record, replace
from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError, counted
from pygpulib.jit.frontend import arrays, inference, integers
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import Array, NoneValue, Number, Object, Operand, Slice
from pygpulib.jit.ir import ops as ir


@record(eq=True)
class Extract:
    """A slice after clamping: where it starts, how many elements it has, and its step."""

    start: Number
    length: Number
    step: Number
    is_full: bool


@record(eq=True)
class NewAxis:
    """A dimension of extent 1 that the index inserts."""


Selector = Number | Extract | NewAxis


def select(ctx: Context, array: Array, items: Sequence[Operand], node: ast.AST) -> Array:
    """Return the view that a basic index selects.

    Parameters
    ----------
    ctx : Context
        Where we are.
    array : Array
        What is indexed.
    items : sequence of Operand
        Integers, slices, ``None`` and at most one ``...``; fewer than dimensions are allowed.
    node : ast.AST
        Where errors point.
    """
    selectors = _selectors(ctx, array, items, node)
    by_dim = [selector for selector in selectors if not isinstance(selector, NewAxis)]
    starts = _positions(ctx, array, by_dim)
    layout = _layout(array.type.layout, selectors)
    origin = array if layout != "A" else _with_layout(array, "A")
    offset, scale = arrays.flat_index(ctx, origin, starts)
    pointer = array.pointer
    if offset.literal != 0:
        pointer = ctx.builder.offset(pointer, offset.value, scale)
    shape, strides = _extents(ctx, array, selectors)
    type_ = replace(array.type, ndim=len(shape), layout=layout)
    return Array(type_, pointer, shape, strides, array.name)


def _with_layout(array: Array, layout: str) -> Array:
    type_ = replace(array.type, layout=layout)
    return Array(type_, array.pointer, array.shape, array.strides, array.name)


def _selectors(
    ctx: Context, array: Array, items: Sequence[Operand], node: ast.AST
) -> list[Selector]:
    """Return one selector per dimension, and the new axes, in the order of the index."""
    is_ellipsis = [isinstance(item, Object) and item.value is ... for item in items]
    consumed = sum(
        not isinstance(item, NoneValue) and not dots
        for item, dots in zip(items, is_ellipsis, strict=True)
    )
    missing = array.type.ndim - consumed
    if missing < 0 or sum(is_ellipsis) > 1:
        ctx.fail(
            KernelTypeError,
            f"{arrays.title(array)} has {counted(array.type.ndim, 'dimension')}, but is indexed "
            f"with {consumed}"
            if missing < 0
            else "an index may contain only one '...'",
            node,
            help="use at most one index per dimension",
        )
    if not any(is_ellipsis):
        items, is_ellipsis = (*items, Object(...)), [*is_ellipsis, True]
    selectors: list[Selector] = []
    dim = 0
    for item, dots in zip(items, is_ellipsis, strict=True):
        if isinstance(item, NoneValue):
            selectors.append(NewAxis())
            continue
        wanted = [Slice(None, None, None)] * missing if dots else [item]
        for one in wanted:
            selectors.append(_selector(ctx, array, one, array.shape[dim], node))
            dim += 1
    return selectors


def _selector(
    ctx: Context, array: Array, item: Operand, extent: ir.Value, node: ast.AST
) -> Selector:
    if isinstance(item, Slice):
        return resolve(ctx, item, integers.extent(ctx, extent), node)
    index = inference.index(ctx, item)
    if index is None:
        advice = "use integers, slices, None and '...'"
        if isinstance(item, Number):
            advice = "convert the index with int(...)"
        ctx.fail(
            KernelTypeError,
            f"{arrays.title(array)} cannot be indexed with {inference.describe(item)}",
            node,
            help=advice,
        )
    return index


def _positions(ctx: Context, array: Array, selectors: Sequence[Number | Extract]) -> list[Number]:
    """Return where the view starts along each dimension."""
    positions: list[Number] = []
    for dim, selector in enumerate(selectors):
        if isinstance(selector, Extract):
            positions.append(selector.start)
        else:
            row = Array(
                replace(array.type, ndim=1, layout="A"),
                array.pointer,
                (array.shape[dim],),
                (array.strides[dim],),
                array.name,
            )
            positions.extend(arrays.wrap_indices(ctx, row, [selector]))
    return positions


def _layout(layout: str, selectors: Sequence[Selector]) -> str:
    """Return the layout of a view: contiguous only if its elements certainly are."""
    if layout == "A" or any(isinstance(selector, NewAxis) for selector in selectors):
        return "A"
    ordered = list(selectors) if layout == "C" else list(reversed(selectors))
    kept = [index for index, one in enumerate(ordered) if isinstance(one, Extract)]
    first = kept[0] if kept else len(ordered)
    tail = ordered[first:]
    if not all(isinstance(selector, Extract) and selector.is_full for selector in tail[1:]):
        return "A"
    has_unit_step = all(
        isinstance(selector, Extract) and selector.step.literal == 1 for selector in tail[:1]
    )
    return layout if has_unit_step else "A"


def _extents(
    ctx: Context, array: Array, selectors: Sequence[Selector]
) -> tuple[tuple[ir.Value, ...], tuple[ir.Value, ...]]:
    shape: list[ir.Value] = []
    strides: list[ir.Value] = []
    dim = 0
    for selector in selectors:
        if isinstance(selector, NewAxis):
            shape.append(integers.literal(ctx, 1).value)
            strides.append(integers.literal(ctx, 0).value)
            continue
        if isinstance(selector, Extract):
            shape.append(selector.length.value)
            step = integers.multiply(ctx, Number(array.strides[dim]), selector.step)
            strides.append(step.value)
        dim += 1
    return tuple(shape), tuple(strides)


def resolve(ctx: Context, part: Slice, extent: Number, node: ast.AST) -> Extract:
    """Return where a slice starts and how long it is, as Python's ``slice.indices`` says."""
    zero, one = integers.literal(ctx, 0), integers.literal(ctx, 1)
    step = one if part.step is None else _bound(ctx, part.step, node)
    if step.literal == 0:
        ctx.fail(KernelTypeError, "a slice step cannot be zero", node, help="use 1 or -1")
    backwards = integers.is_less(ctx, step, zero)
    last = integers.subtract(ctx, extent, one)
    lower = integers.choose(ctx, backwards, integers.literal(ctx, -1), zero)
    upper = integers.choose(ctx, backwards, last, extent)
    start = _clamp(ctx, part.start, (upper, lower, backwards), (lower, upper, extent), node)
    stop = _clamp(ctx, part.stop, (lower, upper, backwards), (lower, upper, extent), node)
    toward = integers.choose(ctx, backwards, one, integers.literal(ctx, -1))
    reach = integers.add(ctx, integers.subtract(ctx, stop, start), integers.add(ctx, step, toward))
    length = integers.floor_divide(ctx, reach, step)
    is_tail = step.literal == 1 and part.stop is None
    if not is_tail:
        length = integers.maximum(ctx, length, zero)
    ctx.nonnegative.add(length.value)
    if step.literal is not None and step.literal > 0:
        ctx.nonnegative.add(start.value)
    is_full = part.start is part.stop is None and step.literal == 1
    return Extract(start, length, step, is_full)


def _bound(ctx: Context, bound: Number, node: ast.AST) -> Number:
    whole = inference.integer(ctx, bound)
    if whole is None:
        ctx.fail(
            KernelTypeError,
            f"a bound of a slice is {inference.describe(bound)}",
            node,
            detail="expected an integer",
            help="convert it with int(...)",
        )
    return inference.cast(ctx, whole, dtypes.int64)


def _clamp(
    ctx: Context,
    bound: Number | None,
    default: tuple[Number, Number, Number],
    limits: tuple[Number, Number, Number],
    node: ast.AST,
) -> Number:
    """Return a bound between lower and upper limit; negative ones count from the end."""
    if_backwards, if_forwards, backwards = default
    lower, upper, extent = limits
    if bound is None:
        return integers.choose(ctx, backwards, if_backwards, if_forwards)
    bound = _bound(ctx, bound, node)
    if inference.is_nonnegative(ctx, bound):
        return integers.minimum(ctx, bound, upper)
    from_end = integers.maximum(ctx, integers.add(ctx, bound, extent), lower)
    if bound.literal is not None:
        return from_end
    is_negative = integers.is_less(ctx, bound, integers.literal(ctx, 0))
    return integers.choose(ctx, is_negative, from_end, integers.minimum(ctx, bound, upper))


def transpose(array: Array) -> Array:
    """Return the view with the order of the dimensions reversed."""
    layout = {"C": "F", "F": "C", "A": "A"}[array.type.layout]
    type_ = array.type if array.type.ndim < 2 else replace(array.type, layout=layout)
    return Array(type_, array.pointer, array.shape[::-1], array.strides[::-1], array.name)


def part(ctx: Context, array: Array, name: str) -> Array:
    """Return the view of the real or imaginary parts of an array of complex numbers."""
    dtype = array.type.dtype.component
    pointer = array.pointer
    if name == "imag":
        one = integers.literal(ctx, 1)
        pointer = ctx.builder.offset(pointer, one.value, dtype.size_bytes)
    type_ = replace(array.type, element=dtype, layout="A")
    return Array(type_, pointer, array.shape, array.strides, array.name)
