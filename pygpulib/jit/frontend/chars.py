"""Strings of fixed length in memory: comparison, length, assignment."""

from __future__ import annotations

from pygpulib.jit.elements import TextLayout
from pygpulib.jit.frontend import comparisons, integers, places
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import Chars, Number, Object, Operand, Text
from pygpulib.jit.ir import ops as ir


def codes_of(operand: Operand, kind: str) -> list[int] | None:
    """Return the characters of a constant that compares with strings of a kind, else None."""
    match operand:
        case Text(text) if kind == "U":
            return [ord(character) for character in text]
        case Object(bytes() as text) if kind == "S":
            return list(text)
        case _:
            return None


def equal(ctx: Context, left: Operand, right: Operand) -> Number | None:
    """Return whether two operands, one of them a string in memory, are the same string.

    None where they cannot be compared. NUL characters at the end do not count, as in NumPy.
    """
    if not isinstance(left, Chars):
        return equal(ctx, right, left) if isinstance(right, Chars) else None
    kind = left.type.layout.kind
    if isinstance(right, Chars):
        if right.type.layout.kind != kind:
            return None
        length = max(left.type.layout.length, right.type.layout.length)
        others = [read(ctx, right, position) for position in range(length)]
    else:
        codes = codes_of(right, kind)
        if codes is None:
            return None
        while codes and codes[-1] == 0:
            codes.pop()
        length = left.type.layout.length
        if len(codes) > length:
            return comparisons.boolean(ctx, False)
        unit = left.type.layout.unit
        padded = codes + [0] * (length - len(codes))
        others = [ctx.builder.constant(code, unit) for code in padded]
    result = comparisons.boolean(ctx, True)
    for position, other in enumerate(others):
        own = read(ctx, left, position)
        same = ctx.builder.compare(ir.CompareKind.EQ, own, other)
        result = comparisons.both(ctx, result, Number(same))
    return result


def length(ctx: Context, operand: Chars) -> Number:
    """Return how many characters a string has; NUL characters at its end do not count."""
    result = integers.literal(ctx, 0)
    zero = ctx.builder.constant(0, operand.type.layout.unit)
    for position in range(operand.type.layout.length):
        is_set = ctx.builder.compare(ir.CompareKind.NE, read(ctx, operand, position), zero)
        so_far = integers.literal(ctx, position + 1)
        result = integers.choose(ctx, Number(is_set), so_far, result)
    ctx.nonnegative.add(result.value)
    return result


def assign(ctx: Context, layout: TextLayout, pointer: ir.Value, value: Operand) -> None:
    """Write a string to an address, cut or padded with NUL characters as NumPy does."""
    unit = layout.unit
    if isinstance(value, Chars):
        found = [read(ctx, value, position) for position in range(layout.length)]
    else:
        if isinstance(value, Text):
            codes = [ord(character) for character in value.text]
        else:
            assert isinstance(value, Object)
            assert isinstance(value.value, bytes)
            codes = list(value.value)
        padded = (codes + [0] * layout.length)[: layout.length]
        found = [ctx.builder.constant(code, unit) for code in padded]
    for position, character in enumerate(found):
        index = integers.literal(ctx, position).value
        place = places.Place(pointer, index, unit.size_bytes, is_aligned=not layout.packed)
        places.store_number(ctx, character, place)


def read(ctx: Context, operand: Chars, position: int) -> ir.Value:
    """Read a character; behind the end there are NUL characters."""
    layout = operand.type.layout
    if position >= layout.length:
        return ctx.builder.constant(0, layout.unit)
    index = integers.literal(ctx, position).value
    size = layout.unit.size_bytes
    place = places.Place(operand.pointer, index, size, is_aligned=not layout.packed)
    return places.load_number(ctx, layout.unit, place)
