"""Arithmetic on arrays against exact arithmetic on Python numbers."""

import itertools
import math

import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.core.dtypes import ALL_DTYPES, DType
from pygpulib.jit.ir.arithmetic import (
    apply_binary,
    apply_bitcast,
    apply_cast,
    apply_compare,
    apply_unary,
    constant,
)
from pygpulib.jit.ir.ops import BinaryKind, CompareKind, UnaryKind

B = BinaryKind
INTEGERS = [row for row in ALL_DTYPES if row.is_integer]
FLOATS = [row for row in ALL_DTYPES if row.is_float]
REALS = [row for row in ALL_DTYPES if not row.is_complex]


def samples(dtype: DType) -> list:
    if dtype.is_bool:
        return [False, True]
    if dtype.is_float:
        limits = np.finfo(dtype.numpy)
        numbers = [0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 3.0, -7.0, 1e-3, 100.25, math.inf, -math.inf]
        numbers += [float(limits.max), float(limits.tiny), float(limits.smallest_subnormal)]
        return [float(dtype.numpy.type(number)) for number in (*numbers, math.nan)]
    limits = np.iinfo(dtype.numpy)
    ends = [int(limits.min), int(limits.min) + 1, int(limits.max) - 1, int(limits.max)]
    small = [0, 1, 2, 3, 5, 7, 100, dtype.bits - 1, dtype.bits]
    return sorted({*ends, *small, *((-1, -2, -7, -100) if dtype.is_signed else ())})


def wrap(number: int, dtype: DType) -> int:
    number &= (1 << dtype.bits) - 1
    return number - (1 << dtype.bits) if dtype.is_signed and number >> dtype.bits - 1 else number


INTEGER = {
    B.ADD: lambda x, y: x + y,
    B.SUBTRACT: lambda x, y: x - y,
    B.MULTIPLY: lambda x, y: x * y,
    B.FLOOR_DIVIDE: lambda x, y: x // y if y else 0,
    B.MODULO: lambda x, y: x % y if y else 0,
    B.REMAINDER: lambda x, y: int(math.copysign(1, x)) * (abs(x) % abs(y)) if y else 0,
    B.AND: lambda x, y: x & y,
    B.OR: lambda x, y: x | y,
    B.XOR: lambda x, y: x ^ y,
    B.MINIMUM: min,
    B.MAXIMUM: max,
}


def integer_binary(kind: BinaryKind, x: int, y: int, dtype: DType) -> int:
    is_inside = 0 <= y < dtype.bits
    if kind is B.SHIFT_LEFT:
        return x << y if is_inside else 0
    if kind is B.SHIFT_RIGHT:
        return x >> y if is_inside else -(x < 0)
    return INTEGER[kind](x, y)


def pairs(dtype: DType) -> tuple[np.ndarray, np.ndarray, list]:
    listed = list(itertools.product(samples(dtype), repeat=2))
    left, right = zip(*listed, strict=True)
    return np.array(left, dtype.numpy), np.array(right, dtype.numpy), listed


@pytest.mark.parametrize("kind", [kind for kind in B if kind is not B.DIVIDE])
@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_integer_operation_is_exact_and_wraps(kind, dtype):
    x, y, listed = pairs(dtype)
    result = apply_binary(kind, x, y)
    assert result.dtype == dtype.numpy
    expected = [wrap(integer_binary(kind, a, b, dtype), dtype) for a, b in listed]
    assert result.tolist() == expected


@pytest.mark.parametrize("kind", [B.AND, B.OR, B.XOR])
def test_bit_operations_on_bools_are_logical(kind):
    x, y, listed = pairs(dtypes.bool_)
    expected = [bool(integer_binary(kind, a, b, dtypes.int8)) for a, b in listed]
    assert apply_binary(kind, x, y).tolist() == expected


def ieee_divide(x: float, y: float) -> float:
    if y:
        return x / y
    return math.nan if math.isnan(x) or not x else math.copysign(math.inf, x) * math.copysign(1, y)


def c_fmod(x: float, y: float) -> float:
    return math.fmod(x, y) if y and not math.isinf(x) else math.nan


def floor(x: float) -> float:
    return float(math.floor(x)) if math.isfinite(x) else x


def round_to(dtype: DType, number: float) -> float:
    with np.errstate(all="ignore"):
        return float(dtype.numpy.type(number))


def float_modulo(x: float, y: float, dtype: DType) -> float:
    """CPython's algorithm, of which the one addition rounds to the dtype."""
    if not y:
        return math.nan
    remainder = c_fmod(x, y)
    if not remainder:
        return math.copysign(0.0, y)
    is_adjusted = (y < 0) != (remainder < 0)
    return round_to(dtype, remainder + y) if is_adjusted else remainder


FLOAT = {
    B.ADD: lambda x, y, dtype: round_to(dtype, x + y),
    B.SUBTRACT: lambda x, y, dtype: round_to(dtype, x - y),
    B.MULTIPLY: lambda x, y, dtype: round_to(dtype, x * y),
    B.DIVIDE: lambda x, y, dtype: round_to(dtype, ieee_divide(x, y)),
    B.REMAINDER: lambda x, y, dtype: c_fmod(x, y),
    B.MODULO: float_modulo,
}


def extremum(kind: BinaryKind, x: float, y: float) -> float:
    if math.isnan(x) or math.isnan(y):
        return y if math.isnan(x) else x
    return min(x, y) if kind is B.MINIMUM else max(x, y)


def same(found: float, expected: float) -> bool:
    if math.isnan(expected):
        return math.isnan(found)
    return found == expected and math.copysign(1, found) == math.copysign(1, expected)


