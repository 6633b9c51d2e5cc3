"""Weak literals: types and values as NumPy has them for Python's numbers."""

import math

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core import dtypes
from pygpulib.errors import ArgumentError
from pygpulib.jit import types
from pygpulib.jit.backends.interp.launch import run
from pygpulib.jit.frontend.compile import compile_function, resolve_result_type
from pygpulib.jit.ir.verifier import verify
from pygpulib.jit.options import CompileOptions
from pygpulib.jit.signature import typeof
from tests.helpers.elementwise import kernel_for
from tests.helpers.kernels import Device

WEAK = CompileOptions(fma=False, weak_literals=True)
HALF = 0.5
TABLE = (0.1, 0.2, 0.3)
MIXED = (1, 0.5)


def result_dtype(function, *given, options=WEAK):
    arguments = tuple(types.scalar_type(dtypes.from_numpy(dtype)) for dtype in given)
    return resolve_result_type(function, arguments, options).dtype.numpy


def over(function, *columns):
    """Apply a function to rows; return what the interpreter gives and what CPython gives.

    Where CPython gives a Python number in some rows, it has the type of the others.
    """
    with np.errstate(all="ignore"):
        expected = [function(*row) for row in zip(*columns, strict=True)]
    out = np.zeros(len(expected), result_dtype(function, *(column.dtype for column in columns)))
    kernel = kernel_for(Device(function), len(columns))
    arguments = (*columns, out)
    compiled = compile_function(kernel, tuple(map(typeof, arguments)), WEAK)
    verify(compiled)
    assert run(compiled, 1, len(out), arguments).fault is None
    firm = {one.dtype for one in expected if isinstance(one, np.inexact)}
    return out, np.array(expected, *firm)


FLOAT_EXPRESSIONS = {
    "product": lambda x: x * 0.1,
    "sum": lambda x: 0.1 + x,
    "integer": lambda x: 1 - x,
    "quotient": lambda x: 1 / (x + 3),
    "negative": lambda x: x * -0.1,
    "positive": lambda x: +0.1 * x,
    "absolute": lambda x: abs(-0.1) * x,
    "folded": lambda x: (0.1 + 0.2) * x / 3,
    "folded integers": lambda x: 7 // 2 * x + 2**3 - 7 % 4,
    "constant": lambda x: 2 * math.pi * x,
    "global": lambda x: HALF * x,
    "table": lambda x: TABLE[1] * x,
    "conditional": lambda x: x if x < 0.1 else 0.2,
    "conditional literal": lambda x: (0.1 if x > 0.1 else 0.2) * x,
    "conditional kinds": lambda x: (1 if x > 0.1 else 0.2) * x,
    "larger": lambda x: max(x, 0.1),
    "smaller": lambda x: min(1, x),
    "larger literal": lambda x: max(1, 0.5) * x,
    "equal": lambda x: x == 0.1,
    "order": lambda x: x < 0.1,
    "root": lambda x: math.sqrt(2.0) * x,
    "square root": lambda x: np.sqrt(x) + 0.1,
    "maximum": lambda x: np.maximum(x, 0.1),
    "where": lambda x: np.where(x > 0.1, x, 0.1),
    "sign": lambda x: math.copysign(2, x) * x,
    "tuple": lambda x: (x, 0.1)[1] * x,
    "inner": lambda x: (lambda y: y * 0.1)(0.3) * x,
}


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("name", FLOAT_EXPRESSIONS)
def test_floats(name, dtype):
    x = np.array([0.1, -0.1, 0.3, 2.7, 0.0, 1e5, np.inf], dtype)
    found, expected = over(FLOAT_EXPRESSIONS[name], x)
    if name != "sign":
        assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "function",
    [lambda x: x * 0.1, lambda x: 1 - x, lambda x: 0.1 + x, lambda x: x if x > 0 else 0.1],
)
def test_half_precision(function):
    assert result_dtype(function, "f2") == np.float16


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_powers(dtype):
    x = np.array([0.1, 0.3, 2.5], dtype)
    for function in (lambda x: x**0.5, lambda x: x**3, lambda x: 2**x, lambda x: math.pow(x, 2)):
        found, expected = over(function, x)
        assert found.dtype == np.dtype(dtype)
        np.testing.assert_allclose(found, expected, rtol=4 * np.finfo(dtype).eps)
    np.testing.assert_array_equal(over(lambda x: x**2, x)[0], x * x)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "u4", "i8", "u8", "?"])
