import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import ArgumentError, ArgumentTypeError

total = cuda.Reduce(lambda a, b: a + b)


@cuda.reduce
def largest(a, b):
    return max(a, b)


@pytest.mark.parametrize("dtype", [np.int8, np.uint32, np.int64, np.float32, np.float64, "c16"])
@pytest.mark.parametrize("count", [1, 2, 3, 127, 128, 129, 255, 256, 257, 8192, 10007])
def test_sums_of_any_length(dtype, count):
    values = (np.arange(count) % 7).astype(dtype)
    found = total(values)
    assert found.dtype == values.dtype
    assert found == values.sum(dtype=dtype)


def test_results_have_the_type_of_the_elements():
    assert total(np.array([200, 100], np.uint8)) == np.uint8(44)


def test_init_is_one_more_element():
    assert total(np.arange(10.0), init=3) == 48
    assert largest(np.array([1.0, 2.0]), init=7) == 7
    assert largest(np.array([-1.0, -2.0]), init=-np.inf) == -1
    assert total(np.zeros(0)) == 0
    assert total(np.zeros(0, np.int32), init=5) == 5
    assert total(cuda.to_device(np.zeros(0))) == 0


def test_size_takes_the_first_elements():
    assert total(np.arange(10), size=4) == 6
    assert total(np.arange(10), size=0, init=2) == 2
    with pytest.raises(ArgumentError, match="the argument size of a reduction is 11"):
        total(np.arange(10), size=11)


def test_result_in_an_array():
    for result in (cuda.to_device(np.zeros(2)), np.zeros(2)):
        assert total(np.arange(10.0), res=result) is None
        assert result[0] == 45
        assert result[1] == 0
        assert total(np.zeros(0), res=result, init=8) is None
        assert result[0] == 8


def test_device_arrays_views_and_streams():
    stream = cuda.stream()
    device = cuda.to_device(np.arange(1000.0), stream)
    assert total(device, stream=stream) == 499500
    assert total(device[::3]) == np.arange(1000)[::3].sum()
    assert largest(np.arange(50.0)[::-1]) == 49


def test_sequences():
    assert total([1, 2, 3]) == 6


def test_refuses_arrays_of_other_than_one_axis():
    with pytest.raises(TypeError, match="only support 1D array"):
        total(np.zeros((2, 2)))
    with pytest.raises(ArgumentTypeError, match="array of 0 axes"):
        total(3.0)
