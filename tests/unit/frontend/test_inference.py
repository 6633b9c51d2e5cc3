"""The types of results, against a table of what numba gives."""

from __future__ import annotations

import operator

import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.frontend import inference
from tests.helpers.evaluation import result_type

NAMES = ["b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16"]
BY_CODE = {dtype.code: dtype for dtype in dtypes.ALL_DTYPES}

# Rows are the left operand, columns the right one, both in the order of NAMES. numba gives float64
# for uint16 with float32; NumPy's float32, used here, holds every uint16.
SUM = """
    i8  i8  i8  i8  i8  i8  i8  i8  i8  f4  f8  c8  c16
    i8  i8  i8  i8  i8  i8  i8  i8  i8  f4  f8  c8  c16
    i8  i8  i8  i8  i8  i8  i8  i8  i8  f4  f8  c8  c16
    i8  i8  i8  i8  i8  i8  i8  i8  i8  f8  f8  c16 c16
    i8  i8  i8  i8  i8  i8  i8  i8  i8  f8  f8  c16 c16
    i8  i8  i8  i8  i8  u8  u8  u8  u8  f4  f8  c8  c16
    i8  i8  i8  i8  i8  u8  u8  u8  u8  f4  f8  c8  c16
    i8  i8  i8  i8  i8  u8  u8  u8  u8  f8  f8  c16 c16
    i8  i8  i8  i8  i8  u8  u8  u8  u8  f8  f8  c16 c16
    f4  f4  f4  f8  f8  f4  f4  f8  f8  f4  f8  c8  c16
    f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  c16 c16
    c8  c8  c8  c16 c16 c8  c8  c16 c16 c8  c16 c8  c16
    c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
"""

# The joined type of two values, for example of min(a, b) or of a variable assigned on two paths.
JOIN = """
    b1  i1  i2  i4  i8  u1  u2  u4  u8  f4  f8  c8  c16
    i1  i1  i2  i4  i8  i2  i4  i8  f8  f4  f8  c8  c16
    i2  i2  i2  i4  i8  i2  i4  i8  f8  f4  f8  c8  c16
    i4  i4  i4  i4  i8  i4  i4  i8  f8  f8  f8  c16 c16
    i8  i8  i8  i8  i8  i8  i8  i8  f8  f8  f8  c16 c16
    u1  i2  i2  i4  i8  u1  u2  u4  u8  f4  f8  c8  c16
    u2  i4  i4  i4  i8  u2  u2  u4  u8  f4  f8  c8  c16
    u4  i8  i8  i8  i8  u4  u4  u4  u8  f8  f8  c16 c16
    u8  f8  f8  f8  f8  u8  u8  u8  u8  f8  f8  c16 c16
    f4  f4  f4  f8  f8  f4  f4  f8  f8  f4  f8  c8  c16
    f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  f8  c16 c16
    c8  c8  c8  c16 c16 c8  c8  c16 c16 c8  c16 c8  c16
    c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16 c16
"""


def pairs(table):
    rows = [line.split() for line in table.strip().splitlines()]
    return [
        (left, right, rows[i][j]) for i, left in enumerate(NAMES) for j, right in enumerate(NAMES)
    ]


def scalar(code):
    return types.scalar_type(BY_CODE[code])


def check(function, rows):
    for left, right, expected in rows:
        found = result_type(function, scalar(left), scalar(right))
        assert found == scalar(expected), (left, right)


@pytest.mark.parametrize("function", [operator.add, operator.sub, operator.mul])
def test_sums_differences_and_products(function):
    bodies = {
        operator.add: lambda a, b: a + b,
        operator.sub: lambda a, b: a - b,
        operator.mul: lambda a, b: a * b,
    }
    check(bodies[function], pairs(SUM))


def test_true_division_of_integers_is_float64():
    rows = [(a, b, "f8" if c in ("i8", "u8") else c) for a, b, c in pairs(SUM)]
    check(lambda a, b: a / b, rows)