def test_floats_among_integers(dtype):
    x = np.array([0, 1], dtype)
    for function in (lambda x: x * 0.1, lambda x: 0.5 - x, lambda x: x if x > 0 else 0.5):
        found, expected = over(function, x)
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, expected)


def test_integers_among_integers():
    # Integers compute in 64 bits, as without the option; literals take the sign.
    for dtype in ("i1", "i4", "i8", "?"):
        assert result_dtype(lambda x: x + 1, dtype) == np.int64
    for dtype in ("u1", "u4", "u8"):
        assert result_dtype(lambda x: x + 1, dtype) == np.uint64
        assert result_dtype(lambda x: x + -1, dtype) == np.int64
    assert result_dtype(lambda x: x + 300, "u1") == np.int64  # does not fit
    x = np.array([2**63 + 1, 5], np.uint64)
    found, expected = over(lambda x: x - 1 + (x >> 1) % 7, x)
    assert found.dtype == np.uint64
    np.testing.assert_array_equal(found, expected)
    found, expected = over(lambda x: x > -1, x)
    np.testing.assert_array_equal(found, expected)


def test_integers_that_meet_in_one_variable_keep_their_values():
    def chosen(x):
        y = 300
        if x > 1:
            y = x
        return y

    for function in (chosen, lambda x: x if x > 1 else 300, lambda x: max(x, -5) if x else -5):
        for dtype in ("i1", "u1", "u4", "i8"):
            found, expected = over(function, np.array([0, 1, 100], dtype))
            np.testing.assert_array_equal(found, expected)
    assert result_dtype(lambda x: x if x > 1 else 300, "u1") == np.int64
    for literal in (lambda x: min(x, 2**63), lambda x: x + (2**64 - 1)):
        for dtype in ("i8", "u8"):
            assert result_dtype(literal, dtype) == result_dtype(
                literal, dtype, options=CompileOptions()
            )


def test_whole_numbers_among_bits():
    for function in (lambda x: math.floor(x) & 255, lambda x: math.floor(x) << 2):
        found, expected = over(function, np.array([3.7, 300.2]))
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", ["c8", "c16"])
@pytest.mark.parametrize(
    "function",
    [
        lambda z: z * 0.5,
        lambda z: 2 * z - 1,
        lambda z: z * 1j,
        lambda z: (1 + 2j) * z,
        lambda z: -2j + z,
        lambda z: z.real * 1j,
        lambda z: z * 2j == 0.5,
        lambda z: z**2,
        lambda z: z if z.real > 0 else 0.5,
        lambda z: z if z.real > 0 else 1j,
    ],
)
def test_complex_numbers(function, dtype):
    z = np.array([0.5 + 0.25j, -1 + 3j, 2], dtype)
    found, expected = over(function, z)
    assert found.dtype == expected.dtype
    np.testing.assert_allclose(found, expected, rtol=1e-6)


def accumulate(x):
    total = 0.0
    count = 0
    for _ in range(5):
        total += x * 0.1
        count += 1
    while total < 100:
        total = total * 2 + 1
    return total * count


def branches(x):
    scale = 1
    if x > 0.2:
        scale = 0.1
    elif x > 0.1:
        scale = x
    return scale * x


def unchanged(x):
    scale = 0.1
    for _ in range(3):
        scale *= 2
    return scale * x


@cuda.jit(device=True)
def polynomial(x, a=0.1, b=3):
    return a * x * x + b


@cuda.jit(device=True)
def halve(n, x):
    return x if n == 0 else halve(n - 1, x * 0.5)


