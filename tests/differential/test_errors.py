"""What users see who make a mistake: the class, the place, the thing, and what to do."""

import re
from collections import namedtuple

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import (
    CompileError,
    KernelTypeError,
    LaunchError,
    LaunchTypeError,
    PyGpuLibError,
    SourceUnavailableError,
    UndefinedNameError,
    UnsupportedSyntaxError,
)
from tests.helpers.ways import define

Pair = namedtuple("Pair", "left right")


class Thing:
    """Something that kernels do not know."""


THING = Thing()


def plain(x):
    return x + 1


@cuda.jit(device=True)
def half(x):
    return x / 2


# Body of a kernel of an array ``a`` and a number ``n``; the line of it at fault, from 1; the
# class; what the first line says.
MISTAKES = [
    # names
    ("a[0] = nothing", 1, UndefinedNameError, "name 'nothing' is not defined"),
    ("x = 1\na[0] = math.sine(x)", 2, KernelTypeError, "module math has no attribute 'sine'"),
    ("a[0] = cuda.gird(1)", 1, KernelTypeError, "has no attribute 'gird'"),
    ("if n > 1:\n    del a[0]", 2, UnsupportedSyntaxError, "'del'"),
    ("a[0] = x\nx = 2", 1, UndefinedNameError, "'x'"),
    ("a[0] = cuda.atomic.mul(a, 0, 1)", 1, KernelTypeError, "cuda.atomic has no attribute 'mul'"),
    ("a[0] = cuda.threadIdx.w", 1, KernelTypeError, "cuda.threadIdx has no attribute 'w'"),
    # types
    ("a[0] = n + None", 1, KernelTypeError, "+ does not take int64 and None"),
    ("a[0] = 'text'", 1, KernelTypeError, "'text'"),
    ("a[0] = (1, 2)", 1, KernelTypeError, "a tuple (int64, int64)"),
    ("a[0] = 1j", 1, KernelTypeError, "complex128"),
    ("a[0] = None", 1, KernelTypeError, "None"),
    ("a[0] = a", 1, KernelTypeError, "array(float64, 1d, C)"),
    ("a[n + 0.5] = 1", 1, KernelTypeError, "float64"),
    ("a[0, 0] = 1", 1, KernelTypeError, "'a'"),
    ("a[0][0] = 1", 1, KernelTypeError, "float64"),
    ("a['x'] = 1", 1, KernelTypeError, "'x'"),
    ("n[0] = 1", 1, KernelTypeError, "int64"),
    ("x = n\nx()", 2, KernelTypeError, "int64 cannot be called"),
    ("for i in n:\n    pass", 1, KernelTypeError, "cannot iterate over int64"),
    ("x, y = n", 1, KernelTypeError, "int64"),
    ("x, y = (1, 2, 3)", 1, KernelTypeError, "3"),
    ("x = a if n else 1\nx[0] = 1", 1, KernelTypeError, "array(float64, 1d, C)"),
    ("if n:\n    x = (1,)\nelse:\n    x = 1\ny = x", 5, CompileError, "'x'"),
    ("a[0] = 1j < 2j", 1, KernelTypeError, "< does not take complex numbers"),
    ("a[0] = n @ n", 1, UnsupportedSyntaxError, "'@'"),
    ("a[0] = ~a[0]", 1, KernelTypeError, "~ does not take float64"),
    ("a[0] = 1 << 0.5", 1, KernelTypeError, "<<"),
    ("a[0] = n.nothing", 1, KernelTypeError, "'nothing'"),
    ("a.nothing = 1", 1, CompileError, "nothing"),
    ("a[0] = a.shape[5]", 1, KernelTypeError, "index 5 is out of range"),
    ("a[0] = THING", 1, KernelTypeError, "Thing"),
    ("a[0] = Pair(1)", 1, KernelTypeError, "Pair"),
    ("return a[0]", 1, KernelTypeError, "returns float64, but kernels return nothing"),
    # calls
    ("a[0] = plain(1)", 1, KernelTypeError, "plain is a plain Python function"),
    ("a[0] = half()", 1, KernelTypeError, "half() is missing the argument 'x'"),
    ("a[0] = half(1, 2)", 1, KernelTypeError, "half() takes 1 argument, but 2 were given"),
    ("a[0] = half(y=1)", 1, KernelTypeError, "half()"),
    ("a[0] = half(x=1, z=2)", 1, KernelTypeError, "half() has no keyword parameter 'z'"),
    ("a[0] = sorted(a)", 1, KernelTypeError, "sorted"),
    ("a[0] = len(n)", 1, KernelTypeError, "int64 has no length"),
    ("a[0] = abs('x')", 1, KernelTypeError, "abs"),
    ("a[0] = abs()", 1, KernelTypeError, "abs"),
    ("a[0] = min(n)", 1, KernelTypeError, "min does not take (int64)"),
    ("a[0] = math.sin(a)", 1, KernelTypeError, "math.sin does not take"),
    ("a[0] = math.sin()", 1, KernelTypeError, "math.sin does not take ()"),
    ("a[0] = cmath.exp().real", 1, KernelTypeError, "cmath.exp does not take ()"),
    ("a[0] = cmath.sqrt(1j, 2).real", 1, KernelTypeError, "cmath.sqrt does not take (complex128"),
    ("a[0] = cmath.log(1j, 2, 3).real", 1, KernelTypeError, "cmath.log does not take (complex128"),
    ("a[0] = int('7')", 1, KernelTypeError, "'7'"),
    ("a[0] = int(1j)", 1, KernelTypeError, "complex128 cannot be converted to int64"),
    ("a[0] = np.float32(1j)", 1, KernelTypeError, "complex"),
    ("a[0] = range('x')", 1, KernelTypeError, "range does not take the string 'x'"),
    ("for i in range(0, 5, 0):\n    pass", 1, KernelTypeError, "step of a range cannot be zero"),
    ("for i in range(0.5):\n    pass", 1, KernelTypeError, "range does not take float64"),
    ("for i in enumerate():\n    pass", 1, KernelTypeError, "enumerate() takes something"),
    ("for i in enumerate(a, 0.5):\n    pass", 1, KernelTypeError, "the start of enumerate()"),
    ("for i in zip():\n    pass", 1, KernelTypeError, "zip() takes one or more things"),
    ("for i in reversed(a, a):\n    pass", 1, KernelTypeError, "reversed() takes one thing"),
    ("i = cuda.grid(n)", 1, KernelTypeError, "the argument of cuda.grid must be"),
    ("i = cuda.grid(4)", 1, KernelTypeError, "the argument of cuda.grid must be"),
    ("i = cuda.grid()", 1, KernelTypeError, "cuda.grid"),
    ("cuda.threadIdx.x = 1", 1, CompileError, "x"),
    ("i = cuda.threadIdx.w", 1, KernelTypeError, "w"),
    # syntax
    ("x = [1]", 1, UnsupportedSyntaxError, "a list"),
    ("x = {1: 2}", 1, UnsupportedSyntaxError, "a dict"),
    ("x = {1}", 1, UnsupportedSyntaxError, "a set"),
    ("x = f'{n}'", 1, CompileError, "an f-string"),
    ("x = [i for i in a]", 1, UnsupportedSyntaxError, "a list comprehension"),
    ("x = sum(i for i in a)", 1, UnsupportedSyntaxError, "a generator expression"),
    ("with a:\n    pass", 1, UnsupportedSyntaxError, "'with'"),
    ("try:\n    pass\nexcept ValueError:\n    pass", 1, UnsupportedSyntaxError, "'try'"),
    ("import os", 1, UnsupportedSyntaxError, "'import'"),
    ("global g\ng = 1", 1, UnsupportedSyntaxError, "'global'"),
    ("class C:\n    pass", 1, UnsupportedSyntaxError, "a class definition"),
    ("async def f():\n    pass", 1, UnsupportedSyntaxError, "'async def'"),
    ("def f(**k):\n    return 1\na[0] = f()", 3, UnsupportedSyntaxError, "'**k'"),
    ("a[0] = half(**n)", 1, UnsupportedSyntaxError, "'**' in a call"),
    ("x, *y = a", 1, CompileError, ""),
]


