"""Integers become narrow where that is free, and stay wide where width is free."""

import re

import numpy as np
import pytest
from hypothesis import given, settings

from pygpulib.core import dtypes
from pygpulib.jit.backends.interp import run
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.ir.printer import format_function
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.ir.verifier import verify
from pygpulib.jit.passes.narrow_integers import narrow_integers
from pygpulib.jit.passes.remove_dead_ops import remove_dead_ops
from pygpulib.jit.passes.share_common import share_common
from tests.helpers.ir_programs import assert_same, programs
from tests.helpers.sample_ir import array_params, function_of, mandelbrot

K, C = ir.BinaryKind, ir.CompareKind
I8, I32, I64, U8 = dtypes.int8, dtypes.int32, dtypes.int64, dtypes.uint8
U32, U64, F64 = dtypes.uint32, dtypes.uint64, dtypes.float64


def narrow(function):
    verify(function)
    after = remove_dead_ops(share_common(narrow_integers(function)))
    verify(after)
    return after


def text_of(function):
    """The body as text without the numbers of the values."""
    return re.sub(r"%\d+", "%", format_function(function))


MANDELBROT_EXIT = """
      if % then {
        %.i: int8 = cast %.i
        return (%.i)
      } else {
        yield ()
      }
      continue (%, %)
    }
    %.limit: int8 = cast %.limit
    return (%.limit)
  }
  %: uint8 = cast %
"""


def test_the_result_of_the_mandelbrot_scope_is_one_byte():
    before = mandelbrot()
    after = narrow(before)
    text = text_of(after)
    assert "%: int64 = scope name='escape' {" in text_of(before)
    assert "%: int8 = scope name='escape' {" in text
    assert MANDELBROT_EXIT in text
    # The loop itself still counts in 64 bits: its counter is a scalar.
    loop = next(op for op in walk(after.body) if isinstance(op, ir.For))
    assert loop.body.params[0].type == I64
    points = np.random.default_rng(2).uniform(-2, 2, (2, 33))
    images = [np.zeros(33, np.uint8) for _ in range(2)]
    for function, image in zip((before, after), images, strict=True):
        run(function, 1, 33, [*points, image, 300])
    np.testing.assert_array_equal(*images)


class Kernel:
    """A kernel under construction that reads and writes element ``tid`` of some arrays."""

    def __init__(self):
        self.b = Builder()
        self.params = []
        self.arguments = []
        self.tid = self.b.cast(self.b.register(ir.Register.TID_X), I64)

    def array(self, dtype):
        params = array_params(f"array{len(self.params)}")
        self.params += params
        limits = np.iinfo(dtype.numpy)
        data = np.random.default_rng(len(self.params)).integers(
            limits.min, limits.max, 32, dtype.numpy, endpoint=True
        )
        self.arguments.append(data)
        return params[0]

    def load(self, dtype, wide=I64):
        """Load an element and widen it, as the language does."""
        loaded = self.b.load(self.array(dtype), self.tid, dtype.size_bytes, dtype)
        return self.b.cast(loaded, wide)

    def scalar(self, dtype, value):
        self.params.append(ir.Value(dtype, "scalar"))
        self.arguments.append(value)
        return self.params[-1]

    def number(self, number, dtype=I64):
        return self.b.constant(number, dtype)

    def op(self, kind, left, right):
        right = right if isinstance(right, ir.Value) else self.number(right, left.type)
        return self.b.binary(kind, left, right)

    def store(self, value, dtype):
        array = self.array(dtype)
        self.b.store(array, self.tid, self.b.cast(value, dtype), dtype.size_bytes)

    def finish(self):
        """Narrow the kernel, check that it does the same, and return its arithmetic in text."""
        before = function_of(self.b, tuple(self.params))
        after = narrow(before)
        self.after = after
        for function in (before, after):
            copies = [a.copy() if isinstance(a, np.ndarray) else a for a in self.arguments]
            run(function, 1, 32, copies)
            if function is before:
                expected = copies
        for want, have in zip(expected, copies, strict=True):
            np.testing.assert_array_equal(want, have)
        return [_name(op) for op in walk(after.body) if isinstance(op, ARITHMETIC)]


ARITHMETIC = ir.Binary | ir.Compare | ir.Select | ir.Unary


def _name(op):
    match op:
        case ir.Select(result=result):
            return f"select.{result.type}"
        case ir.Unary(kind, operand):
            return f"{kind.value}.{operand.type}"
        case _:
            return f"{op.kind.value}.{op.left.type}"


# --------------------------------------------------------------------------------- low bits


@pytest.mark.parametrize(
    ("stored", "found"), [(U8, I8), (dtypes.int16, dtypes.int16), (I32, I32), (I64, I64)]
)
def test_arithmetic_is_as_wide_as_what_is_stored(stored, found):
    k = Kernel()
    x, n = k.load(I64), k.scalar(I64, 12345678901)
    k.store(k.op(K.MULTIPLY, k.op(K.ADD, x, n), k.b.unary(ir.UnaryKind.NOT, x)), stored)
    assert k.finish() == [f"add.{found}", f"not.{found}", f"mul.{found}"]


