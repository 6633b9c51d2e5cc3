"""Control flow under masks against the same program written in Python, thread by thread."""

import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.errors import KernelFault
from pygpulib.jit.backends.interp import run
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.verifier import verify
from tests.helpers.ir_kernels import Arrays, block, value

I64 = dtypes.int64
ADD, SUBTRACT, MULTIPLY, MODULO = (
    ir.BinaryKind.ADD,
    ir.BinaryKind.SUBTRACT,
    ir.BinaryKind.MULTIPLY,
    ir.BinaryKind.MODULO,
)
EQ, GE, LT = ir.CompareKind.EQ, ir.CompareKind.GE, ir.CompareKind.LT


def run_on(kernel: Arrays, *arrays: np.ndarray, **options) -> list[list]:
    function = kernel.function()
    verify(function)
    run(function, 1, len(arrays[0]), arrays, **options)
    return [array.tolist() for array in arrays]


def test_if_gives_each_thread_the_result_of_its_branch():
    kernel = Arrays(I64)
    b, x = kernel.b, kernel.load(0)
    three = b.constant(3, I64)
    with b.collect() as then_ops:
        b.append(ir.Yield((b.binary(MULTIPLY, x, x),)))
    with b.collect() as else_ops:
        b.append(ir.Yield((x,)))
    result = value(I64)
    b.append(ir.If(b.compare(LT, x, three), block(then_ops), block(else_ops), (result,)))
    kernel.store(0, result)
    (found,) = run_on(kernel, np.arange(6))
    assert found == [0, 1, 4, 3, 4, 5]


def test_return_ends_a_thread_and_the_others_go_on():
    kernel = Arrays(I64)
    b = kernel.b
    two = b.constant(2, I64)
    kernel.when(b.compare(LT, kernel.tid, two), lambda: b.append(ir.Return(())))
    kernel.store(0, kernel.tid)
    (found,) = run_on(kernel, np.full(4, -1))
    assert found == [-1, -1, 2, 3]


def for_kernel(dtype) -> Arrays:
    """Collect each thread's ``range(start, stop, step)`` as a number in base 10, and its length."""
    kernel = Arrays(I64, I64, dtype, dtype, dtype)
    b = kernel.b
    start, stop, step = (kernel.load(number) for number in (2, 3, 4))
    zero, ten, one = b.constant(0, I64), b.constant(10, I64), b.constant(1, I64)
    index, digits, count = value(dtype, "i"), value(I64), value(I64)
    with b.collect() as ops:
        digit = b.cast(b.binary(MODULO, index, b.constant(10, dtype)), I64)
        following = b.binary(ADD, b.binary(MULTIPLY, digits, ten), digit)
        b.append(ir.Continue((following, b.binary(ADD, count, one))))
    results = (value(I64), value(I64))
    body = block(ops, (index, digits, count))
    b.append(ir.For(start, stop, step, (zero, zero), body, results))
    kernel.store(0, results[0])
    kernel.store(1, results[1])
    return kernel