@pytest.mark.parametrize(
    ("body", "line", "kind", "words"), MISTAKES, ids=lambda value: str(value)[:40]
)
def test_mistakes_in_kernels(body, line, kind, words):
    import cmath
    import math

    text = "def kernel(a, n):\n" + "".join(f"    {each}\n" for each in body.splitlines())
    names = {"math": math, "cmath": cmath, "plain": plain, "half": half}
    function = define(text, "kernel", **names, Pair=Pair, THING=THING)
    kernel, a = cuda.jit(function), np.full(4, 7.0)
    with pytest.raises(PyGpuLibError) as caught:
        kernel[1, 4](a, 3)
    error = caught.value
    first, *rest = str(error).splitlines()
    assert isinstance(error, kind)
    place = f"{function.__code__.co_filename}:{line + 1}: "
    assert first.startswith(place)
    assert words in first
    source = text.splitlines()[line].strip()
    assert any(source in each for each in rest), rest
    assert any("^" in each for each in rest), rest
    assert rest[-1].startswith("help: ")
    assert (a == 7).all()
    assert not kernel.overloads


def test_a_mistake_in_a_device_function_names_both_places():
    @cuda.jit(device=True)
    def inner(x):
        return x + undefined_name  # noqa: F821

    @cuda.jit
    def kernel(a):
        a[0] = inner(a[0])

    with pytest.raises(UndefinedNameError, match="undefined_name") as caught:
        kernel[1, 1](np.zeros(1))
    text = str(caught.value)
    inner_line = inner.py_func.__code__.co_firstlineno + 2
    kernel_line = kernel.py_func.__code__.co_firstlineno + 2
    assert text.splitlines()[0].startswith(f"{__file__}:{inner_line}: ")
    assert f"called from {__file__}:{kernel_line}" in text


