"""Calls: functions of modules, device functions, casts, keyword arguments."""

from __future__ import annotations

import math
import operator

import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.errors import CompileError, KernelTypeError, PyGpuLibError
from pygpulib.jit import types
from pygpulib.jit.frontend import operators
from pygpulib.jit.intrinsics import threads as cuda
from tests.helpers.evaluation import over, result_type, scalar
from tests.helpers.kernels import Device, check, compile_for

float32, int8 = types.float32, types.int8


@Device
def weighted(a, b=2, *rest, scale=1):
    total = a + b * scale
    for one in rest:
        total += one
    return total


def test_device_functions():
    def kernel(a, out):
        out[0] = weighted(a[0])
        out[1] = weighted(a[0], a[1])
        out[2] = weighted(a[0], scale=3, b=a[1])
        out[3] = weighted(*(a[0], a[1], 5, 6), scale=2)
        out[4] = (lambda x, y=a[1]: x * y)(a[0])

    check(kernel, np.array([3, 4]), np.zeros(5, np.int64))


def test_casts():
    a = np.array([3.7, -3.7, 300.2, 0.0])
    np.testing.assert_array_equal(over(lambda x: np.int32(x), a), a.astype(np.int32))
    np.testing.assert_array_equal(over(lambda x: float32(x), a), a.astype(np.float32))
    np.testing.assert_array_equal(over(lambda x: np.complex64(x), a), a.astype(np.complex64))
    np.testing.assert_array_equal(over(lambda x: np.bool_(x), a), a.astype(bool))
    np.testing.assert_array_equal(
        over(lambda x: int8(np.int64(x)), a), a.astype(np.int64).astype(np.int8)
    )
    assert scalar(lambda x: np.float64(x), np.uint64(2**63)) == 2.0**63
    assert scalar(lambda x: x + np.int16(), 1) == 1
    assert result_type(lambda: np.uint8(300)) == types.uint8
    for dtype in dtypes.ALL_DTYPES:
        cast = dtype.numpy.type
        assert result_type(lambda x: cast(x), types.int32) == types.scalar_type(dtype)


def test_dtype_of_an_array_casts():
    def kernel(a, out):
        out[0] = a.dtype.type(3.7)
        out[1] = a[0].dtype.type(300.5) * 2

    out = np.zeros(2)
    from tests.helpers.kernels import interpret

    interpret(kernel, np.zeros(1, np.uint8), out)
    assert out.tolist() == [3.0, 88.0]


def test_intrinsics_convert_their_operands():
    a = np.array([1, 4, 9], np.int32)
    found = over(lambda x: math.sqrt(x), a)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, [1, 2, 3])
    assert over(lambda x: np.sqrt(x), a.astype(np.float32)).dtype == np.float32
    assert scalar(lambda x: math.isnan(x), math.nan)
    assert scalar(lambda x: math.frexp(x)[1], 8.0) == 4
    np.testing.assert_allclose(scalar(lambda x: math.log(x, 2), 8.0), 3.0)
    assert scalar(lambda x: math.pi * x + math.inf, 1.0) == math.inf


BINARY = {
    spelling: kind
    for table in (operators.BINARY, operators.COMPARISONS)
    for kind, spellings in table.items()
    for spelling in spellings
}


@pytest.mark.parametrize("spelling", BINARY, ids=lambda one: getattr(one, "__name__", str(one)))
def test_functions_that_mean_a_binary_operator(spelling):
    a, b = np.array([7, 5, 2]), np.array([2, 5, 3])
    wanted = [spelling(int(x), int(y)) for x, y in zip(a, b, strict=True)]
    np.testing.assert_array_equal(over(lambda x, y: spelling(x, y), a, b), wanted)


@pytest.mark.parametrize(
    "spelling", [one for spellings in operators.UNARY.values() for one in spellings]
)
def test_functions_that_mean_a_unary_operator(spelling):
    a = np.array([7, -5, 0])
    np.testing.assert_array_equal(over(lambda x: spelling(x), a), [spelling(int(x)) for x in a])


@pytest.mark.parametrize("dtype", [np.int64, np.float64, np.uint8, np.float32])
def test_functions_of_numpy(dtype):
    a, b = np.array([0, 1, 2, 3, 3], dtype), np.array([1, 0, 2, 5, 0], dtype)
    for function in (np.maximum, np.minimum, np.fmax, np.fmin):
        np.testing.assert_array_equal(over(lambda x, y: function(x, y), a, b), function(a, b))
    for function in (np.logical_and, np.logical_or, np.logical_xor):
        np.testing.assert_array_equal(over(lambda x, y: function(x, y), a, b), function(a, b))
    for function in (np.logical_not, np.square, np.sign, np.conjugate, np.real, np.abs):
        np.testing.assert_array_equal(over(lambda x: function(x), a), function(a))
    if dtype in (np.float64, np.float32):
        signs = np.array([-2.5, -0.0, math.nan, math.inf], dtype)
        np.testing.assert_array_equal(over(lambda x: np.sign(x), signs), np.sign(signs))
        np.testing.assert_array_equal(over(lambda x: np.reciprocal(x), b[:1]), [1.0])


def test_extremes_of_numpy_and_nan():
    a = np.array([1.0, math.nan, 2.0, math.nan])
    b = np.array([math.nan, 1.0, 1.0, math.nan])
    for function in (np.maximum, np.minimum, np.fmax, np.fmin):
        np.testing.assert_array_equal(over(lambda x, y: function(x, y), a, b), function(a, b))


