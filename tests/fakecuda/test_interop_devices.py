"""Programs that use two devices."""

from __future__ import annotations

import asyncio
import gc
import threading

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import DeviceIndexError, DeviceMismatchError, DriverError
from tests.fakecuda.client import Client
from tests.fakecuda.devices import cuda_in_use, names_of_calls
from tests.fakecuda.foreign import InterfaceArray, Library

pytestmark = pytest.mark.fake_gpus(device_count=2)


@pytest.fixture
def driver(fake_driver):
    with cuda_in_use(fake_driver) as driver:
        yield driver
        cuda.select_device(0)


@pytest.fixture
def double(driver):
    @cuda.jit
    def double(values):
        i = cuda.grid(1)
        if i < values.size:
            values[i] += values[i]

    return double


@pytest.fixture
def on_second(driver):
    """An array on the device that is not selected."""
    with cuda.gpus[1]:
        return cuda.to_device(np.arange(40, dtype=np.int32))


def test_arrays_know_their_device(on_second):
    first = cuda.to_device(np.arange(3))
    assert (first.device_ordinal, on_second.device_ordinal) == (0, 1)
    assert on_second[5:].T.device_ordinal == 1
    assert on_second.__dlpack_device__() == (2, 1)
    assert cuda.from_dlpack(on_second).device_ordinal == 1


def test_an_array_is_used_whichever_device_is_selected(double, on_second):
    with cuda.gpus[1]:
        double[1, 64](on_second)
    # In the order of its own device.
    np.testing.assert_array_equal(on_second.copy_to_host(), 2 * np.arange(40))
    assert on_second[3] == 6
    on_second[3] = 8
    on_second[5:7] = [1, 2]
    on_second.copy_to_device(on_second.copy_to_host())
    np.testing.assert_array_equal(on_second[3:7].copy_to_host(), [8, 8, 1, 2])
    assert cuda.get_current_device().id == 0


def test_the_same_kernel_runs_on_both(fake_driver, double, on_second):
    first = cuda.to_device(np.arange(40, dtype=np.int32))
    launch = double[1, 64]
    for _ in range(3):
        launch(first)
    with cuda.gpus[1]:
        for _ in range(3):
            launch(on_second)
    for array in (first, on_second):
        np.testing.assert_array_equal(array.copy_to_host(), 8 * np.arange(40))
    assert len(fake_driver.calls.named("cuModuleLoadDataEx")) == 2


