"""Names of numba's that stand for something of ours."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pygpulib import cuda, errors, types
from pygpulib.cuda.cudadrv import devicearray, driver
from pygpulib.errors import ArgumentError, ArgumentTypeError


def test_numbas_errors_are_caught():
    @cuda.jit
    def wrong(a):
        a.nothing()

    with pytest.raises(errors.TypingError):
        wrong[1, 1](np.zeros(1))
    assert issubclass(errors.NumbaTypeError, errors.TypingError)
    assert issubclass(errors.NumbaPerformanceWarning, errors.NumbaWarning)
    assert cuda.errors is errors
    assert cuda.cudadrv.error is errors


def test_modules():
    assert cuda.devicearray is cuda.cudadrv.devicearray is devicearray
    assert isinstance(cuda.stream(), driver.Stream)
    assert isinstance(cuda.current_context(), driver.Context)
    assert cuda.cudadrv.devices.get_context() == cuda.current_context()
    assert cuda.cudadrv.devices.gpus is cuda.gpus
    assert cuda.cuda_error() is None
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        _ = cuda.no_such_name


def test_profiling_changes_nothing():
    with cuda.profiling():
        cuda.profile_stop()
        cuda.profile_start()

    @cuda.require_context
    def three():
        return 3

    assert three() == 3


def test_device_arrays_of_anything():
    array, is_new = devicearray.auto_device([1, 2])
    assert is_new
    assert array.copy_to_host().tolist() == [1, 2]
    same, is_new = devicearray.auto_device(array)
    assert not is_new
    assert same.address == array.address
    assert devicearray.is_cuda_ndarray(array)
    devicearray.verify_cuda_ndarray_interface(array)
    with pytest.raises(ArgumentTypeError, match="expected a device array, got a list"):
        devicearray.require_cuda_ndarray([1])


@pytest.mark.parametrize("make", [cuda.to_device, np.asarray])
def test_contiguous_but_for_repetition(make):
    row = make(np.arange(6.0).reshape(2, 3))
    assert devicearray.is_contiguous(row)
    assert not devicearray.is_contiguous(row.T)
    assert not devicearray.is_contiguous(row[:, ::2])
    assert devicearray.array_core(row).shape == (2, 3)
    assert devicearray.is_contiguous(make(np.zeros((0, 3))))
    repeated = np.broadcast_to(np.arange(3.0), (4, 3))
    assert devicearray.array_core(repeated).shape == (1, 3)
    assert devicearray.is_contiguous(repeated)


def test_names_of_types_are_classes_for_isinstance():
    array = types.Array(types.float32, 2, "C")
    assert array == types.float32[:, ::1]
    assert isinstance(array, types.Array)
    assert not isinstance(array, types.Tuple)
    pair = types.UniTuple(types.int32, 2)
    assert pair == types.Tuple((types.int32, types.int32))
    assert isinstance(pair, types.Tuple)
    assert isinstance(pair, types.UniTuple)
    assert not isinstance(types.Tuple((types.int32, array)), types.UniTuple)
    for kind, member in [
        (types.Integer, types.uint8),
        (types.Float, types.float16),
        (types.Complex, types.complex64),
        (types.Boolean, types.boolean),
    ]:
        assert isinstance(member, kind)
        assert not isinstance(array, kind)
        assert kind(str(member)) is member
    with pytest.raises(ArgumentError, match="not aligned in memory are not supported"):
        types.Array(types.float32, 1, "C", aligned=False)
    with pytest.raises(ArgumentTypeError, match="cannot be the element type of an array"):
        types.Array(pair, 1, "C")


def test_domains():
    assert types.int8 in types.signed_domain
    assert types.uint8 in types.unsigned_domain
    assert types.Array(types.int8, 1, "C").dtype in types.integer_domain
    assert types.float64 in types.real_domain
    assert types.complex64 in types.complex_domain
    assert types.boolean not in types.number_domain


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f2", "c16", "i4,f8", "M8[s]", "m8[D]", "S3"])
def test_dtypes_and_types(dtype):
    assert types.as_dtype(types.from_dtype(dtype)) == np.dtype(dtype)


def test_what_numpy_has_no_elements_of():
    with pytest.raises(ArgumentTypeError, match="NumPy has no elements of the type none"):
        types.as_dtype(types.none)


def test_attributes_of_types():
    assert types.complex64.underlying_float is types.float32
    assert types.int16.bitwidth == 16
    assert types.int16.name == "int16"
    signature = types.void(types.int8)
    assert signature.args == (types.int8,)
    assert signature.return_type is types.void


def test_types_of_ones_own_have_names():
    class Mine(types.Type):
        def __init__(self):
            super().__init__(name="mine")

    assert Mine().name == "mine"


def test_typeof():
    assert cuda.typeof(np.zeros((2, 2), np.int8)) == types.int8[:, ::1]


def test_all_names_are_found_by_a_program_that_imports_nothing_else():
    program = "from pygpulib import cuda; [getattr(cuda, name) for name in cuda.__all__]"
    path = str(Path(cuda.__file__).parents[2])
    subprocess.run([sys.executable, "-c", program], cwd=path, check=True, timeout=300)
