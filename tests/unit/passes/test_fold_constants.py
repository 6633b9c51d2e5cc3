import itertools
import math

import numpy as np
import pytest
from hypothesis import given

from pygpulib.core import dtypes
from pygpulib.core.dtypes import ALL_DTYPES, DType
from pygpulib.jit.backends.interp import run
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.ir.ops import BinaryKind, CompareKind, UnaryKind
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.ir.verifier import verify
from pygpulib.jit.passes.fold_constants import fold_constants
from pygpulib.jit.passes.remove_dead_ops import remove_dead_ops
from tests.helpers.ir_kernels import Arrays, block, map_function, run_map, value
from tests.helpers.ir_programs import Program, assert_same, programs

B, C, U = BinaryKind, CompareKind, UnaryKind
B8, I8, I32, I64, U8 = dtypes.bool_, dtypes.int8, dtypes.int32, dtypes.int64, dtypes.uint8
F16, F32, F64 = dtypes.float16, dtypes.float32, dtypes.float64
REALS = [row for row in ALL_DTYPES if not row.is_complex]


def body_of(function: ir.Function) -> list[ir.Op]:
    """Return what folding and removing dead code leave between the loads and the store."""
    folded = remove_dead_ops(fold_constants(function))
    verify(folded)
    frame = (ir.ReadRegister, ir.Load, ir.Store, ir.Return)
    ops = [op for op in folded.body.ops if not isinstance(op, frame)]
    return ops[1:]  # The first is the cast of the thread's number.


def bits(array: np.ndarray) -> list:
    if array.dtype.kind == "f":
        return [repr(number) for number in array.tolist()]
    return array.tolist()


def specials(dtype: DType) -> list:
    if dtype.is_bool:
        return [False, True]
    if dtype.is_float:
        return [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, math.inf, -math.inf, math.nan]
    limits = np.iinfo(dtype.numpy)
    return sorted(
        {0, 1, 2, 7, int(limits.min), int(limits.max), *((-1,) if dtype.is_signed else ())}
    )


def kinds_of(dtype: DType) -> list[BinaryKind]:
    if dtype.is_bool:
        return [B.AND, B.OR, B.XOR]
    if dtype.is_float:
        bit_kinds = (B.AND, B.OR, B.XOR, B.SHIFT_LEFT, B.SHIFT_RIGHT)
        return [kind for kind in B if kind not in bit_kinds]
    return [kind for kind in B if kind is not B.DIVIDE]


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_binary_with_a_constant_keeps_every_bit(dtype):
    """Every operation with every constant on either side, for every operand."""
    numbers = specials(dtype)
    for kind in kinds_of(dtype):
        kernel = Arrays(dtype, dtype)
        b, x = kernel.b, kernel.load(1)
        count = b.constant(len(numbers), I64)
        for row, (number, swap) in enumerate(itertools.product(numbers, (False, True))):
            constant = b.constant(number, dtype)
            left, right = (constant, x) if swap else (x, constant)
            place = b.binary(B.MULTIPLY, count, b.constant(row, I64))
            kernel.store(0, b.binary(kind, left, right), b.binary(B.ADD, place, kernel.tid))
        out = np.zeros(2 * len(numbers) ** 2, dtype.numpy)
        arguments = (out, np.array(numbers, dtype.numpy))
        function = kernel.function()
        program = Program(function, (1, 1, 1), (len(numbers), 1, 1), arguments)
        assert_same(program, fold_constants(function))


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_operation_on_equal_operands_keeps_every_bit(dtype):
    operand = np.array(specials(dtype), dtype.numpy)
    for kind in kinds_of(dtype):
        function = map_function([dtype], dtype, lambda b, x, kind=kind: b.binary(kind, x, x))
        found = run_map(fold_constants(function), dtype, operand)
        assert bits(found) == bits(run_map(function, dtype, operand)), kind
    for kind in C:
        function = map_function([dtype], B8, lambda b, x, kind=kind: b.compare(kind, x, x))
        found = run_map(fold_constants(function), B8, operand)
        assert bits(found) == bits(run_map(function, B8, operand)), kind


@pytest.mark.parametrize("first", REALS, ids=str)
def test_chain_of_casts_keeps_every_bit(first):
    operand = np.array(specials(first), first.numpy)
    for second, third in itertools.product(REALS, repeat=2):
        function = map_function(
            [first], third, lambda b, x, t=second, u=third: b.cast(b.cast(x, t), u)
        )
        found = run_map(fold_constants(function), third, operand)
        assert bits(found) == bits(run_map(function, third, operand)), (second, third)


