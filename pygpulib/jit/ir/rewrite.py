"""Generic walking and rebuilding, derived from the field kinds of the operations."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache, partial
from operator import attrgetter
from typing import Any, cast

from pygpulib._record import fields, replace
from pygpulib.jit.ir.ops import (
    Binary,
    BinaryKind,
    Block,
    Call,
    Const,
    ConstantData,
    Effect,
    For,
    Function,
    If,
    Loop,
    Op,
    Scope,
    Undefined,
    Value,
)


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


def _class_of(op: Op) -> Hashable:
    return cast("Hashable", type(op))


@cache
def fields_of(op_class: type[Any]) -> tuple[tuple[str, FieldKind], ...]:
    """Return the fields of an operation class and their kinds, without the span."""
    kinds = []
    for field in fields(op_class):
        if field.name == "span":
            continue
        if field.name == "result":
            kind = FieldKind.RESULT
        elif field.name == "results":
            kind = FieldKind.RESULTS
        else:
            kind = _BY_ANNOTATION.get(field.annotation, FieldKind.ATTRIBUTE)
        kinds.append((field.name, kind))
    return tuple(kinds)


@cache
def _names(
    op_class: type[Any], single: FieldKind, several: FieldKind
) -> tuple[tuple[str, bool], ...]:
    return tuple(
        (name, kind is several)
        for name, kind in fields_of(cast("Hashable", op_class))
        if kind is single or kind is several
    )


Reader = Callable[[Any], tuple[Value, ...]]


class _Readers(dict[type[Any], Reader]):
    """By class of operation: what reads the values of one kind. Read often, so made to measure."""

    def __init__(self, single: FieldKind, several: FieldKind) -> None:
        self.kinds = (single, several)

    def __missing__(self, op_class: type[Any]) -> Reader:
        names = _names(cast("Hashable", op_class), *self.kinds)
        self[op_class] = reader = self._make(op_class, names)
        return reader

    def _make(self, op_class: type[Any], names: tuple[tuple[str, bool], ...]) -> Reader:
        optional = {f.name for f in fields(op_class) if "None" in f.annotation}
        is_plain = optional.isdisjoint(name for name, _ in names)
        get: Any = attrgetter(*(name for name, _ in names)) if names else None
        match [is_several for _, is_several in names]:
            case []:
                return lambda _: ()
            case [True]:
                return cast("Reader", get)
            case [False] if is_plain:
                return lambda op: (get(op),)
            case kinds if is_plain and not any(kinds):
                return cast("Reader", get)
            case _:
                return partial(_collect, names)


def _collect(names: tuple[tuple[str, bool], ...], op: Op) -> tuple[Value, ...]:
    found: list[Value] = []
    for name, is_several in names:
        value = getattr(op, name)
        if is_several:
            found.extend(value)
        elif value is not None:
            found.append(value)
    return tuple(found)


_OPERANDS = _Readers(FieldKind.OPERAND, FieldKind.OPERANDS)
_RESULTS = _Readers(FieldKind.RESULT, FieldKind.RESULTS)


def operands_of(op: Op) -> tuple[Value, ...]:
    """Return the values that the operation itself reads (not those read in nested blocks)."""
    return _OPERANDS[op.__class__](op)


def results_of(op: Op) -> tuple[Value, ...]:
    """Return the values that the operation defines."""
    return _RESULTS[op.__class__](op)


class _BlockNames(dict[type[Any], tuple[str, ...]]):
    """By class of operation: the names of the fields that are blocks."""

    def __missing__(self, op_class: type[Any]) -> tuple[str, ...]:
        fields = fields_of(cast("Hashable", op_class))
        self[op_class] = names = tuple(name for name, kind in fields if kind is FieldKind.BLOCK)
        return names


_BLOCK_NAMES = _BlockNames()


def blocks_of(op: Op) -> tuple[Block, ...]:
    """Return the nested blocks."""
    names = _BLOCK_NAMES[op.__class__]
    return tuple(getattr(op, name) for name in names) if names else ()


def walk(block: Block) -> Iterator[Op]:
    """Yield every operation of a block and of its nested blocks, outer ones first."""
    for op in block.ops:
        yield op
        for nested in blocks_of(op):
            yield from walk(nested)


def replace_values(op: Op, values: Mapping[Value, Value]) -> Op:
    """Return the operation with operands exchanged; nested blocks are left alone."""
    for operand in operands_of(op):
        if operand in values:
            break
    else:
        return op
    changes: dict[str, Any] = {}
    for name, is_several in _names(_class_of(op), FieldKind.OPERAND, FieldKind.OPERANDS):
        old = getattr(op, name)
        if is_several:
            changes[name] = tuple(values.get(value, value) for value in old)
        elif old is not None and old in values:
            changes[name] = values[old]
    return replace(op, **changes)


def replace_blocks(op: Op, transform: Callable[[Block], Block]) -> Op:
    """Return the operation with each nested block transformed."""
    changes: dict[str, Any] = {}
    for name in _BLOCK_NAMES[op.__class__]:
        old = getattr(op, name)
        new = transform(old)
        if new is not old:
            changes[name] = new
    return replace(op, **changes) if changes else op


def substitute(block: Block, values: Mapping[Value, Value]) -> Block:
    """Return the block with every use of the mapped values exchanged, nested blocks included."""
    changed = False
    ops: list[Op] = []
    for op in block.ops:
        new = replace_blocks(replace_values(op, values), lambda nested: substitute(nested, values))
        changed = changed or new is not op
        ops.append(new)
    return Block(block.params, tuple(ops)) if changed else block


Transform = Callable[[Op], "Sequence[Op] | None"]
"""What to put in an operation's place; None keeps it."""