def test_unsigned_numbers_become_narrow_unsigned_ones():
    k = Kernel()
    k.store(k.op(K.XOR, k.op(K.SHIFT_LEFT, k.load(U64, U64), 3), 0x1F0F), dtypes.uint16)
    assert k.finish() == ["shl.uint16", "xor.uint16"]


def test_a_shift_by_more_than_the_narrow_width_still_empties():
    k = Kernel()
    k.store(k.op(K.SHIFT_LEFT, k.load(I64), 40), U8)
    assert k.finish() == ["shl.int8"]


def test_what_looks_at_high_bits_stays_wide():
    k = Kernel()
    x = k.load(I64)
    k.store(k.op(K.SHIFT_RIGHT, x, 5), U8)
    k.store(k.op(K.FLOOR_DIVIDE, x, 5), U8)
    k.store(k.op(K.MAXIMUM, x, 5), U8)
    assert k.finish() == ["shr.int64", "floordiv.int64", "max.int64"]


def test_a_value_with_one_wide_use_stays_wide():
    k = Kernel()
    total = k.op(K.ADD, k.load(I64), 1)
    k.store(total, U8)
    k.store(total, I64)
    assert k.finish() == ["add.int64"]


def test_two_casts_of_wide_data_are_not_worth_one_narrow_operation():
    k = Kernel()
    k.store(k.op(K.ADD, k.load(I64), k.load(I64)), U8)
    assert k.finish() == ["add.int64"]


def test_a_mask_limits_what_is_wanted():
    k = Kernel()
    low = k.op(K.AND, k.op(K.MULTIPLY, k.load(I64), 7), 255)
    k.store(low, I64)
    assert k.finish() == ["mul.int8", "and.int32"]


def test_selections_and_branches_pass_low_bits_on():
    k = Kernel()
    x = k.load(I64)
    condition = k.b.compare(C.LT, x, k.number(0))
    chosen = k.b.select(condition, k.op(K.ADD, x, 3), k.number(1000))
    result = ir.Value(I64)
    with k.b.collect() as then_ops:
        k.b.append(ir.Yield((chosen,)))
    with k.b.collect() as else_ops:
        k.b.append(ir.Yield((k.tid,)))
    blocks = [ir.Block((), tuple(ops)) for ops in (then_ops, else_ops)]
    k.b.append(ir.If(condition, *blocks, (result,)))
    k.store(result, U8)
    assert k.finish() == ["lt.int64", "add.int8", "select.int8"]
    branch = next(op for op in walk(k.after.body) if isinstance(op, ir.If))
    assert branch.results[0].type == I8


def count_in_loop(k, step, stored, *, use_counter=False):
    """Count in a ``Loop`` until a varying limit; store the count."""
    limit = k.op(K.AND, k.load(I64), 15)
    count, other = ir.Value(I64, "count"), ir.Value(I64, "other")
    result = ir.Value(I64)
    with k.b.collect() as ops:
        leave = ir.Block((), (ir.Break((count,)),))
        is_over = k.b.compare(C.GE, other, limit)
        k.b.append(ir.If(is_over, leave, ir.Block((), (ir.Yield(()),)), ()))
        nexts = (k.op(K.ADD, count, step), k.op(K.ADD, other, 1))
        k.b.append(ir.Continue(nexts[:: -1 if use_counter else 1]))
    params = (count, other)
    inits = (k.number(0), k.number(0))
    k.b.append(ir.Loop(inits, ir.Block(params, tuple(ops)), (result,)))
    k.store(result, stored)
    return k.finish()


def test_carried_counts_are_as_wide_as_what_is_stored():
    k = Kernel()
    assert "add.int8" in count_in_loop(k, 3, U8)
    loop = next(op for op in walk(k.after.body) if isinstance(op, ir.Loop))
    # The other counter ends at 15, so that its range fits.
    assert [param.type for param in loop.body.params] == [I8, I32]
    assert loop.results[0].type == I8


def test_a_carried_value_that_decides_the_loop_stays_wide():
    k = Kernel()
    count_in_loop(k, 3, U8, use_counter=True)
    loop = next(op for op in walk(k.after.body) if isinstance(op, ir.Loop))
    assert [param.type for param in loop.body.params] == [I64, I64]


def test_a_for_keeps_its_carried_values_and_results_of_one_type():
    k = Kernel()
    x, carried, result = k.load(I64), ir.Value(I64), ir.Value(I64)
    bounds = [k.number(number) for number in (0, 5, 1)]
    with k.b.collect() as ops:
        k.b.append(ir.Continue((k.op(K.ADD, k.op(K.MULTIPLY, carried, 5), x),)))
    loop = ir.Block((ir.Value(I64), carried), tuple(ops))
    k.b.append(ir.For(*bounds, (k.tid,), loop, (result,)))
    k.store(result, U8)
    assert k.finish() == ["mul.int8", "add.int8"]


# ------------------------------------------------------------------------------------- ranges


