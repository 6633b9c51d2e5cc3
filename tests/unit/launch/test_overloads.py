import pytest

from pygpulib.errors import LaunchTypeError
from pygpulib.jit import types
from pygpulib.jit.declarations import parse_signature, parse_type
from pygpulib.jit.overloads import Conversion, find_conversion, find_overload
from pygpulib.types import Array


def parameters(text):
    return parse_signature(text).parameters


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        ("i8", "i8", Conversion.EXACT),
        ("i4", "i8", Conversion.PROMOTE),
        ("f4", "f8", Conversion.PROMOTE),
        ("u4", "u8", Conversion.PROMOTE),
        ("c8", "c16", Conversion.PROMOTE),
        ("b1", "i8", Conversion.SAFE),
        ("b1", "f4", Conversion.SAFE),
        ("u4", "i8", Conversion.SAFE),
        ("i4", "f8", Conversion.SAFE),
        ("i2", "f4", Conversion.SAFE),
        ("f8", "c16", Conversion.SAFE),
        ("i8", "i4", Conversion.UNSAFE),
        ("i8", "u8", Conversion.UNSAFE),
        ("u8", "i8", Conversion.UNSAFE),
        ("i8", "f8", Conversion.UNSAFE),
        ("i4", "f4", Conversion.UNSAFE),
        ("f8", "f4", Conversion.UNSAFE),
        ("f8", "c8", Conversion.UNSAFE),
        ("f8", "i8", Conversion.NARROWING),
        ("c16", "f8", None),
        ("c8", "i8", None),
        ("i8", "b1", Conversion.NARROWING),
        ("bfloat16", "f4", Conversion.PROMOTE),
        ("float8_e4m3fn", "f2", Conversion.PROMOTE),
        ("float8_e8m0fnu", "bfloat16", Conversion.PROMOTE),
        ("u1", "bfloat16", Conversion.SAFE),
        ("bfloat16", "c8", Conversion.SAFE),
        ("i2", "bfloat16", Conversion.UNSAFE),
        ("f4", "bfloat16", Conversion.UNSAFE),
        ("bfloat16", "f2", Conversion.UNSAFE),
        ("f2", "bfloat16", Conversion.UNSAFE),
        ("float8_e8m0fnu", "f2", Conversion.UNSAFE),
        ("f4[::1]", "f4[::1]", Conversion.EXACT),
        ("f4[::1]", "f4[:]", Conversion.PROMOTE),
        ("f4[:]", "f4[::1]", None),
        ("f4[:,::1]", "f4[::1,:]", None),
        ("f4[::1]", "f8[::1]", None),
        ("f4[::1]", "f4[:,:]", None),
        ("f4", "f4[:]", None),
        ("Tuple((i8, f8))", "Tuple((i8, f4))", Conversion.UNSAFE),
        ("Tuple((i8, f8))", "Tuple((i8, i8))", Conversion.NARROWING),
        ("Tuple((i8,))", "Tuple((i8, i8))", None),
        ("void", "void", Conversion.EXACT),
    ],
)
def test_conversions(source, target, expected):
    assert find_conversion(parse_type(source), parse_type(target)) is expected


def test_readonly_arrays_only_go_where_nothing_is_written():
    plain, readonly = types.float32[::1], Array(types.float32, 1, "C", readonly=True)
    assert find_conversion(plain, readonly) is Conversion.PROMOTE
    assert find_conversion(readonly, plain) is None
    assert find_conversion(readonly, readonly) is Conversion.EXACT


def test_an_array_along_one_axis_is_packed_both_ways():
    fortran = Array(types.float32, 1, "F")
    assert find_conversion(types.float32[::1], fortran) is Conversion.EXACT


@pytest.mark.parametrize(
    ("candidates", "arguments", "expected"),
    [
        (["(f4,)", "(f8,)"], "(f8,)", "(f8,)"),
        (["(i4,)", "(f8,)"], "(i8,)", None),
        (["(i8,)", "(f8,)"], "(i4,)", "(i8,)"),
        (["(f4[:], i4)", "(f8[:], i4)"], "(f8[::1], i8)", "(f8[:], i4)"),
        (["(f4[:],)", "(f4[::1],)"], "(f4[::1],)", "(f4[::1],)"),
        (["(i8, f8)", "(i8,)"], "(i8,)", "(i8,)"),
    ],
)
def test_the_best_overload(candidates, arguments, expected):
    candidates = [parameters(text) for text in candidates]
    if expected is None:
        with pytest.raises(LaunchTypeError, match=r"Ambiguous overloading for k \(int64\)"):
            find_overload("k", candidates, parameters(arguments))
    else:
        assert find_overload("k", candidates, parameters(arguments)) == parameters(expected)


def test_no_overload():
    with pytest.raises(LaunchTypeError) as caught:
        find_overload("k", [parameters("(i4, f4[:])")], parameters("(f8, f4[:])"))
    text = str(caught.value)
    assert "No matching definition for argument type(s) float64, array(float32, 1d, A)" in text
    assert "(int32, array(float32, 1d, A))" in text
