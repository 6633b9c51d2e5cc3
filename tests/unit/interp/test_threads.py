import itertools
import math

import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.errors import KernelFault, Span
from pygpulib.jit.backends.interp import Fault, run
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.intrinsic import Emit, Intrinsic, Signature
from pygpulib.jit.ir.ops import AtomicKind, BarrierKind, Effect, Register
from pygpulib.jit.ir.verifier import verify
from tests.helpers.ir_kernels import Arrays, map_function, run_map, value

I32, I64, F32 = dtypes.int32, dtypes.int64, dtypes.float32


def test_registers_say_where_a_thread_is():
    grid, block = (2, 3, 2), (3, 2, 4)
    count = math.prod(grid) * math.prod(block)
    registers = list(Register)
    kernel = Arrays(I32, I64)
    b = kernel.b
    size, zero, one = (b.constant(number, I64) for number in (count, 0, 1))
    # A counter numbers the threads: lanes run in order.
    old = value(I64)
    b.append(ir.Atomic(AtomicKind.ADD, kernel.params[3], zero, one, None, 8, old))
    for number, register in enumerate(registers):
        row = b.binary(ir.BinaryKind.MULTIPLY, b.constant(number, I64), size)
        kernel.store(0, b.register(register), b.binary(ir.BinaryKind.ADD, row, old))
    function = kernel.function()
    verify(function)
    found = np.full(len(registers) * count, -1, np.int32)
    run(function, grid, block, [found, np.zeros(1, np.int64)])
    rows = dict(zip(registers, found.reshape(-1, count).tolist(), strict=True))
    blocks = list(itertools.product(*(range(n) for n in grid[::-1])))
    threads = list(itertools.product(*(range(n) for n in block[::-1])))
    places = list(itertools.product(blocks, threads))
    for axis, letter in enumerate("xyz"):
        assert rows[Register(f"tid.{letter}")] == [thread[2 - axis] for _, thread in places]
        assert rows[Register(f"ctaid.{letter}")] == [index[2 - axis] for index, _ in places]
        assert rows[Register(f"ntid.{letter}")] == [block[axis]] * count
        assert rows[Register(f"nctaid.{letter}")] == [grid[axis]] * count
    assert rows[Register.WARPSIZE] == [32] * count
    assert rows[Register.LANEID] == list(range(24)) * len(blocks)


def counting_kernel(kind: BarrierKind) -> Arrays:
    kernel = Arrays(I32, I32)
    result = value(I32)
    kernel.b.append(ir.Barrier(kind, kernel.load(1), (result,)))
    kernel.store(0, result)
    return kernel


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (BarrierKind.BLOCK_COUNT, lambda column: sum(x != 0 for x in column)),
        (BarrierKind.BLOCK_AND, lambda column: int(all(column))),
        (BarrierKind.BLOCK_OR, lambda column: int(any(column))),
    ],
)
@pytest.mark.parametrize("column", [[0, 0, 0], [1, 0, -5], [2, 1, 7]], ids=str)
def test_counting_barrier(kind, expected, column):
    out = np.zeros(3, np.int32)
    run(counting_kernel(kind).function(), 1, 3, [out, np.array(column, np.int32)])
    assert out.tolist() == [expected(column)] * 3


@pytest.mark.parametrize(
    ("kind", "expected"),
    [(BarrierKind.BLOCK_COUNT, 1), (BarrierKind.BLOCK_AND, 1), (BarrierKind.BLOCK_OR, 1)],
)
def test_counting_barrier_leaves_out_threads_that_have_returned(kind, expected):
    kernel = Arrays(I32)
    b = kernel.b
    is_first = b.compare(ir.CompareKind.EQ, kernel.tid, b.constant(0, I64))
    kernel.when(is_first, lambda: None, lambda: b.append(ir.Return(())))
    result = value(I32)
    b.append(ir.Barrier(kind, b.cast(is_first, I32), (result,)))
    kernel.store(0, result)
    out = np.full(3, -1, np.int32)
    run(kernel.function(), 1, 3, [out])
    assert out.tolist() == [expected, -1, -1]


