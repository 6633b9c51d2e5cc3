"""Elements, attributes and stores of arrays against NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.frontend.compile import compile_function
from pygpulib.jit.intrinsics import threads as cuda
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.options import CompileOptions
from tests.helpers.evaluation import result_type
from tests.helpers.kernels import check, compile_for, interpret

CUBE = np.arange(2 * 3 * 4).reshape(2, 3, 4)
LAYOUTS = {
    "C": CUBE,
    "F": np.asfortranarray(CUBE),
    "A": np.arange(2 * 3 * 8).reshape(2, 3, 8)[:, :, ::2],
    "reversed": CUBE[::-1, :, ::-1],
}
TABLE = np.array([[1.5, 2.5, 3.5], [4.5, 5.5, 6.5]], np.float32)
FORTRAN = np.asfortranarray(TABLE)
COMPLEX_TABLE = np.array([1 + 2j, 3 - 4j])


def ops_of(kernel, *args, options=None):
    return list(walk(compile_for(kernel, *args, options=options).body))


def count(ops, *classes):
    return sum(isinstance(op, classes) for op in ops)


@pytest.mark.parametrize("source", LAYOUTS.values(), ids=LAYOUTS)
def test_every_layout_is_read_and_written(source):
    def kernel(a, b):
        for i in range(a.shape[0]):
            for j in range(a.shape[1]):
                for k in range(a.shape[2]):
                    b[i, j, k] = a[i, j, k] * 10 + a[-1 - i, j - 3, -k]

    check(kernel, source, np.zeros((2, 3, 4), source.dtype))
    check(kernel, source, np.zeros((2, 3, 4), order="F"))
    out, target = np.zeros((2, 3, 8)), np.zeros((2, 3, 8))
    kernel(source, out[:, :, ::2])
    interpret(kernel, source, target[:, :, ::2])
    np.testing.assert_array_equal(target, out)


@pytest.mark.parametrize("dtype", dtypes.ALL_DTYPES, ids=str)
def test_every_dtype_is_copied(dtype):
    def kernel(a, b, c):
        for i in range(a.size):
            b[i] = a[i]
            c[i, 0] = a[a.size - 1 - i]

    a = np.arange(5).astype(dtype.numpy)
    if dtype.is_complex:
        a += (0.5j * a[::-1]).astype(dtype.numpy)
    check(kernel, a, np.zeros_like(a), np.zeros((5, 1), dtype.numpy, order="F"))
    strided = np.zeros(10, dtype.numpy)
    strided[::2] = a
    check(kernel, strided[::2], np.zeros_like(a), np.zeros((5, 1), dtype.numpy))


@pytest.mark.parametrize("target", dtypes.ALL_DTYPES[:11], ids=str)
def test_stores_wrap_and_truncate(target):
    def kernel(a, b):
        for i in range(a.size):
            b[i] = a[i]

    whole = np.array([-1, 0, 1, 127, 128, 255, 256, -129, 2**31, 2**33 + 5])
    found = np.zeros(10, target.numpy)
    interpret(kernel, whole, found)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(found, whole.astype(target.numpy))
    found, floats = np.zeros(4, target.numpy), np.array([-2.9, 2.9, 0.5, 100.0])
    interpret(kernel, floats, found)
    wanted = floats.astype(np.int64) if target.is_integer else floats
    np.testing.assert_array_equal(found, wanted.astype(target.numpy))


def test_attributes():
    def kernel(a, out):
        out[0] = a.ndim
        out[1] = a.size
        out[2], out[3], out[4] = a.shape
        out[5] = a.itemsize
        out[6] = a.nbytes
        out[7], out[8], out[9] = a.strides
        out[10] = len(a)
        out[11] = a.dtype.type(3.7) + np.dtype(a.dtype).itemsize if False else 3

    for source in LAYOUTS.values():
        check(kernel, source, np.zeros(12, np.int64))


def test_real_and_imaginary_parts_are_views():
    def kernel(z, x):
        z.real[0] = 7
        z.imag[1] = -2
        x[0] = z.real[1] + z.imag[0]
        x[1] = x.real[0]

    check(kernel, np.array([1 + 2j, 3 + 4j]), np.zeros(2))
    check(kernel, np.array([1 + 2j, 3 + 4j], np.complex64), np.zeros(2))


def test_rows_are_views():
    def kernel(a, b):
        for i in range(a.shape[0]):
            row = a[i]
            for j in range(row.shape[0]):
                b[i, j] = row[j, 1] + row[-1][2]

    for source in LAYOUTS.values():
        check(kernel, source, np.zeros((2, 3)))


def test_zero_dimensional_arrays():
    def kernel(a, b):
        b[()] = a[()] + a.ndim

    check(kernel, np.array(3.5), np.array(0.0))


def test_global_arrays_are_constants():
    def kernel(out):
        for i in range(2):
            for j in range(3):
                out[i, j] = TABLE[i, j] * 10 + FORTRAN[i, -j] + FORTRAN.T[j, i]
        out[0, 0] += COMPLEX_TABLE[1].imag + TABLE.shape[1]

    check(kernel, np.zeros((2, 3), np.float32))
    data = [op.data for op in ops_of(kernel, np.zeros((2, 3))) if isinstance(op, ir.ConstantData)]
    assert not any(np.shares_memory(one, TABLE) for one in data)
    assert len({id(one) for one in data if one.dtype == np.float32}) == 2


def test_slice_stores():
    def kernel(a, b, c):
        a[:] = 7
        a[1:, 2] = -1
        b[0] = c[1]
        b[1, ::2] = c[0, :2]
        c[:, 1] = 0
        c[...] = c[0]

    check(kernel, np.zeros((3, 4)), np.zeros((2, 4)), np.arange(12.0).reshape(3, 4))


def test_fill_and_item():
    def kernel(a, b):
        b.fill(a.item(0, 2) + a.T.item(1, 0))
        b.T[0, 1] = a.transpose()[2, 1]

    check(kernel, np.arange(6).reshape(2, 3), np.zeros((2, 2)))


# ---------------------------------------------------------------------------------- address form


def test_no_selects_where_an_index_cannot_be_negative():
    def kernel(a, b, n):
        i = cuda.grid(1)
        b[i] = a[i + 1] * a[2 * i // 3] + a[n[0] % 7] + a[min(i, 3)] + a[0] + a[abs(n[0])]
        for k in range(3, a.size):
            b[k] = a[k]
        b[cuda.threadIdx.x + cuda.blockIdx.x * cuda.blockDim.x] = b[a.shape[0] >> 1]

    selects = [
        op
        for op in ops_of(kernel, np.zeros(9), np.zeros(9), np.zeros(1, np.int64))
        if isinstance(op, ir.Select)
    ]
    assert len(selects) == 1  # min itself

    def general(a, n):
        a[n[0]] = a[n[0] - 1]

    assert count(ops_of(general, np.zeros(9), np.zeros(1, np.int32)), ir.Select) == 2

    def plain(a, n):
        a[n[0]] = 1

    for dtype, selects in ((np.int64, 1), (np.uint64, 0), (np.uint32, 0)):
        assert count(ops_of(plain, np.zeros(9), np.zeros(1, dtype)), ir.Select) == selects


def test_contiguous_elements_are_addressed_by_index():
    def kernel(a, b):
        b[1, 2] = a[0, 1]

    loads = [op for op in ops_of(kernel, TABLE, TABLE) if isinstance(op, ir.Load | ir.Store)]
    assert [op.scale for op in loads] == [4, 4]
    assert [(op.access.array, op.access.dims) for op in loads] == [("a", 2), ("b", 2)]
    loads = [op for op in ops_of(kernel, TABLE[:, ::2], TABLE) if isinstance(op, ir.Load)]
    assert [op.scale for op in loads] == [1]


# ----------------------------------------------------------------------------------------- errors


def test_bounds_are_checked_with_debug():
    def kernel(a, n):
        a[n[0], 1] = 5

    options = CompileOptions(debug=True)
    assert count(ops_of(kernel, TABLE, np.array([2]), options=options), ir.Raise) == 2
    assert count(ops_of(kernel, TABLE, np.array([2])), ir.Raise, ir.If) == 0
    for index in (0, 1, -1, -2):
        assert interpret(kernel, np.zeros((2, 3)), np.array([index]), debug=True) is None
    for index in (2, -3, 2**40):
        error = interpret(kernel, np.zeros((2, 3)), np.array([index]), debug=True)
        assert error.exception is IndexError
        text = error.message.format(index, 1, 2, 3)
        assert text == (f"index ({index}, 1) is out of bounds for the array 'a' with shape (2, 3)")
        assert error.span.line == kernel.__code__.co_firstlineno + 1


def test_index_errors_of_many_dimensions_show_the_index():
    def kernel(a, n):
        a[0, 0, 0, n[0]] = 1

    error = interpret(kernel, np.zeros((1, 1, 1, 2)), np.array([2]), debug=True)
    assert error.message.format(0, 0, 0, 2) == (
        "index (0, 0, 0, 2) is out of bounds for the array 'a' with 4 dimensions"
    )


def test_views_are_checked_with_debug():
    def kernel(a, n, out):
        out[0] = a[n[0]][0]
        a[0, :] = out

    args = (np.zeros((2, 3)), np.array([5]), np.zeros(3))
    error = interpret(kernel, *args, debug=True)
    assert error.message.format(5, 2).startswith("index 5 is out of bounds for the array 'a'")
    error = interpret(kernel, np.zeros((2, 3)), np.array([1]), np.zeros(2), debug=True)
    assert error.exception is ValueError
    assert error.message.format(2, 3) == (
        "2 elements do not fit into a view of 3 elements along one dimension"
    )


READONLY = types.ArrayType(dtypes.float32, 1, "C", readonly=True)


def store(a, b):
    a[0] = b


def store_slice(a, b):
    a[:] = b


def constant(a, b):
    TABLE[0, 0] = b


def to_number(a, b):
    b[0] = 1


def array_to_view(a, b):
    a[:] = b


@pytest.mark.parametrize(
    ("kernel", "argument_types", "problem", "advice"),
    [
        (store, (READONLY, types.float32), "the array 'a' is read-only", "writable"),
        (store_slice, (READONLY, types.float32), "the array 'a' is read-only", "writable"),
        (constant, (types.float32, types.float32), "the array 'TABLE' is read-only", "argument"),
        (store, (types.float32[:], types.complex64), "complex64 cannot be stored in an", ".real"),
        (store, (types.float32[:], types.none), "None cannot be stored in", "number"),
        (to_number, (types.float32, types.int64), "int64 does not support item", "arrays"),
        (store, (types.float32[:, :, :], types.int8[:, :, :]), "3 dimensions does not", "index"),
    ],
)
def test_stores_that_are_refused(kernel, argument_types, problem, advice):
    with pytest.raises(KernelTypeError) as caught:
        compile_function(kernel, argument_types, CompileOptions())
    assert problem in caught.value.problem
    assert f"{__file__}:" in caught.value.problem
    assert advice in caught.value.help


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (lambda a: a.missing, "has no attribute 'missing'"),
        (lambda a: a.imag, "has no attribute 'imag'"),
        (lambda a: a[1.5, 0], "'a' cannot be indexed with float64"),
        (lambda a: a[True, 0], "'a' cannot be indexed with bool"),
        (lambda a: a[a[0, 0] > 0], "'a' cannot be indexed with bool"),
        (lambda a: a["x"], "'a' has no field 'x'"),
        (lambda a: a[0, 0, 0], "'a' has 2 dimensions, but is indexed with 3"),
        (lambda a: a[..., ...], "only one '...'"),
        (lambda a: a[::0], "a slice step cannot be zero"),
        (lambda a: a[1.5:], "a bound of a slice is float64"),
        (lambda a: a[None : (1,)], "a bound of a slice is a tuple"),
        (lambda a: a.fill(), "the method 'fill' of array(float32, 2d, A) does not take ()"),
    ],
)
def test_uses_that_are_refused(body, problem):
    with pytest.raises(KernelTypeError) as caught:
        result_type(body, types.float32[:, :])
    assert problem in caught.value.problem
    assert caught.value.help
