"""What crosses the borders of a gang: barriers of the grid, calls of recursive functions."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core import dtypes
from pygpulib.core.driver import LaunchShape
from pygpulib.errors import UnsupportedFeatureError
from pygpulib.jit.backends.cpu.compiler import compile_kernel
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.ir.ops import BinaryKind, Register
from tests.helpers.cpu_programs import pack

I64 = dtypes.int64
Body = Callable[[Builder, tuple[ir.Value, ...]], None]


def thread_number(b: Builder) -> ir.Value:
    registers = (Register.CTAID_X, Register.NTID_X, Register.TID_X)
    block, size, thread = (b.cast(b.register(register), I64) for register in registers)
    return b.binary(BinaryKind.ADD, b.binary(BinaryKind.MULTIPLY, block, size), thread)


def kernel(arrays: int, body: Body, callees: tuple[ir.Function, ...] = ()) -> ir.Function:
    params = []
    for _ in range(arrays):
        params += [ir.Value(ir.Pointer()), ir.Value(I64), ir.Value(I64)]
    b = Builder()
    with b.collect() as ops:
        body(b, tuple(params))
        b.append(ir.Return(()))
    return ir.Function("kernel", tuple(params), ir.Block((), tuple(ops)), callees=callees)


def launch(function: ir.Function, grid: int, block: int, *arrays: np.ndarray) -> None:
    compiled = compile_kernel(function, lambda *_: pytest.fail("nothing is composed here"))
    words = pack(function, (grid, 1, 1), (block, 1, 1), arrays)
    compiled.run(LaunchShape((grid, 1, 1), (block, 1, 1)), ctypes.addressof(words))


@pytest.mark.parametrize(("grid", "block"), [(1, 1), (1, 64), (37, 64), (5, 33), (1000, 3)])
def test_a_grid_barrier_orders_all_blocks(grid: int, block: int) -> None:
    def reverse(b: Builder, params: tuple[ir.Value, ...]) -> None:
        source, length, _, target, *_ = params
        i = thread_number(b)
        b.store(source, i, i, 8)
        b.append(ir.Barrier(ir.BarrierKind.GRID))
        last = b.binary(BinaryKind.SUBTRACT, length, b.constant(1, I64))
        mirrored = b.binary(BinaryKind.SUBTRACT, last, i)
        b.store(target, i, b.load(source, mirrored, 8, I64), 8)
        b.append(ir.Barrier(ir.BarrierKind.GRID))
        b.store(source, i, b.load(target, mirrored, 8, I64), 8)

    a, b = np.zeros((2, grid * block), np.int64)
    launch(kernel(2, reverse), grid, block, a, b)
    np.testing.assert_array_equal(b, np.arange(grid * block)[::-1])
    np.testing.assert_array_equal(a, np.arange(grid * block))


def test_threads_may_pass_by_a_grid_barrier() -> None:
    @cuda.jit
    def label(starts, labels):
        i = cuda.grid(1)
        if i < starts.size and starts[i]:
            labels[i] = i
            cuda.cg.this_grid().sync()
            k = i + 1
            while k < starts.size and not starts[k]:
                labels[k] = i
                k += 1

    starts = np.random.default_rng(1).random(500) < 0.2
    starts[0] = True
    labels = np.full(500, -1)
    label[4, 128](starts, labels)
    np.testing.assert_array_equal(labels, np.flatnonzero(starts)[np.cumsum(starts) - 1])


def recursive(name: str, arguments: tuple[int, ...], limit: int) -> ir.Function:
    """Return ``f(n) = n if n < limit else sum(f(n - k) for k in arguments)``."""
    n = ir.Value(I64)
    b = Builder()
    with b.collect() as ops:
        is_small = b.compare(ir.CompareKind.LT, n, b.constant(limit, I64))
        then, otherwise = ir.Block((), (ir.Return((n,)),)), ir.Block((), (ir.Yield(()),))
        b.append(ir.If(is_small, then, otherwise, ()))
        total = b.constant(0, I64)
        for step in arguments:
            result = ir.Value(I64)
            smaller = b.binary(BinaryKind.SUBTRACT, n, b.constant(step, I64))
            b.append(ir.CallFunction(name, (smaller,), (result,)))
            total = b.binary(BinaryKind.ADD, total, result)
        b.append(ir.Return((total,)))
    return ir.Function(name, (n,), ir.Block((), tuple(ops)), (I64,))


def call_for_each_thread(callee: ir.Function, offset: int) -> ir.Function:
    def body(b: Builder, params: tuple[ir.Value, ...]) -> None:
        i = thread_number(b)
        result = ir.Value(I64)
        argument = b.binary(BinaryKind.ADD, i, b.constant(offset, I64))
        b.append(ir.CallFunction(callee.name, (argument,), (result,)))
        b.store(params[0], i, result, 8)

    return kernel(1, body, (callee,))


@pytest.mark.parametrize("block", [1, 8, 32, 33])
def test_recursion_with_a_depth_per_lane(block: int) -> None:
    def fibonacci(n: int) -> int:
        return n if n < 2 else fibonacci(n - 1) + fibonacci(n - 2)

    out = np.zeros(block, np.int64)
    launch(call_for_each_thread(recursive("fib", (1, 2), 2), -13), 1, block, out)
    assert out.tolist() == [fibonacci(n - 13) for n in range(block)]


def test_a_recursion_that_never_ends_is_an_error_and_not_a_crash() -> None:
    out = np.zeros(64, np.int64)
    with pytest.raises(RecursionError, match="too deeply"):
        launch(call_for_each_thread(recursive("deep", (0,), -(1 << 62)), 0), 2, 32, out)


@cuda.jit(device=True)
def sum_from(values, i):
    return values[i] + sum_from(values, i + 1) if i < values.size else 0.0


def test_recursive_functions_take_shared_arrays() -> None:
    @cuda.jit
    def kernel(out):
        i = cuda.threadIdx.x
        values = cuda.shared.array(0, np.float64)
        values[i] = i + 0.5
        cuda.syncthreads()
        out[i] = sum_from(values, i)

    out = np.zeros(40)
    kernel[1, 40, 0, 40 * 8](out)
    np.testing.assert_array_equal(out, np.cumsum(np.arange(40)[::-1] + 0.5)[::-1])


@cuda.jit(device=True)
def last_shared():
    return cuda.shared.array(4, np.float64)[3]


@cuda.jit(device=True)
def sum_own(i):
    values = cuda.shared.array(0, np.float64)
    return values[i] + sum_own(i + 1) if i < values.size else 0.0


@cuda.jit(device=True)
def sum_below(i):
    return last_shared() + sum_below(i + 1) if i < 9 else 0.0


@pytest.mark.parametrize(("function", "maker"), [(sum_own, "sum_own"), (sum_below, "last_shared")])
def test_recursive_functions_make_no_shared_arrays(function: object, maker: str) -> None:
    @cuda.jit
    def kernel(out):
        out[0] = function(0)

    with pytest.raises(UnsupportedFeatureError, match=f"{maker} makes a shared array") as caught:
        kernel[1, 1](np.zeros(1))
    assert str(caught.value).endswith("make the array in the kernel, and pass it to the function")
