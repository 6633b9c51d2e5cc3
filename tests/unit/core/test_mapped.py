import pickle

import numpy as np
import pytest

from pygpulib.core import interop
from pygpulib.core.creation import managed_array, mapped_array, mapped_array_like, pinned_array
from pygpulib.core.driver_cpu import CpuDriver
from pygpulib.core.mapped import MappedArray
from pygpulib.core.stream import create_stream
from tests.helpers.arrays import default_stream

CREATORS = [mapped_array, managed_array]


@pytest.fixture
def host():
    array = mapped_array((3, 4), np.int32)
    array[:] = np.arange(12).reshape(3, 4)
    return array


@pytest.mark.parametrize("create", CREATORS)
def test_mapped_arrays_are_arrays_of_the_host_and_of_the_device(create):
    array = create(5, np.float32)
    assert isinstance(array, np.ndarray)
    assert interop.is_cuda_array(array)
    device = interop.as_cuda_array(array)
    array[:] = 3
    device[1] = 7
    assert array.tolist() == [3, 7, 3, 3, 3]
    assert device.copy_to_host().tolist() == [3, 7, 3, 3, 3]


def test_a_pinned_array_is_one_of_the_host():
    assert type(pinned_array(3)) is np.ndarray
    assert not interop.is_cuda_array(pinned_array(3))


@pytest.mark.parametrize(
    "index", [np.s_[1], np.s_[:, ::2], np.s_[::-1, ::-1], np.s_[1:1], np.s_[..., None]]
)
def test_views_are_mapped_too(host, index):
    view = host[index]
    device = interop.as_cuda_array(view)
    np.testing.assert_array_equal(device.copy_to_host(), view)
    assert (device.shape, device.strides) == (view.shape, view.strides)
    device[...] = -1
    np.testing.assert_array_equal(view, np.full(view.shape, -1))
    assert view.size == 0 or -1 in host


def test_results_of_arithmetic_are_ordinary(host):
    for result in (host + 1, np.sin(host), host.sum(axis=0), host == 2):
        assert type(result) is np.ndarray
    assert type(host.sum()) is np.int64
    before = host
    host += 1
    assert host is before
    assert host.is_mapped
    assert host[0, 0] == 1


@pytest.mark.parametrize(
    "copy",
    [np.copy, lambda a: a.copy(), lambda a: a[[0, 2]], lambda a: pickle.loads(pickle.dumps(a))],
)
def test_copies_are_not_mapped(host, copy):
    other = copy(host)
    assert not interop.is_cuda_array(other)
    assert not getattr(other, "is_mapped", False)
    with pytest.raises(AttributeError):
        _ = other.__cuda_array_interface__


def test_a_copy_says_why_it_is_not_shared(host):
    with pytest.raises(AttributeError) as raised:
        _ = host.copy().__cuda_array_interface__
    assert str(raised.value) == ("the array is a copy, in memory that the device does not address")


@pytest.mark.parametrize("create", CREATORS)
def test_other_libraries_see_memory_and_stream(create, monkeypatch):
    monkeypatch.setattr(CpuDriver, "exports_cuda_interface", True)
    stream = create_stream()
    array = create((2, 3), np.float64, stream=stream)
    assert array[1].__cuda_array_interface__ == {
        "shape": (3,),
        "strides": None,
        "typestr": array.dtype.str,
        "data": (array.__array_interface__["data"][0] + 24, False),
        "stream": stream.handle,
        "version": 3,
    }
    assert create(3).__cuda_array_interface__["stream"] == default_stream()


@pytest.mark.cpu_only("GPUs show all their memory to other libraries")
def test_where_cuda_is_installed_the_device_still_takes_them(monkeypatch):
    monkeypatch.setattr(CpuDriver, "exports_cuda_interface", False)
    array = mapped_array_like(np.zeros((2, 3), order="F"))
    assert not hasattr(array, "__cuda_array_interface__")
    assert interop.is_cuda_array(array)
    assert interop.as_cuda_array(array).is_f_contiguous()


def test_readonly_views_stay_so(host):
    host.flags.writeable = False
    assert isinstance(host, MappedArray)
    assert interop.as_cuda_array(host).buffer.is_readonly
