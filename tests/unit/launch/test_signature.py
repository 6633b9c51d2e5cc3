import collections
import enum

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core.dtypes import ALL_DTYPES
from pygpulib.errors import LaunchTypeError, UnsupportedFeatureError
from pygpulib.jit import types
from pygpulib.jit.signature import interpret, interpret_all, typeof

Pair = collections.namedtuple("Pair", "left right")


class Color(enum.IntEnum):
    RED = 3


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (0, "int64"),
        (2**63 - 1, "int64"),
        (-(2**63), "int64"),
        (2**63, "uint64"),
        (2**64 - 1, "uint64"),
        (True, "bool"),
        (1.0, "float64"),
        (1j, "complex128"),
        (None, "none"),
        (Color.RED, "Color"),
        (np.longlong(1), "int64"),
        (np.ulonglong(1), "uint64"),
        ((1, 2.0), "(int64, float64)"),
        ((1,), "(int64,)"),
        ((), "()"),
        (((1, np.float32(2)), np.zeros(2)), "((int64, float32), array(float64, 1d, C))"),
        (np.zeros(3), "array(float64, 1d, C)"),
        (np.zeros((3, 4), "i2"), "array(int16, 2d, C)"),
        (np.zeros((3, 4), "c8").T, "array(complex64, 2d, F)"),
        (np.zeros((3, 4), "?")[:, ::2], "array(bool, 2d, A)"),
        (np.zeros(6)[::2], "array(float64, 1d, A)"),
        (np.zeros(6)[::-1], "array(float64, 1d, A)"),
        (np.array(1.0), "array(float64, 0d, C)"),
        (np.zeros((0, 4)), "array(float64, 2d, C)"),
        (np.broadcast_to(np.zeros(1), (3,)), "array(float64, 1d, A, readonly)"),
        (np.zeros(3).view(np.matrix), "array(float64, 2d, C)"),
    ],
)
def test_types_of_values(value, expected):
    assert str(typeof(value)) == expected


@pytest.mark.parametrize("row", ALL_DTYPES, ids=str)
def test_every_dtype_as_scalar_and_as_array(row):
    assert typeof(row.numpy.type(1)) == types.scalar_type(row)
    host = np.ones((2, 3), row.numpy)
    assert typeof(host) == types.ArrayType(row, 2, "C")
    assert typeof(cuda.to_device(host)) == types.ArrayType(row, 2, "C")
    assert typeof(cuda.to_device(host).T) == types.ArrayType(row, 2, "F")
    assert typeof(cuda.to_device(host)[:, ::2]) == types.ArrayType(row, 2, "A")


def test_named_tuples_keep_their_class():
    assert typeof(Pair(1, 2.0)) == types.TupleType((types.int64, types.float64), Pair)


def test_readonly_arrays_are_told_apart():
    host = np.zeros(3)
    host.flags.writeable = False
    assert typeof(host).readonly
    assert not typeof(np.zeros(3)).readonly


def test_objects_that_share_their_memory():
    class Interface:
        def __init__(self, array):
            self.array = array

        @property
        def __array_interface__(self):
            return self.array.__array_interface__

    class Exchange:
        def __init__(self, array):
            self.array = array

        def __dlpack__(self, **options):
            return self.array.__dlpack__(**options)

        def __dlpack_device__(self):
            return self.array.__dlpack_device__()

    host = np.arange(4, dtype="f4")
    for wrapper in (Interface, Exchange):
        found = interpret(wrapper(host))
        assert found.type == types.ArrayType(types.float32.dtype, 1, "C")
        np.asarray(getattr(found.value, "host_view", found.value))[0] += 1
    assert host[0] == 2


class Thing:
    pass


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (Thing(), ["'v' (position 2)", "Thing", "expected a number, an array"]),
        ({"k": 1}, ["'v' (position 2)", "dict"]),
        ([1, 2], ["list"]),
        ("text", ["str"]),
        (print, ["builtin_function_or_method"]),
        (np.array([None, 1]), ["'v' (position 2)", "dtype object", "astype"]),
        (np.zeros(3, ">f8"), ["dtype >f8"]),
        (np.zeros(3, [("x", ">f4")]), ["dtype"]),
        (np.void(b"abc"), ["dtype |V3"]),
        (np.ma.masked_array([1.0], [True]), ["masked array", "filled"]),
        (2**64, ["18446744073709551616", "does not fit into 64 bits"]),
        (-(2**63) - 1, ["does not fit into 64 bits"]),
        (2**64, ["help: pass it as a float, or in two parts: n >> 64 and n & (2**64 - 1)"]),
        ((1, Thing()), ["'v' (position 2)", "Thing"]),
        (cuda.to_device(np.zeros(9, "u1"))[1:].view("f4"), ["not aligned", "cuda.to_device"]),
    ],
)
def test_what_kernels_do_not_take_is_refused_by_name(value, words):
    with pytest.raises(LaunchTypeError) as caught:
        typeof(value, "v", 1)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.skipif(
    np.dtype(np.longdouble) == np.float64, reason="long double is float64 on this machine"
)
def test_what_is_wider_than_the_numbers_of_kernels_is_to_be_converted():
    name, complex_name = np.dtype(np.longdouble).name, np.dtype(np.clongdouble).name
    for value, message in (
        (
            np.longdouble(1),
            f"the value is a NumPy scalar of dtype {name}, which kernels do not take\n"
            "help: convert it with float(...) first, to a float64",
        ),
        (
            np.clongdouble(1),
            f"the value is a NumPy scalar of dtype {complex_name}, which kernels do not take\n"
            "help: convert it with complex(...) first, to a complex128",
        ),
        (
            np.longdouble,
            f"the value is {np.longdouble!r}, which is no type of numbers that kernels know\n"
            "help: pass a type such as numpy.float64",
        ),
    ):
        with pytest.raises(LaunchTypeError) as caught:
            typeof(value)
        assert str(caught.value) == message


def test_text_is_no_number():
    with pytest.raises(LaunchTypeError) as caught:
        typeof(np.str_("x"))
    assert str(caught.value) == (
        "the value is a NumPy scalar of dtype <U1, which kernels do not take\n"
        "help: pass a number, or an array with one element"
    )


def test_a_value_without_a_name():
    with pytest.raises(LaunchTypeError, match="the value is of type dict"):
        typeof({})


def test_all_arguments_of_a_call():
    host = np.zeros(2)
    found, values = interpret_all(("a", "b"), (host, 3))
    assert found == (types.float64[::1], types.int64)
    assert values[0] is host


def test_memory_that_cannot_be_shared_is_refused_by_name():
    class Masked:
        def __init__(self):
            self.__cuda_array_interface__ = {
                "shape": (1,),
                "typestr": "<f8",
                "data": (4096, False),
                "version": 3,
                "mask": object(),
            }

    @cuda.jit
    def kernel(values):
        values[0] = 1

    with pytest.raises(UnsupportedFeatureError) as raised:
        kernel[1, 1](Masked())
    assert str(raised.value) == (
        "the argument 'values' (position 1) is a Masked whose memory cannot be shared\n"
        "Masked arrays are not supported\n"
        "help: fill the masked elements first"
    )
