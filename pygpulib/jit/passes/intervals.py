"""Intervals of integers, and what the operations of the IR do to them.

An interval is what is known of a value: it lies between two numbers. Bounds are Python integers;
a result that may wrap around becomes the whole range of its type. Truth values are 0 and 1.
"""

from __future__ import annotations

from typing import NamedTuple

from pygpulib.core.dtypes import ALL_DTYPES, DType
from pygpulib.jit.ir.ops import BinaryKind, CompareKind, Type, UnaryKind


class Interval(NamedTuple):
    """All integers from ``low`` to ``high``, both included; never empty."""

    low: int
    high: int

    def join(self, other: Interval) -> Interval:
        """Return the smallest interval that has both inside."""
        if self.low <= other.low and self.high >= other.high:
            return self
        return Interval(min(self.low, other.low), max(self.high, other.high))

    def meet(self, other: Interval) -> Interval | None:
        """Return what both have in common, or None."""
        low, high = max(self.low, other.low), min(self.high, other.high)
        return Interval(low, high) if low <= high else None

    def is_inside(self, other: Interval) -> bool:
        """Whether all numbers of this are in the other."""
        return other.low <= self.low and self.high <= other.high

    @property
    def single(self) -> int | None:
        """The one number inside, if there is only one."""
        return self.low if self.low == self.high else None


BOOLS = Interval(0, 1)
_FALSE, _TRUE = Interval(0, 0), Interval(1, 1)


def _range_of(dtype: DType) -> Interval:
    if dtype.is_bool:
        return BOOLS
    bits = dtype.bits
    return (
        Interval(-(1 << (bits - 1)), (1 << (bits - 1)) - 1)
        if dtype.is_signed
        else Interval(0, (1 << bits) - 1)
    )


_RANGES: dict[Type, Interval] = {
    dtype: _range_of(dtype) for dtype in ALL_DTYPES if dtype.is_bool or dtype.is_integer
}


def range_of_type(type_: Type) -> Interval | None:
    """Return the range of an integer type or bool; None for other types."""
    return _RANGES.get(type_)


def fit(interval: Interval, dtype: Type) -> Interval:
    """Return the interval, or the whole range of the type where results may have wrapped."""
    whole = _RANGES[dtype]
    return interval if interval.is_inside(whole) else whole


def cast_interval(x: Interval, target: Type) -> Interval:
    """Return the interval of an integer or truth value after a cast to such a type."""
    whole = _RANGES[target]
    if whole is BOOLS:
        if x.low > 0 or x.high < 0:
            return _TRUE
        return _FALSE if x.single == 0 else BOOLS
    return fit(x, target)


def unary_interval(kind: UnaryKind, x: Interval, dtype: DType) -> Interval:
    """Return the interval of a one-operand operation."""
    if kind is UnaryKind.NEGATE:
        return fit(Interval(-x.high, -x.low), dtype)
    if kind is UnaryKind.NOT:
        # ~x is -1 - x; without a sign, and for bool, that is the largest number less x.
        top = -1 if dtype.is_signed else _RANGES[dtype].high
        return Interval(top - x.high, top - x.low)
    if x.low >= 0:
        return x
    if x.high <= 0:
        return fit(Interval(-x.high, -x.low), dtype)
    return fit(Interval(0, max(-x.low, x.high)), dtype)


def compare_interval(kind: CompareKind, x: Interval, y: Interval) -> Interval:
    """Return whether a comparison holds always, never, or maybe."""
    match kind:
        case CompareKind.LT:
            return _decide(x.high < y.low, x.low >= y.high)
        case CompareKind.LE:
            return _decide(x.high <= y.low, x.low > y.high)
        case CompareKind.GT:
            return _decide(x.low > y.high, x.high <= y.low)
        case CompareKind.GE:
            return _decide(x.low >= y.high, x.high < y.low)
        case CompareKind.EQ:
            return _decide(x.low == x.high == y.low == y.high, x.meet(y) is None)
        case CompareKind.NE:
            return _decide(x.meet(y) is None, x.low == x.high == y.low == y.high)


def _decide(always: bool, never: bool) -> Interval:
    return _TRUE if always else _FALSE if never else BOOLS


def binary_interval(kind: BinaryKind, x: Interval, y: Interval, dtype: DType) -> Interval:
    """Return the interval of a two-operand operation on integers or truth values."""
    match kind:
        case BinaryKind.ADD:
            exact = Interval(x.low + y.low, x.high + y.high)
        case BinaryKind.SUBTRACT:
            exact = Interval(x.low - y.high, x.high - y.low)
        case BinaryKind.MULTIPLY:
            exact = _corners([a * b for a in x for b in y])
        case BinaryKind.MINIMUM:
            exact = Interval(min(x.low, y.low), min(x.high, y.high))
        case BinaryKind.MAXIMUM:
            exact = Interval(max(x.low, y.low), max(x.high, y.high))
        case BinaryKind.AND | BinaryKind.OR | BinaryKind.XOR:
            exact = _bitwise(kind, x, y)
        case BinaryKind.SHIFT_LEFT | BinaryKind.SHIFT_RIGHT:
            exact = _shift(kind, x, y, dtype.bits)
        case _:
            exact = _divide(kind, x, y)
    return fit(exact, dtype)


def _corners(values: list[int]) -> Interval:
    return Interval(min(values), max(values))


def _divide(kind: BinaryKind, x: Interval, y: Interval) -> Interval:
    if kind is BinaryKind.FLOOR_DIVIDE:
        # Monotonic in the dividend and, on either side of 0, in the divisor.
        divisors = [b for b in (*y, -1, 1) if b != 0 and y.low <= b <= y.high]
        by_zero = [0] if y.low <= 0 <= y.high else []
        return _corners([*(a // b for a in x for b in divisors), *by_zero])
    if kind is BinaryKind.MODULO:
        low, high = min(y.low + 1, 0), max(y.high - 1, 0)
        if y.low >= 0 and x.low >= 0:
            # Not more than the dividend, and just the dividend where it is below the divisor.
            return x if x.high < y.low else Interval(0, min(high, x.high))
        return Interval(low, high)
    largest = max(abs(y.low), abs(y.high), 1) - 1
    return Interval(max(-largest, min(x.low, 0)), min(largest, max(x.high, 0)))


def _bitwise(kind: BinaryKind, x: Interval, y: Interval) -> Interval:
    if x.low == x.high and y.low == y.high:
        a, b = x.low, y.low
        value = a & b if kind is BinaryKind.AND else a | b if kind is BinaryKind.OR else a ^ b
        return Interval(value, value)
    bits = max((a if a >= 0 else ~a).bit_length() for a in (*x, *y))
    low, high = -(1 << bits), (1 << bits) - 1
    if kind is BinaryKind.AND:
        if x.low >= 0 or y.low >= 0:
            return Interval(0, min(a.high for a in (x, y) if a.low >= 0))
        return Interval(low, high)
    if x.low >= 0 and y.low >= 0:
        return Interval(max(x.low, y.low) if kind is BinaryKind.OR else 0, high)
    return Interval(low, high)


def _shift(kind: BinaryKind, x: Interval, count: Interval, bits: int) -> Interval:
    is_counted = count.low >= 0 and count.high < bits
    if kind is BinaryKind.SHIFT_LEFT:
        if is_counted:
            return _corners([a << c for a in x for c in count])
        return Interval(0, 0) if x.single == 0 else Interval(-(1 << bits), 1 << bits)
    # A count outside the width empties the number like a very large one.
    counts = (max(count.low, 0), count.high if is_counted else bits)
    return _corners([a >> c for a in x for c in counts])
