import gc
import weakref

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygpulib._config import config
from pygpulib.core import driver_cpu, interop
from pygpulib.core.creation import device_array, to_device
from pygpulib.core.cuda_interface import from_cuda_array_interface
from pygpulib.core.device import use_driver
from pygpulib.core.driver_cpu import CpuDriver
from pygpulib.core.driver_null import NullDriver
from pygpulib.core.settings import settings
from pygpulib.core.stream import create_stream
from pygpulib.errors import (
    ArgumentTypeError,
    DeviceMismatchError,
    DTypeError,
    LayoutError,
    ShapeError,
    UnsupportedFeatureError,
)
from tests.helpers.arrays import DTYPES, default_stream, layouts


class Foreign:
    """Another library's array: it offers nothing but the interface."""

    def __init__(self, array, **changes):
        self.array = array
        self.__cuda_array_interface__ = {**array.__cuda_array_interface__, **changes}


@pytest.fixture(autouse=True)
def _no_gpu(monkeypatch):
    monkeypatch.setattr(CpuDriver, "exports_cuda_interface", True)


@given(layouts(), st.sampled_from(DTYPES))
def test_an_array_comes_back_as_it_was(host, dtype):
    with np.errstate(invalid="ignore"):
        device = to_device(host.astype(dtype))
    shared = interop.as_cuda_array(Foreign(device))
    assert (shared.shape, shared.dtype) == (device.shape, device.dtype)
    np.testing.assert_array_equal(shared.copy_to_host(), device.copy_to_host())
    if device.size:
        assert shared.address == device.address
        assert shared.strides == device.strides or device.is_c_contiguous()


@given(layouts(broadcast=True))
def test_views_come_back_as_they_were(host):
    device = interop.map_host(host)
    shared = interop.as_cuda_array(Foreign(device))
    np.testing.assert_array_equal(shared.copy_to_host(), host)
    if host.size:
        assert shared.address == host.__array_interface__["data"][0]


def test_the_interface_follows_the_protocol():
    device = to_device(np.arange(6, dtype=np.int16).reshape(2, 3))
    assert device.__cuda_array_interface__ == {
        "shape": (2, 3),
        "strides": None,
        "typestr": np.dtype(np.int16).str,
        "data": (device.address, False),
        "stream": default_stream(),
        "version": 3,
    }
    assert device.T.__cuda_array_interface__["strides"] == (2, 6)
    assert device[:, ::-1].__cuda_array_interface__["data"] == (device.address + 4, False)
    assert device_array(0).__cuda_array_interface__["data"] == (0, False)


def test_readonly_memory_stays_so():
    host = np.arange(3)
    host.flags.writeable = False
    device = interop.map_host(host)
    assert device.__cuda_array_interface__["data"][1] is True
    shared = interop.as_cuda_array(Foreign(device))
    with pytest.raises(LayoutError, match="assignment destination is read-only"):
        shared[0] = 1


@pytest.mark.parametrize(
    "dtype",
    [
        np.dtype([("a", np.int8), ("b", np.float64)], align=True),
        np.dtype([("a", np.int8), ("b", np.float64, (2, 3))]),
        np.dtype({"names": ["a"], "formats": ["i4"], "offsets": [4], "itemsize": 12}),
    ],
)
def test_records_keep_their_fields(dtype):
    host = np.zeros(3, dtype)
    host["a"] = [1, 2, 3]
    shared = interop.as_cuda_array(Foreign(to_device(host)))
    assert shared.dtype == dtype
    np.testing.assert_array_equal(shared.copy_to_host(), host)


def test_records_that_the_protocol_cannot_describe_are_bytes():
    overlapping = np.dtype({"names": ["a", "b"], "formats": ["i4", "i2"], "offsets": [0, 2]})
    shared = interop.as_cuda_array(Foreign(to_device(np.zeros(2, overlapping))))
    assert shared.dtype == np.dtype("V4")


def test_a_description_without_fields_says_nothing():
    desc = {**to_device(np.zeros(2, "V4")).__cuda_array_interface__, "descr": [("", "|V4")]}
    assert from_cuda_array_interface(desc).dtype == np.dtype("V4")


def test_earlier_versions_need_not_name_strides_and_streams():
    device = to_device([1, 2, 3])
    old = {
        "shape": (3,),
        "typestr": "<i8",
        "data": (np.uint64(device.address), False),
        "version": 0,
    }
    assert from_cuda_array_interface(old)[2] == 3


def test_to_device_shares_what_is_on_the_device_already():
    device = to_device([1, 2, 3])
    shared = to_device(Foreign(device))
    shared[0] = 7
    assert device[0] == 7
    assert to_device(device) is device


def test_foreign_arrays_can_be_copied_and_assigned_from():
    source = to_device(np.arange(6.0).reshape(2, 3))
    target = device_array((2, 3))
    target.copy_to_device(Foreign(source))
    np.testing.assert_array_equal(target.copy_to_host(), source.copy_to_host())
    target[:, 1] = Foreign(source[1, :2])
    np.testing.assert_array_equal(target.copy_to_host(), [[0, 3, 2], [3, 4, 5]])
    to_device(Foreign(source[::-1]), to=target)
    np.testing.assert_array_equal(target.copy_to_host(), source.copy_to_host()[::-1])


def test_the_owner_lives_as_long_as_the_array():
    foreign = Foreign(to_device([1, 2]))
    alive = weakref.ref(foreign)
    shared = interop.as_cuda_array(foreign)
    del foreign
    gc.collect()
    assert alive() is not None
    assert shared[:1][0] == 1
    del shared
    gc.collect()
    assert alive() is None


