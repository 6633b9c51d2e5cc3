import warnings

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import KernelTypeError
from pygpulib.jit.frontend.reductions import METHODS
from pygpulib.jit.intrinsics.array_reductions import FUNCTIONS

NAN = float("nan")
ARRAYS = [
    np.array([3.0, -1.0, 2.0]),
    np.arange(24.0).reshape(2, 3, 4)[:, ::-1, ::2],
    np.array([1.0, NAN, -2.0, NAN]),
    np.array([NAN, NAN]),
    np.array([np.inf, 1.0, -np.inf]),
    np.array(7.0),
    np.array([1.5, 2.5, 4.0], np.float32),
    np.array([[1, 0], [-3, 2]], np.int8),
    np.array([True, False, True]),
]


@cuda.jit(device=True)
def store(out, value):
    out[0] = value


def reduce_in_kernel(function, array, dtype):
    out = np.zeros(1, dtype)
    cuda.jit(lambda a, out: store(out, function(a)))[1, 1](array, out)
    return out[0]


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda function: function.__name__)
def test_as_in_numpy(function):
    for array in ARRAYS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = function(array)
        found = reduce_in_kernel(function, array, np.asarray(expected).dtype)
        np.testing.assert_allclose(found, expected, rtol=1e-6, err_msg=repr(array))


@pytest.mark.parametrize("function", [np.sum, np.prod, np.mean, np.all, np.count_nonzero])
def test_complex_numbers(function):
    array = np.array([1 + 2j, -3j, 0.5])
    expected = function(array)
    np.testing.assert_allclose(
        reduce_in_kernel(function, array, np.asarray(expected).dtype), expected
    )


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    array = np.array([[4.0, 1.0], [3.0, 8.0]])
    out = np.zeros(1)
    KERNELS[name][1, 1](array, out)
    assert out[0] == pytest.approx(float(getattr(array, name)()))


KERNELS = {
    "all": cuda.jit(lambda a, out: store(out, a.all())),
    "any": cuda.jit(lambda a, out: store(out, a.any())),
    "argmax": cuda.jit(lambda a, out: store(out, a.argmax())),
    "argmin": cuda.jit(lambda a, out: store(out, a.argmin())),
    "max": cuda.jit(lambda a, out: store(out, a.max())),
    "mean": cuda.jit(lambda a, out: store(out, a.mean())),
    "min": cuda.jit(lambda a, out: store(out, a.min())),
    "prod": cuda.jit(lambda a, out: store(out, a.prod())),
    "std": cuda.jit(lambda a, out: store(out, a.std())),
    "sum": cuda.jit(lambda a, out: store(out, a.sum())),
    "var": cuda.jit(lambda a, out: store(out, a.var())),
}


def test_empty_arrays():
    for function in (np.sum, np.prod, np.all, np.any, np.count_nonzero, np.nansum):
        expected = function(np.zeros(0))
        assert reduce_in_kernel(function, np.zeros(0), np.asarray(expected).dtype) == expected


def test_refuses_what_has_no_order_or_is_no_array():
    with pytest.raises(KernelTypeError, match=r"numpy\.max does not take .*\n.*\n.*\nexpected an"):
        reduce_in_kernel(np.max, np.zeros(3, complex), complex)
    with pytest.raises(KernelTypeError, match=r"numpy\.sum does not take a tuple|numpy\.sum"):
        cuda.jit(lambda a, out: store(out, np.sum((a, a))))[1, 1](1.0, np.zeros(1))
    with pytest.raises(KernelTypeError, match=r"numpy\.sum is called with"):
        cuda.jit(lambda a, out: store(out, np.sum(a, axis=0)))[1, 1](np.zeros(3), np.zeros(1))


def test_tuples_of_arrays_one_after_the_other():
    cases = (np.array([1.0, 2.0]), np.array([[3], [4]]), np.array(5.0))

    @cuda.jit
    def kernel(out):
        for i, case in enumerate(cuda.literal_unroll(cases)):
            out[i] = np.sum(case)

    out = np.zeros(3)
    kernel[1, 1](out)
    assert out.tolist() == [3, 7, 5]
    assert cuda.literal_unroll(cases) is cases