def check_place(function, text, line):
    """Launch a kernel; if it is refused, check that the error is about a line of it."""
    error = None
    try:
        cuda.jit(function)[1, 1](np.zeros(4))
    except PyGpuLibError as caught:
        error = caught
    if error is not None:
        first, *rest = str(error).splitlines()
        assert first.startswith(f"{function.__code__.co_filename}:{line}: ")
        assert any(text.splitlines()[line - 1].strip() in each for each in rest)
        assert "/pygpulib/" not in str(error)


LIBRARIES = {
    "cuda": cuda,
    "fp16": cuda.fp16,
    "bf16": cuda.bf16,
    "fp8": cuda.fp8,
    "libdevice": cuda.libdevice,
    "random": cuda.random,
    "cg": cuda.cg,
}


@pytest.mark.parametrize("arguments", ["", "'text', 'text'", "a, a, a", "1.5, None"])
@pytest.mark.parametrize("library", LIBRARIES)
def test_mistakes_in_calls_of_this_package_are_shown_where_the_call_stands(library, arguments):
    for name in LIBRARIES[library].__all__:
        if callable(getattr(LIBRARIES[library], name)):
            call = f"{library}.{name}({arguments})"
            text = f"def kernel(a):\n    b = a\n    c = {call}\n"
            check_place(define(text, "kernel", **LIBRARIES), text, 3)


def test_a_mistake_below_a_function_of_this_package_names_it():
    @cuda.jit
    def kernel(a):
        a[0] = cuda.random.xoroshiro128p_uniform_float32(a, 0)

    with pytest.raises(KernelTypeError) as caught:
        kernel[1, 1](np.zeros(1))
    first, *rest = str(caught.value).splitlines()
    assert first.endswith(
        "xoroshiro128p_uniform_float32 does not take (array(float64, 1d, C), int64)"
    )
    assert "float64 has no attribute 's0'" in rest
    assert caught.value.span.filename == __file__


def test_errors_below_functions_of_this_package_are_reported_where_the_call_stands():
    @cuda.jit(debug=True)
    def kernel(states, a):
        a[0] = cuda.random.xoroshiro128p_uniform_float32(states, 5)

    states = cuda.random.create_xoroshiro128p_states(2, seed=1)
    line = kernel.py_func.__code__.co_firstlineno + 2
    with pytest.raises(IndexError, match=re.escape(f"{__file__}:{line}")):
        kernel[1, 1](states, np.zeros(1))


def test_functions_of_the_host_are_not_compiled():
    @cuda.jit
    def kernel(a):
        cuda.synchronize()

    with pytest.raises(KernelTypeError, match="the function synchronize is for the host") as caught:
        kernel[1, 1](np.zeros(1))
    assert caught.value.help == "call it before or after the launch"


def test_a_function_without_source():
    scope = {}
    exec("def kernel(a):\n    with a: a[0] = 1\n", scope)
    with pytest.raises(SourceUnavailableError, match="kernel") as caught:
        cuda.jit(scope["kernel"])[1, 1](np.zeros(1))
    assert caught.value.help


def test_read_only_arrays_cannot_be_written():
    @cuda.jit
    def kernel(a, b):
        b[0] = 1

    frozen = np.zeros(3)
    frozen.flags.writeable = False
    for target in (frozen, np.broadcast_to(np.float64(2), 4)):
        with pytest.raises(KernelTypeError, match="'b'") as caught:
            kernel[1, 1](np.zeros(1), target)
        assert re.match(rf"{re.escape(__file__)}:\d+: ", str(caught.value))
        assert (target == target[0]).all()


# ---------------------------------------------------------------------------------------- launches


@cuda.jit
def fill(a, value):
    i = cuda.grid(1)
    if i < a.size:
        a[i] = value