def test_threads_use_their_own_devices(double):
    results = {}

    def work(ordinal):
        cuda.select_device(ordinal)
        array = cuda.to_device(np.full(40, ordinal + 1))
        double[1, 64](array)
        results[ordinal] = array.copy_to_host()

    threads = [threading.Thread(target=work, args=(ordinal,)) for ordinal in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (results[0] == 2).all()
    assert (results[1] == 4).all()


def test_a_kernel_uses_another_devices_array_in_place_where_it_can(fake_driver, double, on_second):
    with cuda.gpus[1]:
        double[1, 64](on_second)
    for _ in range(3):
        double[1, 64](on_second)
    assert fake_driver.launches[-1].grid == (1, 1, 1)
    # Work of its own device comes after that.
    with cuda.gpus[1]:
        double[1, 64](on_second)
    np.testing.assert_array_equal(on_second.copy_to_host(), 32 * np.arange(40))


def test_memory_of_another_device_stays_until_the_kernel_is_done(fake_driver, driver):
    with cuda.gpus[1]:
        on_second = cuda.to_device(np.arange(40, dtype=np.int32))
    result = cuda.device_array(40, np.int32)

    @cuda.jit
    def copy(target, source):
        target[cuda.grid(1)] = source[cuda.grid(1)]

    copy[1, 40](result, on_second)
    del on_second
    gc.collect(1)
    with cuda.gpus[1]:
        other = cuda.to_device(np.full(40, 99, np.int32))
    np.testing.assert_array_equal(result.copy_to_host(), np.arange(40))
    del other


def test_a_kernel_with_another_devices_array_without_access_is_refused(
    double, on_second, monkeypatch
):
    from pygpulib.core.driver_cuda import sharing

    monkeypatch.setattr(sharing, "can_access_peer", lambda *_: False)
    first = cuda.to_device(np.arange(40, dtype=np.int32))
    for _ in range(3):
        double[1, 64](first)
    with pytest.raises(DeviceMismatchError) as raised:
        double[1, 64](on_second)
    assert str(raised.value) == (
        "an array of shape (40,) on device 1 was given to a kernel that is launched on device 0, "
        "which cannot use it in place\n"
        "CUDA reports no peer access between the two\n"
        "help: copy it to the device first, or launch the kernel where the array is: "
        "with cuda.gpus[1]: ..."
    )
    with cuda.gpus[1], pytest.raises(DeviceMismatchError):
        double[1, 64](first)


SOURCES = {
    "packed": lambda a: a,
    "columns": lambda a: a[:, 1:3],
    "backwards": lambda a: a[::-1, ::2],
    "transposed": lambda a: a.T,
    "one": lambda a: a[2:3, 1:2],
    "empty": lambda a: a[:0],
}


@pytest.mark.parametrize("target_dtype", [np.int32, np.float64], ids=str)
@pytest.mark.parametrize("view", SOURCES)
def test_arrays_are_copied_between_devices(fake_driver, driver, view, target_dtype):
    host = np.arange(24, dtype=np.int32).reshape(4, 6)
    with cuda.gpus[1]:
        source = SOURCES[view](cuda.to_device(host))
    expected = SOURCES[view](host)
    target = cuda.device_array((*expected.shape, 2), target_dtype)[..., 1]
    target[...] = source
    np.testing.assert_array_equal(target.copy_to_host(), expected)
    packed = cuda.device_array(expected.shape, np.int32)
    packed.copy_to_device(source)
    np.testing.assert_array_equal(packed.copy_to_host(), expected)
    if view == "packed":
        calls = fake_driver.calls.named("cuMemcpyPeerAsync")
        assert {call.arguments["ByteCount"] for call in calls} == {host.nbytes}


def test_a_copy_between_devices_comes_after_both(double, on_second):
    first = cuda.to_device(np.ones(40, np.int32))
    stream = cuda.stream()
    with cuda.gpus[1]:
        double[1, 64](on_second)
    first.copy_to_device(on_second, stream=stream)
    with cuda.gpus[1]:
        double[1, 64](on_second)
    stream.synchronize()
    np.testing.assert_array_equal(first.copy_to_host(), 2 * np.arange(40))
    np.testing.assert_array_equal(on_second.copy_to_host(), 4 * np.arange(40))


def test_streams_and_events_are_used_whichever_device_is_selected(fake_driver, double, on_second):
    with cuda.gpus[1]:
        stream, event = cuda.stream(), cuda.event()
        double[1, 64, stream](on_second)
    seen = []
    event.record(stream)
    stream.add_callback(lambda stream, status, arg: seen.append((status, arg)), 5)
    event.synchronize()
    stream.synchronize()
    assert event.query()
    assert seen == [(0, 5)]

    async def wait():
        waiting = stream.async_done()
        fake_driver.run_pending()
        assert await waiting is stream

    asyncio.run(wait())
    host = np.empty(40, np.int32)
    on_second.copy_to_host(host, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(host, 2 * np.arange(40))


def test_a_stream_of_another_device_is_refused_with_what_helps(double, on_second):
    with cuda.gpus[1]:
        stream = cuda.stream()
    first = cuda.to_device(np.ones(40, np.int32))
    with pytest.raises((DriverError, ValueError)) as raised:
        double[1, 64, stream](first)
    assert str(raised.value).endswith(
        "help: streams and events belong to one device: use those of the selected device, or "
        "select theirs with cuda.select_device(...)"
    )


def test_another_librarys_array_is_on_its_device(fake_driver, double, on_second):
    client = Client()
    contexts = [client.get("cuDevicePrimaryCtxRetain", ordinal) for ordinal in (0, 1)]
    client.call("cuCtxSetCurrent", contexts[1])
    library = Library(client)
    array = InterfaceArray(library, (40,), np.int32)
    library.fill(array, 1)
    shared = cuda.as_cuda_array(array)
    assert shared.device_ordinal == 1
    with cuda.gpus[1]:
        double[1, 64](array)
        double[1, 64](shared)
    assert (shared.copy_to_host() == 0x04040404).all()
    double[1, 64](array)
    client.call("cuCtxSetCurrent", contexts[1])
    assert (library.read(array) == 0x08080808).all()
    del shared
    cuda.synchronize()
    client.call("cuCtxSetCurrent", contexts[1])
    array.free()
    library.close()
    for ordinal in (0, 1):
        client.call("cuDevicePrimaryCtxRelease_v2", ordinal)


def test_the_interface_of_an_array_waits_for_its_device(fake_driver, double, on_second):
    with cuda.gpus[1]:
        stream = cuda.stream()
        double[1, 64, stream](on_second)
    fake_driver.calls.clear()
    assert on_second.__cuda_array_interface__["stream"] == 1
    names = names_of_calls(fake_driver)
    assert "cuStreamWaitEvent" in names
    assert cuda.get_current_device().id == 0
    cuda.gpus[1].synchronize()


def test_devices_are_listed_and_selected(driver, capsys):
    assert [device.id for device in cuda.list_devices()] == [0, 1]
    assert [device.id for device in cuda.gpus.lst] == [0, 1]
    assert cuda.gpus.current.id == 0
    assert cuda.select_device(1).id == 1
    assert cuda.current_context().device.id == 1
    with cuda.gpus[0], cuda.gpus[1]:
        assert cuda.gpus.current.id == 1
    assert cuda.gpus.current.id == 1
    cuda.select_device(0)
    with pytest.raises(DeviceIndexError, match="there is no device 2"):
        cuda.select_device(2)
    assert cuda.detect()
    text = capsys.readouterr().out
    assert "Found 2 CUDA devices" in text
    assert "2/2 devices are supported" in text
    context = cuda.current_context()
    assert context.can_access_peer(1)
    context.push()
    context.pop()


def test_cleanup_is_deferred_on_both(fake_driver, driver):
    array = cuda.to_device(np.arange(3))
    with cuda.gpus[1]:
        on_second = cuda.to_device(np.arange(3))
    with cuda.defer_cleanup():
        fake_driver.calls.clear()
        del array, on_second
        assert "cuMemFreeAsync" not in names_of_calls(fake_driver)
    assert names_of_calls(fake_driver).count("cuMemFreeAsync") == 2


def test_a_device_gives_its_memory_back(fake_driver, driver):
    with cuda.gpus[1]:
        array = cuda.to_device(np.arange(3))
    assert fake_driver.devices[1].used_bytes
    del array
    cuda.gpus[1].reset()
    assert fake_driver.devices[1].used_bytes == 0
    assert cuda.to_device(np.arange(3)).copy_to_host().tolist() == [0, 1, 2]


def test_host_memory_is_for_both(double):
    mapped = cuda.mapped_array(40, np.int32)
    managed = cuda.managed_array(40, np.int32)
    pinned = cuda.pinned_array(40, np.int32)
    for array in (mapped, managed, pinned):
        array[:] = 1
    for device in cuda.gpus:
        with device:
            double[1, 64](mapped)
            double[1, 64](managed)
            double[1, 64](pinned)
            cuda.synchronize()
    for array in (mapped, managed, pinned):
        assert (array == 4).all()
    with cuda.pinned(np.zeros(3)):
        pass
    host = np.ones(40, np.int32)
    with cuda.mapped(host) as device_array:
        double[1, 64](device_array)
        cuda.synchronize()
    assert (host == 2).all()


def test_the_per_thread_default_stream_is_used(double):
    stream = cuda.per_thread_default_stream()
    array = cuda.to_device(np.ones(40, np.int32))
    double[1, 64, stream](array)
    host = np.empty(40, np.int32)
    array.copy_to_host(host, stream=stream)
    stream.synchronize()
    assert (host == 2).all()
