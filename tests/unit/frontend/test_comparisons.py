"""Comparisons, membership, identity and truth."""

from __future__ import annotations

import enum
import math
import operator

import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from tests.helpers.evaluation import over, result_type, scalar
from tests.helpers.kernels import check

REALS = [dtype for dtype in dtypes.ALL_DTYPES if not dtype.is_complex]

BODIES = {
    operator.eq: lambda x, y: x == y,
    operator.ne: lambda x, y: x != y,
    operator.lt: lambda x, y: x < y,
    operator.le: lambda x, y: x <= y,
    operator.gt: lambda x, y: x > y,
    operator.ge: lambda x, y: x >= y,
}


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Level(enum.IntEnum):
    LOW = 3


def samples(dtype):
    if dtype.is_bool:
        values = [False, True]
    elif dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        values = [0, 1, 5, info.min, info.max, info.max - 1] + ([-1] if dtype.is_signed else [])
    else:
        values = [0.0, -0.0, 1.0, -1.0, 5.0, 2.5, math.inf, -math.inf, math.nan]
    return np.array(values, dtype.numpy)


@pytest.mark.parametrize("left", REALS, ids=str)
@pytest.mark.parametrize("compare", BODIES, ids=lambda compare: compare.__name__)
def test_numbers_compare_by_value(compare, left):
    for right in REALS:
        a, b = samples(left), samples(right)
        a, b = np.repeat(a, len(b)), np.tile(b, len(a))
        if left.is_float or right.is_float:
            common = np.promote_types(left.numpy, right.numpy)
            wanted = compare(a.astype(common), b.astype(common))
        else:
            wanted = [compare(int(x), int(y)) for x, y in zip(a, b, strict=True)]
        np.testing.assert_array_equal(over(BODIES[compare], a, b), wanted, err_msg=str(right))


def test_unsigned_64_bit_against_literals():
    a = np.array([0, 1, 2**63, 2**64 - 1], np.uint64)
    assert over(lambda x: x > -1, a).tolist() == [True] * 4
    assert over(lambda x: x <= -1, a).tolist() == [False] * 4
    assert over(lambda x: x < 5, a).tolist() == [True, True, False, False]
    assert over(lambda x: x == 2**63, a).tolist() == [False, False, True, False]


def test_values_that_wrapped_compare_by_value():
    a = np.array([2**63 + 5, 5], np.uint64)
    assert over(lambda x: np.int64(x) < x, a).tolist() == [True, False]
    assert over(lambda x: abs(np.int64(x)) * 2**62 < x, a).tolist() == [True, False]


def test_complex_numbers():
    a = np.array([1 + 2j, 1 + 2j, 1 - 2j, 0, math.nan])
    b = np.array([1 + 2j, 2 + 1j, 1 + 2j, 0, math.nan])
    np.testing.assert_array_equal(over(lambda x, y: x == y, a, b), a == b)
    np.testing.assert_array_equal(over(lambda x, y: x != y, a, b), a != b)
    np.testing.assert_array_equal(over(lambda x, y: x == y, a, b.real.copy()), a == b.real)
    with pytest.raises(KernelTypeError, match="< does not take complex numbers"):
        result_type(lambda x: x < 1, types.complex64)


def test_chains_evaluate_each_operand_once():
    def kernel(a, out):
        for i in range(4):
            out[i] = 0 <= a[i] < 3 != 2
            out[4 + i] = 0 < a[i] <= a[3 - i] < 100 if i != 1 else a[i] > 7

    check(kernel, np.array([-1, 0, 2, 3]), np.zeros(8, np.bool_))


def test_a_chain_stops_at_the_first_failure():
    def kernel(a, n, out):
        for i in range(6):
            out[i] = 0 <= i < n[0] and a[i] > 1
            out[6 + i] = i < n[0] < 10 < a[min(i, 2)]

    check(kernel, np.array([1, 2, 30]), np.array([3]), np.zeros(12, np.bool_))