def divergent_barrier(kind: BarrierKind, *, others_return: bool) -> ir.Function:
    """Threads from 2 on wait; the others go around the barrier, or have returned before."""
    kernel = Arrays(I32)
    b = kernel.b
    b.span = Span("k.py", 5, 0, 5, 1)
    is_first = b.compare(ir.CompareKind.LT, kernel.tid, b.constant(2, I64))
    if others_return:
        kernel.when(is_first, lambda: b.append(ir.Return(())))
        b.append(ir.Barrier(kind, span=b.span))
    else:
        kernel.when(is_first, lambda: None, lambda: b.append(ir.Barrier(kind, span=b.span)))
    return kernel.function()


def test_barrier_that_some_threads_miss_is_reported():
    function = divergent_barrier(BarrierKind.BLOCK, others_return=False)
    with pytest.raises(KernelFault) as caught:
        run(function, 1, 4, [np.zeros(4, np.int32)])
    assert str(caught.value) == (
        "k.py:5: a barrier is not reached by all threads\n"
        "in thread (0, 0, 0) of block (0, 0, 0), at the operation: barrier kind=block"
    )


def test_barrier_does_not_wait_for_threads_that_have_returned():
    function = divergent_barrier(BarrierKind.BLOCK, others_return=True)
    run(function, 1, 4, [np.zeros(4, np.int32)])


def test_warp_barrier_may_be_divergent():
    function = divergent_barrier(BarrierKind.WARP, others_return=False)
    run(function, 1, 4, [np.zeros(4, np.int32)])


def test_blocks_and_threads_may_pass_by_a_grid_barrier():
    run(divergent_barrier(BarrierKind.GRID, others_return=False), 1, 4, [np.zeros(4, np.int32)])
    kernel = Arrays(I32)
    b = kernel.b
    block = b.register(Register.CTAID_X)
    is_first = b.compare(ir.CompareKind.EQ, block, b.constant(0, I32))
    kernel.when(is_first, lambda: b.append(ir.Barrier(BarrierKind.GRID)))
    run(kernel.function(), 2, 2, [np.zeros(4, np.int32)])


def test_blocks_leave_a_barrier_of_their_own_independently():
    kernel = Arrays(I32)
    b = kernel.b
    block = b.register(Register.CTAID_X)
    is_first = b.compare(ir.CompareKind.EQ, block, b.constant(0, I32))
    kernel.when(is_first, lambda: b.append(ir.Barrier(BarrierKind.BLOCK)))
    run(kernel.function(), 3, 2, [np.zeros(4, np.int32)])


def test_block_may_wait_for_what_an_earlier_block_writes():
    kernel = Arrays(I32)
    b = kernel.b
    block = b.cast(b.register(Register.CTAID_X), I64)
    one = b.constant(1, I32)
    with b.collect() as ops:
        flag = kernel.load(0, block)
        is_set = b.compare(ir.CompareKind.EQ, flag, one)
        kernel.when(is_set, lambda: b.append(ir.Break(())))
        b.append(ir.Continue(()))
    b.append(ir.Loop((), ir.Block((), tuple(ops)), ()))
    kernel.store(0, one, b.binary(ir.BinaryKind.ADD, block, b.constant(1, I64)))
    flags = np.array([1, 0, 0, 0], np.int32)
    run(kernel.function(), 3, 1, [flags], max_iterations=10)
    assert flags.tolist() == [1, 1, 1, 1]


# --------------------------------------------------------------------------------------- atomics

