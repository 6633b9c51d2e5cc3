"""Logic, shifts and fields of bits."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fakecuda.ptx.faults import UnsupportedPtx
from tests.fakecuda.ptx.opcodes.table import Pure, pure
from tests.fakecuda.ptx.syntax import Immediate, Instruction
from tests.fakecuda.ptx.types import U32, unsigned

_LOGIC = {"and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor, "not": np.invert}


@pure(*_LOGIC)
def logic(instruction: Instruction) -> Pure:
    kind = instruction.type
    count = 1 if instruction.opcode == "not" else 2
    return Pure(_LOGIC[instruction.opcode], (kind,) * count, (kind,))


@pure("cnot")
def logical_not(instruction: Instruction) -> Pure:
    kind = instruction.type
    return Pure(lambda a: (a == 0).astype(kind.dtype), (kind,), (kind,))


@pure("lop3")
def any_logic_of_three(instruction: Instruction) -> Pure:
    """lop3: bit number 4a + 2b + c of the table is the result."""
    table = instruction.operands[4]
    if not isinstance(table, Immediate) or instruction.choose("and", "or"):
        raise UnsupportedPtx(f"line {instruction.line}: {instruction.text}")

    def function(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        result = np.zeros_like(a | b | c)
        for row in range(8):
            if table.value >> row & 1:
                result |= (a if row & 4 else ~a) & (b if row & 2 else ~b) & (c if row & 1 else ~c)
        return result

    return Pure(function, (U32, U32, U32), (U32,))


# --------------------------------------------------------------------------------- shifts


def shift_left(a: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Shift; counts beyond the width give 0."""
    bits = a.dtype.itemsize * 8
    moved = a << np.minimum(count, np.uint32(bits - 1)).astype(a.dtype)
    return np.where(count >= bits, a.dtype.type(0), moved)


def shift_right(a: np.ndarray, count: np.ndarray) -> np.ndarray:
    """Shift; counts beyond the width give 0 or, for signed values, copies of the sign."""
    bits = a.dtype.itemsize * 8
    moved = a >> np.minimum(count, np.uint32(bits - 1)).astype(a.dtype)
    return moved if a.dtype.kind == "i" else np.where(count >= bits, a.dtype.type(0), moved)


@pure("shl")
def left(instruction: Instruction) -> Pure:
    kind = unsigned(instruction.type.size)
    return Pure(shift_left, (kind, U32), (kind,))


@pure("shr")
def right(instruction: Instruction) -> Pure:
    kind = instruction.type
    return Pure(shift_right, (kind, U32), (kind,))


@pure("shf")
def funnel(instruction: Instruction) -> Pure:
    """shf: shift the 64 bits b:a and take the upper (.l) or lower (.r) half."""
    wrap = "wrap" in instruction.modifiers
    is_left = "l" in instruction.modifiers

    def function(low: np.ndarray, high: np.ndarray, count: np.ndarray) -> np.ndarray:
        amount = count & np.uint32(31) if wrap else np.minimum(count, np.uint32(32))
        amount = amount.astype(np.uint64)
        both = (high.astype(np.uint64) << np.uint64(32)) | low
        moved = (both << amount) >> np.uint64(32) if is_left else both >> amount
        return moved.astype(np.uint32)

    return Pure(function, (U32, U32, U32), (U32,))


# --------------------------------------------------------------------------------- counting


