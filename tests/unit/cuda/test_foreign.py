import io

import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.errors import ArgumentError, ArgumentTypeError, UnsupportedFeatureError


@pytest.mark.parametrize("signature", ["int32(float32[:])", types.int32(types.float32[:])])
def test_declarations(signature):
    source = cuda.CUSource("...", name="f.cu")
    declared = cuda.declare_device("f", signature, link=source)
    assert declared.name == "f"
    assert declared.sig.args == (types.float32[:],)
    assert declared.sig.return_type == types.int32
    assert declared.link == (source,)
    assert repr(declared) == "<foreign function f int32(array(float32, 1d, A))>"
    assert repr(source) == "CUSource('f.cu')"
    assert cuda.declare_device("f", signature, link=["a.ptx", source]).link == ("a.ptx", source)
    assert cuda.declare_device("f", signature).link == ()
    assert cuda.PTXSource("").name == "<unnamed-ptx>"


@pytest.mark.parametrize("signature", ["(float32[:],)", (types.float32[:],)])
def test_declarations_need_a_result(signature):
    with pytest.raises(TypeError, match=r"Return type must be provided for .* of f"):
        cuda.declare_device("f", signature)


@pytest.mark.parametrize(
    ("name", "abi", "problem"),
    [
        (5, "c", "the argument name of declare_device is 5"),
        ("a b", "c", "the argument name of declare_device is 'a b'"),
        ("f", "q", "the argument abi of declare_device is 'q'"),
    ],
)
def test_wrong_declarations(name, abi, problem):
    with pytest.raises(ArgumentError) as caught:
        cuda.declare_device(name, "int32(int32)", abi=abi)
    assert caught.value.problem == problem
    assert caught.value.help


@pytest.mark.cpu_only("GPUs link code in other languages")
def test_kernels_say_why_they_cannot_call_it():
    twice = cuda.declare_device("twice", "int32(int32)")

    @cuda.jit
    def kernel(a):
        a[0] = twice(a[0])

    with pytest.raises(
        UnsupportedFeatureError,
        match=r"test_foreign\.py:\d+: twice is not supported by the CPU back end: it is "
        "declared in another language",
    ):
        kernel[1, 1](np.zeros(1, np.int32))


@pytest.mark.cpu_only("GPUs link code in other languages")
def test_kernels_say_why_they_cannot_be_linked():
    @cuda.jit(link=["a.ptx", cuda.PTXSource("", "text")])
    def kernel(a):
        a[0] = 1

    with pytest.raises(UnsupportedFeatureError, match=r"kernel has the option link=a\.ptx, text, "):
        kernel[1, 1](np.zeros(1, np.int32))


@pytest.mark.parametrize("signature", ["int32(float32[:])", "complex64(int32)", "float16(int32)"])
def test_only_numbers_are_passed(signature):
    f = cuda.declare_device("f", signature)

    @cuda.jit
    def kernel(a):
        f(a)

    with pytest.raises(UnsupportedFeatureError, match=r"test_foreign\.py:\d+: .* only integers"):
        kernel[1, 1](np.zeros(1, np.float32))


def test_code_of_unknown_kinds():
    with pytest.raises(ArgumentTypeError, match="declare_device has an item 5"):
        cuda.declare_device("f", "int32(int32)", link=[5])
    with pytest.raises(ArgumentError, match=r"item 'f\.txt', whose name does not tell"):
        cuda.declare_device("f", "int32(int32)", link="f.txt")
    assert cuda.PTXSource(io.StringIO("text")).data == "text"
