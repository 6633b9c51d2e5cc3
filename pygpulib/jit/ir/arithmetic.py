"""What the arithmetic operations mean, on NumPy arrays.

The interpreter applies these functions to all lanes at once and constant folding to arrays of
one element, so that both agree to the bit. Operands are arrays of the operation's dtype; results
are new arrays. Nothing here warns.
"""

from __future__ import annotations

from typing import Any, Literal, assert_never

import numpy as np

from pygpulib.core.dtypes import DType, from_numpy
from pygpulib.jit.ir.ops import BinaryKind, CompareKind, UnaryKind
from pygpulib.jit.ir.small_floats import is_small, narrow

Lanes = np.ndarray[Any, np.dtype[Any]]
"""One value per lane."""

_QUIET = np.errstate(all="ignore")


@_QUIET
def apply_unary(kind: UnaryKind, x: Lanes) -> Lanes:
    """Apply a one-operand operation.

    Parameters
    ----------
    kind : UnaryKind
        The operation.
    x : ndarray
        The operand.
    """
    if is_small(x.dtype):
        return _round_like(x, apply_unary(kind, x.astype(np.float32)))
    match kind:
        case UnaryKind.NEGATE:
            return np.asarray(-x)
        case UnaryKind.NOT:
            return np.asarray(~x)
        case UnaryKind.ABSOLUTE:
            return np.asarray(np.abs(x))
        case _:
            assert_never(kind)


@_QUIET
def apply_compare(kind: CompareKind, x: Lanes, y: Lanes) -> Lanes:
    """Compare two operands.

    Parameters
    ----------
    kind : CompareKind
        The comparison.
    x, y : ndarray
        Operands of one dtype.
    """
    if is_small(x.dtype):
        x, y = x.astype(np.float32), y.astype(np.float32)
    match kind:
        case CompareKind.EQ:
            return np.asarray(x == y)
        case CompareKind.NE:
            return np.asarray(x != y)
        case CompareKind.LT:
            return np.asarray(x < y)
        case CompareKind.LE:
            return np.asarray(x <= y)
        case CompareKind.GT:
            return np.asarray(x > y)
        case CompareKind.GE:
            return np.asarray(x >= y)
        case _:
            assert_never(kind)


@_QUIET
def apply_binary(kind: BinaryKind, x: Lanes, y: Lanes) -> Lanes:
    """Apply a two-operand operation.

    Parameters
    ----------
    kind : BinaryKind
        The operation.
    x, y : ndarray
        Operands of one dtype.
    """
    if is_small(x.dtype):
        return _round_like(x, apply_binary(kind, x.astype(np.float32), y.astype(np.float32)))
    match kind:
        case BinaryKind.ADD:
            return np.asarray(x + y)
        case BinaryKind.SUBTRACT:
            return np.asarray(x - y)
        case BinaryKind.MULTIPLY:
            return np.asarray(x * y)
        case BinaryKind.DIVIDE:
            return np.asarray(x / y)
        case BinaryKind.MINIMUM | BinaryKind.MAXIMUM:
            return _extremum(kind, x, y)
        case BinaryKind.FLOOR_DIVIDE | BinaryKind.MODULO | BinaryKind.REMAINDER:
            return _divide_float(kind, x, y) if x.dtype.kind == "f" else _divide_int(kind, x, y)
        case _:
            return _apply_bits(kind, x, y)


def _round_like(x: Lanes, result: Lanes) -> Lanes:
    """Round what was computed as float32 to the small type of an operand."""
    return narrow(result, from_numpy(x.dtype))


def _apply_bits(
    kind: Literal[
        BinaryKind.AND,
        BinaryKind.OR,
        BinaryKind.XOR,
        BinaryKind.SHIFT_LEFT,
        BinaryKind.SHIFT_RIGHT,
    ],
    x: Lanes,
    y: Lanes,
) -> Lanes:
    match kind:
        case BinaryKind.AND:
            return np.asarray(x & y)
        case BinaryKind.OR:
            return np.asarray(x | y)
        case BinaryKind.XOR:
            return np.asarray(x ^ y)
        case BinaryKind.SHIFT_LEFT | BinaryKind.SHIFT_RIGHT:
            return _shift(kind, x, y)
        case _:
            assert_never(kind)


