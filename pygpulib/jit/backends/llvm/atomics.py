"""What atomic operations leave in memory, computed from what they find there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir.ops import AtomicKind, BinaryKind, CompareKind

if TYPE_CHECKING:
    from pygpulib.jit.backends.llvm.arithmetic import Arithmetic

_BINARY = {
    AtomicKind.ADD: BinaryKind.ADD,
    AtomicKind.SUBTRACT: BinaryKind.SUBTRACT,
    AtomicKind.AND: BinaryKind.AND,
    AtomicKind.OR: BinaryKind.OR,
    AtomicKind.XOR: BinaryKind.XOR,
}
MINIMA = (AtomicKind.MINIMUM, AtomicKind.NAN_MINIMUM)
MAXIMA = (AtomicKind.MAXIMUM, AtomicKind.NAN_MAXIMUM)


_UNSIGNED = {
    dtype.size_bytes: dtype for dtype in (dtypes.uint8, dtypes.uint16, dtypes.uint32, dtypes.uint64)
}


def pattern_of(dtype: DType) -> DType:
    """Return the unsigned integers that hold the bits of a number."""
    return _UNSIGNED[dtype.size_bytes]


def combined(
    write: Arithmetic, kind: AtomicKind, dtype: DType, old: str, value: str, expected: str | None
) -> str:
    """Write what an operation on one element leaves in memory.

    Parameters
    ----------
    write : Arithmetic
        Writes the operations.
    kind : AtomicKind
        Which operation.
    dtype : DType
        Type of the element.
    old, value, expected : str
        What is in memory, the operand, and what an exchange compares with.
    """
    if kind in _BINARY:
        return write.binary(_BINARY[kind], dtype, 0, old, value, strict=True)
    if kind is AtomicKind.EXCHANGE:
        return value
    if kind is AtomicKind.COMPARE_EXCHANGE:
        assert expected is not None
        is_equal = write.compare(CompareKind.EQ, dtype, 0, old, expected)
        return write.select(dtype, 0, is_equal, value, old)
    zero, one = write.number(0, dtype, 0), write.number(1, dtype, 0)
    if kind is AtomicKind.INCREMENT:
        wraps = write.compare(CompareKind.GE, dtype, 0, old, value)
        raised = write.binary(BinaryKind.ADD, dtype, 0, old, one, strict=True)
        return write.select(dtype, 0, wraps, zero, raised)
    if kind is AtomicKind.DECREMENT:
        is_zero = write.compare(CompareKind.EQ, dtype, 0, old, zero)
        is_above = write.compare(CompareKind.GT, dtype, 0, old, value)
        wraps = write.code.emit(f"or i1 {is_zero}, {is_above}")
        lowered = write.binary(BinaryKind.SUBTRACT, dtype, 0, old, one, strict=True)
        return write.select(dtype, 0, wraps, value, lowered)
    return _extremum(write, kind, dtype, old, value)


def _extremum(write: Arithmetic, kind: AtomicKind, dtype: DType, old: str, value: str) -> str:
    comparison = CompareKind.LT if kind in MINIMA else CompareKind.GT
    is_beyond = write.compare(comparison, dtype, 0, value, old)
    if dtype.is_float and kind in (AtomicKind.NAN_MINIMUM, AtomicKind.NAN_MAXIMUM):
        # A nan in memory counts as missing, so any number replaces it.
        is_missing = write.compare(CompareKind.NE, dtype, 0, old, old)
        is_number = write.compare(CompareKind.EQ, dtype, 0, value, value)
        replaces = write.code.emit(f"and i1 {is_missing}, {is_number}")
        is_beyond = write.code.emit(f"or i1 {is_beyond}, {replaces}")
    return write.select(dtype, 0, is_beyond, value, old)