@pytest.mark.parametrize("dtype", [B8, I8, dtypes.uint64, F16, F64], ids=str)
def test_constants_are_computed(dtype):
    numbers = specials(dtype)[:6]
    for kind in kinds_of(dtype):
        kernel = Arrays(dtype)
        b = kernel.b
        for slot, (x, y) in enumerate(itertools.product(numbers, repeat=2)):
            result = b.binary(kind, b.constant(x, dtype), b.constant(y, dtype))
            kernel.store(0, result, b.constant(slot, I64))
        function = kernel.function()
        folded = fold_constants(function)
        out = np.zeros(len(numbers) ** 2, dtype.numpy)
        assert_same(Program(function, (1, 1, 1), (1, 1, 1), (out,)), folded)
        run(folded, 1, 1, [out])
        left = sum(isinstance(op, ir.Binary) for op in walk(folded.body))
        assert left <= np.isnan(out).sum(), kind


def test_constants_that_give_a_nan_are_left_alone():
    def write(b: Builder) -> ir.Value:
        infinity = b.constant(math.inf, F32)
        return b.binary(B.SUBTRACT, infinity, infinity)

    assert any(isinstance(op, ir.Binary) for op in body_of(map_function([], F32, write)))


def is_operand(write, dtype: DType) -> bool:
    """Return whether an expression is folded to its operand."""
    return not body_of(map_function([dtype], dtype, write))


@pytest.mark.parametrize(
    ("dtype", "write"),
    [
        (I32, lambda b, x: b.binary(B.ADD, x, b.constant(0, I32))),
        (I32, lambda b, x: b.binary(B.ADD, b.constant(0, I32), x)),
        (I32, lambda b, x: b.binary(B.MULTIPLY, x, b.constant(1, I32))),
        (I32, lambda b, x: b.binary(B.FLOOR_DIVIDE, x, b.constant(1, I32))),
        (I32, lambda b, x: b.binary(B.SHIFT_LEFT, x, b.constant(0, I32))),
        (U8, lambda b, x: b.binary(B.AND, b.constant(255, U8), x)),
        (B8, lambda b, x: b.binary(B.AND, x, b.constant(True, B8))),
        (B8, lambda b, x: b.binary(B.OR, x, x)),
        (F32, lambda b, x: b.binary(B.MULTIPLY, x, b.constant(1.0, F32))),
        (F32, lambda b, x: b.binary(B.SUBTRACT, x, b.constant(0.0, F32))),
        (F32, lambda b, x: b.binary(B.ADD, x, b.constant(-0.0, F32))),
        (F32, lambda b, x: b.unary(U.NEGATE, b.unary(U.NEGATE, x))),
        (B8, lambda b, x: b.unary(U.NOT, b.unary(U.NOT, x))),
        (I32, lambda b, x: b.cast(b.cast(x, I64), I32)),
        (I32, lambda b, x: b.cast(b.cast(x, F64), I32)),
        (B8, lambda b, x: b.cast(b.cast(x, I64), B8)),
        (B8, lambda b, x: b.compare(C.NE, b.cast(x, I64), b.constant(0, I64))),
        (B8, lambda b, x: b.select(x, b.constant(True, B8), b.constant(False, B8))),
        (F32, lambda b, x: b.select(b.constant(True, B8), x, b.constant(1.0, F32))),
        (F32, lambda b, x: b.select(b.compare(C.LT, x, b.constant(1.0, F32)), x, x)),
    ],
)
def test_neutral_operation_disappears(dtype, write):
    assert is_operand(write, dtype)


@pytest.mark.parametrize(
    ("dtype", "write"),
    [
        (F32, lambda b, x: b.binary(B.ADD, x, b.constant(0.0, F32))),
        (F32, lambda b, x: b.binary(B.MULTIPLY, x, b.constant(0.0, F32))),
        (F32, lambda b, x: b.binary(B.SUBTRACT, x, x)),
        (F32, lambda b, x: b.unary(U.ABSOLUTE, b.unary(U.ABSOLUTE, x))),
        (I64, lambda b, x: b.cast(b.cast(x, F64), I64)),
        (I64, lambda b, x: b.cast(b.cast(x, I32), I64)),
        (F64, lambda b, x: b.cast(b.cast(x, F32), F64)),
    ],
)
def test_operation_that_may_change_a_value_stays(dtype, write):
    assert not is_operand(write, dtype)


