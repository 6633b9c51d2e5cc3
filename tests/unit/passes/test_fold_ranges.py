"""What ranges decide."""

import numpy as np
import pytest
from hypothesis import given, settings

from pygpulib.core import dtypes
from pygpulib.jit.backends.interp import run
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.ir.verifier import verify
from pygpulib.jit.passes.fold_ranges import fold_ranges
from tests.helpers.ir_programs import assert_same, programs
from tests.helpers.sample_ir import array_params, function_of

K, C = ir.BinaryKind, ir.CompareKind
I32, I64 = dtypes.int32, dtypes.int64


def kernel(make, known=None):
    """A kernel ``out[tid] = make(b, tid, n)`` and what became of it."""
    b = Builder()
    out, n = array_params("out"), ir.Value(I64, "n")
    tid = b.cast(b.register(ir.Register.TID_X), I64)
    value = make(b, tid, n)
    b.store(out[0], tid, b.cast(value, I64), 8)
    before = function_of(b, (*out, n))
    ranges = {} if known is None else {n: known}
    before = ir.Function("kernel", before.params, before.body, param_ranges=ranges)
    after = fold_ranges(before)
    verify(after)
    return before, after


def stored(function, n):
    out = np.zeros(40, np.int64)
    run(function, 1, 40, [out, n])
    return out


def check_same(before, after, *numbers):
    for n in numbers:
        np.testing.assert_array_equal(stored(before, n), stored(after, n))


def stored_value(function):
    return next(op.value for op in walk(function.body) if isinstance(op, ir.Store))


def ops_of(function, kind):
    return [op for op in walk(function.body) if isinstance(op, kind)]


def test_an_index_that_cannot_be_negative_does_not_wrap():
    def wrapped(b, tid, n):
        is_negative = b.compare(C.LT, tid, b.constant(0, I64))
        return b.select(is_negative, b.binary(K.ADD, tid, n), tid)

    before, after = kernel(wrapped)
    assert len(ops_of(before, ir.Select)) == 1
    assert not ops_of(after, ir.Select)
    assert stored_value(after) is ops_of(after, ir.Cast)[0].result
    check_same(before, after, 0, 7)


def test_an_index_under_a_guard_does_not_wrap_but_outside_it_does():
    def guarded(guard):
        def make(b, tid, n):
            is_right = b.compare(C.LT, b.constant(0, I64), tid)
            result = ir.Value(I64)
            with b.collect() as then_ops:
                left = b.binary(K.SUBTRACT, tid, b.constant(1, I64))
                is_negative = b.compare(C.LT, left, b.constant(0, I64))
                b.append(ir.Yield((b.select(is_negative, b.binary(K.ADD, left, n), left),)))
            with b.collect() as else_ops:
                b.append(ir.Yield((n,)))
            blocks = [ir.Block((), tuple(ops)) for ops in (then_ops, else_ops)]
            b.append(ir.If(is_right, *(blocks if guard else blocks[::-1]), (result,)))
            return result

        return kernel(make)

    before, after = guarded(guard=True)
    assert not ops_of(after, ir.Select)
    check_same(before, after, 5)
    before, after = guarded(guard=False)
    assert len(ops_of(after, ir.Select)) + len(ops_of(after, ir.Const)) > 1
    check_same(before, after, 5)


@pytest.mark.parametrize(
    ("kind", "right", "is_left"),
    [
        (K.MODULO, 1024, True),
        (K.REMAINDER, 1024, True),
        (K.MINIMUM, 1023, True),
        (K.MAXIMUM, 0, True),
        (K.AND, 1023, True),
        (K.MODULO, 1000, False),
        (K.MINIMUM, 1000, False),
        (K.MAXIMUM, 1, False),
        (K.AND, 1022, False),
        (K.AND, 511, False),
    ],
)
def test_operations_that_give_their_operand_back(kind, right, is_left):
    before, after = kernel(lambda b, tid, n: b.binary(kind, tid, b.constant(right, I64)))
    tid = next(op.result for op in walk(after.body) if isinstance(op, ir.Cast))
    assert (stored_value(after) is tid) == is_left
    check_same(before, after, 3)


def test_the_absolute_value_of_a_natural_number_is_itself():
    before, after = kernel(lambda b, tid, n: b.unary(ir.UnaryKind.ABSOLUTE, tid))
    assert not ops_of(after, ir.Unary)
    check_same(before, after, 3)


def test_there_and_back_again():
    def make(b, tid, n):
        return b.cast(b.cast(n, dtypes.uint8), I64)

    _, after = kernel(make, known=(0, 255))
    assert stored_value(after) is after.params[-1]
    _, after = kernel(make, known=(0, 256))
    assert stored_value(after) is not after.params[-1]


def test_decided_comparisons_become_constants():
    before, after = kernel(lambda b, tid, n: b.compare(C.LT, tid, b.constant(1024, I64)))
    assert not ops_of(after, ir.Compare)
    assert ops_of(after, ir.Const)[-1].value == 1
    check_same(before, after, 3)


@pytest.mark.parametrize("number", [-(1 << 63), -17, -16, -1, 0, 1, 15, 16, (1 << 63) - 1])
@pytest.mark.parametrize("divisor", [1, 2, 16, 1 << 62])
@pytest.mark.parametrize(("kind", "new"), [(K.MODULO, K.AND), (K.FLOOR_DIVIDE, K.SHIFT_RIGHT)])
def test_division_by_a_power_of_two_is_none(kind, new, divisor, number):
    before, after = kernel(lambda b, tid, n: b.binary(kind, n, b.constant(divisor, I64)))
    kinds = {op.kind for op in ops_of(after, ir.Binary)}
    assert kinds == ({new} if divisor > 1 or kind is K.FLOOR_DIVIDE else set())
    check_same(before, after, number)


def test_the_remainder_of_natural_numbers_needs_no_sign():
    def make(b, tid, n):
        return b.binary(K.MODULO, tid, n)

    before, after = kernel(make, known=(0, 1000))
    assert [op.kind for op in ops_of(after, ir.Binary)] == [K.REMAINDER]
    check_same(before, after, 0, 7)
    _, after = kernel(make, known=(-1, 1000))
    assert [op.kind for op in ops_of(after, ir.Binary)] == [K.MODULO]


def test_floats_are_left_alone():
    def make(b, tid, n):
        x = b.cast(tid, dtypes.float64)
        return b.binary(K.MODULO, b.binary(K.MAXIMUM, x, b.constant(-1.0, dtypes.float64)), x)

    before, after = kernel(make)
    assert after is before


@given(programs())
@settings(max_examples=40, deadline=None)
def test_random_programs_stay_the_same(program):
    after = fold_ranges(program.function)
    verify(after)
    assert_same(program, after)