def reversed_bits(a: np.ndarray) -> np.ndarray:
    """Reverse the order of the bits."""
    bits = a.dtype.itemsize * 8
    kind = a.dtype.type
    every = (1 << bits) - 1
    width = bits // 2
    while width:
        mask = kind(every // ((1 << width) + 1))  # `width` ones, `width` zeros, ...
        a = ((a >> kind(width)) & mask) | ((a & mask) << kind(width))
        width //= 2
    return a


def highest_bit(a: np.ndarray) -> np.ndarray:
    """Return the position of the highest set bit of unsigned values, -1 if there is none."""
    position = np.full(a.shape, -1, np.int32)
    rest = a.astype(np.uint64)
    for width in (32, 16, 8, 4, 2, 1):
        large = rest >> np.uint64(width) != 0
        position = np.where(large, position + width, position)
        rest = np.where(large, rest >> np.uint64(width), rest)
    return np.where(a == 0, -1, position + 1).astype(np.int32)


@pure("popc")
def count_ones(instruction: Instruction) -> Pure:
    kind = unsigned(instruction.type.size)
    return Pure(lambda a: np.bitwise_count(a).astype(np.uint32), (kind,), (U32,))


@pure("clz")
def count_leading_zeros(instruction: Instruction) -> Pure:
    kind = unsigned(instruction.type.size)
    top = kind.bits - 1
    return Pure(lambda a: (top - highest_bit(a)).astype(np.uint32), (kind,), (U32,))


@pure("brev")
def reverse(instruction: Instruction) -> Pure:
    kind = unsigned(instruction.type.size)
    return Pure(reversed_bits, (kind,), (kind,))


@pure("bfind")
def find_highest(instruction: Instruction) -> Pure:
    """bfind: the highest bit that is not a copy of the sign."""
    kind = instruction.type
    shift = "shiftamt" in instruction.modifiers

    def function(a: np.ndarray) -> np.ndarray:
        if kind.is_signed:
            a = np.where(a < 0, ~a, a)
        position = highest_bit(a.view(kind.raw))
        if shift:
            position = np.where(position < 0, -1, kind.bits - 1 - position).astype(np.int32)
        return position.view(np.uint32)

    return Pure(function, (kind,), (U32,))


@pure("fns")
def find_nth_set(instruction: Instruction) -> Pure:
    """fns: the n-th set bit from a base, upwards for n > 0, downwards for n < 0."""

    def one(mask: int, base: int, offset: int) -> int:
        if offset == 0:
            return base if mask >> base & 1 else 0xFFFFFFFF
        places = range(base, 32) if offset > 0 else range(base, -1, -1)
        found = [place for place in places if mask >> place & 1]
        return found[abs(offset) - 1] if len(found) >= abs(offset) else 0xFFFFFFFF

    def function(mask: np.ndarray, base: np.ndarray, offset: np.ndarray) -> np.ndarray:
        triples = np.broadcast(mask, base, offset.view(np.int32))
        return np.array([one(int(m), int(b) & 31, int(o)) for m, b, o in triples], np.uint32)

    return Pure(function, (U32, U32, U32), (U32,))


# --------------------------------------------------------------------------------- fields


def low_ones(length: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Return values whose lowest `length` bits are set."""
    return ~shift_left(np.full(1, -1 % (1 << dtype.itemsize * 8), dtype), length)


@pure("bfe")
def extract_field(instruction: Instruction) -> Pure:
    """bfe: `length` bits from `position`; beyond the top, signed values repeat their sign."""
    kind = instruction.type
    raw = unsigned(kind.size)

    def function(a: np.ndarray, position: np.ndarray, length: np.ndarray) -> np.ndarray:
        position, length = position & np.uint32(255), length & np.uint32(255)
        mask = low_ones(length, raw.dtype)
        field = shift_right(a.view(raw.dtype), position) & mask
        if not kind.is_signed:
            return field
        end = np.minimum(position + length, np.uint32(kind.bits)) - np.uint32(1)
        negative = (shift_right(a.view(raw.dtype), end) & raw.dtype.type(1) != 0) & (length > 0)
        # What the field lacks in bits is filled up with the sign.
        room = np.uint32(kind.bits) - np.minimum(position, np.uint32(kind.bits))
        fill = ~low_ones(np.minimum(length, room), raw.dtype)
        return np.where(negative, field | fill, field)

    return Pure(function, (kind, U32, U32), (raw,))


@pure("bfi")
def insert_field(instruction: Instruction) -> Pure:
    """bfi f, a, b, position, length: the low bits of a in b."""
    kind = unsigned(instruction.type.size)

    def function(a: np.ndarray, b: np.ndarray, start: np.ndarray, size: np.ndarray) -> np.ndarray:
        start, size = start & np.uint32(255), size & np.uint32(255)
        mask = shift_left(low_ones(size, kind.dtype), start)
        return (b & ~mask) | (shift_left(a, start) & mask)

    return Pure(function, (kind, kind, U32, U32), (kind,))


@pure("bmsk")
def field_mask(instruction: Instruction) -> Pure:
    """bmsk: ones from a position on."""
    wrap = "wrap" in instruction.modifiers

    def function(start: np.ndarray, size: np.ndarray) -> np.ndarray:
        if wrap:
            start, size = start & np.uint32(31), size & np.uint32(31)
        return shift_left(low_ones(size, U32.dtype), start)

    return Pure(function, (U32, U32), (U32,))


@pure("szext")
def extend_from(instruction: Instruction) -> Pure:
    """szext: extend the lowest bits by zeros or their sign."""
    kind = instruction.type
    wrap = "wrap" in instruction.modifiers

    def function(a: np.ndarray, size: np.ndarray) -> np.ndarray:
        size = size & np.uint32(31) if wrap else np.minimum(size, np.uint32(32))
        unused = np.uint32(32) - size
        return shift_right(shift_left(a, unused), unused)

    return Pure(function, (kind, U32), (kind,))


# --------------------------------------------------------------------------------- bytes

_PERMUTATIONS: dict[str, Callable[[int], list[int]]] = {
    "f4e": lambda n: [n, n + 1, n + 2, n + 3],
    "b4e": lambda n: [n, (n - 1) % 8, (n - 2) % 8, (n - 3) % 8],
    "rc8": lambda n: [n] * 4,
    "ecl": lambda n: [max(n, place) for place in range(4)],
    "ecr": lambda n: [min(n, place) for place in range(4)],
    "rc16": lambda n: [2 * (n & 1), 2 * (n & 1) + 1] * 2,
}


@pure("prmt")
def permute_bytes(instruction: Instruction) -> Pure:
    """prmt: four of the eight bytes b:a; bit 3 of a selector repeats the byte's sign."""
    mode = instruction.choose(*_PERMUTATIONS)

    def function(a: np.ndarray, b: np.ndarray, selector: np.ndarray) -> np.ndarray:
        both = (b.astype(np.uint64) << np.uint64(32)) | a
        result = np.zeros_like(a | b | selector)
        if mode is not None:
            rows = np.array([_PERMUTATIONS[mode](number) for number in range(4)], np.uint64)
            places = [rows[selector & np.uint32(3), place] for place in range(4)]
        else:
            places = [(selector >> np.uint32(4 * p) & np.uint32(15)).astype(np.uint64)
                      for p in range(4)]  # fmt: skip
        for place, chosen in enumerate(places):
            byte = both >> ((chosen & np.uint64(7)) * np.uint64(8)) & np.uint64(0xFF)
            signs = np.where(byte >> np.uint64(7) != 0, np.uint64(0xFF), np.uint64(0))
            byte = np.where(chosen & np.uint64(8) != 0, signs, byte)
            result = result | byte.astype(np.uint32) << np.uint32(8 * place)
        return result

    return Pure(function, (U32, U32, U32), (U32,))