def test_floor_division_and_modulo():
    rows = [row for row in pairs(SUM) if "c8" not in row and "c16" not in row]
    check(lambda a, b: a // b, rows)
    check(lambda a, b: a % b, rows)


def test_power_of_a_float_to_an_integer_keeps_the_float():
    rows = [
        (a, b, a if a in ("f4", "f8") and b[0] in "iu" else c)
        for a, b, c in pairs(SUM)
        if "c8" not in (a, b) and "c16" not in (a, b)
    ]
    check(lambda a, b: a**b, rows)


def test_shifts_follow_the_left_operand():
    whole = [(a, b) for a, b, _ in pairs(SUM) if a[0] in "biu" and b[0] in "biu"]
    rows = [(a, b, "u8" if a[0] == "u" else "i8") for a, b in whole]
    check(lambda a, b: a << b, rows)
    check(lambda a, b: a >> b, rows)


def test_bitwise_operators():
    rows = [
        (a, b, "b1" if a == b == "b1" else c)
        for a, b, c in pairs(SUM)
        if a[0] in "biu" and b[0] in "biu"
    ]
    check(lambda a, b: a & b, rows)
    check(lambda a, b: a | b, rows)
    check(lambda a, b: a ^ b, rows)


def test_minimum_and_conditional_expressions_join():
    real = [row for row in pairs(JOIN) if "c8" not in row and "c16" not in row]
    check(lambda a, b: min(a, b), real)
    check(lambda a, b: max(a, b), real)
    check(lambda a, b: a if a == b else b, pairs(JOIN))


def test_comparisons_are_bool():
    real = [(a, b, "b1") for a, b, _ in pairs(SUM) if "c" not in a + b]
    check(lambda a, b: a < b, real)
    check(lambda a, b: a == b, [(a, b, "b1") for a, b, _ in pairs(SUM)])


def test_unary_operators():
    def one(function, expected):
        for code, want in zip(NAMES, expected.split(), strict=False):
            assert result_type(function, scalar(code)) == scalar(want), code

    signs = "i8 i8 i8 i8 i8 u8 u8 u8 u8 f4 f8 c8 c16"
    one(lambda a: -a, signs)
    one(lambda a: +a, signs)
    one(lambda a: ~a, "i8 i8 i8 i8 i8 u8 u8 u8 u8")
    one(lambda a: not a, " ".join(["b1"] * 13))
    one(lambda a: abs(a), "i8 i8 i8 i8 i8 u8 u8 u8 u8 f4 f8 f4 f8")
    one(lambda a: float(a), "f8 f8 f8 f8 f8 f8 f8 f8 f8 f4 f8")
    one(lambda a: int(a), "i8 i1 i2 i4 i8 u1 u2 u4 u8 i8 i8")
    one(lambda a: complex(a), " ".join(["c16"] * 9 + ["c8", "c16", "c8", "c16"]))
    one(lambda a: round(a), "i8 i8 i8 i8 i8 u8 u8 u8 u8 i8 i8")


def test_float16():
    half, single, double = types.float16, types.float32, types.float64
    assert result_type(lambda a, b: a + b, half, half) == half
    assert result_type(lambda a, b: a * b, half, half) == half
    assert result_type(lambda a, b: a / b, half, half) == half
    assert result_type(lambda a, b: a // b, half, half) == single
    assert result_type(lambda a, b: a % b, half, half) == single
    assert result_type(lambda a, b: a + b, half, single) == single
    assert result_type(lambda a, b: a + b, half, types.int8) == half
    assert result_type(lambda a, b: a + b, half, types.int64) == double


def test_literals_have_the_types_of_numba():
    assert result_type(lambda: 1) == types.int64
    assert result_type(lambda: 2**63) == types.uint64
    assert result_type(lambda: 1.0) == types.float64
    assert result_type(lambda: 1j) == types.complex128
    assert result_type(lambda: True) == types.boolean
    assert result_type(lambda: -(2**63)) == types.int64
    assert result_type(lambda a: a + 1, types.uint8) == types.int64
    assert result_type(lambda a: a * 0.5, types.float32) == types.float64


def test_join_of_arrays_and_tuples():
    c, f, a = (types.ArrayType(dtypes.float32, 2, layout) for layout in "CFA")
    assert inference.join(c, c) == c
    assert inference.join(c, f) == a
    assert inference.join(c, types.ArrayType(dtypes.float64, 2, "C")) is None
    assert inference.join(c, types.float32) is None
    assert inference.join(types.none, types.int64) == types.OptionalType(types.int64)
    left = types.TupleType((types.int32, types.float32))
    right = types.TupleType((types.int64, types.int8))
    assert inference.join(left, right) == types.TupleType((types.int64, types.float32))
    assert inference.join(left, types.TupleType((types.int32,))) is None
    readonly = types.ArrayType(dtypes.float32, 2, "C", readonly=True)
    assert inference.join(c, readonly) == readonly


def test_a_complex_number_does_not_become_real():
    def kernel(z):
        return float(z)

    with pytest.raises(KernelTypeError) as caught:
        result_type(kernel, types.complex128)
    assert "complex128 cannot be converted to float64" in caught.value.problem
    assert f"{__file__}:" in caught.value.problem
    assert "abs()" in caught.value.help


@pytest.mark.parametrize("code", NAMES[:9])
def test_join_holds_the_values_of_integers(code):
    dtype = BY_CODE[code]
    for other in NAMES[:8]:
        joined = inference.promote(dtype, BY_CODE[other])
        assert joined.is_float or np.can_cast(dtype.numpy, joined.numpy)
