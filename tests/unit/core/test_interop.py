import gc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygpulib.core import interop
from pygpulib.core.array import ndarray
from pygpulib.core.creation import to_device
from pygpulib.errors import ArgumentTypeError, DeviceMismatchError
from tests.helpers.arrays import DTYPES, layouts


@pytest.mark.cpu_only("NumPy takes memory of the host only")
@given(layouts(), st.sampled_from(DTYPES))
def test_numpy_shares_the_memory_through_dlpack(host, dtype):
    with np.errstate(invalid="ignore"):
        device = to_device(host.astype(dtype))
    shared = np.from_dlpack(device)
    np.testing.assert_array_equal(shared, device.copy_to_host())
    if device.size:
        assert shared.__array_interface__["data"][0] == device.address


@pytest.mark.cpu_only("NumPy takes memory of the host only")
@given(layouts(), st.sampled_from(DTYPES))
def test_a_numpy_array_is_shared_through_dlpack(host, dtype):
    with np.errstate(invalid="ignore"):
        host = host.astype(dtype)
    device = interop.from_dlpack(host)
    assert type(device) is ndarray
    np.testing.assert_array_equal(device.copy_to_host(), host)
    if host.size:
        assert np.shares_memory(device.host_view, host)


@pytest.mark.cpu_only("NumPy takes memory of the host only")
def test_dlpack_keeps_the_memory_alive():
    shared = np.from_dlpack(to_device(np.arange(1000)))
    gc.collect()
    filler = to_device(np.zeros(1000, int))
    assert shared[999] == 999
    assert filler[0] == 0


@pytest.mark.cpu_only("NumPy takes memory of the host only")
def test_dlpack_names_the_host():
    assert to_device([1]).__dlpack_device__() == (1, 0)


@pytest.mark.cpu_only("NumPy takes memory of the host only")
def test_dlpack_can_be_asked_for_a_copy():
    device = to_device([1, 2])
    other = np.from_dlpack(device, copy=True)
    device[0] = 5
    assert other.tolist() == [1, 2]


def test_a_device_array_from_a_device_array_is_a_view():
    device = to_device([1, 2])
    interop.from_dlpack(device)[0] = 7
    assert device[0] == 7


@given(layouts(broadcast=True))
def test_map_host_shows_the_same_memory(host):
    device = interop.map_host(host)
    assert (device.shape, device.strides) == (host.shape, host.strides)
    np.testing.assert_array_equal(device.copy_to_host(), host)
    if host.size:
        assert device.address == host.__array_interface__["data"][0]


def test_which_objects_are_device_arrays():
    class Foreign:
        __cuda_array_interface__ = None

    assert interop.is_cuda_array(to_device([1]))
    assert interop.is_cuda_array(Foreign())
    assert not interop.is_cuda_array(np.zeros(3))
    assert not interop.is_cuda_array([1])


def test_as_cuda_array_is_a_view():
    device = to_device([1, 2])
    interop.as_cuda_array(device, sync=False)[0] = 7
    assert device[0] == 7


class OnAnotherDevice:
    def __dlpack__(self, **options):
        raise AssertionError

    def __dlpack_device__(self):
        return (7, 0)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: interop.from_dlpack([1]),
            ArgumentTypeError,
            "the argument x is a list\nexpected an object with __dlpack__ and "
            "__dlpack_device__\nhelp: use to_device(x) for anything that NumPy understands",
        ),
        (
            lambda: interop.from_dlpack(OnAnotherDevice()),
            DeviceMismatchError,
            "the argument x is on another device\nexpected DLPack device {here}, got (7, 0)\n"
            "help: move it to the host with its own library first",
        ),
        (
            lambda: interop.as_cuda_array(np.zeros(2)),
            ArgumentTypeError,
            "*obj* doesn't implement the cuda array interface.\nobj is a ndarray\n"
            "help: use to_device(obj) to copy host data, or from_dlpack(obj) to share it",
        ),
    ],
)
def test_refusal_says_what_is_wrong(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    assert str(raised.value) == message.format(here=to_device([1]).__dlpack_device__())