def _shift(kind: BinaryKind, x: Lanes, count: Lanes) -> Lanes:
    bits = x.dtype.itemsize * 8
    is_counted = (count >= 0) & (count < bits)
    safe = np.where(is_counted, count, 0).astype(x.dtype)
    if kind is BinaryKind.SHIFT_LEFT:
        return np.where(is_counted, np.left_shift(x, safe), 0).astype(x.dtype)
    emptied = np.where(x < 0, -1, 0).astype(x.dtype) if x.dtype.kind == "i" else np.zeros_like(x)
    return np.where(is_counted, np.right_shift(x, safe), emptied)


def _extremum(kind: BinaryKind, x: Lanes, y: Lanes) -> Lanes:
    is_second = y < x if kind is BinaryKind.MINIMUM else y > x
    if x.dtype.kind == "f":
        is_second |= np.isnan(x)
    return np.where(is_second, y, x)


def _divide_int(kind: BinaryKind, x: Lanes, y: Lanes) -> Lanes:
    is_zero = y == 0
    is_minus_one = y == -1 if y.dtype.kind == "i" else np.zeros_like(is_zero)
    divisor = np.where(is_zero | is_minus_one, 1, y).astype(y.dtype)
    if kind is BinaryKind.FLOOR_DIVIDE:
        quotient = np.where(is_minus_one, np.negative(x), np.floor_divide(x, divisor))
        return np.where(is_zero, 0, quotient).astype(x.dtype)
    # A remainder by 0 is 0 because one by 1 is.
    return np.asarray(np.mod(x, divisor) if kind is BinaryKind.MODULO else np.fmod(x, divisor))


def _divide_float(kind: BinaryKind, x: Lanes, y: Lanes) -> Lanes:
    """Compute through fmod as CPython does; every step is rounded to the dtype."""
    remainder = np.fmod(x, y)
    if kind is BinaryKind.REMAINDER:
        return np.asarray(remainder)
    is_adjusted = (remainder != 0) & ((y < 0) != (remainder < 0))
    if kind is BinaryKind.MODULO:
        modulo = np.where(is_adjusted, remainder + y, remainder)
        return np.where(remainder == 0, np.copysign(x.dtype.type(0), y), modulo)
    one, half = x.dtype.type(1), x.dtype.type(0.5)
    quotient = (x - remainder) / y
    quotient = np.where(is_adjusted, quotient - one, quotient)
    floored = np.floor(quotient)
    floored = np.where(quotient - floored > half, floored + one, floored)
    zero = np.copysign(x.dtype.type(0), x / y)
    return np.where(y == 0, np.floor(x / y), np.where(quotient == 0, zero, floored))


@_QUIET
def apply_cast(x: Lanes, dtype: DType) -> Lanes:
    """Convert to a dtype.

    Parameters
    ----------
    x : ndarray
        The operand.
    dtype : DType
        The type of the result.
    """
    if dtype.is_small:
        return narrow(x, dtype)
    if is_small(x.dtype):
        x = x.astype(np.float32)
    if dtype.is_bool:
        return np.asarray(x != 0)
    if x.dtype.kind != "f" or dtype.is_float:
        return x.astype(dtype.numpy)
    wide = _saturate(x, np.int64)
    if dtype.name == "uint64":
        return np.where(x >= 2.0**63, _saturate(x, np.uint64), wide.astype(np.uint64))
    return wide.astype(dtype.numpy)


def _saturate(x: Lanes, target: type[np.integer[Any]]) -> Lanes:
    """Truncate toward zero into an 8-byte integer; nan gives 0."""
    limits = np.iinfo(target)
    # Neither largest integer is a float: comparing with the power of two above it is exact.
    wide = x.astype(np.float64)
    above = wide >= float(limits.max)
    below = wide < float(limits.min)
    inside = np.where(above | below | np.isnan(wide), 0, wide).astype(target)
    return np.where(above, limits.max, np.where(below, limits.min, inside)).astype(target)


def apply_bitcast(x: Lanes, dtype: np.dtype[Any]) -> Lanes:
    """Read the bits as another dtype of the same size.

    Parameters
    ----------
    x : ndarray
        The operand.
    dtype : numpy.dtype
        The type of the result.
    """
    return np.ascontiguousarray(x).view(dtype)


@_QUIET
def constant(value: bool | float, dtype: DType, count: int = 1) -> Lanes:
    """Return a constant in every lane; a float is rounded to the dtype.

    Parameters
    ----------
    value : bool, int or float
        In the range of the dtype.
    dtype : DType
        The type of the result.
    count : int
        How many lanes.
    """
    if dtype.is_small:
        return narrow(np.full(count, value, np.float64), dtype)
    return np.full(count, value, dtype.numpy)
