import numpy as np
from hypothesis import given

from pygpulib.core import dtypes
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.ir.verifier import verify
from pygpulib.jit.passes.share_common import share_common
from tests.helpers.ir_kernels import Arrays
from tests.helpers.ir_programs import Program, assert_same, programs

F32, I32, I64 = dtypes.float32, dtypes.int32, dtypes.int64
B = ir.BinaryKind


def count(function: ir.Function, op_class: type) -> int:
    verify(function)
    return sum(isinstance(op, op_class) for op in walk(function.body))


def check(kernel: Arrays, op_class: type, expected: int) -> None:
    """Check how many operations of a class are left, and that nothing else has changed."""
    function = kernel.function()
    shared = share_common(function)
    assert count(shared, op_class) == expected
    arrays = tuple(np.arange(4).astype(dtype.numpy) for dtype in kernel.types)
    assert_same(Program(function, (1, 1, 1), (4, 1, 1), arrays), shared)


def test_equal_operations_are_computed_once_in_either_order():
    kernel = Arrays(F32, F32)
    x, y = kernel.load(0), kernel.load(1)
    kernel.store(0, kernel.b.binary(B.ADD, x, y))
    kernel.store(1, kernel.b.binary(B.ADD, y, x))
    check(kernel, ir.Binary, 1)


def test_order_of_a_difference_matters():
    kernel = Arrays(F32, F32)
    x, y = kernel.load(0), kernel.load(1)
    kernel.store(0, kernel.b.binary(B.SUBTRACT, x, y))
    kernel.store(1, kernel.b.binary(B.SUBTRACT, y, x))
    check(kernel, ir.Binary, 2)


def test_result_type_matters():
    kernel = Arrays(F32, dtypes.float64)
    x = kernel.load(0)
    kernel.store(1, kernel.b.cast(x, dtypes.float64))
    kernel.store(0, kernel.b.cast(kernel.b.cast(x, I32), F32))
    check(kernel, ir.Cast, 4)


def test_strict_operation_is_not_a_loose_one():
    kernel = Arrays(F32, F32)
    x = kernel.load(0)
    kernel.store(0, kernel.b.binary(B.ADD, x, x))
    kernel.store(1, kernel.b.binary(B.ADD, x, x, strict=True))
    check(kernel, ir.Binary, 2)


def test_zeros_of_different_signs_and_types_are_different_constants():
    kernel = Arrays(F32, F32, I32, dtypes.bool_)
    for number, constant in enumerate((0.0, -0.0, 0, False)):
        kernel.store(number, kernel.b.constant(constant, kernel.types[number]))
        kernel.store(number, kernel.b.constant(constant, kernel.types[number]))
    check(kernel, ir.Const, 4)


def test_value_of_an_outer_block_serves_the_inner_ones_but_not_the_reverse():
    kernel = Arrays(I64, I64)
    b, x = kernel.b, kernel.load(0)

    def square() -> None:
        kernel.store(1, b.binary(B.MULTIPLY, x, x))

    condition = b.compare(ir.CompareKind.LT, x, b.constant(2, I64))
    kernel.when(condition, square, square)
    square()
    kernel.when(condition, square)
    check(kernel, ir.Binary, 3)


def test_loads_are_not_shared():
    kernel = Arrays(I64, I64)
    first = kernel.load(0)
    kernel.store(0, kernel.b.binary(B.ADD, first, first))
    kernel.store(1, kernel.load(0))
    check(kernel, ir.Load, 2)


def test_function_without_repetition_is_returned_as_it_is():
    kernel = Arrays(F32)
    kernel.store(0, kernel.load(0))
    function = kernel.function()
    assert share_common(function) is function


@given(programs())
def test_sharing_changes_no_result(program):
    shared = share_common(program.function)
    verify(shared)
    assert_same(program, shared)
    assert share_common(shared) is shared
