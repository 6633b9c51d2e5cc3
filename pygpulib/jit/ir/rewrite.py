"""Generic walking and rebuilding, derived from the field kinds of the operations."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from enum import Enum
from functools import cache
from typing import Any, cast

from pygpulib.jit.ir.ops import Block, Call, Effect, For, If, Loop, Op, Scope, Value


class FieldKind(Enum):
    """What a field of an operation holds."""

    OPERAND = "operand"
    OPERANDS = "operands"
    RESULT = "result"
    RESULTS = "results"
    BLOCK = "block"
    ATTRIBUTE = "attribute"


_BY_ANNOTATION = {
    "Value": FieldKind.OPERAND,
    "Value | None": FieldKind.OPERAND,
    "tuple[Value, ...]": FieldKind.OPERANDS,
    "Block": FieldKind.BLOCK,
}


def _class_of(op: Op) -> type[object]:
    return type(op)


@cache
def fields_of(op_class: type[Any]) -> tuple[tuple[str, FieldKind], ...]:
    """Return the fields of an operation class and their kinds, without the span."""
    kinds = []
    for field in dataclasses.fields(op_class):
        if field.name == "span":
            continue
        if field.name == "result":
            kind = FieldKind.RESULT
        elif field.name == "results":
            kind = FieldKind.RESULTS
        else:
            kind = _BY_ANNOTATION.get(cast("str", field.type), FieldKind.ATTRIBUTE)
        kinds.append((field.name, kind))
    return tuple(kinds)


@cache
def _names(
    op_class: type[Any], single: FieldKind, several: FieldKind
) -> tuple[tuple[str, bool], ...]:
    return tuple(
        (name, kind is several)
        for name, kind in fields_of(op_class)
        if kind is single or kind is several
    )


def _collect(op: Op, single: FieldKind, several: FieldKind) -> tuple[Value, ...]:
    found: list[Value] = []
    for name, is_several in _names(_class_of(op), single, several):
        value = getattr(op, name)
        if is_several:
            found.extend(value)
        elif value is not None:
            found.append(value)
    return tuple(found)


def operands_of(op: Op) -> tuple[Value, ...]:
    """Return the values that the operation itself reads (not those read in nested blocks)."""
    return _collect(op, FieldKind.OPERAND, FieldKind.OPERANDS)


def results_of(op: Op) -> tuple[Value, ...]:
    """Return the values that the operation defines."""
    return _collect(op, FieldKind.RESULT, FieldKind.RESULTS)


@cache
def _block_names(op_class: type[Any]) -> tuple[str, ...]:
    return tuple(name for name, kind in fields_of(op_class) if kind is FieldKind.BLOCK)


def blocks_of(op: Op) -> tuple[Block, ...]:
    """Return the nested blocks."""
    return tuple(getattr(op, name) for name in _block_names(_class_of(op)))


def walk(block: Block) -> Iterator[Op]:
    """Yield every operation of a block and of its nested blocks, outer ones first."""
    for op in block.ops:
        yield op
        for nested in blocks_of(op):
            yield from walk(nested)


def replace_values(op: Op, values: Mapping[Value, Value]) -> Op:
    """Return the operation with operands exchanged; nested blocks are left alone."""
    changes: dict[str, Any] = {}
    for name, is_several in _names(_class_of(op), FieldKind.OPERAND, FieldKind.OPERANDS):
        old = getattr(op, name)
        if is_several:
            new = tuple(values.get(value, value) for value in old)
            if any(a is not b for a, b in zip(new, old, strict=True)):
                changes[name] = new
        elif old is not None and old in values:
            changes[name] = values[old]
    return dataclasses.replace(op, **changes) if changes else op


def replace_blocks(op: Op, transform: Callable[[Block], Block]) -> Op:
    """Return the operation with each nested block transformed."""
    changes: dict[str, Any] = {}
    for name in _block_names(_class_of(op)):
        old = getattr(op, name)
        new = transform(old)
        if new is not old:
            changes[name] = new
    return dataclasses.replace(op, **changes) if changes else op


def substitute(block: Block, values: Mapping[Value, Value]) -> Block:
    """Return the block with every use of the mapped values exchanged, nested blocks included."""
    changed = False
    ops: list[Op] = []
    for op in block.ops:
        new = replace_blocks(replace_values(op, values), lambda nested: substitute(nested, values))
        changed = changed or new is not op
        ops.append(new)
    return Block(block.params, tuple(ops)) if changed else block


def clone(block: Block, values: Mapping[Value, Value] | None = None) -> Block:
    """Return a copy whose definitions are all new values.

    Parameters
    ----------
    block : Block
        What to copy.
    values : mapping, optional
        What to put for values defined outside, or for the block's own parameters.
    """
    mapping: dict[Value, Value] = dict(values or {})
    return _clone(block, mapping)


def _clone(block: Block, mapping: dict[Value, Value]) -> Block:
    params = tuple(_fresh(param, mapping) for param in block.params)
    return Block(params, tuple(_clone_op(op, mapping) for op in block.ops))


def _fresh(value: Value, mapping: dict[Value, Value]) -> Value:
    if value not in mapping:
        mapping[value] = Value(value.type, value.hint)
    return mapping[value]


def _clone_op(op: Op, mapping: dict[Value, Value]) -> Op:
    changes: dict[str, Any] = {}
    for name, kind in fields_of(_class_of(op)):
        old = getattr(op, name)
        if kind is FieldKind.OPERAND:
            changes[name] = None if old is None else mapping.get(old, old)
        elif kind is FieldKind.OPERANDS:
            changes[name] = tuple(mapping.get(value, value) for value in old)
        elif kind is FieldKind.BLOCK:
            changes[name] = _clone(old, mapping)
    for name, kind in fields_of(_class_of(op)):
        old = getattr(op, name)
        if kind is FieldKind.RESULT:
            changes[name] = _fresh(old, mapping)
        elif kind is FieldKind.RESULTS:
            changes[name] = tuple(_fresh(value, mapping) for value in old)
    return dataclasses.replace(op, **changes)


def is_pure(op: Op) -> bool:
    """Return whether the operation only computes: no memory, no control, no other threads."""
    if isinstance(op, Call):
        return op.intrinsic.effect is Effect.NONE
    return (
        op.effect is Effect.NONE
        and not op.is_terminator
        and not isinstance(op, If | For | Loop | Scope)
    )
