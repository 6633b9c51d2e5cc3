import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.cuda import devicearray

POINT = np.dtype([("x", np.float64), ("n", np.int32)], align=True)


def test_every_public_name_exists():
    assert all(hasattr(devicearray, name) for name in devicearray.__all__)


@pytest.mark.parametrize("wrapper", [np.zeros, np.recarray])
def test_a_record_goes_to_the_device_and_back(wrapper):
    host, back = wrapper(2, POINT)
    host["x"], host["n"] = 1.5, 7
    record = devicearray.from_record_like(host)
    assert (record.shape, record.dtype, record.alloc_size) == ((), POINT, 16)
    record.copy_to_device(host)
    record.copy_to_host(back)
    assert back == host
    assert record["n"] == 7


def test_a_record_can_be_made_from_its_fields_alone():
    record = devicearray.DeviceRecord(POINT)
    record["x"] = 2.5

    @cuda.jit
    def kernel(point):
        point.n = int(point.x * 2)

    kernel[1, 1](record)
    assert record["n"] == 5


def test_records_and_arrays_can_be_made_over_existing_memory():
    array = cuda.to_device(np.zeros(3, POINT))
    devicearray.DeviceRecord(POINT, gpu_data=array[1].gpu_data)["n"] = 4
    same = devicearray.from_array_like(array, gpu_data=array.gpu_data)
    assert same.copy_to_host()["n"].tolist() == [0, 4, 0]
    assert devicearray.from_record_like(array[0]).gpu_data != array[0].gpu_data


def test_an_array_like_another_has_its_layout():
    host = np.zeros((4, 6), np.int16)[:, ::2]
    device = devicearray.from_array_like(host)
    assert (device.shape, device.strides, device.dtype) == (host.shape, host.strides, host.dtype)


def test_auto_device_copies_what_is_not_on_the_device():
    host = np.zeros(1, POINT)[0]
    host["n"] = 3
    record, is_new = devicearray.auto_device(host)
    assert is_new
    assert record["n"] == 3
    assert devicearray.auto_device(record)[1] is False


def test_arrays_tell_what_type_kernels_see_them_as():
    matrix = cuda.to_device(np.zeros((3, 4), np.float32))
    assert matrix._numba_type_ == types.float32[:, ::1]
    assert matrix.T._numba_type_ == types.float32[::1, :]
    assert matrix[:, ::2]._numba_type_ == types.float32[:, :]
    assert devicearray.DeviceRecord(POINT)._numba_type_ == types.from_dtype(POINT)