@pytest.mark.parametrize("kind", FLOAT)
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_float_operation_is_rounded_once(kind, dtype):
    x, y, listed = pairs(dtype)
    result = apply_binary(kind, x, y)
    assert result.dtype == dtype.numpy
    for found, (a, b) in zip(result.tolist(), listed, strict=True):
        assert same(found, FLOAT[kind](a, b, dtype)), (a, b)


@pytest.mark.parametrize("kind", [B.MINIMUM, B.MAXIMUM])
@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_extremum_ignores_one_nan(kind, dtype):
    x, y, listed = pairs(dtype)
    for found, (a, b) in zip(apply_binary(kind, x, y).tolist(), listed, strict=True):
        expected = extremum(kind, a, b)
        assert found == expected or (math.isnan(found) and math.isnan(expected)), (a, b)


@pytest.mark.parametrize("kind", [B.FLOOR_DIVIDE, B.MODULO])
def test_float64_floor_division_is_that_of_python(kind):
    x, y, listed = pairs(dtypes.float64)
    for found, (a, b) in zip(apply_binary(kind, x, y).tolist(), listed, strict=True):
        if b:
            assert same(found, a // b if kind is B.FLOOR_DIVIDE else a % b), (a, b)
        else:
            ieee = floor(ieee_divide(a, b)) if kind is B.FLOOR_DIVIDE else math.nan
            assert same(found, ieee), (a, b)


def test_small_floats_divide_with_floor_like_python_where_nothing_is_rounded():
    numbers = [float(number) for number in range(-9, 10)]
    listed = [(a, b) for a, b in itertools.product(numbers, repeat=2) if b]
    for dtype in FLOATS:
        x, y = (np.array(column, dtype.numpy) for column in zip(*listed, strict=True))
        found = apply_binary(B.FLOOR_DIVIDE, x, y).tolist()
        assert all(same(f, a // b) for f, (a, b) in zip(found, listed, strict=True))


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_comparison_is_that_of_python(dtype):
    x, y, listed = pairs(dtype)
    operators = {
        CompareKind.EQ: lambda a, b: a == b,
        CompareKind.NE: lambda a, b: a != b,
        CompareKind.LT: lambda a, b: a < b,
        CompareKind.LE: lambda a, b: a <= b,
        CompareKind.GT: lambda a, b: a > b,
        CompareKind.GE: lambda a, b: a >= b,
    }
    for kind, operator in operators.items():
        assert apply_compare(kind, x, y).tolist() == [operator(a, b) for a, b in listed]


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_unary_operation_on_integers_wraps(dtype):
    listed = samples(dtype)
    x = np.array(listed, dtype.numpy)
    functions = {
        UnaryKind.NEGATE: lambda a: -a,
        UnaryKind.NOT: lambda a: ~a,
        UnaryKind.ABSOLUTE: abs,
    }
    for kind, function in functions.items():
        assert apply_unary(kind, x).tolist() == [wrap(function(a), dtype) for a in listed]


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_unary_operation_on_floats_changes_the_sign_only(dtype):
    listed = samples(dtype)
    x = np.array(listed, dtype.numpy)
    for found, a in zip(apply_unary(UnaryKind.NEGATE, x).tolist(), listed, strict=True):
        assert same(found, -a)
    for found, a in zip(apply_unary(UnaryKind.ABSOLUTE, x).tolist(), listed, strict=True):
        assert same(found, abs(a))


def test_not_on_bools_is_logical():
    assert apply_unary(UnaryKind.NOT, np.array([True, False])).tolist() == [False, True]


def to_integer(number: float, dtype: DType) -> int:
    """Truncate through a saturated int64; large values of uint64 go directly."""
    if math.isnan(number):
        return 0
    if dtype is dtypes.uint64 and number >= 2**63:
        return int(min(number, 2**64)) - (number >= 2**64)
    if math.isinf(number) or not -(2**63) <= number < 2**63:
        whole = 2**63 - 1 if number > 0 else -(2**63)
    else:
        whole = int(number)
    return wrap(whole, dtype)


@pytest.mark.parametrize("target", REALS, ids=str)
@pytest.mark.parametrize("source", REALS, ids=str)
def test_cast(source, target):
    listed = samples(source)
    if source.is_float and source is not dtypes.float16:
        listed += [2.0**31, -(2.0**31), 2.0**32, 2.0**63, -(2.0**63), 2.0**64, 1e19, 1e20, -1e19]
        listed += [1.9, -1.9, 255.5, 65504.0]
        listed = [float(source.numpy.type(number)) for number in listed]
    result = apply_cast(np.array(listed, source.numpy), target)
    assert result.dtype == target.numpy
    for found, number in zip(result.tolist(), listed, strict=True):
        if target.is_bool:
            assert found is bool(number)
        elif target.is_float:
            with np.errstate(all="ignore"):
                assert same(found, float(target.numpy.type(number))), number
        elif source.is_float:
            assert found == to_integer(number, target), number
        else:
            assert found == wrap(int(number), target), number


def test_cast_of_an_integer_to_a_float_rounds_once():
    # Through float64 this would become a tie, and round down.
    number = 2**53 + 2**29 + 1
    assert apply_cast(np.array([number]), dtypes.float32).tolist() == [2.0**53 + 2.0**30]


def test_bitcast_keeps_the_bits():
    bits = apply_bitcast(np.array([1.0, -0.0], np.float32), np.dtype(np.uint32))
    assert bits.tolist() == [0x3F800000, 0x80000000]


def test_constant_is_rounded_to_the_dtype():
    assert constant(0.1, dtypes.float32, 3).tolist() == [float(np.float32(0.1))] * 3
    assert constant(True, dtypes.bool_).tolist() == [True]
