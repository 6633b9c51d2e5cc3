"""What is made of calls of ``shared.array`` and its kind, and what is refused."""

import numpy as np
import pytest

from pygpulib.errors import CompileError, KernelTypeError, KernelValueError, PyGpuLibError
from pygpulib.jit import types
from pygpulib.jit.frontend.compile import compile_function
from pygpulib.jit.intrinsics import memory as cuda
from pygpulib.jit.intrinsics.memory import const, local, shared
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.options import CompileOptions
from tests.helpers.kernels import Device, compile_for

N = 3
WIDE = np.int16(2)
SHAPE = (N, 4)
TABLE = np.arange(3.0)
OBJECT = np.dtype("O")


def allocations(kernel, *args):
    ops = walk(compile_for(kernel, *args).body)
    return [
        (op.space.value, op.size_bytes, op.alignment) for op in ops if isinstance(op, ir.Allocate)
    ]


def test_shapes_are_constants_of_all_kinds():
    inner = 5

    def kernel(a, n=7):
        count = 6
        for shape in ((N,), (inner,), (N * 2 + 1,), (count,), (WIDE,)):
            v = local.array(shape, np.int8)
            v[0] = 0
        cells = (
            local.array(SHAPE, np.int8),
            local.array((N, WIDE * inner), np.int8),
            local.array(n, np.int8),
            local.array(len(SHAPE) ** 3, np.int8),
            local.array((), np.int8),
        )
        a[0] = cells[0][0, 0]

    sizes = [size for _, size, _ in allocations(kernel, np.zeros(1))]
    assert sizes == [3, 5, 7, 6, 2, 12, 30, 7, 8, 1]


@pytest.mark.parametrize(
    ("dtype", "size"),
    [
        (types.float32, 4),
        (types.boolean, 1),
        (types.complex128, 16),
        (types.float16.dtype, 2),
        (np.uint16, 2),
        (np.dtype("c8"), 8),
        (int, 8),
        (float, 8),
        (complex, 16),
        (bool, 1),
        ("float16", 2),
        ("i8", 8),
    ],
)
def test_dtypes_of_all_kinds(dtype, size):
    def kernel(a):
        a[0] = shared.array(2, dtype)[1].real + local.array(2, dtype=dtype)[0].real

    assert allocations(kernel, np.zeros(1)) == [
        ("shared", 2 * size, size),
        ("local", 2 * size, size),
    ]


def test_an_alignment_is_kept():
    def kernel(a):
        s = shared.array(4, np.float32, alignment=64)
        v = local.array(4, np.complex128, 8)
        w = local.array(4, np.int8, None)
        a[0] = s[0] + v[0].real + w[0]

    kinds = allocations(kernel, np.zeros(1))
    assert kinds == [("shared", 16, 64), ("local", 64, 16), ("local", 4, 1)]


def test_attempts_that_are_thrown_away_leave_no_arrays():
    @Device
    def first(like):
        return shared.array(2, like.dtype)[0]

    def kernel(a):
        x = 0
        for _ in range(a.size):
            x = first(x) + 0.5
        a[0] = x

    # At first x looks like an integer, and is found to be a float.
    assert allocations(kernel, np.zeros(1)) == [("shared", 16, 8)]


def test_the_array_is_called_by_the_name_of_its_variable():
    def kernel(a):
        tile = shared.array(4, np.float32)
        tile[9] = a[0]

    function = compile_for(kernel, np.zeros(1), options=CompileOptions(debug=True))
    assert any("the array 'tile'" in entry.message for entry in function.errors)


def test_loads_of_constants_are_invariant():
    def kernel(a):
        a[0] = const.array_like(TABLE)[1] + TABLE[2]

    loads = [op for op in walk(compile_for(kernel, np.zeros(1)).body) if isinstance(op, ir.Load)]
    assert [load.invariant for load in loads] == [True, True]


def bad_runtime(a):
    shared.array(a.size, np.float32)


def bad_runtime_local(a):
    local.array((2, a.shape[0]), np.float32)


def bad_float_shape(a):
    shared.array(2.0, np.float32)


def bad_text_shape(a):
    local.array("4", np.float32)


def bad_negative(a):
    shared.array((4, -1), np.float32)


def bad_inner_zero(a):
    shared.array((4, 0), np.float32)


def bad_local_zero(a):
    local.array(0, np.float32)


def bad_dtype_name(a):
    shared.array(4, "int33")


def bad_dtype(a):
    local.array(4, dtype=a)


def bad_dtype_object(a):
    shared.array(4, OBJECT)


def bad_dtype_class(a):
    shared.array(4, list)


def bad_local_size(out):
    half, more = local.array((1, 1 << 15), np.float64), local.array((1 << 15) + 1, np.float64)
    out[0] = half[0, 0] + more[0]


def bad_shared_size(out):
    one, most = shared.array(1, np.int8), shared.array(49_152, np.int8)
    out[0] = one[0] + most[0]


def bad_alignment_odd(a):
    shared.array(4, np.float32, alignment=24)


def bad_alignment_small(a):
    local.array(4, np.float32, alignment=4)


