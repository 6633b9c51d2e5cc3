"""Memory in PTX: what lies where, which instructions reach it, and what bounds a kernel."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core import dtypes
from pygpulib.errors import UnsupportedFeatureError
from pygpulib.jit.backends.cuda.assemble import assemble
from pygpulib.jit.backends.cuda.emit import emit_kernel
from pygpulib.jit.backends.cuda.ptx import compile_ptx
from pygpulib.jit.backends.cuda.target import CudaTarget
from pygpulib.jit.ir import ops as ir
from tests.helpers.cuda_programs import compile_prepared, ptx_of, run_both, run_cuda
from tests.helpers.ir_kernels import Arrays

SMALL_TABLE = np.arange(40, dtype=np.int16)[::-1].copy()
LARGE_TABLE = np.random.default_rng(1).integers(-100, 100, 20_000, np.int32)
FLAGS = np.array([True, False, False, True])


def copy_kernel(invariant: bool) -> ir.Function:
    kernel = Arrays(dtypes.float32, dtypes.float32)
    value = ir.Value(dtypes.float32)
    pointer = kernel.params[3]
    kernel.b.append(ir.Load(pointer, kernel.tid, 4, value, invariant=invariant))
    kernel.store(0, value)
    return kernel.function()


def test_global_memory_has_its_own_instructions() -> None:
    ptx = ptx_of(copy_kernel(invariant=False))
    assert "ld.global.b32" in ptx
    assert "st.global.b32" in ptx


def test_what_nobody_writes_is_read_through_the_cache_for_that() -> None:
    assert "ld.global.nc.b32" in ptx_of(copy_kernel(invariant=True))


def test_shared_memory() -> None:
    def kernel(a, out):
        i = cuda.threadIdx.x
        first = cuda.shared.array(32, np.float64)
        second = cuda.shared.array((4, 8), np.int8)
        first[i] = a[i]
        second[i // 8, i % 8] = i
        cuda.syncthreads()
        out[i] = first[31 - i] + second[i % 4, i // 4]

    arguments = np.arange(32.0), np.zeros(32)
    run_both(kernel, 1, 32, *arguments)
    ptx = ptx_of(compile_prepared(kernel, *arguments))
    assert "ld.shared.b64" in ptx
    assert "st.shared.b8" in ptx
    assert ptx.count(".shared .align 16 .b8") == 2


def test_dynamic_shared_memory() -> None:
    def kernel(out):
        i = cuda.threadIdx.x
        words = cuda.shared.array(0, np.int32)
        same = cuda.shared.array(0, np.int16)
        words[i] = i << 16 | (63 - i)
        cuda.syncthreads()
        out[i] = words[(i + 1) % 64] + same[2 * i] + words.size

    out = np.zeros(64, np.int64)
    run_both(kernel, 1, 64, out, shared_bytes=256)
    ptx = ptx_of(compile_prepared(kernel, out))
    assert ".extern .shared .align 16 .b8 tested_dynamic[]" in ptx
    assert "%dynamic_smem_size" in ptx


def test_local_arrays() -> None:
    def kernel(out):
        i = cuda.grid(1)
        found = cuda.local.array(12, np.int32)
        flags = cuda.local.array(5, np.bool_)
        for k in range(12):
            found[k] = i * k
        for k in range(5):
            flags[k] = (i + k) % 3 == 0
        out[i] = found[i % 12] + flags[i % 5]

    run_both(kernel, 2, 20, np.zeros(40, np.int64))


@pytest.mark.parametrize("table", [SMALL_TABLE, LARGE_TABLE])
def test_constant_arrays(table: np.ndarray) -> None:
    def kernel(out):
        i = cuda.grid(1)
        constant = cuda.const.array_like(table)
        out[i] = constant[(i * 577) % constant.size] + (1 if FLAGS[i % 4] else 0)

    out = np.zeros(64, np.int64)
    run_both(kernel, 2, 32, out)
    ptx = ptx_of(compile_prepared(kernel, out))
    # The bank of constant memory is small.
    is_small = table is SMALL_TABLE
    assert (".const .align 16 .b8" in ptx) == is_small
    assert (".global .align 16 .b8" in ptx) != is_small
    assert assemble(ptx, "sm_75")


@pytest.mark.parametrize("generation", [(7, 5), (12, 0)])
def test_a_variable_may_be_an_array_of_either_memory(generation: tuple[int, int]) -> None:
    def kernel(a, b, flag, out):
        i = cuda.threadIdx.x
        shared = cuda.shared.array(32, np.int32)
        local = cuda.local.array(32, np.int32)
        for k in range(32):
            local[k] = -k
        shared[i] = 100 + i
        cuda.syncthreads()
        if i % 3 == 0:
            chosen = shared
        elif i % 3 == 1:
            chosen = local
        else:
            chosen = a if flag else b
        chosen[(i + 3) % 32] += 1000
        out[i] = chosen[i]

    arrays = [np.arange(32, dtype=np.int32) + 200 * k for k in range(2)]
    for flag in (False, True):
        arguments = (*arrays, flag, np.zeros(32, np.int32))
        run_both(kernel, 1, 32, *arguments, compute_capability=generation)


def test_captured_addresses_and_differences_of_addresses() -> None:
    kernel = Arrays(dtypes.int64, dtypes.int32)
    b = kernel.b
    address = ir.Value(dtypes.int64)
    again = ir.Value(ir.Pointer())
    b.append(ir.Bitcast(kernel.params[3], address))
    moved = b.binary(ir.BinaryKind.ADD, address, b.constant(4, dtypes.int64))
    b.append(ir.Bitcast(moved, again))
    kernel.store(0, b.cast(b.load(again, kernel.tid, 4, dtypes.int32, None), dtypes.int64))
    is_same = b.compare(ir.CompareKind.EQ, again, kernel.params[3])
    index = b.binary(ir.BinaryKind.ADD, kernel.tid, b.constant(8, dtypes.int64))
    kernel.store(0, b.cast(is_same, dtypes.int64), index)
    out = np.full(16, -1)
    run_cuda(kernel.function(), 1, 8, (out, np.arange(9, dtype=np.int32)))
    assert out.tolist() == [*range(1, 9), *[0] * 8]


def test_neighbours_in_local_and_shared_memory_are_accessed_together() -> None:
    def kernel(out):
        i = cuda.threadIdx.x
        shared = cuda.shared.array((64, 4), np.float32)
        for k in range(4):
            shared[i, k] = i * k
        cuda.syncthreads()
        total = np.float32(0)
        for k in range(4):
            total += shared[63 - i, k]
        out[i] = total

    out = np.zeros(64, np.float32)
    run_both(kernel, 1, 64, out)
    ptx = ptx_of(compile_prepared(kernel, out))
    assert "ld.shared.v4.b32" in ptx
    assert "st.shared.v4.b32" in ptx


# ------------------------------------------------------------------------------------------ bounds


def test_bounds_of_a_kernel() -> None:
    function = copy_kernel(invariant=False)
    target = CudaTarget((8, 0), max_registers=32, max_threads_per_block=256, min_blocks=2)
    ptx = compile_ptx(emit_kernel(function, target, "k"), target)
    for line in (".maxntid 256", ".minnctapersm 2", ".maxnreg 32"):
        assert line in ptx
    plain = ptx_of(function, (8, 0))
    assert ".maxn" not in plain
    assert ".minn" not in plain


def test_what_is_known_of_arguments_is_used() -> None:
    def with_range(low: int, high: int) -> str:
        kernel = Arrays(dtypes.int32)
        b, extent = kernel.b, kernel.params[1]
        is_negative = b.compare(ir.CompareKind.LT, extent, b.constant(0, dtypes.int64))
        kernel.store(0, b.cast(is_negative, dtypes.int32))
        function = kernel.function()
        whole = ir.Function(
            function.name, function.params, function.body, param_ranges={extent: (low, high)}
        )
        return ptx_of(whole)

    limits = np.iinfo(np.int64)
    assert "setp" not in with_range(0, 1000)
    assert "setp" not in with_range(0, int(limits.max))
    for low, high in ((int(limits.min), int(limits.max)), (-1, 0)):
        assert "%rd" in with_range(low, high)
        assert "tested_param_1" in with_range(low, high).split("{", 1)[1]


@pytest.mark.parametrize("name", ["kernel", "_Z3add", "k1"])
def test_symbols_start_with_the_name_of_the_kernel(name: str) -> None:
    def kernel(a):
        shared = cuda.shared.array(4, np.float64)
        shared[cuda.threadIdx.x] = a[0]
        cuda.syncthreads()
        a[0] = shared[cuda.threadIdx.x ^ 1]

    ptx = ptx_of(compile_prepared(kernel, np.zeros(4)), name=name)
    assert f".entry {name}(" in ptx
    assert f"{name}_shared0" in ptx


def test_too_many_arguments_are_refused() -> None:
    function = Arrays(*[dtypes.int32] * 170).function()
    assert ".entry" in ptx_of(function)
    with pytest.raises(UnsupportedFeatureError) as caught:
        ptx_of(Arrays(*[dtypes.int32] * 171).function())
    assert str(caught.value) == (
        "the kernel: the arguments of kernel take 4104 bytes\n"
        "GPUs have room for 4096 bytes; an array takes 8, and 16 more per dimension\n"
        "help: pass fewer arrays, or numbers as the elements of one array"
    )
