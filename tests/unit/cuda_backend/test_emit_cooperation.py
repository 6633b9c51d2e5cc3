"""Barriers, warps, fences and atomic operations as PTX."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.cuda.assemble import assemble
from pygpulib.jit.backends.interp import run
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import AddressSpace, AtomicKind
from pygpulib.jit.ir.typing_rules import RuleError, check_types
from tests.helpers.cuda_programs import GENERATIONS, compile_prepared, ptx_of, run_both, run_cuda
from tests.helpers.ir_kernels import Arrays

SEEDS = (None, 1, 2)
FULL = 0xFFFFFFFF

# ------------------------------------------------------------------------------------- barriers


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("threads", [1, 32, 50, 128])
def test_barriers_of_a_block(threads: int, seed: int | None) -> None:
    def kernel(values, out):
        i = cuda.threadIdx.x
        shared = cuda.shared.array(128, np.int32)
        shared[i] = values[i]
        cuda.syncthreads()
        n = cuda.blockDim.x
        out[0, i] = shared[n - 1 - i]
        out[1, i] = cuda.syncthreads_count(values[i])
        out[2, i] = cuda.syncthreads_and(values[i])
        out[3, i] = cuda.syncthreads_or(values[i])
        cuda.threadfence_block()
        cuda.threadfence()
        cuda.threadfence_system()

    for values in (np.arange(threads) % 3, np.zeros(threads), np.full(threads, -4)):
        out = np.zeros((4, threads), np.int32)
        run_both(kernel, 1, threads, values.astype(np.int32), out, seed=seed)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(("grid", "block"), [(1, 1), (5, 33), (9, 64), ((3, 2), (8, 4))])
def test_barriers_of_the_grid(grid: Any, block: Any, seed: int | None) -> None:
    def kernel(a, b):
        n = a.size
        i = cuda.grid(1)
        if cuda.gridDim.y > 1:
            x, y = cuda.grid(2)
            i = x + y * cuda.gridsize(2)[0]
        a[i] = i
        g = cuda.cg.this_grid()
        for round_ in range(3):
            g.sync()
            b[i] = a[n - 1 - i] + round_
            g.sync()
            a[i] = b[i]

    size = int(np.prod(grid) * np.prod(block))
    run_both(kernel, grid, block, *np.zeros((2, size), np.int64), seed=seed)


@pytest.mark.parametrize("seed", [None, *range(6)])
def test_barriers_of_the_grid_wait_for_no_thread_that_has_ended(seed: int | None) -> None:
    def kernel(counts, out):
        i = cuda.grid(1)
        if i >= counts.size:
            return
        for round_ in range(counts[i]):
            out[round_ % 2, i] = round_ + 1
            cuda.cg.this_grid().sync()
        out[2, i] = counts[i]

    # Whole blocks end at once, first threads of blocks before the others, and at different times.
    counts = np.zeros(90, np.int64)
    counts[40:64] = 3
    counts[70:72] = 5
    out = np.zeros((3, 90), np.int64)
    function = compile_prepared(kernel, counts, out)
    schedule = "lockstep" if seed is None else "shuffled"
    for _ in range(2):
        record, _ = run_cuda(function, 7, 16, (counts, out), schedule=schedule, seed=seed or 0)
        np.testing.assert_array_equal(out[2], counts)
        assert record[0] == 0


def test_threads_may_pass_by_a_barrier_of_the_grid() -> None:
    def label(starts, labels):
        i = cuda.grid(1)
        if i < starts.size and starts[i]:
            labels[i] = i
            cuda.cg.this_grid().sync()
            k = i + 1
            while k < starts.size and not starts[k]:
                labels[k] = i
                k += 1

    starts = np.random.default_rng(1).random(100) < 0.2
    starts[0] = True
    labels = np.full(100, -1)
    run_cuda(compile_prepared(label, starts, labels), 8, 16, (starts, labels))
    np.testing.assert_array_equal(labels, np.flatnonzero(starts)[np.cumsum(starts) - 1])


# ---------------------------------------------------------------------------------------- warps

WARP_TYPES = (np.int32, np.int64, np.float32, np.float64)


@pytest.mark.parametrize("generation", [(7, 5), (9, 0)])
@pytest.mark.parametrize("dtype", WARP_TYPES)
def test_shuffles(dtype: type, generation: tuple[int, int]) -> None:
    def kernel(values, lanes, out):
        i = cuda.threadIdx.x
        v, lane = values[i], lanes[i]
        out[0, i] = cuda.shfl_sync(FULL, v, lane)
        out[1, i] = cuda.shfl_sync(FULL, v, 3)
        out[2, i] = cuda.shfl_up_sync(FULL, v, 2)
        out[3, i] = cuda.shfl_down_sync(FULL, v, 5)
        out[4, i] = cuda.shfl_xor_sync(FULL, v, 6)
        # Distances that are not known, and some that reach beyond the warp.
        out[5, i] = cuda.shfl_up_sync(FULL, v, lane)
        out[6, i] = cuda.shfl_down_sync(FULL, v, lane)
        out[7, i] = cuda.shfl_xor_sync(FULL, v, lane & 31)
        out[8, i] = cuda.shfl_down_sync(FULL, v, 32)
        out[9, i] = cuda.shfl_up_sync(FULL, v, 40)
        step = 16
        while step > 0:
            v += cuda.shfl_down_sync(FULL, v, step)
            step //= 2
        out[10, i] = v

    generator = np.random.default_rng(3)
    values = generator.integers(-(1 << 60), 1 << 60, 64).astype(dtype)
    lanes = generator.integers(0, 70, 64)
    out = np.zeros((11, 64), dtype)
    run_both(kernel, 1, 64, values, lanes, out, compute_capability=generation)


@pytest.mark.parametrize("seed", SEEDS)
def test_votes_and_matches(seed: int | None) -> None:
    def kernel(values, out):
        i = cuda.threadIdx.x
        v = values[i]
        out[0, i] = cuda.ballot_sync(FULL, v > 1)
        out[1, i] = cuda.all_sync(FULL, v >= 0)
        out[2, i] = cuda.any_sync(FULL, v == 2)
        out[3, i] = cuda.eq_sync(FULL, v > 1)
        out[4, i] = cuda.match_any_sync(FULL, v)
        mask, same = cuda.match_all_sync(FULL, v)
        out[5, i], out[6, i] = mask, same
        out[7, i] = cuda.lanemask_lt()
        cuda.syncwarp()
        if i % 2:
            out[8, i] = cuda.ballot_sync(0xAAAAAAAA, v > 0)
            cuda.syncwarp(0xAAAAAAAA)
        else:
            out[8, i] = cuda.match_any_sync(0x55555555, v)

    for values in (np.arange(64) % 4, np.full(64, 7), np.arange(64) // 32):
        for dtype in WARP_TYPES:
            run_both(kernel, 1, 64, values.astype(dtype), np.zeros((9, 64), np.int64), seed=seed)


def test_active_lanes() -> None:
    def kernel(out):
        i = cuda.threadIdx.x
        if i % 4 == 1:
            out[i] = cuda.activemask()

    out = np.zeros(32, np.uint32)
    run_both(kernel, 1, 32, out)


# -------------------------------------------------------------------------------------- atomics

ATOMIC_TYPES = tuple(
    row for row in (*dtypes.ALL_DTYPES, dtypes.bfloat16) if not (row.is_complex or row.is_bool)
)


def kinds_on(dtype: DType) -> list[AtomicKind]:
    """Return the operations that a type has."""

    def is_legal(kind: AtomicKind) -> bool:
        value = ir.Value(dtype)
        expected = value if kind is AtomicKind.COMPARE_EXCHANGE else None
        pointer, index = ir.Value(ir.Pointer()), ir.Value(dtypes.int64)
        try:
            check_types(ir.Atomic(kind, pointer, index, value, expected, 4, ir.Value(dtype)))
        except RuleError:
            return False
        return True

    return [kind for kind in AtomicKind if is_legal(kind)]


def atomic_kernel(
    dtype: DType, kinds: Sequence[AtomicKind], space: AddressSpace, shift: int
) -> ir.Function:
    """Return a kernel of (elements, values, expected, old).

    Thread ``t`` changes element ``t >> shift``.
    """
    kernel = Arrays(dtype, dtype, dtype, dtype)
    b, size, pointer = kernel.b, dtype.size_bytes, kernel.params[0]
    index = b.binary(ir.BinaryKind.SHIFT_RIGHT, kernel.tid, b.constant(shift, dtypes.int64))
    if space is not AddressSpace.GLOBAL:
        pointer = ir.Value(ir.Pointer(space))
        b.append(ir.Allocate(space, 64 * size, 8, pointer))
        b.store(pointer, index, kernel.load(0, index), size, None)
        b.append(ir.Barrier(ir.BarrierKind.BLOCK))
    for kind in kinds:
        expected = kernel.load(2) if kind is AtomicKind.COMPARE_EXCHANGE else None
        old = ir.Value(dtype)
        b.append(ir.Atomic(kind, pointer, index, kernel.load(1), expected, size, old))
        kernel.store(3, old)
    if space is not AddressSpace.GLOBAL:
        b.append(ir.Barrier(ir.BarrierKind.BLOCK))
        kernel.store(0, b.load(pointer, index, size, dtype, None), index)
    return kernel.function()


def atomic_arguments(dtype: DType) -> tuple[np.ndarray, ...]:
    generator = np.random.default_rng(9)
    low = -4 if dtype.is_signed or dtype.is_float else 0
    arrays = [generator.integers(low, 5, 64).astype(dtype.numpy) for _ in range(3)]
    arrays[2][::2] = arrays[0][::2]
    if dtype.is_float:
        arrays[0][[3, 9]] = arrays[1][[5, 9]] = np.nan
        arrays[0][11] = -0.0
    return (*arrays, np.zeros(64, dtype.numpy))


def as_numbers(array: np.ndarray) -> np.ndarray:
    return array.astype(np.float64) if array.dtype.kind not in "iu" else array


@pytest.mark.parametrize("space", [AddressSpace.GLOBAL, AddressSpace.SHARED, AddressSpace.LOCAL])
@pytest.mark.parametrize("dtype", ATOMIC_TYPES, ids=str)
def test_atomics_of_one_thread_per_element(dtype: DType, space: AddressSpace) -> None:
    for kind in kinds_on(dtype):
        function = atomic_kernel(dtype, [kind], space, shift=0)
        expected, found = atomic_arguments(dtype), atomic_arguments(dtype)
        run(function, 1, 64, expected)
        run_cuda(function, 1, 64, found)
        for want, have in zip(expected, found, strict=True):
            np.testing.assert_array_equal(as_numbers(have), as_numbers(want), err_msg=kind.value)


# What an operation leaves does not depend on the order of the threads.
ORDERLESS = (
    AtomicKind.ADD,
    AtomicKind.SUBTRACT,
    AtomicKind.AND,
    AtomicKind.OR,
    AtomicKind.XOR,
    AtomicKind.NAN_MINIMUM,
    AtomicKind.NAN_MAXIMUM,
    AtomicKind.MINIMUM,
    AtomicKind.MAXIMUM,
)


@pytest.mark.parametrize("space", [AddressSpace.GLOBAL, AddressSpace.SHARED])
@pytest.mark.parametrize("dtype", ATOMIC_TYPES, ids=str)
def test_atomics_of_many_threads_per_element(dtype: DType, space: AddressSpace) -> None:
    for kind in set(kinds_on(dtype)) & set(ORDERLESS):
        function = atomic_kernel(dtype, [kind], space, shift=4)
        expected, found = atomic_arguments(dtype), atomic_arguments(dtype)
        run(function, 1, 64, expected)
        run_cuda(function, 1, 64, found, schedule="shuffled", seed=4)
        np.testing.assert_array_equal(
            as_numbers(found[0]), as_numbers(expected[0]), err_msg=kind.value
        )


@pytest.mark.parametrize("generation", GENERATIONS)
def test_atomics_become_machine_code(generation: tuple[int, int]) -> None:
    sm = f"sm_{generation[0]}{generation[1]}"
    for dtype in ATOMIC_TYPES:
        function = atomic_kernel(dtype, kinds_on(dtype), AddressSpace.GLOBAL, shift=1)
        assert assemble(ptx_of(function, generation), sm)[:4] == b"\x7fELF"


@pytest.mark.parametrize(
    ("dtype", "kind", "instruction"),
    [
        (dtypes.int32, AtomicKind.ADD, "atom.global.add.u32"),
        (dtypes.uint64, AtomicKind.ADD, "atom.global.add.u64"),
        (dtypes.float32, AtomicKind.ADD, "atom.global.add.f32"),
        (dtypes.float64, AtomicKind.ADD, "atom.global.add.f64"),
        (dtypes.float16, AtomicKind.ADD, "atom.global.add.noftz.f16"),
        (dtypes.int32, AtomicKind.MAXIMUM, "atom.global.max.s32"),
        (dtypes.uint64, AtomicKind.MINIMUM, "atom.global.min.u64"),
        (dtypes.int64, AtomicKind.EXCHANGE, "atom.global.exch.b64"),
        (dtypes.uint32, AtomicKind.INCREMENT, "atom.global.inc.u32"),
        (dtypes.uint32, AtomicKind.DECREMENT, "atom.global.dec.u32"),
        (dtypes.int32, AtomicKind.COMPARE_EXCHANGE, "atom.relaxed.gpu.global.cas.b32"),
    ],
)
def test_atomics_that_are_one_instruction(dtype: DType, kind: AtomicKind, instruction: str) -> None:
    ptx = ptx_of(atomic_kernel(dtype, [kind], AddressSpace.GLOBAL, shift=0))
    assert instruction in ptx
    assert ptx.count("atom.") == 1
    assert "fence" not in ptx
    assert "membar" not in ptx
