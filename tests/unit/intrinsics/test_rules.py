import pytest

from pygpulib.core import dtypes
from pygpulib.core.dtypes import (
    ALL_DTYPES,
    bool_,
    complex64,
    float16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint32,
    uint64,
)
from pygpulib.jit.intrinsics import rules
from pygpulib.jit.ir.intrinsic import Signature


@pytest.mark.parametrize(
    ("operand", "computed"),
    [(float16, float32), (float32, float32), (float64, float64)]
    + [(dtype, float64) for dtype in ALL_DTYPES if dtype.is_bool or dtype.is_integer],
)
def test_real_functions_compute_in_float32_or_float64(operand, computed):
    assert rules.real_function(1)((operand,)) == Signature((computed,), (computed,))


@pytest.mark.parametrize(
    ("operands", "computed"),
    [
        ((float32, float32), float32),
        ((float16, float32), float32),
        ((float32, float64), float64),
        ((float32, int32), float64),
        ((int8, int8), float64),
    ],
)
def test_operands_of_real_functions_meet_in_one_type(operands, computed):
    signature = rules.real_function(2)(operands)
    assert signature == Signature((computed, computed), (computed,))


def test_functions_of_real_numbers_refuse_complex_ones():
    for rule in (
        rules.real_function(1),
        rules.predicate,
        rules.split_exponent,
        rules.float_to_bits,
        rules.bits_to_float,
        rules.integer_function,
        rules.first_set_bit,
        rules.reverse_bits,
    ):
        assert rule((complex64,)) is None
    assert rules.scale_by_power((complex64, int32)) is None
    assert rules.choice((complex64, float32)) is None


def test_wrong_number_of_operands_is_refused():
    assert rules.real_function(1)((float32, float32)) is None
    assert rules.real_function(2)((float32,)) is None
    assert rules.predicate(()) is None
    assert rules.choice((float32,)) is None


def test_predicates_give_truth_values():
    assert rules.predicate((float32,)) == Signature((float32,), (bool_,))
    assert rules.predicate((int16,)) == Signature((float64,), (bool_,))


def test_exponents_of_powers_of_two_are_int32():
    assert rules.scale_by_power((float32, int64)) == Signature((float32, int32), (float32,))
    assert rules.scale_by_power((uint8, bool_)) == Signature((float64, int32), (float64,))
    assert rules.scale_by_power((float32, float32)) is None
    assert rules.split_exponent((float64,)) == Signature((float64,), (float64, int32))


def test_bits_keep_their_width():
    assert rules.float_to_bits((float32,)) == Signature((float32,), (int32,))
    assert rules.float_to_bits((float64,)) == Signature((float64,), (int64,))
    assert rules.float_to_bits((float16,)) is None
    assert rules.bits_to_float((uint32,)) == Signature((uint32,), (float32,))
    assert rules.bits_to_float((int64,)) == Signature((int64,), (float64,))
    assert rules.bits_to_float((float32,)) is None


def test_functions_of_integers_keep_the_type():
    for dtype in ALL_DTYPES:
        expected = Signature((dtype,), (dtype,)) if dtype.is_integer else None
        assert rules.integer_function((dtype,)) == expected


def test_position_of_a_bit_is_uint32():
    assert rules.first_set_bit((int64,)) == Signature((int64,), (uint32,))
    assert rules.first_set_bit((float32,)) is None


def test_bits_are_reversed_in_32_or_64():
    assert rules.reverse_bits((int32,)) == Signature((uint32,), (uint32,))
    assert rules.reverse_bits((uint8,)) == Signature((uint32,), (uint32,))
    assert rules.reverse_bits((int64,)) == Signature((uint64,), (uint64,))


@pytest.mark.parametrize(
    ("operands", "common"),
    [
        ((int8, int16), int16),
        ((int64, uint64), float64),
        ((float32, int8), float32),
        ((float32, int32), float64),
        ((bool_, bool_), bool_),
    ],
)
def test_choices_meet_in_the_type_of_numpy(operands, common):
    assert rules.choice(operands) == Signature((common, common), (common,))


def test_float16_is_narrow():
    assert rules.common_float((float16, float32)) is dtypes.float32


def test_fixed_signatures_take_numbers_of_other_types():
    rule = rules.fixed((int32, float64), (float64,))
    signature = Signature((int32, float64), (float64,))
    assert rule((int32, float64)) == rule((int8, float32)) == rule((bool_, uint64)) == signature
    assert rule((int32,)) is None
    assert rule((int32, complex64)) is None
