"""Tuples and namedtuples: indexing, unpacking, construction."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError, counted
from pygpulib.jit.frontend import inference, integers, literals
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.faults import raise_if
from pygpulib.jit.frontend.values import (
    Array,
    Number,
    Operand,
    Slice,
    Tuple,
    flatten,
    type_of,
    unflatten,
)
from pygpulib.jit.ir import ops as ir

LARGEST_CHAIN = 8
"""A tuple with more constant numbers than this is read from a table when the index varies."""


def subscript(ctx: Context, operand: Tuple, index: Operand, node: ast.AST) -> Operand:
    """Return an item or a part: ``operand[index]``."""
    if isinstance(index, Slice):
        return _slice(ctx, operand, index, node)
    whole = inference.integer(ctx, index)
    if whole is None:
        ctx.fail(
            KernelTypeError,
            f"a tuple cannot be indexed with {inference.describe(index)}",
            node,
            help="use an integer, or a slice with constant bounds",
        )
    count = len(operand.items)
    if whole.literal is None:
        return _item_at(ctx, operand, whole, node)
    position = int(whole.literal)
    if not -count <= position < count:
        ctx.fail(
            KernelTypeError,
            f"index {position} is out of range for a tuple of {counted(count, 'item')}",
            node,
            help=f"use an index from {-count} to {count - 1}" if count else "the tuple is empty",
        )
    return operand.items[position]


def _slice(ctx: Context, operand: Tuple, index: Slice, node: ast.AST) -> Tuple:
    bounds: list[int | None] = []
    for bound in (index.start, index.stop, index.step):
        known = None if bound is None else bound.literal
        if bound is not None and not isinstance(known, int):
            ctx.fail(
                KernelTypeError,
                "the bounds of a slice of a tuple must be compile-time constants",
                node,
                help="use integer literals, or index the tuple with one number",
            )
        bounds.append(known if isinstance(known, int) else None)
    if bounds[2] == 0:
        ctx.fail(KernelTypeError, "a slice step cannot be zero", node, help="use 1 or -1")
    return Tuple(operand.items[slice(*bounds)])


# ------------------------------------------------------------------------------ index at run time


def _item_at(ctx: Context, operand: Tuple, index: Number, node: ast.AST) -> Operand:
    kinds = {type_of(item) for item in operand.items}
    if len(kinds) != 1 or None in kinds:
        ctx.fail(
            KernelTypeError,
            f"{inference.describe(operand)} is indexed with a number that is not a "
            "compile-time constant",
            node,
            detail="expected items that all have one type" if operand.items else "it is empty",
            help="index it with a literal, or convert its items to one type",
        )
    count = integers.literal(ctx, len(operand.items))
    wide = inference.cast(ctx, index, dtypes.int64)
    position = wide
    if not inference.is_nonnegative(ctx, wide):
        is_negative = integers.is_less(ctx, wide, integers.literal(ctx, 0))
        position = integers.choose(ctx, is_negative, integers.add(ctx, wide, count), wide)
    if ctx.options.debug:
        unsigned = (ctx.builder.cast(one.value, dtypes.uint64) for one in (position, count))
        outside = ctx.builder.compare(ir.CompareKind.GE, *unsigned)
        message = "tuple index out of range: {} in a tuple of {}"
        raise_if(ctx, outside, IndexError, message, (wide.value, count.value))
    return literals.like(operand.items, _pick(ctx, operand.items, position))


def _pick(ctx: Context, items: Sequence[Operand], position: Number) -> Operand:
    """Return the item at a position; all items have one type."""
    first = items[0]
    if isinstance(first, Tuple):
        tuples = [item for item in items if isinstance(item, Tuple)]
        columns = zip(*(item.items for item in tuples), strict=True)
        return Tuple(tuple(_pick(ctx, column, position) for column in columns), first.cls)
    values = [item.literal for item in items if isinstance(item, Number)]
    known = [value for value in values if value is not None]
    if isinstance(first, Number) and len(known) == len(items):
        if all(value == known[0] for value in known) and all(value != 0 for value in known):
            return first
        if len(known) > LARGEST_CHAIN:
            return _read_table(ctx, known, first, position)
    chosen = list(flatten(items[-1]))
    for number in range(len(items) - 2, -1, -1):
        here = integers.literal(ctx, number)
        is_here = ctx.builder.compare(ir.CompareKind.EQ, position.value, here.value)
        chosen = [
            ctx.builder.select(is_here, value, other)
            for value, other in zip(flatten(items[number]), chosen, strict=True)
        ]
    type_ = type_of(first)
    assert type_ is not None
    return unflatten(type_, iter(chosen))


def _read_table(
    ctx: Context, known: Sequence[bool | float], first: Number, position: Number
) -> Number:
    table = np.array(known, dtype=first.dtype.numpy)
    pointer = ir.Value(ir.Pointer())
    ctx.builder.append(ir.ConstantData(table, pointer, span=ctx.builder.span))
    result = ir.Value(first.dtype)
    size = first.dtype.size_bytes
    ctx.builder.append(
        ir.Load(pointer, position.value, size, result, invariant=True, span=ctx.builder.span)
    )
    return Number(result)


# ----------------------------------------------------------------------- unpacking, construction


def unpack(ctx: Context, operand: Operand, count: int, node: ast.AST) -> list[Operand]:
    """Return the items that an assignment to ``count`` targets takes apart."""
    if not isinstance(operand, Tuple):
        advice = "unpack a tuple"
        if isinstance(operand, Array):
            advice = "index the array: its extent is not known when the kernel is compiled"
        ctx.fail(
            KernelTypeError,
            f"{inference.describe(operand)} cannot be unpacked",
            node,
            help=advice,
        )
    if len(operand.items) != count:
        ctx.fail(
            KernelTypeError,
            f"a tuple of {counted(len(operand.items), 'item')} is unpacked into "
            f"{counted(count, 'variable')}",
            node,
            help="use as many variables as the tuple has items",
        )
    return list(operand.items)


def repeat(ctx: Context, operand: Tuple, times: Number, node: ast.AST) -> Tuple:
    """Return a tuple repeated: ``(0, 1) * 3``."""
    if not isinstance(times.literal, int):
        ctx.fail(
            KernelTypeError,
            "a tuple can only be repeated a number of times that is a compile-time constant",
            node,
            help="use an integer literal",
        )
    return Tuple(operand.items * times.literal)


def attribute(ctx: Context, operand: Tuple, name: str, node: ast.AST) -> Operand:
    """Return a field of a namedtuple."""
    fields = field_names(operand.cls)
    if name not in fields:
        known = ", ".join(fields)
        ctx.fail(
            KernelTypeError,
            f"{inference.describe(operand)} has no field {name!r}",
            node,
            help=f"its fields are {known}" if fields else "index the tuple with an integer",
        )
    return operand.items[fields.index(name)]


def field_names(cls: object) -> tuple[str, ...]:
    """Return the field names of a namedtuple class; empty for anything else."""
    return tuple(getattr(cls, "_fields", ()))


def is_namedtuple_class(value: object) -> bool:
    """Return whether a Python object is a namedtuple class."""
    return isinstance(value, type) and issubclass(value, tuple) and bool(field_names(value))


def construct(
    ctx: Context,
    cls: Callable[..., tuple[object, ...]],
    args: Sequence[Operand],
    kwargs: Mapping[str, Operand],
    defaults: Callable[[object], Operand],
    node: ast.AST,
) -> Tuple:
    """Return a namedtuple made by calling its class."""
    fields = field_names(cls)
    name = getattr(cls, "__name__", "namedtuple")
    given: dict[str, Operand] = dict(zip(fields, args, strict=False))
    wrong = [key for key in kwargs if key not in fields or key in given]
    if len(args) > len(fields) or wrong:
        count = counted(len(args), "argument")
        problem = f"an unexpected argument {wrong[0]!r}" if wrong else count
        ctx.fail(
            KernelTypeError,
            f"{name} is called with {problem}",
            node,
            help=f"its fields are {', '.join(fields)}",
        )
    given.update(kwargs)
    for field, value in getattr(cls, "_field_defaults", {}).items():
        if field not in given:
            given[field] = defaults(value)
    missing = [field for field in fields if field not in given]
    if missing:
        ctx.fail(
            KernelTypeError,
            f"{name} is called without a value for {missing[0]!r}",
            node,
            help=f"its fields are {', '.join(fields)}",
        )
    return Tuple(tuple(given[field] for field in fields), cls)
