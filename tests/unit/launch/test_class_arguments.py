import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.errors import LaunchTypeError


@cuda.jit
def convert(values, out, dtype):
    buffer = cuda.local.array(4, dtype)
    for i in range(values.size):
        buffer[i] = values[i]
        out[i] = dtype(buffer[i]) * dtype(2)


@pytest.mark.parametrize("dtype", [np.int8, np.dtype(np.int32), types.float32, np.float64])
def test_types_of_numbers_are_arguments(dtype):
    values = np.array([1.5, 60.0, -3.25, 0.1])
    for _ in range(3):  # the short cut of later launches too
        out = np.zeros(4)
        convert[1, 1](values, out, dtype)
        scalar = dtype.dtype.numpy if isinstance(dtype, types.ScalarType) else np.dtype(dtype)
        converted = values.astype(scalar)
        np.testing.assert_array_equal(out, converted * scalar.type(2))


def test_each_type_is_compiled_for():
    @cuda.jit
    def kernel(out, dtype):
        out[0] = dtype(1.75)

    for dtype, expected in [(np.int32, 1), (np.float32, 1.75), (np.int32, 1)]:
        out = np.zeros(1)
        kernel[1, 1](out, dtype)
        assert out[0] == expected
    assert len(kernel.signatures) == 2
    assert str(cuda.typeof(np.float32)) == "class(float32)"


@pytest.mark.parametrize("cls", [dict, np.dtype("U3"), np.dtype("i4,f4")])
def test_other_classes_are_refused(cls):
    with pytest.raises(LaunchTypeError, match=r"the argument 'dtype' .* is no type of numbers"):
        convert[1, 1](np.zeros(1), np.zeros(1), cls)
