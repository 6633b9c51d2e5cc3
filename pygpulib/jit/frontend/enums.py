"""Members of enumerations."""

from __future__ import annotations

import ast
from enum import Enum, Flag, IntFlag

from pygpulib.errors import KernelTypeError
from pygpulib.jit.frontend import comparisons, expressions, inference, integers, tuples
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import Member, Number, Object, Operand, Text, Tuple


def from_python(ctx: Context, value: Enum, name: str, node: ast.AST) -> Operand:
    """Return the operand of a member; combinations of flags are numbers, or known now only."""
    if isinstance(value, IntFlag):
        return expressions.from_python(ctx, int(value), name, node)
    if isinstance(value, Flag):
        return Object(value)
    members = list(type(value))
    return Member(type(value), integers.literal(ctx, members.index(value)))


def plain(ctx: Context, member: Member) -> Operand:
    """Return the number or string that a member is, where its class says so; else the member."""
    if issubclass(member.cls, int | float | str):
        return value_of(ctx, member, ast.Pass())
    return member


def value_of(ctx: Context, member: Member, node: ast.AST) -> Operand:
    """Return ``member.value``."""
    values = [one.value for one in member.cls]
    if member.position.literal is not None:
        value = values[int(member.position.literal)]
        return expressions.from_python(ctx, value, member.cls.__name__, node)
    items = tuple(
        expressions.from_python(ctx, value, member.cls.__name__, node) for value in values
    )
    return tuples.subscript(ctx, Tuple(items), member.position, node)


def attribute(ctx: Context, member: Member, name: str, node: ast.AST) -> Operand:
    """Return an attribute of a member: its value, or its name if it is known now."""
    if name == "value":
        return value_of(ctx, member, node)
    position = member.position.literal
    if name == "name" and position is not None:
        return Text(list(member.cls)[int(position)].name)
    ctx.fail(
        KernelTypeError,
        f"{inference.describe(member)} has no attribute {name!r} in kernels",
        node,
        help="it has value; name is available where the member is known to the compiler",
    )


def find(ctx: Context, cls: type[Enum], value: Operand, node: ast.AST) -> Member:
    """Return the member with a value: ``Color(1)``."""
    members = list(cls)
    if isinstance(value, Member) and value.cls is cls:
        return value
    known: object = None
    if isinstance(value, Text):
        known = value.text
    elif isinstance(value, Number):
        known = value.literal
    found = [position for position, one in enumerate(members) if one.value == known]
    if known is None or not found:
        ctx.fail(
            KernelTypeError,
            f"{cls.__name__} does not take {inference.describe(value)}"
            if known is None
            else f"{known!r} is not a valid {cls.__name__}",
            node,
            detail=f"its values are {', '.join(repr(one.value) for one in members)}",
            help="use a value that is a compile-time constant",
        )
    return Member(cls, integers.literal(ctx, found[0]))


def equal(ctx: Context, left: Member, right: Member) -> Number:
    """Return whether two members are the same."""
    if left.cls is not right.cls:
        return comparisons.boolean(ctx, False)
    return comparisons.numbers(ctx, ast.Eq, left.position, right.position)