def bad_alignment_zero(a):
    local.array(4, np.float32, alignment=0)


def bad_alignment_type(a):
    local.array(4, np.float32, alignment=8.0)


def bad_alignment_runtime(a):
    shared.array(4, np.float32, alignment=a.size)


def bad_arguments(a):
    shared.array(4)


def bad_keyword(a):
    shared.array(4, np.float32, align=8)


def bad_constant(a):
    const.array_like(a)


def bad_constant_number(a):
    const.array_like(3)


def bad_store(a):
    const.array_like(TABLE)[0] = 1


def bad_name(a):
    cuda.shared.arry(4, np.float32)


@pytest.mark.parametrize(
    ("kernel", "error", "words"),
    [
        (
            bad_runtime,
            KernelTypeError,
            [
                "the shape of cuda.shared.array must be a compile-time constant",
                "cuda.shared.array(0, dtype), which is dynamic shared memory",
            ],
        ),
        (
            bad_runtime_local,
            KernelTypeError,
            ["the shape of cuda.local.array must be a compile-time constant", "use a literal"],
        ),
        (
            bad_float_shape,
            KernelTypeError,
            [
                "float64 is no shape for cuda.shared.array",
                "No implementation of function Function(<function shared.array>)",
                "array(shape=float64, dtype=class(float32))",
            ],
        ),
        (bad_text_shape, KernelTypeError, ["the string '4' is no shape for cuda.local.array"]),
        (bad_negative, KernelValueError, ["has the extent -1, but every extent must be positive"]),
        (bad_inner_zero, KernelValueError, ["extent 0", "a first extent of 0 stands for dynamic"]),
        (bad_local_zero, KernelValueError, ["cuda.local.array has the extent 0", "at least one"]),
        (bad_dtype_name, KernelTypeError, ["Invalid NumPy dtype specified: 'int33'", "float16"]),
        (bad_dtype, KernelTypeError, ["array(float64, 1d, C) is no dtype for cuda.local.array"]),
        (bad_dtype_object, KernelTypeError, ["arrays of dtype object are not supported"]),
        (bad_dtype_class, KernelTypeError, ["cuda.shared.array: "]),
        (
            bad_local_size,
            KernelValueError,
            ["a thread's local arrays take 524,296 bytes", "has 524,288", "a part for each thread"],
        ),
        (
            bad_shared_size,
            KernelValueError,
            [
                "arrays of shared memory take 49,153 bytes",
                "shared.array(49_152, np.int8)",
                "^^^",
                "(0, dtype)",
            ],
        ),
        (bad_alignment_odd, KernelValueError, ["alignment of cuda.shared.array is 24", "power of"]),
        (bad_alignment_small, KernelValueError, ["alignment of cuda.local.array is 4", "of 8"]),
        (bad_alignment_zero, KernelValueError, ["alignment of cuda.local.array is 0"]),
        (
            bad_alignment_type,
            KernelTypeError,
            [
                "alignment of cuda.local.array must be an integer",
                "RequireLiteralValue: the alignment must be a constant integer, not float64",
            ],
        ),
        (bad_alignment_runtime, KernelTypeError, ["that is a compile-time constant", "not int64"]),
        (bad_arguments, KernelTypeError, ["cuda.shared.array", "shape, dtype"]),
        (bad_keyword, KernelTypeError, ["cuda.shared.array", "'align'"]),
        (
            bad_constant,
            KernelTypeError,
            ["cuda.const.array_like does not take array(float64, 1d, C)", "NumPy array that is a"],
        ),
        (bad_constant_number, KernelTypeError, ["cuda.const.array_like does not take int64"]),
        (bad_store, KernelTypeError, ["the array 'TABLE' is read-only"]),
        (bad_name, KernelTypeError, ["no attribute 'arry'", "did you mean 'array'?"]),
    ],
)
def test_what_is_refused(kernel, error, words):
    with pytest.raises(CompileError) as caught:
        compile_function(kernel, (types.float64[::1],), CompileOptions())
    assert type(caught.value) is error
    first = str(caught.value).splitlines()[0]
    assert words[0] in first
    assert f"test_memory.py:{kernel.__code__.co_firstlineno + 1}: " in first
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("error", [TypeError, ValueError])
def test_errors_are_also_python_s(error):
    kernel = {TypeError: bad_runtime, ValueError: bad_alignment_odd}[error]
    with pytest.raises(error):
        compile_function(kernel, (types.float64[::1],), CompileOptions())


@pytest.mark.parametrize(
    "call",
    [
        lambda: shared.array(4, np.float32),
        lambda: local.array(4, np.float32),
        lambda: const.array_like(TABLE),
    ],
)
def test_the_host_has_no_such_memory(call):
    with pytest.raises(
        PyGpuLibError, match=r"cuda\.\w+\.array\w* has a value only inside a kernel"
    ):
        call()


def test_the_names_of_the_objects():
    assert [repr(each) for each in (shared, local, const)] == [
        "cuda.shared",
        "cuda.local",
        "cuda.const",
    ]
