"""Whole arrays, element by element: ``view[:] = a + 2 * b``.

An expression of arrays has no memory for its result. It stays a recipe for one element until a
statement stores it; then it becomes loops over the elements of the target.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NoReturn

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit.frontend import arrays, integers
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.faults import raise_if
from pygpulib.jit.frontend.values import Array, Elementwise, Number, Operand
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import BinaryKind, CompareKind

Extents = tuple[ir.Value, ...]


def combine(
    ctx: Context, operands: Sequence[Operand], apply: Callable[[Sequence[Operand]], Operand]
) -> Elementwise:
    """Return the expression that applies an operation to the elements of some arrays.

    Parameters
    ----------
    ctx : Context
        Where we are.
    operands : sequence of Operand
        Arrays and array expressions, which broadcast, and numbers.
    apply : callable
        Compiles the operation for one element of each.
    """
    parts = [operand for operand in operands if isinstance(operand, Array | Elementwise)]
    shape: Extents = ()
    for part in parts:
        shape = _broadcast(ctx, shape, part.shape)

    def element(indices: Sequence[Number]) -> Operand:
        return apply([_element(ctx, operand, shape, indices) for operand in operands])

    sources = [source for part in parts for source in _sources(part)]
    return Elementwise(shape, element, tuple(sources))


def refuse(ctx: Context, node: ast.AST) -> NoReturn:
    """Fail at an array expression that is not stored at once."""
    ctx.fail(
        KernelTypeError,
        "an expression of whole arrays can only be stored into an array at once",
        node,
        detail="kernels have no memory for its result",
        help="store it, as in out[:] = a + b, or index the arrays, as in a[i] + b[i]",
    )


def _sources(part: Array | Elementwise) -> tuple[Array, ...]:
    return (part,) if isinstance(part, Array) else part.sources


def _element(ctx: Context, operand: Operand, shape: Extents, indices: Sequence[Number]) -> Operand:
    """Return the element of an operand that stands at a place of the shape it broadcasts to."""
    if not isinstance(operand, Array | Elementwise):
        return operand
    skipped = len(shape) - len(operand.shape)
    places: list[Number] = []
    for index, here, there in zip(indices[skipped:], operand.shape, shape[skipped:], strict=True):
        if here is there:
            places.append(index)
        else:
            zero = integers.literal(ctx, 0)
            places.append(integers.choose(ctx, _is_one(ctx, here), zero, index))
    if isinstance(operand, Array):
        return arrays.load(ctx, operand, places)
    return operand.element(places)


# -------------------------------------------------------------------------------------- broadcasts


def _is_one(ctx: Context, extent: ir.Value) -> Number:
    one = integers.literal(ctx, 1)
    return Number(ctx.builder.compare(CompareKind.EQ, extent, one.value))


def _broadcast(ctx: Context, left: Extents, right: Extents) -> Extents:
    """Return the shape that two shapes broadcast to."""
    longer, shorter = (left, right) if len(left) >= len(right) else (right, left)
    skipped = len(longer) - len(shorter)
    joined = list(longer[:skipped])
    for one, other in zip(longer[skipped:], shorter, strict=True):
        if one is other:
            joined.append(one)
            continue
        extent = integers.choose(ctx, _is_one(ctx, one), Number(other), Number(one))
        if ctx.options.debug:
            _check_extent(ctx, other, extent.value)
        joined.append(extent.value)
    return tuple(joined)


def _check_extent(ctx: Context, here: ir.Value, there: ir.Value) -> None:
    """Append the check that an extent is the one wanted, or 1."""
    builder = ctx.builder
    differs = builder.compare(CompareKind.NE, here, there)
    one = integers.literal(ctx, 1)
    is_fixed = builder.compare(CompareKind.NE, here, one.value)
    raise_if(
        ctx,
        builder.binary(BinaryKind.AND, differs, is_fixed),
        ValueError,
        "{} elements do not fit into a view of {} elements along one dimension",
        (here, there),
    )


# ------------------------------------------------------------------------------------------ stores


def fill(ctx: Context, target: Array, value: Operand, node: ast.AST) -> None:
    """Write a number, an array or an array expression, which broadcast, to all elements."""
    backwards: ir.Value | None = None
    if isinstance(value, Array | Elementwise):
        _check_shape(ctx, target, value, node)
        sources = [source for source in _sources(value) if _may_overlap(target, source)]
        if target.type.ndim == 1 and sources:
            backwards = _choose_direction(ctx, target, sources)
    else:
        value = arrays.element_value(ctx, target, value, node)

    def body(indices: list[Number]) -> None:
        element = _element(ctx, value, target.shape, indices)
        arrays.store_element(ctx, target, indices, element, node)

    if backwards is None:
        _for_each(ctx, target.shape, body)
        return
    # Two loops, so that the usual one counts up by one.
    blocks = []
    for is_reversed in (True, False):
        with ctx.builder.collect() as ops:
            _for_each(ctx, target.shape, body, is_reversed=is_reversed)
            ctx.builder.append(ir.Yield(()))
        blocks.append(ir.Block((), tuple(ops)))
    down, up = blocks
    ctx.builder.append(ir.If(backwards, down, up, (), span=ctx.builder.span))


def _check_shape(ctx: Context, target: Array, value: Array | Elementwise, node: ast.AST) -> None:
    skipped = target.type.ndim - len(value.shape)
    if skipped < 0:
        ctx.fail(
            KernelTypeError,
            f"an array of {len(value.shape)} dimensions does not fit into a view of "
            f"{target.type.ndim} dimensions",
            node,
            help="index the array on the right until it has as many dimensions as the left",
        )
    if ctx.options.debug:
        for here, there in zip(value.shape, target.shape[skipped:], strict=True):
            if here is not there:
                _check_extent(ctx, here, there)


def _for_each(
    ctx: Context,
    shape: Extents,
    body: Callable[[list[Number]], None],
    outer: tuple[Number, ...] = (),
    *,
    is_reversed: bool = False,
) -> None:
    """Append nested loops over all indices of a shape, in order or in reverse."""
    if not shape:
        body(list(outer))
        return
    index = ir.Value(dtypes.int64)
    ctx.nonnegative.add(index)
    extent = integers.extent(ctx, shape[0])
    start, stop, step = integers.literal(ctx, 0), extent, integers.literal(ctx, 1)
    if is_reversed:
        start, stop = integers.subtract(ctx, extent, step), integers.literal(ctx, -1)
        step = stop
    with ctx.builder.collect() as ops:
        _for_each(ctx, shape[1:], body, (*outer, Number(index)), is_reversed=is_reversed)
        ctx.builder.append(ir.Continue(()))
    block = ir.Block((index,), tuple(ops))
    ctx.builder.append(
        ir.For(start.value, stop.value, step.value, (), block, (), span=ctx.builder.span)
    )


# ----------------------------------------------------------------------------------------- overlap


def _may_overlap(target: Array, source: Array) -> bool:
    """Return whether writing a view may change a view of one dimension that is read."""
    if len(source.shape) != 1 or source.type.space is not target.type.space:
        return False
    return source.pointer is not target.pointer or source.strides != target.strides


def _choose_direction(ctx: Context, target: Array, sources: Sequence[Array]) -> ir.Value:
    """Return whether the elements are to be written from the last to the first.

    So they must where a source is the same memory, and the target runs ahead of it: its elements
    are read before they are overwritten. No direction helps where the target runs ahead of one
    source and behind another, or where they run in other steps.
    """
    pairs = [_sides(ctx, target, source) for source in sources]
    ahead = _any(ctx, [one for one, _ in pairs])
    if ctx.options.debug and len(pairs) > 1:
        behind = _any(ctx, [other for _, other in pairs])
        raise_if(
            ctx,
            ctx.builder.binary(BinaryKind.AND, ahead, behind),
            ValueError,
            "the array on the left overlaps arrays on the right on both sides, so that no order "
            "of the elements is right",
        )
    return ahead


def _sides(ctx: Context, target: Array, source: Array) -> tuple[ir.Value, ir.Value]:
    """Return whether the target overlaps a source and runs ahead of it, or behind it."""
    builder = ctx.builder
    zero = integers.literal(ctx, 0).value
    stride = target.strides[0]
    here, there = (builder.address(array.pointer) for array in (target, source))
    distance = builder.binary(BinaryKind.SUBTRACT, here, there)
    length = builder.binary(BinaryKind.MULTIPLY, stride, target.shape[0])
    near, far = (builder.unary(ir.UnaryKind.ABSOLUTE, value) for value in (distance, length))
    conditions = [
        builder.compare(CompareKind.NE, distance, zero),
        builder.compare(CompareKind.LT, near, far),
        builder.compare(CompareKind.EQ, stride, source.strides[0]),
    ]
    if ctx.options.debug:
        # Views that interleave have no element in common.
        rest = builder.binary(BinaryKind.REMAINDER, distance, stride)
        conditions.append(builder.compare(CompareKind.EQ, rest, zero))
    overlaps = conditions[0]
    for condition in conditions[1:]:
        overlaps = builder.binary(BinaryKind.AND, overlaps, condition)
    signs = builder.binary(BinaryKind.XOR, distance, stride)
    is_behind = builder.compare(CompareKind.LT, signs, zero)
    is_ahead = builder.unary(ir.UnaryKind.NOT, is_behind)
    return (
        builder.binary(BinaryKind.AND, overlaps, is_ahead),
        builder.binary(BinaryKind.AND, overlaps, is_behind),
    )


def _any(ctx: Context, conditions: Sequence[ir.Value]) -> ir.Value:
    found = conditions[0]
    for condition in conditions[1:]:
        found = ctx.builder.binary(BinaryKind.OR, found, condition)
    return found
