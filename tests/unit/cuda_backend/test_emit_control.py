"""Control flow in PTX."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.interp import run
from pygpulib.jit.ir import ops as ir
from tests.helpers.cuda_programs import ptx_of, run_both, run_cuda
from tests.helpers.ir_kernels import Arrays, block, value

B = ir.BinaryKind
LENGTH = 12


def loop_kernel(dtype: DType, step: int | None = None, limit: int = LENGTH) -> ir.Function:
    """Return a kernel of (seen, starts, stops, steps): what a loop counts, and how often it runs.

    The loop is left when the count reaches ``limit``.
    """
    kernel = Arrays(dtypes.int64, dtype, dtype, dtype)
    b = kernel.b
    start, stop = kernel.load(1), kernel.load(2)
    steps = kernel.load(3) if step is None else b.constant(step, dtype)
    index, count, total = value(dtype), value(dtypes.int64), value(dtypes.int64)
    with b.collect() as ops:
        one = b.constant(1, dtypes.int64)
        following = b.binary(B.ADD, count, one)
        seven = b.binary(B.MULTIPLY, total, b.constant(7, dtypes.int64))
        sum_ = b.binary(B.ADD, seven, b.cast(index, dtypes.int64))
        is_over = b.compare(ir.CompareKind.EQ, following, b.constant(limit, dtypes.int64))
        kernel.when(is_over, lambda: b.append(ir.Break((following, sum_))))
        b.append(ir.Continue((following, sum_)))
    zero = b.constant(0, dtypes.int64)
    results = (value(dtypes.int64), value(dtypes.int64))
    body = block(ops, (index, count, total))
    b.append(ir.For(start, stop, steps, (zero, zero), body, results))
    for number, result in enumerate(results):
        place = b.binary(B.MULTIPLY, kernel.tid, b.constant(2, dtypes.int64))
        kernel.store(0, result, b.binary(B.ADD, place, b.constant(number, dtypes.int64)))
    return kernel.function()


def bounds(dtype: DType) -> list[np.ndarray]:
    limits = np.iinfo(dtype.numpy)
    ends = {0, 1, 5, limits.max, limits.max - 1, limits.max - 7, limits.min, limits.min + 3}
    steps = {0, 1, 2, 3, 100, limits.max}
    if dtype.is_signed:
        steps |= {-1, -2, -100, limits.min}
    rows = list(itertools.product(sorted(ends), sorted(ends), sorted(steps)))
    return [np.array(column, object).astype(dtype.numpy) for column in zip(*rows, strict=True)]


@pytest.mark.parametrize("dtype", [dtypes.int8, dtypes.uint8, dtypes.int32, dtypes.uint64], ids=str)
def test_loops_up_to_the_ends_of_a_type(dtype: DType) -> None:
    columns = bounds(dtype)
    count = columns[0].size
    function = loop_kernel(dtype)
    found, expected = np.zeros((2, 2 * count), np.int64)
    run(function, 1, count, (expected, *columns))
    run_cuda(function, 1, count, (found, *columns))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("step", [1, 3, -1, -4, 127, -128, 0])
def test_loops_with_a_known_step(step: int) -> None:
    columns = bounds(dtypes.int8)
    count = columns[0].size
    function = loop_kernel(dtypes.int8, step)
    found, expected = np.zeros((2, 2 * count), np.int64)
    run(function, 1, count, (expected, *columns))
    run_cuda(function, 1, count, (found, *columns))
    np.testing.assert_array_equal(found, expected)


def test_a_loop_by_one_only_compares_with_its_end() -> None:
    ptx = ptx_of(loop_kernel(dtypes.int64, 1, limit=-1))
    loop = ptx[ptx.index("$L__BB0_2:") : ptx.index("@%p", ptx.index("$L__BB0_2:"))]
    assert loop.count("setp") <= 2


@pytest.mark.parametrize("seed", [None, 1, 2])
def test_threads_that_part(seed: int | None) -> None:
    def kernel(a, out):
        i = cuda.grid(1)
        if i >= a.size:
            return
        total = 0
        n = a[i]
        while n != 1:
            if n % 2:
                n = 3 * n + 1
                if n > 1000:
                    total = -n
                    break
            else:
                n //= 2
                if n == 8:
                    continue
            total += n
        else:
            total += 1000000
        for k in range(a[i] % 5, -3, -2):
            for j in range(k):
                if j == 2:
                    break
                total += 10 * j
            else:
                total += 5
        out[i] = total

    a = np.arange(1, 61)
    run_both(kernel, 3, 32, a, np.zeros(60, np.int64), seed=seed)


def test_a_choice_between_values_has_no_branch() -> None:
    kernel = Arrays(dtypes.int32, dtypes.int32, dtypes.int32)
    b, left, right = kernel.b, kernel.load(1), kernel.load(2)
    result = value(dtypes.int32)
    blocks = [block([ir.Yield((one,))]) for one in (left, right)]
    b.append(ir.If(b.compare(ir.CompareKind.LT, left, right), *blocks, (result,)))
    kernel.store(0, result)
    function = kernel.function()
    ptx = ptx_of(function)
    assert "bra" not in ptx
    out = np.zeros(4, np.int32)
    run_cuda(function, 1, 4, (out, np.array([1, 5, -1, 7], "i4"), np.array([2, 3, -2, 7], "i4")))
    assert out.tolist() == [1, 3, -2, 7]


def test_an_endless_loop_and_what_is_never_reached() -> None:
    kernel = Arrays(dtypes.int32)
    b = kernel.b

    def leave() -> None:
        kernel.store(0, b.constant(3, dtypes.int32))
        b.append(ir.Return(()))

    with b.collect() as ops:
        is_first = b.compare(ir.CompareKind.EQ, kernel.tid, b.constant(0, dtypes.int64))
        kernel.when(is_first, leave, leave)
        b.append(ir.Unreachable())
    b.append(ir.Loop((), block(ops), ()))
    b.append(ir.Unreachable())
    out = np.zeros(2, np.int32)
    run_cuda(kernel.function(), 1, 2, (out,))
    assert out.tolist() == [3, 3]
