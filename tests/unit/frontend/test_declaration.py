"""Device functions with declared signatures."""

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import KernelTypeError, LaunchTypeError
from pygpulib.jit import types
from tests.helpers.evaluation import over, result_type
from tests.helpers.kernels import compile_for, interpret

int64, float64 = types.int64, types.float64


@cuda.jit("f4(f4, i4)", device=True)
def scaled(x, n=3):
    return x * n


@cuda.jit(["f4(f4)", "f8(f8)"], device=True)
def third(x):
    return x / 3


@cuda.jit("(f4,)", device=True)
def undeclared_result(x):
    return x + 0.1


@cuda.jit("void(f8[:], i8)", device=True)
def put(a, value):
    a[0] = value


@cuda.jit("i8(i8)", device=True)
def factorial(n):
    return n * factorial(n - 1) if n > 1 else 1.0


def test_arguments_and_results_are_converted():
    x = np.array([0.1, 1e300, 2.5])
    with np.errstate(over="ignore"):
        expected = x.astype(np.float32).astype(np.float64) * 3
        np.testing.assert_array_equal(over(lambda x: scaled(x), x), expected.astype(np.float32))
        found = over(lambda x: scaled(n=3, x=x), x)
    assert found.dtype == np.float32
    np.testing.assert_array_equal(found, expected.astype(np.float32))
    assert result_type(lambda x: scaled(x, 2), int64) == types.float32


def test_the_best_signature_is_chosen():
    assert result_type(lambda x: third(x), types.float32) == types.float32
    assert result_type(lambda x: third(x), float64) == float64
    assert result_type(lambda x: third(x), types.int32) == float64


@cuda.jit("(i8, i8)", device=True)
def whole_sum(x, y):
    return x + y


@cuda.jit(["f8(f4, f8)", "i8(f8, f4)", "i8(i8, i8)"], device=True)
def first_of_equals(x, y):
    return x + y


@cuda.jit("(b1,)", device=True)
def is_true(x):
    return x


def test_a_call_may_lose_what_an_assignment_would():
    assert result_type(lambda x, y: whole_sum(x, y), float64, types.float32) == int64
    x = np.array([1.5, -1.5, 1e9 + 0.5])
    assert over(lambda x: whole_sum(x, 2.5), x).tolist() == [3, 1, 10**9 + 2]
    assert over(lambda x: is_true(x), np.array([0.0, 0.5, np.nan])).tolist() == [0, 1, 1]
    # A launch does not.
    with pytest.raises(LaunchTypeError, match="compiled for other types"):
        cuda.jit("(i8[:], i8)")(lambda a, n: None)[1, 1](np.zeros(1, np.int64), 1.5)


def test_the_first_of_signatures_that_fit_equally_well():
    assert result_type(lambda x: first_of_equals(x, x), float64) == float64
    assert result_type(lambda x: first_of_equals(x, x), types.int32) == int64


def test_a_result_may_be_left_out():
    assert result_type(lambda x: undeclared_result(x), float64) == float64
    x = np.array([0.1])
    assert over(lambda x: undeclared_result(x), x)[0] == float(np.float32(0.1)) + 0.1


def test_arrays_and_nothing():
    def kernel(a):
        put(a, True)
        put(a[::2], 7)

    a = np.zeros(4)
    interpret(kernel, a)
    assert a[0] == 7


def test_recursion_keeps_to_the_declared_types():
    assert result_type(lambda n: factorial(n), types.int8) == int64
    assert over(lambda n: factorial(n), np.arange(5)).tolist() == [1, 1, 2, 6, 24]


def refused(body, *args):
    with pytest.raises(KernelTypeError) as caught:
        compile_for(body, *args)
    first, *rest = str(caught.value).splitlines()
    return [first.partition(": ")[2], *rest]


def test_other_types_are_refused():
    def complex_number(a):
        scaled(1j)

    def whole_array(a):
        scaled(a)

    def module(a):
        scaled(np)

    for kernel, given in (
        (complex_number, "complex128"),
        (whole_array, "array(float64, 1d, C)"),
        (module, "the module numpy"),
    ):
        lines = refused(kernel, np.zeros(1))
        assert lines[0] == (
            f"the device function scaled is declared for other types than ({given}, int64)"
        )
        assert lines[-4:-1] == [
            "declared:",
            "  float32(float32, int32)",
            f"Invalid use of type(DeviceFunction(scaled)) with parameters ({given}, int64)",
        ]
        assert lines[-1] == "help: convert the arguments, or leave the signature out of @cuda.jit"


def test_results_have_to_fit():
    @cuda.jit("void(f8)", device=True)
    def something(x):
        return x

    @cuda.jit("f8(f8)", device=True)
    def nothing(x):
        x += 1

    def returns(a):
        something(a[0])

    def returns_nothing(a):
        nothing(a[0])

    lines = refused(returns, np.zeros(1))
    assert lines[0].endswith("something is declared to return none, but returns float64")
    assert lines[-1] == "help: correct the signature in @cuda.jit, or leave its result out"
    lines = refused(returns_nothing, np.zeros(1))
    assert lines[0].endswith("nothing is declared to return float64, but returns None")
