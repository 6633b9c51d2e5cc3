"""Operators on numbers, for every pair of dtypes, against NumPy and CPython."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.backends.interp.launch import run
from pygpulib.jit.frontend import inference
from pygpulib.jit.options import CompileOptions
from tests.helpers.evaluation import over, result_type, scalar
from tests.helpers.kernels import compile_for, interpret

INTEGERS = [dtype for dtype in dtypes.ALL_DTYPES if dtype.is_integer]
REALS = [dtype for dtype in dtypes.ALL_DTYPES if not dtype.is_complex]


def samples(dtype):
    """Return edge values and random ones."""
    rng = np.random.default_rng(dtype.bits)
    if dtype.is_bool:
        values = [False, True]
    elif dtype.is_integer:
        info = np.iinfo(dtype.numpy)
        some = rng.integers(info.min, info.max, 4, dtype=dtype.numpy)
        values = [0, 1, 2, 3, 7, info.max, info.min, info.max - 1, *some.tolist()]
        values += [-1, -2, -7] if dtype.is_signed else []
    elif dtype.is_float:
        values = [0.0, -0.0, 1.0, -1.5, 2.5, 7.0, 1e4, -3e-3, math.inf, -math.inf, math.nan]
    else:
        values = [0, 1j, -1j, 1 + 2j, -3.5 + 0.25j, complex(2, -0.0), 1e3 - 1e-3j]
    return np.array(values, dtype.numpy)


def grid(left, right):
    """Return all pairs of the samples of two dtypes as two columns."""
    a, b = samples(left), samples(right)
    return np.repeat(a, len(b)), np.tile(b, len(a))


def reference(function, operator_name, a, b):
    """Apply a NumPy function in the dtype that the language computes in."""
    dtype = {
        "shift": inference.widen(dtypes.from_numpy(a.dtype)),
    }.get(
        operator_name,
        inference.promote_arithmetic(dtypes.from_numpy(a.dtype), dtypes.from_numpy(b.dtype)),
    )
    with np.errstate(all="ignore"):
        return function(a.astype(dtype.numpy), b.astype(dtype.numpy))


@pytest.mark.parametrize("left", REALS, ids=str)
def test_sums_and_products(left):
    for right in REALS:
        a, b = grid(left, right)
        for body, function in (
            (lambda x, y: x + y, np.add),
            (lambda x, y: x - y, np.subtract),
            (lambda x, y: x * y, np.multiply),
        ):
            wanted = reference(function, "", a, b)
            np.testing.assert_array_equal(over(body, a, b), wanted, err_msg=f"{right} {function}")


@pytest.mark.parametrize("left", REALS, ids=str)
def test_true_division(left):
    for right in REALS:
        a, b = grid(left, right)
        common = inference.promote_arithmetic(left, right)
        dtype = np.dtype(np.float64) if common.is_integer else common.numpy
        with np.errstate(all="ignore"):
            wanted = a.astype(dtype) / b.astype(dtype)
        np.testing.assert_array_equal(over(lambda x, y: x / y, a, b), wanted, err_msg=str(right))


@pytest.mark.parametrize("left", INTEGERS, ids=str)
def test_floor_division_and_modulo_of_integers(left):
    for right in INTEGERS:
        a, b = grid(left, right)
        quotient = over(lambda x, y: x // y, a, b)
        remainder = over(lambda x, y: x % y, a, b)
        dtype = quotient.dtype.type
        wide = (a.astype(dtype).tolist(), b.astype(dtype).tolist())
        for x, y, q, r in zip(*wide, quotient, remainder, strict=True):
            if y == 0:
                assert (q, r) == (0, 0)
            elif not (dtype is np.int64 and (x, y) == (-(2**63), -1)):
                assert (int(q), int(r)) == divmod(x, y)


@pytest.mark.parametrize("left", [dtypes.float32, dtypes.float64], ids=str)
def test_floor_division_and_modulo_of_floats(left):
    for right in [*INTEGERS, dtypes.float32, dtypes.float64]:
        a, b = grid(left, right)
        common = inference.promote_arithmetic(left, right).numpy
        with np.errstate(all="ignore"):
            x, y = a.astype(common), b.astype(common)
            quotient, remainder = np.floor_divide(x, y), np.remainder(x, y)
        np.testing.assert_array_equal(over(lambda x, y: x // y, a, b), quotient)
        np.testing.assert_array_equal(over(lambda x, y: x % y, a, b), remainder)


@pytest.mark.parametrize("left", INTEGERS, ids=str)
def test_shifts(left):
    for right in INTEGERS:
        a, b = samples(left), np.arange(0, 64, 5).astype(right.numpy)
        a, b = np.repeat(a, len(b)), np.tile(b, len(a))
        wanted = reference(np.left_shift, "shift", a, b)
        np.testing.assert_array_equal(over(lambda x, y: x << y, a, b), wanted)
        wanted = reference(np.right_shift, "shift", a, b)
        np.testing.assert_array_equal(over(lambda x, y: x >> y, a, b), wanted)


@pytest.mark.parametrize("left", [dtypes.bool_, *INTEGERS], ids=str)
def test_bitwise_operators(left):
    for right in [dtypes.bool_, *INTEGERS]:
        a, b = grid(left, right)
        for body, function in (
            (lambda x, y: x & y, np.bitwise_and),
            (lambda x, y: x | y, np.bitwise_or),
            (lambda x, y: x ^ y, np.bitwise_xor),
        ):
            np.testing.assert_array_equal(over(body, a, b), reference(function, "", a, b))


@pytest.mark.parametrize("dtype", REALS, ids=str)
def test_unary_operators(dtype):
    a = samples(dtype)
    wide = a.astype(inference.widen(dtype).numpy)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(over(lambda x: -x, a), -wide)
        np.testing.assert_array_equal(over(lambda x: +x, a), wide)
        np.testing.assert_array_equal(over(lambda x: abs(x), a), np.abs(wide))
    np.testing.assert_array_equal(over(lambda x: not x, a), ~a.astype(bool))
    if not dtype.is_float:
        np.testing.assert_array_equal(over(lambda x: ~x, a), ~wide)


# ----------------------------------------------------------------------------------------- powers


@pytest.mark.parametrize("dtype", INTEGERS, ids=str)
def test_power_of_integers(dtype):
    a, b = grid(dtype, dtypes.uint8)
    wide = a.astype(inference.promote_arithmetic(dtype, dtypes.uint8).numpy)
    wanted = [pow(int(x), int(y), 2**64) for x, y in zip(wide, b, strict=True)]
    found = over(lambda x, y: x**y, a, b)
    assert [int(value) % 2**64 for value in found] == wanted


def test_power_of_integers_with_negative_exponents():
    a = np.array([1, -1, -1, 2, -3, 0], np.int64)
    b = np.array([-5, -3, -4, -1, -2, -1], np.int64)
    assert over(lambda x, y: x**y, a, b).tolist() == [1, -1, 1, 0, 0, 0]
    assert over(lambda x: x**-1, np.array([1, 2], np.int32)).tolist() == [1, 0]


def test_power_with_literal_exponents():
    whole = np.array([-3, 0, 5, 2**40], np.int64)
    np.testing.assert_array_equal(over(lambda x: x**3, whole), whole**3)
    np.testing.assert_array_equal(over(lambda x: x**0, whole), whole**0)
    single = np.array([-3.5, 0.0, 1.1, 7.25], np.float32)
    found = over(lambda x: x**2, single)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, single * single)
    double = np.array([-3.5, 1.1, 7.25])
    np.testing.assert_array_equal(over(lambda x: x**2.0, double), double * double)
    for power in (3, 5, 8, 16):
        np.testing.assert_allclose(
            over({3: _cube, 5: _fifth, 8: _eighth, 16: _sixteenth}[power], double),
            double**power,
            rtol=(power + 4) * np.finfo(float).eps,
        )
    np.testing.assert_allclose(over(lambda x: x**-2, double), double**-2.0, rtol=1e-15)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_half_powers_are_square_roots(dtype):
    x = np.array([9.0, 2.0, 0.0, -0.0, np.inf, -np.inf, np.nan, -4.0], dtype)
    with np.errstate(all="ignore"):
        root = np.sqrt(np.abs(x.astype("f8")))
        root[-1] = np.nan
        inverse = 1 / root
    for function, expected in (
        (lambda x: x**0.5, root),
        (lambda x: x**-0.5, inverse),
        (lambda x: pow(x, 0.5), root),
    ):
        found = over(function, x)
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(np.signbit(found[:6]), np.signbit(expected[:6]))
    assert over(lambda n: n**0.5, np.array([9, 16])).tolist() == [3.0, 4.0]


def test_powers_of_one_and_minus_one_are_exact():
    x = np.array([3.0, -7.1, 0.0, np.inf])
    np.testing.assert_array_equal(over(lambda x: x**1.0, x), x)
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(over(lambda x: x**-1.0, x), 1 / x)
    np.testing.assert_array_equal(over(lambda x: x**0.0, x), np.ones(4))


def _cube(x):
    return x**3


def _fifth(x):
    return x**5


def _eighth(x):
    return x**8


def _sixteenth(x):
    return x**16


def test_power_of_floats():
    a, b = np.array([2.0, 2.0, 9.0, 0.5]), np.array([0.5, -1.0, 1.5, 10.0])
    np.testing.assert_allclose(over(lambda x, y: x**y, a, b), a**b, rtol=1e-15)
    found = over(lambda x, y: x**y, a.astype(np.float32), np.array([2, -2, 0, 3], np.int32))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, [4.0, 0.25, 1.0, 0.125], rtol=1e-6)


# --------------------------------------------------------------------------------------- literals


def test_constants_fold_as_in_python():
    assert scalar(lambda a: a + (2**64 - 1), np.uint64(1)) == 0
    assert result_type(lambda: 2**64 - 1) == types.uint64
    assert result_type(lambda: 7 // 2 + 1j) == types.complex128
    assert scalar(lambda a: a + -7 // 2, np.int64(0)) == -4
    assert scalar(lambda a: a + 1 / 3, 0.0) == 1 / 3
    assert scalar(lambda a: a * 1e-3**2, 1.0) == 1e-3**2


def test_literals_of_variables_fold():
    def shape(a):
        n = 3
        return (a, a + 1.0, a + 2.0, a + 3.0)[n * 2 - 4 >> 1]

    assert scalar(shape, 5.0) == 6.0


def test_division_by_a_literal_zero_is_left_to_run_time():
    assert scalar(lambda a: a + 1.0 / 0.0, 0.0) == math.inf
    assert scalar(lambda a: a + 1 // 0, np.int64(5)) == 5


def test_powers_of_literals_are_those_of_the_python_compiler():
    assert scalar(lambda a: a + 10**-2, 0.0) == 0.01
    assert scalar(lambda a: a + (-3) ** -3, 0.0) == (-3) ** -3
    assert result_type(lambda: 2**-1) == types.float64
    assert scalar(lambda a: a + 2**-128, 0.0) == 2**-128
    assert result_type(lambda: 2**62) == types.int64


def test_integers_beyond_64_bits_are_refused():
    with pytest.raises(KernelTypeError, match="18446744073709551616 does not fit into 64 bits"):
        result_type(lambda: 2**64)


# ----------------------------------------------------------------------------------------- errors


def test_division_by_zero_is_reported_with_debug():
    def divide(a, b, out):
        out[0] = a[0] // b[0]

    out = np.zeros(1, np.int64)
    error = interpret(divide, np.array([1]), np.array([0]), out, debug=True)
    assert (error.exception, error.message) == (ZeroDivisionError, "division by zero")
    assert interpret(divide, np.array([7]), np.array([2]), out, debug=True) is None
    assert out[0] == 3


@pytest.mark.parametrize("dtype", ["i4", "i8", "f4", "f8", "c8", "c16"])
def test_fast_divisions_of_floats_by_zero_are_not_reported(dtype):
    def divide(a, b, out):
        out[0] = a[0] / b[0]

    arguments = (np.ones(1, dtype), np.zeros(1, dtype), np.zeros(1, complex))
    if dtype in ("f4", "f8"):
        arguments = (*arguments[:2], np.zeros(1))
    options = CompileOptions(debug=True, fastmath=True)
    outcome = run(compile_for(divide, *arguments, options=options), 1, 1, arguments)
    assert outcome.fault is None
    assert not np.isfinite(arguments[2][0])

    def divide_whole(a, b, out):
        out[0] = a[0] // b[0]

    if dtype.startswith("i"):
        whole = compile_for(divide_whole, *arguments, options=options)
        assert run(whole, 1, 1, arguments).fault is not None


@pytest.mark.parametrize(
    ("body", "argument_types", "problem"),
    [
        (lambda a, b: a + b, (types.float32[:], types.int64), "an expression of whole arrays can"),
        (lambda a, b: a | b, (types.float32, types.int64), "| does not take float32 and int64"),
        (lambda a, b: a << b, (types.int64, types.float64), "<< does not take int64 and float64"),
        (lambda a, b: a % b, (types.complex64, types.int64), "% does not take complex64 and int64"),
        (lambda a, b: a + None, (types.int64, types.int64), "+ does not take int64 and None"),
        (lambda a, b: a + "x", (types.int64, types.int64), "int64 and the string 'x'"),
        (lambda a, b: a + math, (types.int64, types.int64), "int64 and the module math"),
        (lambda a, b: a + (b,), (types.int64, types.int64), "int64 and a tuple (int64)"),
        (lambda a, b: a + (lambda: 1), (types.int64, types.int64), "a function defined in the"),
        (lambda a, b: ~a, (types.float32, types.int64), "~ does not take float32"),
        (lambda a, b: -a, (types.float32[:], types.int64), "an expression of whole arrays can"),
    ],
)
def test_operands_that_do_not_fit(body, argument_types, problem):
    with pytest.raises(KernelTypeError) as caught:
        result_type(body, *argument_types)
    assert problem in caught.value.problem
    assert f"{__file__}:" in caught.value.problem
    assert caught.value.help


def test_operators_on_results_of_floor():
    a = np.array([2.7, -1.5, 300.2])
    np.testing.assert_array_equal(
        over(lambda x: math.floor(x) & 255, a), np.floor(a).astype(np.int64) & 255
    )
    np.testing.assert_array_equal(over(lambda x: 1 << math.ceil(x), a[:1]), [8])


def test_every_binary_operator_has_a_symbol():
    import ast

    from pygpulib.jit.frontend.arithmetic import SYMBOLS

    for cls in (*ast.operator.__subclasses__(), ast.USub, ast.UAdd, ast.Invert):
        assert cls in SYMBOLS
