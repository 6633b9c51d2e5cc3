import numpy as np
import pytest

import pygpulib
from pygpulib import types
from pygpulib.errors import ArgumentError, ArgumentTypeError
from pygpulib.jit.declarations import parse_signature, parse_signatures, parse_type


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("f4", "float32"),
        ("float32", "float32"),
        ("double", "float64"),
        ("b1", "bool"),
        ("boolean", "bool"),
        ("intp", "int64"),
        ("uint8", "uint8"),
        ("c16", "complex128"),
        ("f4[:]", "array(float32, 1d, A)"),
        ("f4[::1]", "array(float32, 1d, C)"),
        ("f4[:, ::1]", "array(float32, 2d, C)"),
        ("f4[::1, :]", "array(float32, 2d, F)"),
        ("f4[:,:,:]", "array(float32, 3d, A)"),
        ("types.float32", "float32"),
        ("Tuple((f4, i8[:]))", "(float32, array(int64, 1d, A))"),
        ("UniTuple(f4, 3)", "(float32, float32, float32)"),
        ("Array(f4, 2, 'C')", "array(float32, 2d, C)"),
        (types.int8, "int8"),
        (np.float32, "float32"),
        (np.dtype("u2"), "uint16"),
        (np.longlong, "int64"),
        (int, "int64"),
        (float, "float64"),
        (bool, "bool"),
        (complex, "complex128"),
        (None, "none"),
    ],
)
def test_types(declared, expected):
    assert str(parse_type(declared)) == expected


@pytest.mark.parametrize(
    ("declared", "expected"),
    [
        ("void(float32[:], int32)", "none(array(float32, 1d, A), int32)"),
        (" void ( f4 ) ", "none(float32)"),
        ("(f4[::1],)", "(array(float32, 1d, C))"),
        ("f8(f8, f8)", "float64(float64, float64)"),
        ("void()", "none()"),
        ("()", "()"),
        ((types.f4, np.int32), "(float32, int32)"),
        (types.void(types.f8[:]), "none(array(float64, 1d, A))"),
        (types.f8(types.f8), "float64(float64)"),
        ("f8(Tuple((i4, f4)))", "float64((int32, float32))"),
    ],
)
def test_signatures(declared, expected):
    assert str(parse_signature(declared)) == expected


def test_lists_of_signatures():
    assert len(parse_signatures(["void(f4)", (types.f8,)])) == 2
    assert len(parse_signatures("void(f4)")) == 1


@pytest.mark.parametrize(
    ("declared", "words"),
    [
        ("void(f4", ["'void(f4'", "not well formed"]),
        ("void(f5)", ["unknown name 'f5'"]),
        ("void(f4[0])", ["something other than ':' and '::1'"]),
        ("void(f4[1:])", ["something other than ':'"]),
        ("void(void[:])", ["[...] after something that is not a scalar type"]),
        ("void(f4 + f4)", ["unexpected part 'f4 + f4'"]),
        ("(f4,)(f4)", ["parentheses after something that is not a type"]),
        ("void(UniTuple(f4))", ["a type that cannot be made"]),
        ("void(Array(f4, 1, 'X'))", ["layout of an array is 'X'"]),
        ("void(f4[::2])", ["step of 2"]),
    ],
)
def test_signatures_that_make_no_sense(declared, words):
    with pytest.raises(ArgumentError) as caught:
        parse_signature(declared)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize("declared", [3, "f4", types.f4, object(), ("f4", 3)])
def test_objects_that_are_no_signatures(declared):
    with pytest.raises(ArgumentTypeError, match=r"is not a (signature|type)"):
        parse_signature(declared)


@pytest.mark.parametrize("declared", [str, np.dtype("O"), object, "f4(f4)", 3])
def test_objects_that_are_no_types(declared):
    with pytest.raises(ArgumentTypeError, match="is not a type"):
        parse_type(declared)


def test_an_array_of_arrays_is_refused():
    with pytest.raises(ArgumentTypeError, match="cannot be the element type of an array"):
        types.Array(types.f4[:], 1, "C")


def test_public_names():
    assert types.f4 is types.float32 is pygpulib.float32
    assert pygpulib.types is types
    assert types.void is pygpulib.void
    assert {"float32", "cuda", "types"} <= set(dir(pygpulib))
    with pytest.raises(AttributeError, match="module 'pygpulib' has no attribute 'flaot32'"):
        _ = pygpulib.flaot32