def test_functions_of_numpy_on_complex_numbers():
    z = np.array([1 + 2j, -3.5 - 1j, 2j])
    for function in (np.conjugate, np.real, np.imag, np.square, np.negative, np.reciprocal):
        np.testing.assert_allclose(over(lambda x: function(x), z), function(z), rtol=1e-15)
    np.testing.assert_allclose(over(lambda x: np.angle(x), z), np.angle(z), rtol=1e-15)
    np.testing.assert_allclose(over(lambda x: np.abs(x), z), np.abs(z), rtol=1e-15)


def test_operator_functions_of_other_kinds():
    assert scalar(lambda a: operator.getitem((a, 2), 1), 1) == 2
    assert scalar(lambda a: operator.not_(a) + operator.truth(a), 5) == 1


# ---------------------------------------------------------------------------------------- threads


def test_grid_and_registers():
    def kernel(out):
        x, y, z = cuda.grid(3)
        i, j = cuda.grid(2)
        width, height = cuda.gridsize(2)
        if i == x and j == y and z == 0:
            out[x, y, 0] = cuda.threadIdx.x + 10 * cuda.blockIdx.y
            out[x, y, 1] = cuda.blockDim.x * 100 + cuda.gridDim.y
            out[x, y, 2] = width * 100 + height
            out[x, y, 3] = cuda.gridsize(1) + cuda.laneid * 100
            out[x, y, 4] = cuda.warpsize

    from pygpulib.jit.backends.interp.launch import run

    out = np.zeros((6, 4, 5), np.int64)
    run(compile_for(kernel, out), (2, 4), (3, 1), (out,))
    for x in range(6):
        for y in range(4):
            lane = 100 * (x % 3)
            assert out[x, y].tolist() == [x % 3 + 10 * y, 304, 604, 6 + lane, 32]


def test_types_of_registers():
    assert result_type(lambda: cuda.grid(1)) == types.int64
    assert result_type(lambda: cuda.grid(2)) == types.TupleType((types.int64, types.int64))
    assert result_type(lambda: cuda.threadIdx.x) == types.int32
    assert result_type(lambda: cuda.laneid) == types.int32


def test_the_number_of_axes_must_be_known():
    for body, given in (
        (lambda n: cuda.grid(n), "got int64"),
        (lambda n: cuda.gridsize(4), "got 4"),
        (lambda n: cuda.grid(0), "got 0"),
        (lambda n: cuda.grid("x"), "got the string 'x'"),
    ):
        with pytest.raises(KernelTypeError, match="must be a compile-time constant") as caught:
            result_type(body, types.int64)
        assert given in caught.value.detail


def test_thread_objects_have_no_value_on_the_host():
    for use in (
        lambda: cuda.threadIdx.x,
        lambda: cuda.blockDim.z,
        lambda: int(cuda.laneid),
        lambda: range(cuda.warpsize),
        lambda: cuda.grid(1),
        lambda: cuda.gridsize(2),
    ):
        with pytest.raises(PyGpuLibError, match=r"cuda\.\w+(\.\w)? has a value only inside"):
            use()
    assert repr(cuda.threadIdx) == "cuda.threadIdx"
    assert repr(cuda.laneid) == "cuda.laneid"


# ----------------------------------------------------------------------------------------- errors


def plain(a):
    return a


@pytest.mark.parametrize(
    ("body", "problem", "advice"),
    [
        (lambda a: plain(a), "the function plain is a plain Python function", "device=True"),
        (lambda a: a(1), "int64 cannot be called", "function"),
        (lambda a: sorted(a), "the function sorted is not available in kernels", "math"),
        (lambda a: dict(a), "the class dict is not available in kernels", "math"),
        (lambda a: np.matmul(a, 1), "matmul is not available in kernels", "math"),
        (lambda a: np.datetime64(a), "numpy.datetime64 does not take (int64)", "types"),
        (lambda a: math.sin(), "math.sin does not take ()", "number"),
        (lambda a: math.sin(a, a), "math.sin does not take (int64, int64)", "number"),
        (lambda a: math.sin((a,)), "math.sin does not take (a tuple (int64))", "index"),
        (lambda a: math.sin(x=a), "math.sin takes no keyword argument 'x'", "position"),
        (lambda a: math.sine(a), "the module math has no attribute 'sine'", "did you mean 'sin"),
        (lambda a: math.qqq(a), "the module math has no attribute 'qqq'", "spelling"),
        (lambda a: np.add(a), "numpy.add is called with 1 argument", "arguments"),
        (lambda a: np.add(a, a, dtype=a), "called with a keyword argument 'dtype'", "arguments"),
        (lambda a: np.float32(a, a), "numpy.float32 takes one argument", "one number"),
        (lambda a: np.float32((a,)), "a tuple (int64) cannot be converted to float32", "type"),
        (lambda a: np.sign(None), "numpy.sign does not take (None)", "index"),
        (lambda a: np.real("x"), "numpy.real does not take the string 'x'", "number"),
        (lambda a: weighted(*a), "int64 cannot be unpacked into arguments", "tuple"),
        (lambda a: a.foo, "int64 has no attribute 'foo'", "arrays"),
        (lambda a: math[0], "the module math cannot be indexed", "arrays"),
        (lambda a: a.conjugate(1), "the method 'conjugate' of int64 does not take (int64)", "n"),
    ],
)
def test_calls_that_are_refused(body, problem, advice):
    with pytest.raises(KernelTypeError) as caught:
        result_type(body, types.int64)
    assert problem in caught.value.problem
    assert f"{__file__}:" in caught.value.problem
    assert advice in caught.value.help


def test_syntax_that_calls_do_not_have():
    with pytest.raises(CompileError, match=r"'\*\*' in a call is not supported"):
        result_type(lambda a: weighted(**a), types.int64)


LIST = [1, 2]


def test_a_global_list_is_refused_with_advice():
    with pytest.raises(KernelTypeError, match="an object of class list cannot be indexed") as found:
        result_type(lambda: LIST[0])
    assert "tuple" in found.value.help
