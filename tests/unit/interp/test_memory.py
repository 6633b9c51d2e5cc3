import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.errors import InternalError, KernelFault, Span
from pygpulib.jit.backends.interp import run
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.ir.verifier import verify
from tests.helpers.ir_kernels import Arrays, function_from, map_function, run_map, value

F32, I32, I64 = dtypes.float32, dtypes.int32, dtypes.int64
SHARED, LOCAL = ir.AddressSpace.SHARED, ir.AddressSpace.LOCAL
SCALARS = [row for row in dtypes.ALL_DTYPES if not row.is_complex]


@pytest.mark.parametrize("dtype", SCALARS, ids=str)
def test_elements_of_every_dtype_are_loaded_and_stored(dtype):
    source = np.array([0, 1, 5, 100, 1]).astype(dtype.numpy)
    function = map_function([dtype], dtype, lambda b, x: x)
    assert run_map(function, dtype, source).tolist() == source.tolist()


def copy_kernel(*, scale: int) -> ir.Function:
    """``out[tid * scale_out bytes] = source[tid * stride bytes]`` with the stride of the source."""
    out, source = value(ir.Pointer()), value(ir.Pointer())
    sizes = [value(I64) for _ in range(4)]
    b = Builder()
    tid = b.cast(b.register(ir.Register.TID_X), I64)
    offset = b.binary(ir.BinaryKind.MULTIPLY, tid, sizes[3])
    b.store(out, tid, b.load(source, offset, 1, F32), scale)
    return function_from(b, (out, sizes[0], sizes[1], source, sizes[2], sizes[3]))


@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_strided_views_are_used_in_place(step):
    source = np.arange(12, dtype=np.float32)[::step]
    out = np.zeros(len(source), np.float32)
    run(copy_kernel(scale=4), 1, len(source), [out, source])
    assert out.tolist() == source.tolist()


def shift_kernel(shift: int, span: Span | None = None) -> ir.Function:
    kernel = Arrays(I32)
    b = kernel.b
    b.span = span
    index = b.binary(ir.BinaryKind.ADD, kernel.tid, b.constant(shift, I64))
    kernel.store(0, kernel.load(0, index))
    return kernel.function()


def test_load_behind_the_end_names_array_index_and_thread():
    with pytest.raises(KernelFault) as caught:
        run(shift_kernel(2, Span("k.py", 3, 0, 3, 9)), 1, 4, [np.zeros(4, np.int32)])
    assert str(caught.value) == (
        "k.py:3: the access to index 4 of array 'a0' is wrong: "
        "byte 16 is outside argument 0 of 16 bytes\n"
        "in thread (2, 0, 0) of block (0, 0, 0), at the operation: "
        "%2: int32 = load %0.array %1 scale=4 access=a0/1d"
    )


def test_load_before_the_start_is_refused():
    with pytest.raises(KernelFault, match="byte -4 is outside argument 0 of 16 bytes"):
        run(shift_kernel(-1), 1, 4, [np.zeros(4, np.int32)])


def test_an_index_of_inactive_threads_is_not_used():
    kernel = Arrays(I32)
    b = kernel.b
    inside = b.compare(ir.CompareKind.LT, kernel.tid, b.constant(2, I64))
    kernel.when(inside, lambda: kernel.store(0, kernel.load(0)))
    run(kernel.function(), 1, 64, [np.zeros(2, np.int32)])


def test_far_address_belongs_to_no_array():
    with pytest.raises(KernelFault, match="the address belongs to no array"):
        run(shift_kernel(2**45), 1, 1, [np.zeros(4, np.int32)])


def test_misaligned_access_is_refused():
    data = np.zeros(16, np.uint8)[1:].view(np.uint8)
    kernel = Arrays(I32)
    kernel.load(0)
    with pytest.raises(KernelFault, match="the address is not a multiple of 4 in argument 0"):
        run(kernel.function(), 1, 1, [data])


def test_store_to_a_read_only_array_is_refused():
    data = np.zeros(4, np.int32)
    data.flags.writeable = False
    with pytest.raises(KernelFault, match="argument 0 is read-only"):
        run(shift_kernel(0), 1, 4, [data])