def rebuild(block: Block, transform: Transform, values: dict[Value, Value]) -> Block:
    """Return the block with each operation exchanged for what ``transform`` gives.

    Operations come in the order of execution, nested blocks before the operation that holds
    them. ``transform`` sees operands and blocks that are already new. Where it drops a result, it
    enters what takes its place in ``values``.

    Parameters
    ----------
    block : Block
        What to rebuild; the same object is returned where nothing changed.
    transform : callable
        Called once for every operation.
    values : dict
        What to put for which value; ``transform`` may add to it.
    """
    changed = False
    ops: list[Op] = []
    for op in block.ops:
        new = replace_values(op, values) if values else op
        if _BLOCK_NAMES[op.__class__]:
            new = replace_blocks(new, lambda nested: rebuild(nested, transform, values))
        made = transform(new)
        if made is None:
            ops.append(new)
            changed = changed or new is not op
        else:
            ops.extend(made)
            changed = True
    return Block(block.params, tuple(ops)) if changed else block


def rebuild_function(
    function: Function, transform: Transform, values: dict[Value, Value] | None = None
) -> Function:
    """Return the function with its body rebuilt, see :func:`rebuild`."""
    body = rebuild(function.body, transform, {} if values is None else values)
    return function if body is function.body else replace(function, body=body)


def transform_program(function: Function, transform: Callable[[Function], Function]) -> Function:
    """Return the function with itself and the functions that it calls transformed."""
    new = transform(function)
    callees = tuple([transform(callee) for callee in function.callees])
    if all(a is b for a, b in zip(callees, function.callees, strict=True)):
        return new
    return replace(new, callees=callees)


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
    return replace(op, **changes)


def is_pure(op: Op) -> bool:
    """Return whether the operation only computes: no memory, no control, no other threads."""
    if isinstance(op, Call):
        return op.intrinsic.effect is Effect.NONE
    return (
        op.effect is Effect.NONE
        and not op.is_terminator
        and not isinstance(op, If | For | Loop | Scope)
    )


_COMMUTATIVE = frozenset(
    {
        BinaryKind.ADD,
        BinaryKind.MULTIPLY,
        BinaryKind.AND,
        BinaryKind.OR,
        BinaryKind.XOR,
    }
)


def expression_key(op: Op, values: Mapping[Value, Value] | None = None) -> Hashable | None:
    """Return what two operations have in common exactly if they compute the same.

    Parameters
    ----------
    op : Op
        A pure operation.
    values : mapping, optional
        Values to read in place of the operands.

    Returns
    -------
    hashable or None
        None for operations that are never the same as another.
    """
    match op:
        case Undefined() | ConstantData():
            return None
        case Const(result, value):
            # 0.0 and -0.0 are equal but not the same; so are True and 1.
            return (Const, result.type, repr(value))
        case Binary(kind, left, right, _, strict):
            if values:
                left, right = values.get(left, left), values.get(right, right)
            if kind in _COMMUTATIVE and id(left) > id(right):
                left, right = right, left
            return (kind, left, right, strict)
        case _:
            operands = operands_of(op)
            if values:
                operands = tuple(values.get(value, value) for value in operands)
            attributes = tuple(
                getattr(op, name)
                for name, kind in fields_of(_class_of(op))
                if kind is FieldKind.ATTRIBUTE
            )
            types = tuple(value.type for value in results_of(op))
            return (_class_of(op), operands, attributes, types)
