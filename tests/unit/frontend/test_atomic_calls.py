"""Calls of atomic operations that are refused; what they do is tested with the launches."""

import numpy as np
import pytest

from pygpulib.errors import KernelTypeError, PyGpuLibError
from pygpulib.jit import types
from pygpulib.jit.frontend.compile import compile_function
from pygpulib.jit.intrinsics.atomics import atomic
from pygpulib.jit.options import CompileOptions
from tests.helpers.kernels import compile_for

FROZEN = np.arange(3)


def on_a_number(a, b, z):
    atomic.add(a[0, 0], 0, 1)


def with_too_few_indices(a, b, z):
    atomic.add(a, 0, 1)


def with_too_many_indices(a, b, z):
    atomic.add(b, (0, 0), 1)


def with_a_float_index(a, b, z):
    atomic.add(b, 0.5, 1)


def with_a_truth_value(a, b, z):
    atomic.add(b, b[0] > 0, 1)


def with_a_slice(a, b, z):
    atomic.add(a, (0, slice(2)), 1)


def with_an_array_value(a, b, z):
    atomic.add(b, 0, b)


def with_a_complex_value(a, b, z):
    atomic.max(b, 0, 1j)


def on_complex_numbers(a, b, z):
    atomic.add(z, 0, 1)


def bits_of_floats(a, b, z):
    atomic.xor(a, (0, 0), 1)


def counting_signed(a, b, z):
    atomic.inc(b, 0, 1)


def on_frozen(a, b, z):
    atomic.add(FROZEN, 0, 1)


def without_a_value(a, b, z):
    atomic.add(b, 0)


def swap_without_a_value(a, b, z):
    atomic.cas(b, 0, 1)


def on_other_elements(a):
    atomic.add(a, 0, 1)


def test_elements_that_are_no_numbers_are_refused():
    pair = np.dtype([("x", np.int32), ("y", np.float32)])
    for dtype, title, advice in (
        ("M8[s]", "datetime64[s]", "pass array.view(numpy.int64)"),
        ("m8[D]", "timedelta64[D]", "pass array.view(numpy.int64)"),
        (pair, "Record(x: int32, y: float32)", "change one field"),
        ("S3", "S3", "use an array of another dtype"),
        ("?", "bool", "use an array of another dtype"),
    ):
        with pytest.raises(KernelTypeError) as caught:
            compile_for(on_other_elements, np.zeros(2, dtype))
        assert f"cuda.atomic.add does not take an array of {title}" in caught.value.problem
        assert caught.value.help.startswith(advice)


def misspelt(a, b, z):
    atomic.addd(b, 0, 1)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (on_a_number, ["the first argument of cuda.atomic.add is float64", "expected an array"]),
        (
            with_too_few_indices,
            ["the index of cuda.atomic.add has 1 integer, but the array 'a' has 2 dimensions"],
        ),
        (with_too_many_indices, ["has 2 integers, but the array 'b' has 1 dimension"]),
        (with_a_float_index, ["the index of cuda.atomic.add is float64", "int(...)"]),
        (with_a_truth_value, ["the index of cuda.atomic.add is bool", "int(...)"]),
        (with_a_slice, ["the index of cuda.atomic.add is a tuple (int64, a slice)"]),
        (
            with_an_array_value,
            ["cuda.atomic.add does not take array(int64, 1d, C) as a value for the array 'b'"],
        ),
        (with_a_complex_value, ["cuda.atomic.max does not take complex128", "a real number"]),
        (on_complex_numbers, ["does not take an array of complex64", "z.real and z.imag"]),
        (bits_of_floats, ["cuda.atomic.xor does not take an array of float64", "an integer type"]),
        (counting_signed, ["cuda.atomic.inc does not take an array of int64", "unsigned integer"]),
        (on_frozen, ["the array 'FROZEN' is read-only"]),
        (without_a_value, ["cuda.atomic.add", "ary, idx, val"]),
        (swap_without_a_value, ["cuda.atomic.cas", "ary, idx, old, val"]),
        (misspelt, ["no attribute 'addd'", "did you mean 'add'?"]),
    ],
)
def test_what_is_refused(kernel, words):
    arguments = (types.float64[:, ::1], types.int64[::1], types.complex64[::1])
    with pytest.raises(KernelTypeError) as caught:
        compile_function(kernel, arguments, CompileOptions())
    first = str(caught.value).splitlines()[0]
    assert words[0] in first
    assert f"test_atomic_calls.py:{kernel.__code__.co_firstlineno + 1}: " in first
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("name", ["add", "sub", "inc", "dec", "exch", "nanmax", "and_"])
def test_sums_of_truth_values_are_refused(name):
    function = getattr(atomic, name)

    def kernel(a):
        function(a, 0, True)

    if name in ("exch", "nanmax", "and_"):
        compile_function(kernel, (types.boolean[::1],), CompileOptions())
        return
    with pytest.raises(KernelTypeError, match=f"{name} does not take an array of bool"):
        compile_function(kernel, (types.boolean[::1],), CompileOptions())


def test_a_read_only_argument_is_refused():
    def kernel(a):
        atomic.add(a, 0, 1)

    readonly = types.ArrayType(types.int32.dtype, 1, "C", readonly=True)
    with pytest.raises(KernelTypeError, match="the array 'a' is read-only"):
        compile_function(kernel, (readonly,), CompileOptions())


@pytest.mark.parametrize("name", [name for name in dir(atomic) if not name.startswith("_")])
def test_the_host_has_no_atomic_operations(name):
    with pytest.raises(PyGpuLibError, match=rf"cuda\.atomic\.{name} has a value only inside"):
        getattr(atomic, name)(*[1] * {"cas": 4}.get(name, 3))
    assert repr(atomic) == "cuda.atomic"