BAD_LAUNCHES = [
    ((1, 1025), LaunchError, "1025 threads"),
    ((1, (64, 64)), LaunchError, "4096 threads"),
    ((1, (1, 1, 65)), LaunchError, "65 along dimension z"),
    ((1, (8, 8, 65)), LaunchError, "4160 threads"),
    (((1, 65536), 1), LaunchError, "65536 along dimension y"),
    ((2**31, 1), LaunchError, "2147483648 along dimension x"),
    ((1, 0), LaunchError, "0 along dimension x"),
    ((1, -5), LaunchError, "-5 along dimension x"),
    (((1, 0), 1), LaunchError, "0 along dimension y"),
    ((-1, 1), LaunchError, "-1 along dimension x"),
    ((1, (1, 2, 3, 4)), LaunchError, "(1, 2, 3, 4)"),
    ((1, ()), LaunchError, "()"),
    ((1, 2.0), LaunchTypeError, "2.0, which is not an integer"),
    ((1.5, 1), LaunchTypeError, "1.5, which is not an integer"),
    (("1", 1), LaunchTypeError, "'1'"),
    ((None, 1), LaunchTypeError, "None"),
    ((1, (2, None)), LaunchTypeError, "None"),
    ((1, 1, 0, -1), LaunchError, "-1 bytes"),
    ((1, 1, 0, 10**9), LaunchError, "1000000000 bytes"),
    ((1, 1, 0, "x"), LaunchTypeError, "'x'"),
    ((1,), LaunchError, "griddim and blockdim"),
    (1, LaunchError, "griddim and blockdim"),
    ((1, 1, 0, 0, 0), LaunchError, "griddim and blockdim"),
]


@pytest.mark.parametrize(("config", "kind", "words"), BAD_LAUNCHES, ids=str)
def test_launch_shapes_that_are_refused(config, kind, words):
    a = np.zeros(4)
    with pytest.raises(kind) as caught:
        fill[config](a, 1)
    assert type(caught.value) is kind
    assert words in str(caught.value)
    assert (a == 0).all()


BAD_ARGUMENTS = [
    (Thing(), "'value' (position 2) is of type Thing"),
    ({"k": 1}, "'value' (position 2) is of type dict"),
    ([1, 2], "'value' (position 2) is of type list"),
    ("text", "'value' (position 2) is of type str"),
    (len, "'value' (position 2)"),
    (2**64, "'value' (position 2) is 18446744073709551616"),
    (-(2**63) - 1, "'value' (position 2) is -9223372036854775809"),
    (np.array([None, 1]), "'value' (position 2) is an array of dtype object"),
    (np.zeros(2, ">f8"), "'value' (position 2) is an array of dtype >f8"),
    (np.zeros(2, np.longdouble), "'value' (position 2)"),
    (np.longdouble(1), "'value' (position 2)"),
    (cuda.to_device(np.zeros(17, np.uint8))[1:].view("f8"), "not aligned"),
    (np.ma.masked_array([1.0], [True]), "masked array"),
    ((1, Thing()), "'value' (position 2) is of type Thing"),
]


@pytest.mark.parametrize(("argument", "words"), BAD_ARGUMENTS, ids=lambda value: str(value)[:30])
def test_arguments_that_are_refused(argument, words):
    a = np.zeros(4)
    for _ in range(3):  # the short cut of later launches is as strict
        fill[1, 4](a, 0)
        with pytest.raises(LaunchTypeError) as caught:
            fill[1, 4](a, argument)
        first = str(caught.value).splitlines()[0]
        assert words in first
    assert (a == 0).all()


@pytest.mark.parametrize(
    ("args", "kwargs", "words"),
    [
        ((), {}, "the kernel fill lacks 2 arguments: a, value"),
        ((1,), {}, "the kernel fill lacks 1 argument: value"),
        ((1, 2, 3), {}, "the kernel fill takes 2 arguments but 3 were given"),
        ((1,), {"vale": 2}, "has no argument 'vale'"),
        ((1, 2), {"value": 2}, "value"),
    ],
)
def test_argument_lists_that_are_refused(args, kwargs, words):
    with pytest.raises(LaunchTypeError) as caught:
        fill[1, 4](*args, **kwargs)
    assert words in str(caught.value).splitlines()[0]


def test_a_kernel_without_a_launch_configuration():
    with pytest.raises(LaunchError, match="launch configuration was not specified") as caught:
        fill(np.zeros(4), 1)
    assert caught.value.help


def test_threads_have_no_place_on_the_host():
    for read in (lambda: cuda.grid(1), lambda: cuda.threadIdx.x, lambda: cuda.gridsize(2)):
        with pytest.raises(PyGpuLibError, match="has a value only inside a kernel") as caught:
            read()
        assert caught.value.help
