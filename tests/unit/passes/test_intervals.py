"""Interval arithmetic holds for every member, and is tight where that is easy."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given, settings

from pygpulib.core import dtypes
from pygpulib.jit.ir.arithmetic import apply_binary, apply_cast, apply_compare, apply_unary
from pygpulib.jit.ir.ops import BinaryKind, CompareKind, UnaryKind
from pygpulib.jit.passes.intervals import (
    Interval,
    binary_interval,
    cast_interval,
    compare_interval,
    fit,
    range_of_type,
    unary_interval,
)

INTEGERS = [row for row in dtypes.ALL_DTYPES if row.is_integer]
INTEGER_KINDS = [kind for kind in BinaryKind if kind is not BinaryKind.DIVIDE]
BOOL_KINDS = [BinaryKind.AND, BinaryKind.OR, BinaryKind.XOR]


@st.composite
def intervals(draw, dtype):
    whole = range_of_type(dtype)
    edges = st.sampled_from([whole.low, whole.high, 0, 1, whole.low // 2, whole.high // 2])
    number = st.one_of(st.integers(whole.low, whole.high), st.integers(-9, 9), edges)
    bounds = sorted(min(max(draw(number), whole.low), whole.high) for _ in range(2))
    return Interval(*bounds)


@st.composite
def members(draw, interval, dtype):
    """Some numbers inside, the bounds and those next to zero among them."""
    inner = draw(st.lists(st.integers(*interval), max_size=6))
    special = [n for n in (-1, 0, 1) if interval.low <= n <= interval.high]
    return np.array([*interval, *special, *inner], dtype.numpy)


def check(results, interval):
    assert all(interval.low <= int(number) <= interval.high for number in results.ravel())


@given(st.data(), st.sampled_from(INTEGERS), st.sampled_from(INTEGER_KINDS))
@settings(max_examples=300, deadline=None)
def test_binary_operations(data, dtype, kind):
    x, y = data.draw(intervals(dtype)), data.draw(intervals(dtype))
    left = data.draw(members(x, dtype))[:, None]
    right = data.draw(members(y, dtype))[None, :]
    left, right = np.broadcast_arrays(left, right)
    check(apply_binary(kind, left.copy(), right.copy()), binary_interval(kind, x, y, dtype))


@given(st.data(), st.sampled_from(INTEGERS), st.sampled_from(list(UnaryKind)))
@settings(max_examples=80, deadline=None)
def test_unary_operations(data, dtype, kind):
    x = data.draw(intervals(dtype))
    check(apply_unary(kind, data.draw(members(x, dtype))), unary_interval(kind, x, dtype))


@given(st.data(), st.sampled_from(INTEGERS), st.sampled_from([*INTEGERS, dtypes.bool_]))
@settings(max_examples=100, deadline=None)
def test_casts(data, source, target):
    x = data.draw(intervals(source))
    check(apply_cast(data.draw(members(x, source)), target), cast_interval(x, target))


@given(st.data(), st.sampled_from(INTEGERS), st.sampled_from(list(CompareKind)))
@settings(max_examples=100, deadline=None)
def test_comparisons(data, dtype, kind):
    x, y = data.draw(intervals(dtype)), data.draw(intervals(dtype))
    left = data.draw(members(x, dtype))[:, None]
    right = data.draw(members(y, dtype))[None, :]
    check(apply_compare(kind, left, right), compare_interval(kind, x, y))


@pytest.mark.parametrize("kind", BOOL_KINDS)
def test_truth_values(kind):
    options = [Interval(0, 0), Interval(1, 1), Interval(0, 1)]
    for x in options:
        for y in options:
            lanes = [(a, b) for a in range(x.low, x.high + 1) for b in range(y.low, y.high + 1)]
            left, right = (np.array(column, np.bool_) for column in zip(*lanes, strict=True))
            found = binary_interval(kind, x, y, dtypes.bool_)
            check(apply_binary(kind, left, right), found)
            assert found.is_inside(Interval(0, 1))
    assert unary_interval(UnaryKind.NOT, Interval(1, 1), dtypes.bool_) == (0, 0)


@pytest.mark.parametrize(
    ("kind", "x", "y", "expected"),
    [
        (BinaryKind.ADD, (0, 255), (-1, 1), (-1, 256)),
        (BinaryKind.SUBTRACT, (0, 255), (0, 255), (-255, 255)),
        (BinaryKind.MULTIPLY, (-2, 3), (-5, 7), (-15, 21)),
        (BinaryKind.FLOOR_DIVIDE, (-7, 7), (2, 2), (-4, 3)),
        (BinaryKind.FLOOR_DIVIDE, (8, 8), (-1, 1), (-8, 8)),
        (BinaryKind.MODULO, (-100, 100), (10, 10), (0, 9)),
        (BinaryKind.MODULO, (3, 4), (10, 20), (3, 4)),
        (BinaryKind.REMAINDER, (-100, 5), (10, 10), (-9, 5)),
        (BinaryKind.AND, (-(1 << 40), 1 << 40), (255, 255), (0, 255)),
        (BinaryKind.OR, (0, 5), (8, 8), (8, 15)),
        (BinaryKind.XOR, (0, 5), (0, 9), (0, 15)),
        (BinaryKind.SHIFT_LEFT, (-1, 3), (0, 4), (-16, 48)),
        (BinaryKind.SHIFT_RIGHT, (-9, 1000), (3, 3), (-2, 125)),
        (BinaryKind.SHIFT_RIGHT, (-9, 1000), (-1, 70), (-9, 1000)),
        (BinaryKind.MINIMUM, (-4, 9), (0, 3), (-4, 3)),
        (BinaryKind.MAXIMUM, (-4, 9), (0, 3), (0, 9)),
    ],
)
def test_results_are_tight(kind, x, y, expected):
    assert binary_interval(kind, Interval(*x), Interval(*y), dtypes.int64) == expected


def test_what_may_wrap_is_the_whole_range():
    top = (1 << 31) - 1
    whole = Interval(-top - 1, top)
    assert binary_interval(BinaryKind.ADD, Interval(0, top), Interval(1, 1), dtypes.int32) == whole
    assert fit(Interval(0, 256), dtypes.uint8) == (0, 255)
    assert unary_interval(UnaryKind.NEGATE, whole, dtypes.int32) == whole
    assert unary_interval(UnaryKind.ABSOLUTE, Interval(-top, top), dtypes.int32) == (0, top)


def test_intervals_join_and_meet():
    assert Interval(0, 3).join(Interval(7, 9)) == (0, 9)
    assert Interval(0, 3).meet(Interval(2, 9)) == (2, 3)
    assert Interval(0, 3).meet(Interval(4, 9)) is None
    assert (Interval(4, 4).single, Interval(4, 5).single) == (4, None)
    assert range_of_type(dtypes.float32) is None
