from __future__ import annotations

import threading

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import DeviceMismatchError
from tests.fakecuda.client import Client
from tests.fakecuda.devices import cuda_in_use, names_of_calls


@pytest.fixture
def driver(fake_driver):
    with cuda_in_use(fake_driver) as driver:
        yield driver


two_gpus = pytest.mark.fake_gpus(device_count=2)


@pytest.mark.fake_gpus(compute_capability=(9, 0), memory_bytes=1 << 24)
def test_a_device_describes_itself(driver):
    device = cuda.get_current_device()
    assert device.compute_capability == (9, 0)
    assert device.COMPUTE_CAPABILITY_MAJOR == 9
    assert device.WARP_SIZE == 32
    assert not device.is_cpu
    assert device.name == driver.device_properties(0).name != ""
    assert tuple(cuda.current_context().get_memory_info()) == (1 << 24, 1 << 24)
    assert driver.dlpack_device(0) == (2, 0)
    assert repr(device) == f"<CUDA device 0 '{device.name}'>"


@two_gpus
def test_a_uuid_has_the_form_of_nvidia_smi(driver):
    uuids = [device.uuid for device in cuda.gpus]
    assert len(set(uuids)) == 2
    for uuid in uuids:
        assert uuid.startswith("GPU-")
        assert [len(part) for part in uuid[4:].split("-")] == [8, 4, 4, 4, 12]


def test_properties_are_read_once(fake_driver, driver):
    assert driver.device_properties(0) is driver.device_properties(0)
    assert driver.launch_limits(0) is driver.launch_limits(0)
    count = len(fake_driver.calls.named("cuDeviceGetAttribute"))
    assert driver.device_properties(0).attributes["MAX_THREADS_PER_BLOCK"] == 1024
    assert driver.launch_limits(0)["MAX_THREADS_PER_BLOCK"] == 1024
    assert len(fake_driver.calls.named("cuDeviceGetAttribute")) == count


def test_attributes_that_the_driver_does_not_know_are_left_out(fake_driver, driver):
    fake_driver.devices[0].attributes.pop(144)
    assert "HOST_MEMORY_POOLS_SUPPORTED" not in driver.device_properties(0).attributes


def test_only_the_primary_context_is_used_and_given_back(fake_driver, driver):
    cuda.to_device(np.zeros(3)).copy_to_host()
    driver.close()
    names = fake_driver.calls.names()
    assert names.count("cuDevicePrimaryCtxRetain") == 1
    assert names.count("cuDevicePrimaryCtxRelease") == 1
    assert "cuCtxCreate" not in names


def test_no_device_is_opened_before_it_is_used(fake_driver, driver):
    assert driver.device_count() == 1
    _ = cuda.get_current_device().name
    assert "cuDevicePrimaryCtxRetain" not in names_of_calls(fake_driver)


@two_gpus
def test_each_thread_uses_its_own_device(fake_driver, driver):
    contexts = {}

    def work(ordinal):
        cuda.select_device(ordinal)
        array = cuda.to_device(np.full(3, ordinal))
        contexts[ordinal] = Client().get("cuCtxGetCurrent")
        assert (array.copy_to_host() == ordinal).all()
        assert driver.current_ordinal() == ordinal

    for ordinal in (0, 1, 0):
        thread = threading.Thread(target=work, args=(ordinal,))
        thread.start()
        thread.join()
    assert len(set(contexts.values())) == 2


@two_gpus
def test_a_device_is_used_inside_a_block(driver):
    first = cuda.to_device(np.arange(3))
    with cuda.gpus[1]:
        second = cuda.to_device(np.arange(3))
        assert cuda.get_current_device().id == 1
        free_there = driver.memory_info(1).free
    assert cuda.get_current_device().id == 0
    assert driver.memory_info(1).free == free_there
    np.testing.assert_array_equal(first.copy_to_host(), range(3))
    del second


@two_gpus
def test_another_devices_context_may_be_current(fake_driver, driver):
    # As another library leaves it.
    array = cuda.to_device(np.arange(3))
    client = Client()
    other = client.get("cuDevicePrimaryCtxRetain", 1)
    client.call("cuCtxSetCurrent", other)
    np.testing.assert_array_equal(array.copy_to_host(), range(3))
    del array
    client.call("cuDevicePrimaryCtxRelease_v2", 1)


def test_a_context_of_somebody_elses_making_may_be_current(fake_driver, driver):
    client = Client()
    cuda.to_device(np.zeros(1))
    foreign = client.get("cuCtxCreate_v2", 0, 0)
    array = cuda.to_device(np.arange(5))
    np.testing.assert_array_equal(array.copy_to_host(), range(5))
    del array
    client.call("cuCtxDestroy_v2", foreign)


@two_gpus
def test_waiting_for_a_device_waits_for_that_one(fake_driver, driver):
    fake_driver.calls.clear()
    cuda.gpus[1].synchronize()
    retained = fake_driver.calls.named("cuDevicePrimaryCtxRetain")
    assert [call.arguments["dev"] for call in retained] == [1]


@two_gpus
def test_devices_that_see_each_others_memory(fake_driver, driver):
    assert not driver.can_access_peer(0, 0)
    if not driver.can_access_peer(0, 1):
        pytest.fail("the fake devices are connected")
    for _ in range(2):
        driver.enable_peer_access(0, 1)
    assert len(fake_driver.calls.named("cuMemPoolSetAccess")) == 1


@two_gpus
def test_devices_that_do_not_see_each_others_memory(fake_driver, driver, monkeypatch):
    from pygpulib.core.driver_cuda import sharing

    monkeypatch.setattr(sharing, "can_access_peer", lambda *_: False)
    with pytest.raises(DeviceMismatchError) as raised:
        driver.enable_peer_access(0, 1)
    assert str(raised.value).startswith("device 0 cannot use the memory of device 1 in place\n")


@two_gpus
def test_arrays_are_copied_between_devices(driver):
    with cuda.gpus[1]:
        there = cuda.to_device(np.arange(6.0).reshape(2, 3))
    here = cuda.device_array((2, 3))
    here[...] = there
    np.testing.assert_array_equal(here.copy_to_host(), np.arange(6.0).reshape(2, 3))
    del there