@pytest.mark.parametrize("dtype", [row for row in dtypes.ALL_DTYPES if row.is_integer], ids=str)
def test_for_runs_over_a_range_without_overflow(dtype):
    limits = np.iinfo(dtype.numpy)
    low, high = int(limits.min), int(limits.max)
    ranges = [(0, 5, 1), (0, 5, 2), (3, 3, 1), (5, 2, 1), (0, 4, 0), (high - 3, high, 2)]
    ranges += [(high - 3, high, 3), (high - 1, high, high), (low, low + 3, 1)]
    ranges += [(low, high, max(high // 2, 1))]
    if dtype.is_signed:
        ranges += [(5, 0, -1), (5, 0, -2), (0, 5, -1), (low + 3, low, -2), (high, low, low)]
    arrays = [np.array(column, dtype.numpy) for column in zip(*ranges, strict=True)]
    digits, counts = np.zeros(len(ranges), np.int64), np.zeros(len(ranges), np.int64)
    found = run_on(for_kernel(dtype), digits, counts, *arrays)
    expected = [list(range(*bounds)) if bounds[2] else [] for bounds in ranges]
    assert found[1] == [len(numbers) for numbers in expected]
    for total, numbers in zip(found[0], expected, strict=True):
        assert total == sum(n % 10 * 10**i for i, n in enumerate(reversed(numbers)))


def test_break_and_continue_leave_their_loop_with_their_own_values():
    # for i in range(tid): if i == 3: break (100 + total); if i % 2: continue; total += i
    kernel = Arrays(I64)
    b = kernel.b
    zero, one, two, three, big = (b.constant(n, I64) for n in (0, 1, 2, 3, 100))
    index, total = value(I64), value(I64)
    with b.collect() as ops:
        kernel.when(
            b.compare(EQ, index, three),
            lambda: b.append(ir.Break((b.binary(ADD, total, big),))),
        )
        odd = b.compare(EQ, b.binary(MODULO, index, two), one)
        kernel.when(odd, lambda: b.append(ir.Continue((total,))))
        b.append(ir.Continue((b.binary(ADD, total, index),)))
    result = value(I64)
    body = block(ops, (index, total))
    b.append(ir.For(zero, kernel.tid, one, (zero,), body, (result,)))
    kernel.store(0, result)

    def reference(tid: int) -> int:
        total = 0
        for i in range(tid):
            if i == 3:
                return total + 100
            if i % 2:
                continue
            total += i
        return total

    (found,) = run_on(kernel, np.zeros(7, np.int64))
    assert found == [reference(tid) for tid in range(7)]


def test_loop_runs_until_every_thread_has_left():
    # Collatz: steps until 1
    kernel = Arrays(I64)
    b = kernel.b
    zero, one, two, three = (b.constant(n, I64) for n in (0, 1, 2, 3))
    number, steps = value(I64), value(I64)
    with b.collect() as ops:
        kernel.when(b.compare(EQ, number, one), lambda: b.append(ir.Break((steps,))))
        even = b.compare(EQ, b.binary(MODULO, number, two), zero)
        half = b.binary(ir.BinaryKind.FLOOR_DIVIDE, number, two)
        more = b.binary(ADD, b.binary(MULTIPLY, number, three), one)
        b.append(ir.Continue((b.select(even, half, more), b.binary(ADD, steps, one))))
    result = value(I64)
    b.append(ir.Loop((kernel.load(0), zero), block(ops, (number, steps)), (result,)))
    kernel.store(0, result)

    def reference(number: int) -> int:
        steps = 0
        while number != 1:
            number = number // 2 if number % 2 == 0 else 3 * number + 1
            steps += 1
        return steps

    (found,) = run_on(kernel, np.arange(1, 20))
    assert found == [reference(number) for number in range(1, 20)]


def test_return_in_a_loop_leaves_the_scope_only():
    kernel = Arrays(I64)
    b = kernel.b
    zero, one, limit, other = (b.constant(n, I64) for n in (0, 1, 4, 77))
    index = value(I64)
    with b.collect() as scope_ops:
        with b.collect() as ops:
            kernel.when(b.compare(EQ, index, kernel.tid), lambda: b.append(ir.Return((index,))))
            b.append(ir.Continue(()))
        b.append(ir.For(zero, limit, one, (), block(ops, (index,)), ()))
        b.append(ir.Return((other,)))
    result = value(I64)
    b.append(ir.Scope(block(scope_ops), (result,), "find"))
    kernel.store(0, result)
    (found,) = run_on(kernel, np.zeros(6, np.int64))
    assert found == [0, 1, 2, 3, 77, 77]


def test_recursive_function_runs_with_divergent_depth():
    # fib(n) is n below 2, else fib(n - 1) + fib(n - 2)
    kernel = Arrays(I64)
    b, n = kernel.b, value(I64, "n")
    with b.collect() as callee_ops:
        one, two = b.constant(1, I64), b.constant(2, I64)
        kernel.when(b.compare(LT, n, two), lambda: b.append(ir.Return((n,))))
        parts = (value(I64), value(I64))
        for part, less in zip(parts, (one, two), strict=True):
            b.append(ir.CallFunction("fib", (b.binary(SUBTRACT, n, less),), (part,)))
        b.append(ir.Return((b.binary(ADD, *parts),)))
    fib = ir.Function("fib", (n,), block(callee_ops), (I64,))
    result = value(I64)
    b.append(ir.CallFunction("fib", (kernel.load(0),), (result,)))
    kernel.store(0, result)
    function = kernel.function()
    function = ir.Function(function.name, function.params, function.body, callees=(fib,))
    verify(function)
    numbers = np.arange(10)
    run(function, 1, 10, [numbers])
    assert numbers.tolist() == [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]


def test_endless_loop_is_reported():
    kernel = Arrays(I64)
    kernel.b.append(ir.Loop((), block([ir.Continue(())]), ()))
    kernel.b.append(ir.Unreachable())
    with pytest.raises(KernelFault, match="a loop has not ended after 5 iterations"):
        run_on(kernel, np.zeros(1, np.int64), max_iterations=5)


def test_reached_unreachable_place_is_reported():
    kernel = Arrays(I64)
    with kernel.b.collect() as ops:
        kernel.b.append(ir.Unreachable())
    is_second = kernel.b.compare(EQ, kernel.tid, kernel.b.constant(1, I64))
    kernel.b.append(ir.If(is_second, block(ops), block([ir.Yield(())]), ()))
    with pytest.raises(KernelFault) as caught:
        run_on(kernel, np.zeros(2, np.int64))
    assert str(caught.value) == (
        "control came to an unreachable place\n"
        "in thread (1, 0, 0) of block (0, 0, 0), at the operation: unreachable"
    )


def test_undefined_value_is_conspicuous():
    kernel = Arrays(I64, dtypes.bool_)
    kernel.store(0, kernel.b.undefined(I64))
    kernel.store(1, kernel.b.undefined(dtypes.bool_))
    found = run_on(kernel, np.zeros(2, np.int64), np.zeros(2, np.bool_))
    assert found == [[0xA5A5A5A5A5A5A5A5 - 2**64] * 2, [True, False]]