def test_three_casts_become_one():
    (cast,) = body_of(
        map_function([I8], F64, lambda b, x: b.cast(b.cast(b.cast(x, I32), I64), F64))
    )
    assert isinstance(cast, ir.Cast)


def test_offset_by_zero_is_the_pointer():
    kernel = Arrays(I32)
    pointer = kernel.b.offset(kernel.params[0], kernel.b.constant(0, I64), 4)
    loaded = kernel.b.load(pointer, kernel.tid, 4, I32)
    kernel.store(0, loaded)
    assert body_of(kernel.function()) == []


def branch(condition: bool, *, leave: bool) -> ir.Function:
    """Store 1 or 2; the first branch may return before the store."""
    kernel = Arrays(I32)
    b = kernel.b
    one, two = b.constant(1, I32), b.constant(2, I32)
    with b.collect() as then_ops:
        b.append(ir.Return(()) if leave else ir.Yield((one,)))
    result = value(I32)
    otherwise = block([ir.Yield((two,))])
    b.append(ir.If(b.constant(condition, B8), block(then_ops), otherwise, (result,)))
    kernel.store(0, result)
    return kernel.function()


@pytest.mark.parametrize("condition", [True, False])
@pytest.mark.parametrize("leave", [True, False])
def test_branch_of_a_known_condition_takes_the_place_of_the_if(condition, leave):
    function = branch(condition, leave=leave)
    folded = fold_constants(function)
    verify(folded)
    assert not any(isinstance(op, ir.If) for op in folded.body.ops)
    out = np.zeros(1, np.int32)
    assert_same(Program(function, (1, 1, 1), (1, 1, 1), (out,)), folded)


def test_code_after_branches_that_both_leave_is_dropped():
    kernel = Arrays(I32)
    b = kernel.b
    condition, yes = (
        kernel.b.compare(C.EQ, kernel.load(0), b.constant(1, I32)),
        b.constant(True, B8),
    )
    result = value(I32)

    def leave_after_all() -> ir.Block:
        with b.collect() as ops:
            kernel.when(yes, lambda: b.append(ir.Return(())))
            b.append(ir.Yield((b.constant(1, I32),)))
        return block(ops)

    b.append(ir.If(condition, leave_after_all(), leave_after_all(), (result,)))
    kernel.store(0, result)
    folded = fold_constants(kernel.function())
    verify(folded)
    assert not any(isinstance(op, ir.Store) for op in walk(folded.body))


@pytest.mark.parametrize(
    ("start", "stop", "step", "is_dropped"),
    [(0, 0, 1, True), (3, 2, 1, True), (2, 3, -1, True), (0, 9, 0, True), (0, 1, 1, False),
     (3, 2, -1, False)],
)  # fmt: skip
def test_loop_without_iterations_is_its_initial_values(start, stop, step, is_dropped):
    kernel = Arrays(I64)
    b = kernel.b
    bounds = [b.constant(number, I64) for number in (start, stop, step)]
    x = kernel.load(0)
    index, carried, result = value(I64), value(I64), value(I64)
    body = block([ir.Continue((index,))], (index, carried))
    b.append(ir.For(*bounds, (x,), body, (result,)))
    kernel.store(0, result)
    folded = fold_constants(kernel.function())
    assert any(isinstance(op, ir.For) for op in folded.body.ops) != is_dropped
    program = Program(kernel.function(), (1, 1, 1), (1, 1, 1), (np.array([5]),))
    assert_same(program, folded)


def test_loop_from_a_value_to_itself_never_runs():
    kernel = Arrays(I64)
    x = kernel.load(0)
    body = block([ir.Continue(())], (value(I64),))
    kernel.b.append(ir.For(x, x, x, (), body, ()))
    assert not any(isinstance(op, ir.For) for op in fold_constants(kernel.function()).body.ops)


def test_function_without_constants_is_returned_as_it_is():
    function = map_function([F32], F32, lambda b, x: b.binary(B.ADD, x, x))
    assert fold_constants(function) is function


@given(programs())
def test_folding_changes_no_result(program):
    folded = fold_constants(program.function)
    verify(folded)
    assert_same(program, folded)
