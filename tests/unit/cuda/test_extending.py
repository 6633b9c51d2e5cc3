import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.cuda.extending import (
    overload,
    overload_attribute,
    overload_method,
    register_jitable,
)
from pygpulib.errors import ArgumentError, ArgumentTypeError, KernelTypeError, TypingError


def run(kernel, *args):
    out = np.zeros(3)
    kernel[1, 1](out, *args)
    return out.tolist()


def test_a_function_for_some_types():
    def describe(x): ...

    @overload(describe)
    def describe_whole(x):
        if isinstance(x, types.Integer):
            return lambda x: x + 100
        return None

    @overload(describe, inline="always", strict=False)
    def describe_array(x):
        if isinstance(x, types.Array):

            def implementation(x):
                return x[0] * x.size

            return implementation
        return None

    @cuda.jit
    def kernel(out, values):
        out[0] = describe(5)
        out[1] = describe(values)

    assert run(kernel, np.array([7.0, 8.0])) == [105, 14, 0]

    @cuda.jit
    def wrong(out):
        out[0] = describe(1.5)

    with pytest.raises(KernelTypeError, match=r"describe does not take \(float64 1\.5\)|describe"):
        run(wrong)


def test_what_is_for_this_target_comes_first():
    def which(): ...

    @overload(which, target="generic")
    def generic():
        return lambda: 1

    assert run(cuda.jit(lambda out: store(out, which()))) == [1, 0, 0]

    @overload(which, target="cuda")
    def specific():
        return lambda: 2

    assert run(cuda.jit(lambda out: store(out, which()))) == [2, 0, 0]


@cuda.jit(device=True)
def store(out, value):
    out[0] = value


def test_overloads_call_each_other_with_defaults_and_keywords():
    def inner(x, y=5, z=6): ...
    def outer(x): ...

    @overload(inner)
    def choose_inner(x, y=5, z=6):
        def implementation(x, y=5, z=6):
            return x * 100 + y * 10 + z

        return implementation

    @overload(outer)
    def choose_outer(x):
        return lambda x: inner(x, z=3)

    @cuda.jit
    def kernel(out):
        for i in range(3):
            out[i] = outer(i)

    assert run(kernel) == [53, 153, 253]


def test_constants_where_they_are_asked_for():
    def power(x, n): ...

    @overload(power, prefer_literal=True)
    def choose(x, n):
        if isinstance(n, types.IntegerLiteral):
            assert isinstance(n, types.Integer)
            if n.literal_value == 2:
                return lambda x, n: x * x
            raise TypingError("only squares are short")
        return lambda x, n: -1

    @cuda.jit
    def kernel(out, n):
        out[0] = power(3, 2)
        out[1] = power(3, 3)
        out[2] = power(3, n)

    assert run(kernel, 2) == [9, -1, -1]


def test_errors_of_overloads_name_the_call():
    def picky(x): ...

    @overload(picky)
    def choose(x):
        raise TypingError("picky takes nothing")

    @cuda.jit
    def kernel(out):
        out[0] = picky(1)

    with pytest.raises(TypingError, match=r"test_extending\.py:\d+: picky takes nothing"):
        run(kernel)


def test_methods_and_attributes():
    @overload_method(types.Array, "first_or")
    def first_or(array, otherwise=10):
        def implementation(array, otherwise=10):
            return array[0] if array.size else otherwise

        return implementation

    @overload_method(types.int32, "tripled")
    def tripled(number):
        return lambda number: number * 3

    @overload_attribute(types.Array, "middle", target="generic")
    def middle(array):
        return lambda array: array[array.size // 2]

    @cuda.jit
    def kernel(out, values):
        out[0] = values.first_or() + values[1:].first_or(otherwise=5)
        out[1] = values.middle
        out[2] = cuda.threadIdx.x.tripled() + cuda.blockDim.x.tripled()

    assert run(kernel, np.array([1.0, 2.0, 3.0])) == [3, 2, 3]
    assert run(kernel, np.array([1.0])) == [6, 1, 3]

    @cuda.jit
    def wrong(out):
        out[0] = (1.5).tripled()

    with pytest.raises(KernelTypeError, match="has no attribute 'tripled'"):
        run(wrong)


def test_plain_functions_that_kernels_may_call():
    @register_jitable
    def double(x):
        return x * 2

    @register_jitable(inline="always")
    def negate(x):
        return -x

    def forgotten(x):
        return x

    @cuda.jit
    def kernel(out):
        out[0] = double(4)
        out[1] = negate(4)

    assert run(kernel) == [8, -4, 0]
    assert double(4) == 8

    with pytest.raises(KernelTypeError, match="forgotten is a plain Python function"):
        run(cuda.jit(lambda out: store(out, forgotten(1))))


def test_refuses_what_is_no_overload():
    with pytest.raises(ArgumentError, match="target of an overload is 'npu'"):
        overload(len, target="npu")(lambda x: None)
    with pytest.raises(ArgumentTypeError, match="an overload has no option 'colour'"):
        overload(len, colour=1)(lambda x: None)
    with pytest.raises(ArgumentTypeError, match="3 cannot be an overload"):
        overload_method(types.Array, "x")(3)
    with pytest.raises(ArgumentTypeError, match="register_jitable does not take 'colour'"):
        register_jitable(colour=1)