NAN = math.nan
CASES = [
    (AtomicKind.ADD, I32, 5, 2**31 - 1, 4 - 2**31),
    (AtomicKind.SUBTRACT, dtypes.uint32, 3, 5, 2**32 - 2),
    (AtomicKind.AND, I64, 12, 10, 8),
    (AtomicKind.OR, I64, 12, 10, 14),
    (AtomicKind.XOR, I64, 12, 10, 6),
    (AtomicKind.MINIMUM, I32, 3, -4, -4),
    (AtomicKind.MAXIMUM, I32, 3, -4, 3),
    (AtomicKind.MAXIMUM, dtypes.uint32, 3, 2**32 - 1, 2**32 - 1),
    (AtomicKind.MAXIMUM, F32, 1.0, 2.0, 2.0),
    (AtomicKind.MAXIMUM, F32, 1.0, NAN, 1.0),
    (AtomicKind.MAXIMUM, F32, NAN, 1.0, NAN),
    (AtomicKind.MINIMUM, F32, NAN, 1.0, NAN),
    (AtomicKind.NAN_MAXIMUM, F32, NAN, 1.0, 1.0),
    (AtomicKind.NAN_MINIMUM, F32, NAN, 1.0, 1.0),
    (AtomicKind.NAN_MINIMUM, F32, 1.0, NAN, 1.0),
    (AtomicKind.NAN_MAXIMUM, F32, 1.0, 3.0, 3.0),
    (AtomicKind.EXCHANGE, F32, 1.0, 3.0, 3.0),
    (AtomicKind.INCREMENT, dtypes.uint32, 3, 5, 4),
    (AtomicKind.INCREMENT, dtypes.uint32, 5, 5, 0),
    (AtomicKind.DECREMENT, dtypes.uint32, 3, 5, 2),
    (AtomicKind.DECREMENT, dtypes.uint32, 0, 5, 5),
    (AtomicKind.DECREMENT, dtypes.uint32, 9, 5, 5),
]


@pytest.mark.parametrize(("kind", "dtype", "old", "operand", "new"), CASES)
def test_atomic_changes_memory_and_gives_the_old_value(
    kind: AtomicKind, dtype: DType, old, operand, new
):
    kernel = Arrays(dtype, dtype)
    result = value(dtype)
    constant = kernel.b.constant(operand, dtype)
    size = dtype.size_bytes
    kernel.b.append(ir.Atomic(kind, kernel.params[0], kernel.tid, constant, None, size, result))
    kernel.store(1, result)
    memory, olds = np.array([old], dtype.numpy), np.zeros(1, dtype.numpy)
    run(kernel.function(), 1, 1, [memory, olds])
    np.testing.assert_array_equal(memory, np.array([new], dtype.numpy))
    np.testing.assert_array_equal(olds, np.array([old], dtype.numpy))


def test_compare_and_exchange_lets_one_thread_win():
    kernel = Arrays(I32, I32)
    b = kernel.b
    old, zero = value(I32), b.constant(0, I64)
    mine = b.cast(b.binary(ir.BinaryKind.ADD, kernel.tid, b.constant(1, I64)), I32)
    free = b.constant(0, I32)
    kind = AtomicKind.COMPARE_EXCHANGE
    b.append(ir.Atomic(kind, kernel.params[0], zero, mine, free, 4, old))
    kernel.store(1, old)
    lock, olds = np.zeros(1, np.int32), np.zeros(3, np.int32)
    run(kernel.function(), 1, 3, [lock, olds])
    assert (lock.tolist(), olds.tolist()) == ([1], [0, 1, 1])


# ------------------------------------------------------------------------- what the host sees


def test_print_writes_one_text_per_active_thread():
    kernel = Arrays(I32)
    b = kernel.b
    half = b.constant(0.5, dtypes.float64)
    truth = b.compare(ir.CompareKind.EQ, kernel.tid, b.constant(2, I64))
    inside = b.compare(ir.CompareKind.GE, kernel.tid, b.constant(1, I64))
    parts = ("thread ", None, " ", None, " ", None, "!\n")
    kernel.when(inside, lambda: b.append(ir.Print(parts, (kernel.tid, half, truth))))
    outcome = run(kernel.function(), 1, 3, [np.zeros(3, np.int32)])
    assert outcome.printed == ["thread 1 0.5 False!\n", "thread 2 0.5 True!\n"]
    assert outcome.fault is None


def test_first_exception_is_recorded_and_ends_its_thread_only():
    kernel = Arrays(I64)
    b = kernel.b
    two = b.constant(2, I64)
    is_late = b.compare(ir.CompareKind.GE, kernel.tid, two)
    kernel.when(is_late, lambda: b.append(ir.Raise(1, (kernel.tid,))))
    kernel.store(0, two)
    entry = ir.ErrorEntry(ValueError, "late", None)
    function = kernel.function((entry, entry))
    verify(function)
    out = np.zeros(4, np.int64)
    outcome = run(function, (1, 2), 4, [out])
    assert outcome.fault == Fault(code=1, block=(0, 0, 0), thread=(2, 0, 0), details=(2,))
    assert out.tolist() == [2, 2, 0, 0]


