"""Arithmetic on integers; the opcodes that floats share are sorted out here."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fakecuda.ptx.opcodes import floating
from tests.fakecuda.ptx.opcodes.table import Pure, pure
from tests.fakecuda.ptx.syntax import Instruction
from tests.fakecuda.ptx.types import TYPES, U32, PtxType, unsigned

Function = Callable[..., np.ndarray]

# ---------------------------------------------------------------------------- add, sub, carries


def sum_with_carry(a: np.ndarray, b: np.ndarray, carry: np.ndarray | None) -> tuple:
    """Return a + b + carry and the carry out; the values are unsigned."""
    total = a + b
    out = total < a
    if carry is not None:
        more = total + carry.astype(a.dtype)
        out, total = out | (more < total), more
    return total, out


def difference_with_borrow(a: np.ndarray, b: np.ndarray, borrow: np.ndarray | None) -> tuple:
    """Return a - b - borrow and the borrow out; the values are unsigned."""
    rest = a - b
    out = a < b
    if borrow is not None:
        less = rest - borrow.astype(a.dtype)
        out, rest = out | (less > rest), less
    return rest, out


def _with_carry(instruction: Instruction, operation: Callable[..., tuple]) -> Pure:
    kind = unsigned(instruction.type.size)
    carry_in = instruction.opcode.endswith("c")

    def function(*values: np.ndarray) -> tuple:
        return operation(*values) if carry_in else operation(*values, None)

    return Pure(
        function, (kind, kind), (kind,), carry_in=carry_in, carry_out="cc" in instruction.modifiers
    )


def clamped(values: np.ndarray, kind: PtxType) -> np.ndarray:
    """Clamp wide integers to the range of a type."""
    limits = np.iinfo(kind.dtype)
    return np.clip(values, limits.min, limits.max).astype(kind.dtype)


@pure("add", "addc")
def addition(instruction: Instruction) -> Pure:
    if instruction.type.is_float:
        return floating.arithmetic(instruction)
    if instruction.opcode == "addc" or "cc" in instruction.modifiers:
        return _with_carry(instruction, sum_with_carry)
    return _plain(instruction, np.add)


@pure("sub", "subc")
def subtraction(instruction: Instruction) -> Pure:
    if instruction.type.is_float:
        return floating.arithmetic(instruction)
    if instruction.opcode == "subc" or "cc" in instruction.modifiers:
        return _with_carry(instruction, difference_with_borrow)
    return _plain(instruction, np.subtract)


def _plain(instruction: Instruction, function: Function) -> Pure:
    kind = instruction.type
    if "sat" in instruction.modifiers:  # only of s32
        exact = function

        def function(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return clamped(exact(a.astype(np.int64), b.astype(np.int64)), kind)

    return Pure(function, (kind, kind), (kind,))


# -------------------------------------------------------------------------------- products


def high_part(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the upper half of the products."""
    bits = a.dtype.itemsize * 8
    if bits < 64:
        wide = np.dtype(f"{a.dtype.kind}{bits // 4}")
        return ((a.astype(wide) * b.astype(wide)) >> wide.type(bits)).astype(a.dtype)
    x, y = a.view(np.uint64), b.view(np.uint64)
    half, low = np.uint64(32), np.uint64(0xFFFFFFFF)
    x1, x0, y1, y0 = x >> half, x & low, y >> half, y & low
    middle = x1 * y0 + (x0 * y0 >> half)
    other = x0 * y1 + (middle & low)
    high = x1 * y1 + (middle >> half) + (other >> half)
    if a.dtype.kind == "i":
        high = high - np.where(a < 0, y, np.uint64(0)) - np.where(b < 0, x, np.uint64(0))
    return high.view(a.dtype)


def wide_product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return products of twice the size."""
    wide = np.dtype(f"{a.dtype.kind}{a.dtype.itemsize * 2}")
    return a.astype(wide) * b.astype(wide)


_PRODUCTS: dict[str, Function] = {"lo": np.multiply, "hi": high_part, "wide": wide_product}


def _product(instruction: Instruction) -> tuple[Function, PtxType]:
    """Return the function of .lo, .hi or .wide and its result's type."""
    kind = instruction.type
    part = instruction.choose("lo", "hi", "wide") or "lo"
    if part != "wide":
        return _PRODUCTS[part], kind
    return wide_product, TYPES[f"{kind.name[0]}{2 * kind.bits}"]


@pure("mul")
def multiplication(instruction: Instruction) -> Pure:
    if instruction.type.is_float:
        return floating.arithmetic(instruction)
    function, result = _product(instruction)
    return Pure(function, (instruction.type,) * 2, (result,))


