"""Addresses as arguments of kernels."""

import ctypes

import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.errors import ArgumentTypeError, KernelTypeError, LaunchTypeError

ARRAYS = pytest.mark.parametrize(
    ("name", "layout"), [("carray", "C"), ("farray", "F")], ids=["carray", "farray"]
)


def in_reach(values):
    """Return a copy at an address that the host and kernels share."""
    copy = cuda.mapped_array(values.shape, values.dtype)
    copy[...] = values
    return copy


DTYPES = ["?", "i1", "u2", "i4", "u8", "f2", "f4", "f8", "c8", "c16"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_elements_are_read_and_written(dtype):
    element = types.from_dtype(np.dtype(dtype))

    @cuda.jit(types.void(types.CPointer(element), types.CPointer(element), types.int64))
    def shift(a, out, n):
        i = cuda.grid(1)
        if i < n:
            out[i] = a[i + 1]
            a[i] = a[0]

    a = in_reach(np.arange(9).astype(dtype))
    a[0] = 1
    out = in_reach(np.zeros(8, dtype))
    expected = a[1:].copy()
    for _ in range(3):  # the last ones by the short way
        shift[1, 1](a.ctypes.data, out.ctypes.data, 1)
    device = cuda.to_device(a)
    shift[2, 4](device.address, out.ctypes.data, 8)
    cuda.synchronize()
    np.testing.assert_array_equal(out, expected)


def test_numbers_are_added_in_place():
    @cuda.jit("void(CPointer(uint8), uint32)")
    def add_one(x, n):
        i = cuda.grid(1)
        if i < n:
            x[i] += 1

    x = cuda.to_device(np.arange(10, dtype=np.uint8))
    add_one[1, 32](x.address, len(x))
    np.testing.assert_array_equal(x.copy_to_host(), np.arange(1, 11))


def test_a_negative_index_lies_before_the_address():
    @cuda.jit("void(CPointer(f8), f8[:])")
    def look_back(p, out):
        out[0] = p[-1]
        out[1] = p[-2]

    a, out = in_reach(np.arange(4.0)), np.zeros(2)
    look_back[1, 1](a[2:].ctypes.data, out)
    assert out.tolist() == [1, 0]


def test_records_and_dates():
    point = np.dtype([("x", "f4"), ("y", "i8")], align=True)

    @cuda.jit(
        types.void(types.CPointer(types.from_dtype(point)), types.CPointer(types.NPDatetime("D")))
    )
    def kernel(points, days):
        points[1].y = points[0].y + 1
        points[0] = points[1]
        days[1] = days[0]

    points = in_reach(np.array([(1, 2), (3, 4)], point))
    days = in_reach(np.array(["2001-02-03", "NaT"], "M8[D]"))
    kernel[1, 1](points.ctypes.data, days.ctypes.data)
    cuda.synchronize()
    assert points.tolist() == [(3, 3), (3, 3)]
    assert (days == np.datetime64("2001-02-03")).all()


@ARRAYS
@pytest.mark.parametrize("shape", [(), (6,), (2, 3), (1, 2, 3)])
def test_arrays_over_pointers(name, layout, shape):
    function = getattr(cuda, name)

    @cuda.jit(types.void(types.CPointer(types.float32), types.UniTuple(types.int64, len(shape))))
    def negate(p, shape):
        function(p, shape)[...] = -function(p, shape, types.float32)

    @cuda.jit(types.void(types.voidptr, types.UniTuple(types.int64, len(shape)), types.int64[:]))
    def describe(p, shape, out):
        a = function(p, shape, dtype=np.float32)
        out[0] = a.size
        out[1] = a.ndim
        k = 2
        for stride in a.strides:
            out[k] = stride
            k += 1

    a = in_reach(np.arange(1, 7, dtype=np.float32))
    view = np.ndarray(shape, np.float32, a, order=layout)
    expected = -view
    negate[1, 1](a.ctypes.data, shape)
    cuda.synchronize()
    np.testing.assert_array_equal(view, expected)
    out = np.zeros(5, np.int64)
    describe[1, 1](a.ctypes.data, shape, out)
    assert out[:2].tolist() == [view.size, view.ndim]
    assert tuple(out[2 : 2 + view.ndim]) == view.strides


def test_functions_take_pointers():
    @cuda.jit(device=True)
    def first(p, n):
        return p[0] if n > 0 else 0.0

    @cuda.jit("f8(CPointer(f8), i8)", device=True)
    def last(p, n):
        return p[n - 1]

    @cuda.jit("void(CPointer(f8), i8)")
    def kernel(p, n):
        q = p
        if n > 2:
            q = cuda.carray(p, n)
            p[1] = q[2]
        p[0] = first(p, n) + last(p, n)

    a = in_reach(np.arange(1.0, 5))
    kernel[1, 1](a.ctypes.data, 4)
    cuda.synchronize()
    assert a.tolist() == [5, 3, 3, 4]


def test_a_pointer_needs_an_integer():
    kernel = cuda.jit("void(CPointer(f4))")(lambda p: None)
    for wrong in (1.5, np.zeros(1, np.float32), True, np.int32(1), None):
        with pytest.raises(LaunchTypeError, match="compiled for other types"):
            kernel[1, 1](wrong)
    kernel[1, 1](np.uint64(8))


def refusal(signature, body):
    with pytest.raises(KernelTypeError) as caught:
        cuda.jit(signature)(body)
    return str(caught.value)


@pytest.mark.parametrize(
    ("signature", "body", "words"),
    [
        ("void(voidptr)", lambda p: p[0], "the pointer 'p' does not say what lies there"),
        ("void(CPointer(f4))", lambda p: p[0.5], "the pointer 'p' cannot be indexed with float64"),
        ("void(CPointer(f4))", lambda p: p[1:], "cannot be indexed with a slice"),
        ("void(CPointer(f4))", lambda p: p.shape, "float32* has no attribute 'shape'"),
        ("void(f4[:])", lambda p: cuda.carray(p, 1), "carray does not take array(float32, 1d, A)"),
        ("void(voidptr)", lambda p: cuda.farray(p, 1), "farray needs a dtype, because the pointer"),
        (
            "void(CPointer(f4))",
            lambda p: cuda.carray(p, 1, types.float64),
            "carray is asked for elements of float64, and the pointer 'p' points to float32",
        ),
        ("void(voidptr)", lambda p: cuda.carray(p, 1.5, "f4"), "float64 is no shape for carray"),
        ("void(voidptr)", lambda p: cuda.carray(p, 1, 2), "int64 is no dtype for carray"),
    ],
)
def test_what_is_refused(signature, body, words):
    assert words in refusal(signature, body)


@ARRAYS
def test_on_the_host(name, layout):
    function = getattr(cuda, name)
    a = np.arange(6, dtype=np.float32)
    pointer = a.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    for view in (
        function(pointer, (2, 3)),
        function(pointer, (2, 3), np.float32),
        function(ctypes.c_void_p(a.ctypes.data), (2, 3), types.float32),
    ):
        np.testing.assert_array_equal(view, a.reshape((2, 3), order=layout))
        view[1, 1] += 1
    assert function(pointer, 6).shape == (6,)


def test_what_the_host_refuses():
    pointer = np.zeros(1, np.float32).ctypes.data_as(ctypes.POINTER(ctypes.c_float))
    with pytest.raises(ArgumentTypeError, match=r"carray was given 0\nexpected a pointer"):
        cuda.carray(0, 1)
    with pytest.raises(ArgumentTypeError, match="farray needs a dtype"):
        cuda.farray(ctypes.c_void_p(0), 1)
    with pytest.raises(ArgumentTypeError, match="asked for elements of int32, and the pointer"):
        cuda.carray(pointer, 1, np.int32)