def test_threads_may_end_without_an_exception():
    kernel = Arrays(I64)
    b = kernel.b
    is_late = b.compare(ir.CompareKind.GE, kernel.tid, b.constant(2, I64))
    kernel.when(is_late, lambda: b.append(ir.Raise(None)))
    kernel.store(0, b.constant(1, I64))
    function = kernel.function()
    verify(function)
    out = np.zeros(4, np.int64)
    assert run(function, 1, 4, [out]).fault is None
    assert out.tolist() == [1, 1, 0, 0]


def test_threads_that_raised_do_not_hold_up_a_barrier():
    kernel = Arrays(I64)
    b = kernel.b
    is_first = b.compare(ir.CompareKind.EQ, kernel.tid, b.constant(0, I64))
    kernel.when(is_first, lambda: b.append(ir.Raise(0)))
    b.append(ir.Barrier(BarrierKind.BLOCK))
    function = kernel.function((ir.ErrorEntry(ValueError, "", None),))
    assert run(function, 1, 4, [np.zeros(4, np.int64)]).fault is not None


# ------------------------------------------------------------------------------- intrinsics


def intrinsic(reference, operands: tuple[DType, ...], results: tuple[DType, ...], effect):
    signature = Signature(operands, results)
    return Intrinsic("test", reference, lambda _: signature, effect, Emit(""), Emit(""))


def test_intrinsic_is_its_reference_on_active_lanes_only():
    record = intrinsic(lambda x: 100 // int(x), (I32,), (dtypes.int8,), Effect.NONE)
    kernel = Arrays(dtypes.int8, I32)
    b = kernel.b
    x, result = kernel.load(1), value(dtypes.int8)

    def divide() -> None:
        b.append(ir.Call(record, (x,), (result,)))
        kernel.store(0, result)

    kernel.when(b.compare(ir.CompareKind.NE, x, b.constant(0, I32)), divide)
    out = np.full(4, 7, np.int8)
    run(kernel.function(), 1, 4, [out, np.array([3, 0, -7, 1], np.int32)])
    assert out.tolist() == [33, 7, -15, 100]


def test_results_of_an_intrinsic_are_converted():
    def call(b, x):
        results = (value(dtypes.uint8), value(F32))
        record = intrinsic(
            lambda x: (int(x) + 300, float(x) / 3), (I32,), (dtypes.uint8, F32), Effect.NONE
        )
        b.append(ir.Call(record, (x,), results))
        first = b.cast(results[0], F32)
        return b.binary(ir.BinaryKind.ADD, first, results[1])

    found = run_map(map_function([I32], F32, call), F32, np.array([1, -400], np.int32))
    expected = [np.float32(45) + np.float32(1 / 3), np.float32(156) + np.float32(-400 / 3)]
    assert found.tolist() == [float(number) for number in expected]


def test_collective_intrinsic_is_its_reference_on_whole_warps():
    def rotate(active, x):
        assert len(active) == len(x)
        return np.where(active, np.roll(x, 1), 0)

    record = intrinsic(rotate, (I32,), (I32,), Effect.CONVERGE)
    kernel = Arrays(I32)
    result = value(I32)
    kernel.b.append(ir.Call(record, (kernel.load(0),), (result,)))
    kernel.store(0, result)
    data = np.arange(40, dtype=np.int32)
    run(kernel.function(), 1, 40, [data])
    assert data.tolist() == [31, *range(31), 39, *range(32, 39)]


def test_intrinsic_without_results_may_return_nothing():
    seen = []
    record = intrinsic(lambda x: seen.append(int(x)), (I64,), (), Effect.WRITE)
    kernel = Arrays(I32)
    kernel.b.append(ir.Call(record, (kernel.tid,), ()))
    run(kernel.function(), 1, 3, [np.zeros(1, np.int32)])
    assert seen == [0, 1, 2]
