"""Whole arrays, element by element: ``view[:] = a + 2 * b``.

An expression of arrays has no memory for its result. It stays a recipe for one element until a
statement stores it; then it becomes loops over the elements of the target.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NoReturn

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError, counted
from pygpulib.jit.frontend import arrays, integers
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.faults import raise_if
from pygpulib.jit.frontend.values import Array, Complex, Elementwise, Number, Operand
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


def are_of_arrays(operands: Sequence[Operand]) -> bool:
    """Return whether an operation on operands is one on the elements of some of them."""
    return any(isinstance(one, Array | Elementwise) for one in operands) and all(
        isinstance(one, Array | Elementwise | Number | Complex) for one in operands
    )


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
    directions: Sequence[ir.Value] = ()
    if isinstance(value, Array | Elementwise):
        _check_shape(ctx, target, value, node)
        sources = [source for source in _sources(value) if _may_overlap(target, source)]
        if sources:
            directions = _choose_directions(ctx, target, sources)
    else:
        value = arrays.element_value(ctx, target, value, node)

    def body(indices: list[Number]) -> None:
        element = _element(ctx, value, target.shape, indices)
        arrays.store_element(ctx, target, indices, element, node)

    if not directions:
        _for_each(ctx, target.shape, body)
        return
    # Two loops, so that the usual one counts up by one.
    is_any = _any(ctx, directions)
    if len(directions) == 1:
        directions = (ctx.builder.constant(True, dtypes.bool_),)
    blocks = []
    for backwards in (directions, ()):
        with ctx.builder.collect() as ops:
            _for_each(ctx, target.shape, body, backwards=backwards)
            ctx.builder.append(ir.Yield(()))
        blocks.append(ir.Block((), tuple(ops)))
    down, up = blocks
    ctx.builder.append(ir.If(is_any, down, up, (), span=ctx.builder.span))


def _check_shape(ctx: Context, target: Array, value: Array | Elementwise, node: ast.AST) -> None:
    skipped = target.type.ndim - len(value.shape)
    if skipped < 0:
        ctx.fail(
            KernelTypeError,
            f"an array of {counted(len(value.shape), 'dimension')} does not fit into a view of "
            f"{counted(target.type.ndim, 'dimension')}",
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
    backwards: Sequence[ir.Value] = (),
) -> None:
    """Append nested loops over all indices of a shape.

    ``backwards`` says for each axis whether its indices come from the last to the first; none do
    if it is empty.
    """
    if not shape:
        body(list(outer))
        return
    index = ir.Value(dtypes.int64)
    ctx.nonnegative.add(index)
    extent = integers.extent(ctx, shape[0])
    start, stop, step = integers.literal(ctx, 0), extent, integers.literal(ctx, 1)
    if backwards:
        is_down = Number(backwards[0])
        last, before = integers.subtract(ctx, extent, step), integers.literal(ctx, -1)
        start = integers.choose(ctx, is_down, last, start)
        stop = integers.choose(ctx, is_down, before, stop)
        step = integers.choose(ctx, is_down, before, step)
    with ctx.builder.collect() as ops:
        _for_each(ctx, shape[1:], body, (*outer, Number(index)), backwards=backwards[1:])
        ctx.builder.append(ir.Continue(()))
    block = ir.Block((index,), tuple(ops))
    ctx.builder.append(
        ir.For(start.value, stop.value, step.value, (), block, (), span=ctx.builder.span)
    )


# ----------------------------------------------------------------------------------------- overlap


def _may_overlap(target: Array, source: Array) -> bool:
    """Return whether writing a view may change a view that is read."""
    if not source.shape or source.type.space is not target.type.space:
        return False
    is_same = source.pointer is target.pointer and source.strides == target.strides
    return not is_same and len(source.shape) <= len(target.shape)


def _choose_directions(
    ctx: Context, target: Array, sources: Sequence[Array]
) -> tuple[ir.Value, ...]:
    """Return for each axis whether its elements are to be written from the last to the first.

    So they must where a source is the same memory, and the target runs ahead of it: its elements
    are read before they are overwritten. No direction helps where the target runs ahead of one
    source and behind another, or where they run in other steps.
    """
    known = [_sides(ctx, target, source) for source in sources]
    flags = tuple(_any(ctx, axis) for axis in zip(*(ahead for ahead, _ in known), strict=True))
    if ctx.options.debug and len(target.shape) == 1:
        behind = _any(ctx, [other for _, other in known])
        crossed = ctx.builder.binary(BinaryKind.AND, flags[0], behind)
        wrong = [crossed, *(_runs_otherwise(ctx, target, source) for source in sources)]
        raise_if(
            ctx,
            _any(ctx, wrong),
            ValueError,
            "the array on the left overlaps arrays on the right so that no order of the elements "
            "is right",
        )
    return flags


def _sides(ctx: Context, target: Array, source: Array) -> tuple[tuple[ir.Value, ...], ir.Value]:
    """Return whether the target overlaps a source and runs ahead of it along each axis, or not."""
    builder = ctx.builder
    zero = integers.literal(ctx, 0).value
    distance = _distance(ctx, target, source)
    if len(source.shape) < len(target.shape):
        # A row that all rows are computed with: the first one must be written last.
        is_first = builder.compare(CompareKind.EQ, distance, zero)
        return (is_first,) * len(target.shape), builder.constant(False, dtypes.bool_)
    conditions = [
        builder.compare(CompareKind.NE, distance, zero),
        builder.compare(
            CompareKind.LT, builder.unary(ir.UnaryKind.ABSOLUTE, distance), _reach(ctx, target)
        ),
        *(
            builder.compare(CompareKind.EQ, one, other)
            for one, other in zip(target.strides, source.strides, strict=True)
        ),
    ]
    if ctx.options.debug and len(target.shape) == 1:
        conditions.append(_is_multiple(ctx, distance, target.strides[0]))
    overlaps = _all(ctx, conditions)
    signs = [builder.binary(BinaryKind.XOR, distance, stride) for stride in target.strides]
    behind = [builder.compare(CompareKind.LT, sign, zero) for sign in signs]
    ahead = [builder.unary(ir.UnaryKind.NOT, one) for one in behind]
    return (
        tuple(builder.binary(BinaryKind.AND, overlaps, one) for one in ahead),
        builder.binary(BinaryKind.AND, overlaps, behind[0]),
    )


def _runs_otherwise(ctx: Context, target: Array, source: Array) -> ir.Value:
    """Return whether a source of one axis overlaps the target in steps of another sign or size."""
    builder = ctx.builder
    here, there = target.strides[0], source.strides[0]
    conditions = [
        builder.compare(CompareKind.NE, here, there),
        builder.compare(CompareKind.LT, _end(ctx, target, low=True), _end(ctx, source, low=False)),
        builder.compare(CompareKind.LT, _end(ctx, source, low=True), _end(ctx, target, low=False)),
        _is_multiple(ctx, _distance(ctx, target, source), here),
        builder.compare(CompareKind.NE, there, integers.literal(ctx, 0).value),
    ]
    return _all(ctx, conditions)


def _distance(ctx: Context, target: Array, source: Array) -> ir.Value:
    here, there = (ctx.builder.address(array.pointer) for array in (target, source))
    return ctx.builder.binary(BinaryKind.SUBTRACT, here, there)


def _reach(ctx: Context, array: Array) -> ir.Value:
    """Return over how many bytes the elements are spread, gaps included."""
    builder = ctx.builder
    total = integers.literal(ctx, 0).value
    for stride, extent in zip(array.strides, array.shape, strict=True):
        length = builder.binary(BinaryKind.MULTIPLY, stride, extent)
        length = builder.unary(ir.UnaryKind.ABSOLUTE, length)
        total = builder.binary(BinaryKind.ADD, total, length)
    return total


def _end(ctx: Context, array: Array, *, low: bool) -> ir.Value:
    """Return the lowest or highest address of the elements of an array of one axis."""
    builder = ctx.builder
    first = builder.address(array.pointer)
    steps = integers.subtract(ctx, Number(array.shape[0]), integers.literal(ctx, 1)).value
    last = builder.binary(
        BinaryKind.ADD, first, builder.binary(BinaryKind.MULTIPLY, steps, array.strides[0])
    )
    return builder.binary(BinaryKind.MINIMUM if low else BinaryKind.MAXIMUM, first, last)


def _is_multiple(ctx: Context, distance: ir.Value, stride: ir.Value) -> ir.Value:
    """Return whether two views have elements in common; those that interleave have none."""
    rest = ctx.builder.binary(BinaryKind.REMAINDER, distance, stride)
    return ctx.builder.compare(CompareKind.EQ, rest, integers.literal(ctx, 0).value)


def _all(ctx: Context, conditions: Sequence[ir.Value]) -> ir.Value:
    found = conditions[0]
    for condition in conditions[1:]:
        found = ctx.builder.binary(BinaryKind.AND, found, condition)
    return found


def _any(ctx: Context, conditions: Sequence[ir.Value]) -> ir.Value:
    found = conditions[0]
    for condition in conditions[1:]:
        found = ctx.builder.binary(BinaryKind.OR, found, condition)
    return found