def test_store_to_constant_data_is_refused_and_loads_read_it():
    kernel = Arrays(F32)
    pointer = value(ir.Pointer(), "table")
    kernel.b.append(ir.ConstantData(np.array([1.5, 2.5], np.float32), pointer))
    loaded = kernel.b.load(pointer, kernel.tid, 4, F32)
    kernel.store(0, loaded)
    out = np.zeros(2, np.float32)
    run(kernel.function(), 1, 2, [out])
    assert out.tolist() == [1.5, 2.5]
    kernel = Arrays(F32)
    kernel.b.append(ir.ConstantData(np.zeros(2, np.float32), pointer))
    kernel.b.store(pointer, kernel.tid, kernel.load(0), 4)
    with pytest.raises(KernelFault, match="the constant array is read-only"):
        run(kernel.function(), 1, 2, [out])


def test_last_lane_wins_where_all_store_to_one_element():
    kernel = Arrays(I64)
    kernel.store(0, kernel.tid, kernel.b.constant(0, I64))
    out = np.zeros(1, np.int64)
    run(kernel.function(), 1, 40, [out])
    assert out.tolist() == [39]


def allocating_kernel(space: ir.AddressSpace, size: int, shift: int) -> ir.Function:
    """``memory[i] = tid; out[tid] = memory[i + shift]``, ``i`` is 0 in local memory, else tid."""
    kernel = Arrays(I64)
    b = kernel.b
    pointer = value(ir.Pointer(space), "memory")
    b.append(ir.Allocate(space, size, 8, pointer))
    index = b.constant(0, I64) if space is LOCAL else kernel.tid
    b.store(pointer, index, kernel.tid, 8)
    b.append(ir.Barrier(ir.BarrierKind.BLOCK))
    other = b.binary(ir.BinaryKind.ADD, index, b.constant(shift, I64))
    kernel.store(0, b.load(pointer, other, 8, I64))
    function = kernel.function()
    verify(function)
    return function


def test_local_memory_belongs_to_one_thread():
    out = np.zeros(4, np.int64)
    run(allocating_kernel(LOCAL, 16, 0), 1, 4, [out])
    assert out.tolist() == [0, 1, 2, 3]
    run(allocating_kernel(LOCAL, 16, 1), 1, 4, [out])
    assert (out == np.int64(0xA5A5A5A5A5A5A5A5 - 2**64)).all()
    with pytest.raises(KernelFault, match="byte 16 is outside local memory of 16 bytes"):
        run(allocating_kernel(LOCAL, 16, 2), 1, 4, [out])
    with pytest.raises(KernelFault, match="outside local memory of 16 bytes"):
        # The own memory of the next thread.
        run(allocating_kernel(LOCAL, 16, 64), 1, 4, [out])


def test_shared_memory_belongs_to_one_block():
    kernel = Arrays(I64)
    b = kernel.b
    pointer = value(ir.Pointer(SHARED))
    b.append(ir.Allocate(SHARED, 8, 8, pointer))
    block = b.cast(b.register(ir.Register.CTAID_X), I64)
    b.store(pointer, b.constant(0, I64), block, 8)
    kernel.store(0, b.load(pointer, b.constant(0, I64), 8, I64), block)
    out = np.zeros(5, np.int64)
    run(kernel.function(), 5, 3, [out])
    assert out.tolist() == [0, 1, 2, 3, 4]


def test_dynamic_shared_memory_has_the_size_of_the_launch():
    out = np.zeros(4, np.int64)
    function = allocating_kernel(SHARED, 0, 0)
    run(function, 1, 4, [out], dynamic_shared_bytes=32)
    assert out.tolist() == [0, 1, 2, 3]
    with pytest.raises(KernelFault, match="byte 24 is outside shared memory of 24 bytes"):
        run(function, 1, 4, [out], dynamic_shared_bytes=24)


def test_arguments_are_flattened_like_the_types():
    a, b, c, d = (value(I64), value(F32), value(dtypes.float64), value(dtypes.float64))
    kernel = Arrays(dtypes.float64)
    parts = [kernel.b.cast(part, dtypes.float64) for part in (a, b, c, d)]
    for index, part in enumerate(parts):
        kernel.store(0, part, kernel.b.constant(index, I64))
    function = kernel.function()
    function = ir.Function("k", (*function.params, a, b, c, d), function.body)
    out = np.zeros(4)
    run(function, 1, 1, [out, (7, (np.float32(0.5), None)), 2 - 3j])
    assert out.tolist() == [7.0, 0.5, 2.0, -3.0]


def test_missing_and_additional_arguments_are_reported():
    function = map_function([], I64, lambda b: b.constant(1, I64))
    with pytest.raises(InternalError, match="0 flat arguments were given for 3 parameters"):
        run(function, 1, 1, [])
    with pytest.raises(InternalError, match="argument 1 has no parameter"):
        run(function, 1, 1, [np.zeros(1, np.int64), 5])