@pytest.fixture
def driver():
    """A driver that notes what is asked of it, and whose work is never done."""
    null = NullDriver()
    with use_driver(null):
        null.query_event = lambda event: False
        yield null


def test_an_array_without_a_stream_is_not_waited_for(driver):
    shared = interop.as_cuda_array(Foreign(device_array(1)))
    assert shared.stream == 0
    shared.copy_to_host()
    assert "record_event" not in driver.names()


def test_the_stream_of_an_array_is_waited_for_by_others_on_the_device(driver):
    stream, other = create_stream(), create_stream()
    device = device_array(3, stream=stream)
    assert device.__cuda_array_interface__["stream"] == stream.handle
    shared = interop.as_cuda_array(Foreign(device))
    assert shared.stream.external
    assert shared.stream.handle == stream.handle
    driver.calls.clear()
    shared.copy_to_host()  # on its own stream
    assert "wait_event" not in driver.names()
    shared.copy_to_host(stream=other)
    (wait,) = [call for call in driver.calls if call.name == "wait_event"]
    assert wait.arguments[0] == other.handle
    assert not [name for name in driver.names() if name.startswith("synchronize")]


def test_work_that_is_done_is_not_waited_for(driver):
    shared = interop.as_cuda_array(Foreign(device_array(3, stream=create_stream())))
    driver.query_event = lambda event: True
    shared.copy_to_host(stream=create_stream())
    assert shared.buffer.readiness is None
    assert "wait_event" not in driver.names()


def test_waiting_can_be_left_out(driver):
    shared = interop.as_cuda_array(Foreign(device_array(3, stream=create_stream())), sync=False)
    assert shared.buffer.readiness is None


def test_waiting_can_be_switched_off(driver, monkeypatch):
    monkeypatch.setattr(settings, "CUDA_ARRAY_INTERFACE_SYNC", False)
    shared = interop.as_cuda_array(Foreign(device_array(3, stream=create_stream())))
    assert shared.buffer.readiness is None


@pytest.mark.cpu_only("GPUs show all their memory to other libraries")
def test_where_cuda_is_installed_host_memory_is_not_shown_as_a_gpu_s(monkeypatch):
    device = to_device([1])
    foreign = Foreign(device)
    monkeypatch.setattr(CpuDriver, "exports_cuda_interface", False)
    assert not hasattr(device, "__cuda_array_interface__")
    with pytest.raises(AttributeError, match="share it by DLPack"):
        _ = device.__cuda_array_interface__
    assert interop.is_cuda_array(device)
    with pytest.raises(DeviceMismatchError) as raised:
        interop.as_cuda_array(foreign)
    assert str(raised.value) == (
        "an array in the memory of a GPU was given, and kernels run on the processor\n"
        "the back end is 'cpu'\n"
        "help: copy it to the host first, with its own library"
    )


@pytest.mark.parametrize("installed", [True, False])
def test_the_processor_exports_where_cuda_s_library_cannot_be_loaded(installed, monkeypatch):
    monkeypatch.undo()
    # Any library that is there stands for CUDA's: no name at all is the running program.
    monkeypatch.setattr(config, "cuda_library", None if installed else "libno-such.so.1")
    driver_cpu.cuda_driver_is_installed.cache_clear()
    assert CpuDriver().exports_cuda_interface is not installed
    driver_cpu.cuda_driver_is_installed.cache_clear()


def test_memory_that_the_host_cannot_address_is_shared_too():
    with use_driver(NullDriver()):
        device = device_array((2, 3))
        shared = interop.as_cuda_array(Foreign(device[:, 1:]))
        assert shared.address == device.address + 8
        assert (shared.shape, shared.strides) == ((2, 2), (24, 8))


VALID = {"shape": (2,), "typestr": "<f8", "data": (4096, False), "version": 3}


@pytest.mark.parametrize(
    ("desc", "error", "message"),
    [
        (
            None,
            ArgumentTypeError,
            "the __cuda_array_interface__ is None\n"
            "expected a dictionary with at least shape, typestr, data, version",
        ),
        (
            {"shape": (2,)},
            ArgumentTypeError,
            "the __cuda_array_interface__ is {'shape': (2,)}\n"
            "expected a dictionary with at least shape, typestr, data, version",
        ),
        (
            {**VALID, "mask": object()},
            UnsupportedFeatureError,
            "Masked arrays are not supported\nhelp: fill the masked elements first",
        ),
        (
            {**VALID, "data": (0, False)},
            LayoutError,
            "the __cuda_array_interface__ does not say where the elements are\n"
            "its data is (0, False); expected an address, and whether it is read-only",
        ),
        (
            {**VALID, "data": None},
            LayoutError,
            "the __cuda_array_interface__ does not say where the elements are\n"
            "its data is None; expected an address, and whether it is read-only",
        ),
        ({**VALID, "typestr": "|O"}, DTypeError, None),
        ({**VALID, "shape": (-1,)}, ShapeError, None),
        ({**VALID, "strides": (8, 8)}, ShapeError, None),
        ({**VALID, "stream": "1"}, ArgumentTypeError, None),
    ],
)
def test_refusal_says_what_is_wrong(desc, error, message):
    with pytest.raises(error) as raised:
        from_cuda_array_interface(desc)
    if message is not None:
        assert str(raised.value) == message