def test_and_or_give_operands():
    a, b = np.repeat([0, 1, 5], 3), np.tile([0, 2, 7], 3)
    assert over(lambda x, y: x and y, a, b).tolist() == [
        x and y for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    assert over(lambda x, y: x or y, a, b).tolist() == [
        x or y for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]
    assert over(lambda x, y: not ((x and y > 2) or x == 5), a, b).tolist() == [
        not ((x and y > 2) or x == 5) for x, y in zip(a.tolist(), b.tolist(), strict=True)
    ]


def test_the_right_side_is_evaluated_only_if_needed():
    def kernel(a, out):
        n = a.size
        for i in range(6):
            out[i] = i < n and a[i] != 0
            out[6 + i] = i >= n or a[i] == 0

    check(kernel, np.array([1, 0, 3]), np.zeros(12, np.bool_))


def test_assignment_expressions():
    def kernel(a, out):
        out[0] = (n := a[0]) * n
        out[1] = (k := a[1]) > 2 and (m := k * 2) > 7
        out[2] = k

    check(kernel, np.array([3, 4]), np.zeros(3, np.int64))


def test_tuples_compare_in_lexicographic_order():
    rows = [(1, 2), (1, 3), (2, 0), (1, 2)]
    a = np.array([x for x in rows for _ in rows])
    b = np.array([y for _ in rows for y in rows])
    for compare, body in (
        (operator.eq, lambda p, q, r: (p, q) == (r, 2)),
        (operator.ne, lambda p, q, r: (p, q) != (r, 2)),
        (operator.lt, lambda p, q, r: (p, q) < (r, 2)),
        (operator.le, lambda p, q, r: (p, q) <= (r, 2)),
        (operator.gt, lambda p, q, r: (p, q) > (r, 2)),
        (operator.ge, lambda p, q, r: (p, q) >= (r, 2)),
    ):
        found = over(body, a[:, 0].copy(), a[:, 1].copy(), b[:, 0].copy())
        wanted = [compare((p, q), (r, 2)) for (p, q), r in zip(a.tolist(), b[:, 0], strict=True)]
        assert found.tolist() == wanted
    assert scalar(lambda a: (a, 1) == (a,), 1) == False  # noqa: E712 - a NumPy bool
    assert scalar(lambda a: (a, 1) > (a,), 1)


def test_membership():
    a = np.array([1, 4, 5, 9])
    assert over(lambda x: x in (4, 5), a).tolist() == [False, True, True, False]
    assert over(lambda x: x not in (4.0, 5), a).tolist() == [True, False, False, True]
    assert over(lambda x: x in (), a).tolist() == [False] * 4

    def kernel(values, wanted, out):
        for i in range(wanted.size):
            out[i] = wanted[i] in values
            out[wanted.size + i] = wanted[i] not in values[1:]

    check(kernel, np.array([3, 1, 4]), np.array([1, 3, 7]), np.zeros(6, np.bool_))


def test_membership_in_ranges():
    def kernel(bounds, out):
        for i in range(bounds.shape[0]):
            numbers = range(bounds[i, 0], bounds[i, 1], bounds[i, 2])
            for x in range(out.shape[1]):
                out[i, x] = x - 6 in numbers
            out[i, 0] = 2.0 in numbers
            out[i, 1] = 2.5 not in numbers

    bounds = [(a, b, c) for a in (-3, 0, 4) for b in (-4, 0, 7) for c in (-3, -1, 1, 2)]
    check(kernel, np.array(bounds), np.zeros((len(bounds), 14), np.bool_))
    a = np.arange(-5, 15)
    assert over(lambda x: x in range(-2, 11, 3), a).tolist() == [x in range(-2, 11, 3) for x in a]


def test_identity():
    assert scalar(lambda a: a if None is None else -a, 3) == 3
    assert scalar(lambda a: a is None, 3) == False  # noqa: E712 - a NumPy bool
    assert scalar(lambda a: a is not None, 3)
    assert scalar(lambda a: (a > 2) is True, 3)
    assert scalar(lambda a: a if Color.RED is Color.RED else 0, 3) == 3
    assert scalar(lambda a: a if math.sin is np.sin else 0, 3) == 0


def test_known_objects_compare():
    assert scalar(lambda a: a if Color.RED == Color.BLUE else -a, 3) == -3
    assert scalar(lambda a: a + Level.LOW, 3) == 6
    assert scalar(lambda a: a + Color["BLUE"].value, 3) == 5
    assert scalar(lambda a: a if "ab" == "a" + "b" else 0, 3) == 3
    assert scalar(lambda a: a if "x" != 3 else 0, 3) == 3
    assert scalar(lambda a: a if None == (1,) else 0, 3) == 0


def test_truth():
    a = np.array([0.0, -0.0, 2.5, math.nan])
    assert over(lambda x: bool(x), a).tolist() == [False, False, True, True]
    z = np.array([0, 1j, 2, -0.0 + 0j])
    assert over(lambda x: not x, z).tolist() == [True, False, False, True]
    assert scalar(lambda x: 1 if (x,) and not () and not None and "a" else 0, 1) == 1


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (lambda a: a < 1, "an expression of whole arrays can only be stored into an array"),
        (lambda a: a < "x", "< does not take array(float32, 1d, A) and the string 'x'"),
        (lambda a: not a, "array(float32, 1d, A) has no truth value"),
        (lambda a: a is (b := 1.5), "is does not take array(float32, 1d, A) and float64"),
        (lambda a: 1 in 2, "in does not take int64 and int64"),
        (lambda a: None < 2, "< does not take None and int64"),
        (lambda a: "a" < 2, "< does not take the string 'a' and int64"),
        (lambda a: not math, "the module math has no truth value"),
    ],
)
def test_operands_that_do_not_compare(body, problem):
    with pytest.raises(KernelTypeError) as caught:
        result_type(body, types.float32[:])
    assert problem in caught.value.problem
    assert caught.value.help
