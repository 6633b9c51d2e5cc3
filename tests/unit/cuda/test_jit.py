from functools import partial

import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.errors import (
    ArgumentError,
    ArgumentTypeError,
    KernelTypeError,
    LaunchTypeError,
    UnsupportedFeatureError,
)
from pygpulib.jit.device_function import DeviceFunction
from pygpulib.jit.dispatcher import Kernel


def add_one(a):
    """Add one."""
    i = cuda.grid(1)
    if i < a.size:
        a[i] += 1


@pytest.mark.parametrize(
    "decorate",
    [
        cuda.jit,
        cuda.jit(),
        cuda.jit("void(float64[:])"),
        cuda.jit("(f8[::1],)"),
        cuda.jit((types.f8[:],)),
        cuda.jit(types.void(types.f8[::1])),
        cuda.jit(["void(f4[:])", "void(f8[:])"]),
        cuda.jit([(types.f8[:],)], fastmath=True),
        cuda.jit(debug=True),
        cuda.jit(opt=True, lineinfo=True, max_registers=32, inline="always", cache=True),
        cuda.jit(launch_bounds=(128, 2), shared_memory_carveout="MaxL1", link=[], extensions=[]),
    ],
)
def test_every_form_of_the_decorator(decorate):
    kernel = decorate(add_one)
    host = np.zeros(5)
    kernel[1, 8](host)
    assert host.tolist() == [1] * 5


def test_a_kernel_looks_like_its_function():
    kernel = cuda.jit(add_one)
    assert isinstance(kernel, Kernel)
    assert kernel.__name__ == "add_one"
    assert kernel.__doc__ == "Add one."
    assert kernel.__wrapped__ is kernel.py_func is add_one
    assert kernel.__module__ == __name__
    assert repr(kernel) == "<kernel add_one>"


def test_lambdas():
    kernel = cuda.jit(lambda a: add(a, 3))
    host = np.zeros(1)
    kernel[1, 1](host)
    assert host[0] == 3


@cuda.jit(device=True)
def add(a, value):
    a[0] += value


def test_decorating_a_kernel_again_changes_its_options():
    kernel = cuda.jit(cuda.jit(add_one), fastmath=True)
    assert kernel.options.fastmath
    assert kernel.py_func is add_one


def test_options_reach_the_compiler():
    kernel = cuda.jit(debug=True, fastmath=True, fma=False)(add_one)
    assert (kernel.options.debug, kernel.options.fastmath, kernel.options.fma) == (
        True,
        True,
        False,
    )
    kernel = cuda.jit(add_one)
    assert (kernel.options.fastmath, kernel.options.fma) == (False, True)


def test_device_functions():
    @cuda.jit(device=True)
    def square(x):
        return x * x

    @cuda.jit("f8(f8)", device=True)
    def declared(x):
        return x + 1

    @cuda.jit
    def kernel(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] = declared(square(a[i]))

    host = np.arange(5.0)
    kernel[1, 8](host)
    assert host.tolist() == [1, 2, 5, 10, 17]
    assert isinstance(square, DeviceFunction)
    assert repr(square).startswith("<device function test_device_functions.")
    # On the host it is the Python function.
    assert square(3) == 9
    assert [str(signature) for signature in declared.declared] == ["float64(float64)"]


def test_a_device_function_as_a_method_on_the_host():
    class Scale:
        factor = 3

        @cuda.jit(device=True)
        def apply(self, x):
            return self.factor * x

    assert Scale().apply(2) == 6
    assert isinstance(Scale.apply, DeviceFunction)


def test_a_device_function_cannot_be_launched():
    with pytest.raises(LaunchTypeError, match="add is a device function and cannot be launched"):
        add[1, 1]
    with pytest.raises(RuntimeError, match="Cannot compile a device function as a kernel"):
        add.configure(1, 1)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"fastmat": True}, ArgumentTypeError, ["no option 'fastmat'", "did you mean 'fastmath'?"]),
        ({"qqqq": 1}, ArgumentTypeError, ["no option 'qqqq'", "leave it out"]),
        ({"restype": 1}, ArgumentTypeError, ["no option 'restype'", "pass a signature"]),
        ({"argtypes": []}, ArgumentTypeError, ["no option 'argtypes'"]),
        ({"bind": True}, ArgumentTypeError, ["no option 'bind'"]),
        ({"boundscheck": True}, UnsupportedFeatureError, ["boundscheck=True", "use debug=True"]),
        (
            {"link": ["x.cu"], "device": True},
            UnsupportedFeatureError,
            ["link=['x.cu']", "for device functions", "pass it to the kernels"],
        ),
        ({"link": [5]}, ArgumentTypeError, ["the option link of cuda.jit has an item 5"]),
        ({"link": "x.txt"}, ArgumentError, ["item 'x.txt'", "ends in one of .ptx, ", "PTXSource"]),
        ({"extensions": [1]}, ArgumentTypeError, ["the option extensions of cuda.jit is 1"]),
        (
            {"launch_bounds": (1, 2, 3, 4)},
            ArgumentError,
            ["a tuple of one to three"],
        ),
        ({"launch_bounds": "x"}, ArgumentError, ["launch_bounds of cuda.jit is 'x'"]),
    ],
)
def test_options_that_cannot_be(options, error, words):
    with pytest.raises(error) as caught:
        cuda.jit(**options)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_what_is_no_function_is_refused():
    with pytest.raises(ArgumentTypeError, match=r"cuda\.jit was applied to <built-in"):
        cuda.jit()(abs)
    with pytest.raises(ArgumentTypeError, match="is not a signature"):
        cuda.jit(3)


class _Callable:
    def method(self, a):
        a[0] = 1

    def __call__(self, a):
        a[0] = 1


@pytest.mark.parametrize(
    "other", [abs, int, np.sin, _Callable, _Callable(), _Callable().method, partial(add_one)]
)
def test_what_can_only_be_called_is_refused(other):
    with pytest.raises(ArgumentTypeError) as caught:
        cuda.jit(other)
    assert str(caught.value).startswith(f"cuda.jit was applied to {other!r}\nexpected a Python")


def test_parameters_that_can_only_be_named():
    @cuda.jit
    def store(a, b=2, *, factor, more=0.5):
        a[0] = b * factor + more

    a = np.zeros(1)
    store[1, 1](a, factor=3)
    assert a[0] == 6.5
    store[1, 1](a, 4, more=np.float32(1), factor=2.25)
    assert a[0] == 10


def test_a_signature_that_returns_a_value_is_refused():
    with pytest.raises(KernelTypeError, match="CUDA kernel must have void return type"):
        cuda.jit("f8(f8[:])")(add_one)


def test_a_signature_with_other_parameters_is_refused():
    with pytest.raises(KernelTypeError, match="has 2 parameters, and the kernel add_one has 1: a"):
        cuda.jit("void(f8[:], i4)")(add_one)


def test_signatures_are_compiled_at_once():
    def wrong(a):
        a[0] = undefined_name  # noqa: F821

    cuda.jit(wrong)
    with pytest.raises(NameError, match="undefined_name"):
        cuda.jit("void(f8[:])")(wrong)


def test_the_names_of_numba():
    names = "jit grid gridsize threadIdx blockIdx blockDim gridDim laneid warpsize to_device"
    names += " device_array stream event synchronize gpus current_context float32 f4 void types"
    for name in names.split():
        assert hasattr(cuda, name), name
    assert cuda.f4 is types.float32
    assert set(cuda.__all__) <= set(dir(cuda))