@pure("mad", "madc")
def multiply_add(instruction: Instruction) -> Pure:
    kind = instruction.type
    if kind.is_float:
        return floating.multiply_add(instruction)
    product, result = _product(instruction)
    if instruction.opcode == "madc" or "cc" in instruction.modifiers:
        return _multiply_add_with_carry(instruction, product, result)
    if "sat" in instruction.modifiers:

        def function(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
            return clamped(product(a, b).astype(np.int64) + c.astype(np.int64), kind)

    else:

        def function(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
            return product(a, b) + c

    return Pure(function, (kind, kind, result), (result,))


def _multiply_add_with_carry(instruction: Instruction, product: Function, kind: PtxType) -> Pure:
    raw = unsigned(kind.size)
    carry_in = instruction.opcode == "madc"

    def function(a: np.ndarray, b: np.ndarray, c: np.ndarray, *carry: np.ndarray) -> tuple:
        return sum_with_carry(product(a, b).view(raw.dtype), c, carry[0] if carry else None)

    return Pure(
        function,
        (instruction.type, instruction.type, raw),
        (raw,),
        carry_in=carry_in,
        carry_out="cc" in instruction.modifiers,
    )


@pure("mul24", "mad24")
def product_of_24_bits(instruction: Instruction) -> Pure:
    kind = instruction.type
    high = "hi" in instruction.modifiers
    unused = kind.dtype.type(8)

    def product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        wide = wide_product((a << unused) >> unused, (b << unused) >> unused)
        return (wide >> wide.dtype.type(16 if high else 0)).astype(kind.dtype)

    if instruction.opcode == "mul24":
        return Pure(product, (kind, kind), (kind,))
    return Pure(lambda a, b, c: product(a, b) + c, (kind, kind, kind), (kind,))


@pure("sad")
def sum_of_absolute_difference(instruction: Instruction) -> Pure:
    kind = instruction.type

    def function(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        return c + (np.maximum(a, b) - np.minimum(a, b))

    return Pure(function, (kind, kind, kind), (kind,))


@pure("dp4a")
def dot_product_of_bytes(instruction: Instruction) -> Pure:
    first, second = instruction.types[-2:]
    code = {True: "i1", False: "u1"}

    def function(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        a, b, c = np.broadcast_arrays(a, b, c)
        x = np.ascontiguousarray(a).view(code[first.is_signed]).reshape(-1, 4).astype(np.int64)
        y = np.ascontiguousarray(b).view(code[second.is_signed]).reshape(-1, 4).astype(np.int64)
        return ((x * y).sum(axis=1) + c).astype(np.uint32)

    accumulator = TYPES["s32"] if first.is_signed or second.is_signed else U32
    return Pure(function, (U32, U32, accumulator), (U32,))


# ------------------------------------------------------------------------ division, order


def quotient(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Divide towards zero; division by zero gives all ones, as the hardware does."""
    kind = a.dtype.type
    divisor = np.where(b == 0, kind(1), b)
    if a.dtype.kind == "u":
        return np.where(b == 0, ~kind(0), a // divisor)
    floor = a // divisor
    inexact = (a - floor * divisor != 0) & ((a < 0) != (divisor < 0))
    return np.where(b == 0, kind(-1), floor + inexact.astype(a.dtype))


def remainder(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the rest, with the sign of the dividend."""
    return np.where(b == 0, a, a - quotient(a, b) * b)


@pure("div")
def division(instruction: Instruction) -> Pure:
    kind = instruction.type
    return (
        floating.division(instruction) if kind.is_float else Pure(quotient, (kind, kind), (kind,))
    )


@pure("rem")
def rest(instruction: Instruction) -> Pure:
    kind = instruction.type
    return Pure(remainder, (kind, kind), (kind,))


@pure("neg")
def negation(instruction: Instruction) -> Pure:
    kind = instruction.type
    if kind.is_float or kind.name == "bf16":
        return floating.negate(instruction)
    return Pure(lambda a: kind.dtype.type(0) - a, (kind,), (kind,))


@pure("abs")
def absolute(instruction: Instruction) -> Pure:
    kind = instruction.type
    if kind.is_float or kind.name == "bf16":
        return floating.absolute(instruction)
    return Pure(np.abs, (kind,), (kind,))


@pure("min", "max")
def extremum(instruction: Instruction) -> Pure:
    kind = instruction.type
    if kind.is_float:
        return floating.extremum(instruction)
    function = np.minimum if instruction.opcode == "min" else np.maximum
    if "relu" in instruction.modifiers:
        return Pure(lambda a, b: np.maximum(function(a, b), 0), (kind, kind), (kind,))
    return Pure(function, (kind, kind), (kind,))