@pytest.mark.parametrize(
    "function",
    [
        accumulate,
        branches,
        unchanged,
        lambda x: polynomial(x),
        lambda x: polynomial(x, b=0.7),
        lambda x: polynomial(0.7) * x,
        lambda x: halve(3, x),
    ],
)
def test_variables_and_functions(function):
    x = np.array([0.15, 0.25, -0.1, 3], np.float32)
    found, expected = over(function, x)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected.astype(np.float32))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x * np.float64(0.1),
        lambda x: x * float(TABLE[0]),
        lambda x: x * cuda.float64(0.1),
        lambda x: x + np.int64(1),
        lambda x: x * cuda.threadIdx.x,
        lambda x: np.array(0.1)[()] * x if False else np.pi * np.float64(x),
    ],
)
def test_what_is_not_weak(function):
    assert result_dtype(function, "f4") == np.float64


def test_an_item_of_a_tuple_by_number():
    found, expected = over(lambda x, i: TABLE[i] * x, np.float32([0.3, 0.7]), np.array([0, 2]))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected)


def test_functions_that_want_integers():
    found, expected = over(lambda x: math.ldexp(x, 3), np.float32([0.3, 0.7]))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected.astype(np.float32))


def test_without_the_option():
    for function in (lambda x: x * 0.1, lambda x: 1 - x, lambda x: x if x > 0 else 0.0):
        assert result_dtype(function, "f4", options=CompileOptions()) == np.float64


def test_functions_of_this_package_stay_as_exact_as_they_are():
    x = np.linspace(0.1, 3, 50, dtype=np.float32)
    for function in (
        lambda x: round(x, 2),
        lambda z: abs(np.exp(z * 1j)),
        lambda z: np.tan(z * 1j).imag,
    ):
        kernels = []
        for options in (CompileOptions(), CompileOptions(weak_literals=True)):
            out = np.zeros_like(x)
            arguments = (x.astype(np.complex64) if "z" in function.__code__.co_varnames else x, out)
            kernel = kernel_for(Device(function), 1)
            compiled = compile_function(kernel, tuple(map(typeof, arguments)), options)
            run(compiled, 1, len(out), arguments)
            kernels.append(out)
        np.testing.assert_allclose(*kernels, rtol=1e-6)


def test_expressions_of_arrays():
    @cuda.jit(literals="weak", fma=False)
    def kernel(a, out):
        out[:] = a * 0.1 + 1

    @cuda.jit(literals="weak", fma=False)
    def ufunc(a, out):
        out[:] = np.multiply(a, 0.1) - np.add(1, a)

    for body in (kernel, ufunc):
        a = np.linspace(0, 1, 9, dtype=np.float32)
        out, expected = np.zeros((2, 9))
        body[1, 1](a, out)
        body.py_func(a, expected)
        np.testing.assert_array_equal(out, expected)


def test_on_the_cpu():
    @cuda.jit(literals="weak", fma=False)
    def smooth(a, out):
        i = cuda.grid(1)
        if 0 < i < a.size - 1:
            total = 0.0
            for j in range(-1, 2):
                total += a[i + j]
            out[i] = total / 3 + 0.1

    a = np.random.default_rng(0).random(100, dtype=np.float32)
    out = np.zeros(100, np.float32)
    smooth[4, 32](a, out)
    expected = (a[:-2] + a[1:-1] + a[2:]) / 3 + 0.1
    assert expected.dtype == np.float32
    np.testing.assert_array_equal(out[1:-1], expected)


@pytest.mark.parametrize("value", ["strong", "", None, True])
def test_the_option_has_two_values(value):
    with pytest.raises(ArgumentError) as caught:
        cuda.jit(literals=value)
    assert str(caught.value) == (
        f"the option literals of cuda.jit is {value!r}\n"
        "expected 'numba' (int64 and float64) or 'weak' (the types that they meet)"
    )
    cuda.jit(literals="numba")