def test_arithmetic_on_bytes_needs_no_64_bits():
    k = Kernel()
    r, g, b = (k.load(U8) for _ in range(3))
    total = k.op(K.ADD, k.op(K.MULTIPLY, r, 77), k.op(K.MULTIPLY, g, 150))
    grey = k.op(K.SHIFT_RIGHT, k.op(K.ADD, total, k.op(K.MULTIPLY, b, 29)), 8)
    k.store(grey, U8)
    assert {text.split(".")[1] for text in k.finish()} == {"int32"}


def test_division_of_what_fits_is_narrow():
    k = Kernel()
    x = k.load(dtypes.int16)
    k.store(k.op(K.FLOOR_DIVIDE, k.op(K.MULTIPLY, x, x), 7), I64)
    k.store(k.op(K.REMAINDER, x, k.load(U8)), I64)
    assert k.finish() == ["mul.int32", "floordiv.int32", "rem.int32"]


def test_what_may_not_fit_stays_wide():
    k = Kernel()
    x = k.load(I32)
    k.store(k.op(K.ADD, x, 1), I64)
    k.store(k.b.unary(ir.UnaryKind.ABSOLUTE, x), I64)
    k.store(k.b.unary(ir.UnaryKind.ABSOLUTE, k.load(dtypes.int16)), I64)
    assert k.finish() == ["add.int64", "abs.int64", "abs.int32"]


def test_unsigned_ranges_use_all_32_bits():
    k = Kernel()
    x = k.load(U32, U64)
    k.store(k.op(K.FLOOR_DIVIDE, x, 3), U64)
    assert k.finish() == ["floordiv.uint32"]


@pytest.mark.parametrize(
    ("left", "right", "found"),
    [
        (U8, U8, U8),
        (I32, I32, I32),
        (U8, dtypes.int16, dtypes.int16),
        (U8, dtypes.int8, I32),
        (U32, I32, I64),
        (U8, 100, U8),
        (U8, -1, None),
        (dtypes.int16, 40000, None),
        (I32, 1 << 31, None),
        (U8, 0x7FFFFFFF, None),
        (I32, I64, I64),
    ],
)
def test_comparisons_are_as_narrow_as_both_sides(left, right, found):
    k = Kernel()
    x = k.load(left)
    y = k.number(right) if isinstance(right, int) else k.load(right)
    k.store(k.b.compare(C.LT, x, y), U8)
    assert k.finish() == ([] if found is None else [f"lt.{found}"])


def test_a_comparison_with_a_parameter_is_as_wide_as_it():
    k = Kernel()
    k.store(k.b.compare(C.LT, k.load(U8), k.scalar(I64, 77)), U8)
    narrow_scalar = k.b.cast(k.scalar(I32, 77), I64)
    k.store(k.b.compare(C.LT, k.load(U8), narrow_scalar), U8)
    assert k.finish() == ["lt.int64", "lt.int32"]


def test_conversion_to_float_starts_from_the_narrow_value():
    k = Kernel()
    x = k.op(K.ADD, k.load(U8), k.load(U8))
    single = k.b.cast(x, F64)
    k.store(k.b.cast(single, I64), I64)
    k.store(k.b.cast(k.b.cast(k.load(dtypes.int16), F64), I64), I64)
    assert k.finish() == ["add.int32"]
    sources = [
        op.operand.type
        for op in walk(k.after.body)
        if isinstance(op, ir.Cast) and op.result.type == F64
    ]
    assert sources == [I32, dtypes.int16]


# -------------------------------------------------------------------------- what stays as it is


def test_positions_and_addresses_stay_wide():
    k = Kernel()
    target = k.array(I64)
    ntid = k.b.cast(k.b.register(ir.Register.NTID_X), I64)
    position = k.op(K.ADD, k.op(K.MULTIPLY, ntid, 2), k.tid)
    inside = k.b.compare(C.LT, position, k.number(9))
    k.store(inside, U8)
    scattered = k.op(K.MINIMUM, k.op(K.MULTIPLY, k.load(U8), 2), 14)
    k.b.store(target, k.op(K.ADD, scattered, 1), k.number(1), 8)
    assert k.finish() == [
        "mul.int64",
        "add.int64",
        "lt.int64",
        "mul.int64",
        "min.int64",
        "add.int64",
    ]


def test_a_function_returns_what_it_did():
    x = ir.Value(U8)
    b = Builder()
    with b.collect() as ops:
        half = b.binary(K.SHIFT_RIGHT, b.cast(x, I64), b.constant(1, I64))
        b.append(ir.Return((b.binary(K.MULTIPLY, half, half),)))
    function = ir.Function("square", (x,), ir.Block((), tuple(ops)), (I64,))
    after = narrow_integers(function)
    verify(after)
    kinds = [op.left.type for op in walk(after.body) if isinstance(op, ir.Binary)]
    assert kinds == [I32, I32]


def test_a_function_without_integers_is_returned_as_it_is():
    x = ir.Value(F64)
    body = ir.Block((), (ir.Return((x,)),))
    function = ir.Function("same", (x,), body, (F64,))
    assert narrow_integers(function) is function


@given(programs())
@settings(max_examples=80, deadline=None)
def test_random_programs_stay_the_same(program):
    after = narrow_integers(program.function)
    verify(after)
    assert_same(program, after)
