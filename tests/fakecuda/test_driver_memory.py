from __future__ import annotations

import ctypes
import threading
from unittest import mock

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core.driver_cuda import CudaDriver, contexts, retirement
from pygpulib.core.driver_cuda.pools import StreamOrderedPool
from pygpulib.core.memory import Buffer
from pygpulib.errors import ArgumentError, DeviceError, DeviceMemoryError, PyGpuLibWarning
from tests.fakecuda.client import Client
from tests.fakecuda.devices import cuda_in_use, names_of_calls
from tests.fakecuda.driver import Code

MIB = 1 << 20


@pytest.fixture(params=["pool", "cache"])
def allocator(request, monkeypatch):
    """Both ways to get memory."""
    settings = contexts.config
    monkeypatch.setattr(settings, "memory_pool", request.param == "pool")
    return request.param


@pytest.fixture
def driver(fake_driver, allocator):
    with cuda_in_use(fake_driver) as driver:
        yield driver


@pytest.fixture
def pool_driver(fake_driver):
    with cuda_in_use(fake_driver) as driver:
        yield driver


def frees(fake):
    """Return the streams on which memory was given back."""
    return [call.stream for call in fake.calls.named("cuMemFreeAsync")]


def refused(fake):
    """Return the calls that failed; to be told that something goes on is no failure."""
    return [call for call in fake.calls.failed() if call.status != Code.NOT_READY]


# ------------------------------------------------------------------------------------ allocation


@pytest.mark.parametrize("size", [0, 1, 255, 1000, MIB])
def test_memory_is_aligned_and_belongs_to_one_owner(driver, size):
    blocks = [Buffer.allocate(driver, size) for _ in range(4)]
    assert all(block.address % 256 == 0 for block in blocks)
    assert len({block.address for block in blocks}) == 4


@pytest.mark.fake_gpus(memory_bytes=4 * MIB)
def test_memory_is_used_again(fake_driver, driver, allocator):
    for _ in range(20):
        array = cuda.device_array(MIB, np.uint8)
        array[:] = 1
        assert array[5] == 1
        del array
    if allocator == "cache":
        assert len(fake_driver.calls.named("cuMemAlloc")) == 1


def test_what_is_given_back_stays_until_the_work_before_it_is_done(fake_driver, driver):
    # The fake devices complain about every use of memory that is not there any more.
    host = cuda.pinned_array(1000, np.int32)
    host[:] = range(1000)
    result = cuda.device_array(1000, np.int32)
    for _ in range(5):
        first = cuda.to_device(host)
        result.copy_to_device(first)
        del first
    np.testing.assert_array_equal(result.copy_to_host(), range(1000))


def test_an_array_used_on_two_streams_is_given_back_behind_both(fake_driver, pool_driver):
    one, two = cuda.stream(), cuda.stream()
    array = cuda.device_array(100, np.int32, stream=one)
    one.synchronize()
    target = cuda.device_array(100, np.int32, stream=two)
    target.copy_to_device(array, stream=two)
    other = cuda.device_array(100, np.int32, stream=one)
    other.copy_to_device(array, stream=one)
    fake_driver.calls.clear()
    del array
    (reaper,) = frees(fake_driver)
    assert reaper not in (0, one.handle, two.handle)
    waits = fake_driver.calls.named("cuStreamWaitEvent")
    assert [call.stream for call in waits] == [reaper, reaper]
    recorded = {call.stream for call in fake_driver.calls.named("cuEventRecord")}
    assert recorded == {one.handle, two.handle}


def test_a_program_with_one_stream_gives_back_on_that_stream(fake_driver, pool_driver):
    stream = cuda.stream()
    array = cuda.to_device(np.arange(100), stream=stream)
    del array
    assert frees(fake_driver) == [stream.handle]
    assert not fake_driver.calls.named("cuStreamWaitEvent")


def test_after_waiting_for_the_device_no_stream_counts_as_busy(fake_driver, pool_driver):
    one, two = cuda.stream(), cuda.stream()
    array = cuda.to_device(np.arange(10), stream=one)
    other = cuda.to_device(np.arange(10), stream=two)
    cuda.synchronize()
    del array
    assert frees(fake_driver) == [one.handle]
    del other


def test_memory_outlives_the_stream_it_was_made_for(driver):
    stream = cuda.stream()
    array = cuda.to_device(np.arange(100), stream=stream)
    stream.synchronize()
    array = array.bind(0)
    del stream
    np.testing.assert_array_equal(array.copy_to_host(), range(100))


def test_a_stream_that_is_dropped_at_work_finishes_it(fake_driver, driver):
    pinned = cuda.pinned_array(100, np.int64)
    pinned[:] = range(100)
    stream = cuda.stream()
    array = cuda.to_device(pinned, stream=stream)
    target = cuda.device_array(100, np.int64)
    target.copy_to_device(array, stream=stream)
    del stream, array, pinned
    cuda.synchronize()
    np.testing.assert_array_equal(target.copy_to_host(), range(100))


def test_streams_of_others_may_vanish(fake_driver, driver):
    driver.synchronize()
    client = Client()
    client.call("cuCtxSetCurrent", driver.contexts.current().handle)
    number = client.stream()
    foreign = cuda.external_stream(number)
    array = cuda.to_device(np.arange(10), stream=foreign)
    client.call("cuStreamDestroy_v2", number)
    del array
    assert refused(fake_driver) == []


def test_each_threads_own_default_stream_is_waited_for(fake_driver, pool_driver):
    arrays = []

    def work():
        stream = cuda.per_thread_default_stream()
        array = cuda.to_device(np.arange(10), stream=stream)
        target = cuda.device_array(10, np.int64, stream=stream)
        target.copy_to_device(array, stream=stream)
        arrays.extend([array, target])

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    del arrays[:], work
    assert len(set(frees(fake_driver))) == 1
    assert refused(fake_driver) == []


# ----------------------------------------------------------------------------------- no memory


@pytest.mark.fake_gpus(memory_bytes=4 * MIB)
def test_cached_memory_is_given_back_before_an_allocation_fails(driver):
    for _ in range(3):
        array = cuda.device_array(3 * MIB, np.uint8)
        del array
        array = cuda.device_array(2 * MIB, np.uint8)
        del array


@pytest.mark.parametrize("make", [cuda.device_array, cuda.pinned_array, cuda.managed_array])
@pytest.mark.parametrize("length", [2**60, 2**61 + 1, 2**64 + 3])
def test_more_memory_than_addresses_is_refused(driver, make, length):
    # A part of such a size would be all that the driver sees.
    with pytest.raises(DeviceMemoryError, match=f"an array of {8 * length:,} bytes"):
        make(length)


@pytest.mark.fake_gpus(memory_bytes=4 * MIB)
def test_no_memory_is_told_with_the_numbers(driver):
    held = cuda.device_array(MIB, np.uint8)
    with pytest.raises(DeviceMemoryError) as raised:
        cuda.device_array(8 * MIB, np.uint8)
    first, second, third, help_line = str(raised.value).splitlines()
    assert first == "there is no device memory left for an array of 8,388,608 bytes"
    assert second == "3,145,728 of 4,194,304 bytes are free"
    assert third.endswith(" returned CUDA_ERROR_OUT_OF_MEMORY (2)")
    assert help_line == "help: delete arrays that are no longer needed, or work on smaller pieces"
    assert raised.value.code == 2
    assert isinstance(raised.value, MemoryError)
    del held


@pytest.mark.fake_gpus(memory_bytes=16 * MIB)
def test_trimming_gives_the_memory_of_the_device_back(fake_driver, driver):
    array = cuda.device_array(2 * MIB, np.uint8)
    assert cuda.current_context().get_memory_info().free == 14 * MIB
    del array
    cuda.current_context().reset()
    driver.synchronize()
    assert tuple(cuda.current_context().get_memory_info()) == (16 * MIB, 16 * MIB)


@pytest.mark.fake_gpus(memory_bytes=16 * MIB)
def test_a_quarter_of_the_memory_is_kept_for_reuse(fake_driver, driver, allocator):
    if allocator == "pool":
        driver.contexts.current().allocate(1, 0)
        context = driver.contexts.current()
        value = ctypes.c_uint64()
        fetch = ctypes.CDLL("libcuda.so.1").cuMemPoolGetAttribute
        fetch(ctypes.c_void_p(context.pool.handle), 4, ctypes.byref(value))
        assert value.value == 4 * MIB
        driver.contexts.current().free(
            int(fake_driver.calls.named("cuMemAllocFromPoolAsync")[0].arguments["dptr"])
        )
        return
    arrays = [cuda.device_array(MIB, np.uint8) for _ in range(10)]
    del arrays
    driver.synchronize()
    assert cuda.current_context().get_memory_info().free == 12 * MIB


def test_a_block_given_back_on_one_stream_is_waited_for_by_another(
    fake_driver, monkeypatch, pool_driver
):
    monkeypatch.setattr(contexts.config, "memory_pool", False)
    one, two = cuda.stream(), cuda.stream()
    first = cuda.to_device(np.arange(100), stream=one)
    address = first.address
    del first
    fake_driver.calls.clear()
    second = cuda.device_array(100, np.int64, stream=two)
    assert second.address == address
    assert [call.stream for call in fake_driver.calls.named("cuStreamWaitEvent")] == [two.handle]
    del second


def test_many_threads_allocate_copy_and_free(fake_driver, driver):
    failures = []

    def work(number):
        stream = cuda.stream() if number % 2 else 0
        host = np.arange(100) + number
        for _ in range(15):
            array = cuda.to_device(host, stream=stream)
            target = cuda.device_array(100, np.int64, stream=stream)
            target.copy_to_device(array, stream=stream)
            del array
            got = target.copy_to_host(stream=stream)
            if stream:
                stream.synchronize()
            if not (got == host).all():
                failures.append(number)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert refused(fake_driver) == []
    del threads, thread


# ------------------------------------------------------------------------------------ finalizers


def test_memory_is_given_back_from_any_thread(fake_driver, driver):
    arrays = [cuda.to_device(np.arange(10)) for _ in range(8)]

    def drop():
        while arrays:
            arrays.pop()

    thread = threading.Thread(target=drop)
    thread.start()
    thread.join()
    assert refused(fake_driver) == []


def test_a_function_that_a_stream_calls_only_queues_what_is_given_back(fake_driver, driver):
    arrays = [cuda.to_device(np.arange(10))]
    stream = cuda.stream()
    stream.add_callback(lambda *_: arrays.clear())
    stream.synchronize()
    assert arrays == []
    assert refused(fake_driver) == []


def test_nothing_is_given_back_while_cleaning_up_is_put_off(fake_driver, pool_driver):
    array = cuda.to_device(np.arange(10))
    with cuda.defer_cleanup():
        del array
        assert frees(fake_driver) == []
    assert frees(fake_driver) == [0]


def test_the_current_device_stays_while_another_ones_memory_is_given_back(monkeypatch):
    from tests.fakecuda.driver import FakeCuda

    with FakeCuda(device_count=2) as fake, cuda_in_use(fake):
        array = cuda.to_device(np.arange(10))
        with cuda.gpus[1]:
            cuda.to_device(np.arange(3)).copy_to_host()
            client = Client()
            before = client.get("cuCtxGetCurrent")
            del array
            assert client.get("cuCtxGetCurrent") == before


def test_a_failure_to_give_back_is_a_warning(fake_driver, pool_driver):
    array = cuda.to_device(np.arange(10))
    fake_driver.fail("cuMemFreeAsync", Code.UNKNOWN)
    with pytest.warns(PyGpuLibWarning, match=r"could not free device memory.*CUDA_ERROR_UNKNOWN"):
        del array


def test_memory_that_another_thread_takes_at_once_is_still_known():
    library = mock.Mock()
    library.cuMemAllocFromPoolAsync = lambda place, *_: setattr(place._obj, "value", 4096)
    pool = StreamOrderedPool(library, 0, mock.Mock(), 0)
    address = pool.allocate(8, 0)
    # The driver has one address, which is taken as soon as it is free.
    library.cuMemFreeAsync = lambda *_: pool.allocate(8, 0)
    pool.free(address)
    assert pool.owns(address)
    library.cuMemFreeAsync = lambda *_: None
    pool.free(address)
    assert not pool.owns(address)


def test_a_forked_child_gives_nothing_back(fake_driver, pool_driver, monkeypatch):
    array = cuda.to_device(np.arange(10))
    monkeypatch.setattr(retirement.os, "getpid", lambda: -1)
    del array
    assert frees(fake_driver) == []
    monkeypatch.undo()
    pool_driver.trim()
    assert frees(fake_driver) == [0]


# ----------------------------------------------------------------------------------- host memory


def test_pinned_memory_is_known_to_the_driver(fake_driver, driver):
    host = cuda.pinned_array((3, 4), np.float32)
    (call,) = fake_driver.calls.named("cuMemHostAlloc")
    assert call.arguments["bytesize"] == 48
    assert driver.host_address(host[1:, ::2]) == host[1:, ::2].__array_interface__["data"][0]
    assert driver.host_address(np.zeros(3)) is None


def test_pinned_memory_is_freed_with_its_last_view(fake_driver, driver):
    view = cuda.pinned_array(10, np.int32)[3:5]
    view[:] = 1
    assert not fake_driver.calls.named("cuMemFreeHost")
    del view
    assert len(fake_driver.calls.named("cuMemFreeHost")) == 1


def test_managed_memory_is_freed_behind_the_work_that_uses_it(fake_driver, driver):
    managed = cuda.managed_array(100, np.int32)
    managed[:] = range(100)
    device = cuda.device_array(100, np.int32)
    device.copy_to_device(managed)
    del managed
    np.testing.assert_array_equal(device.copy_to_host(), range(100))
    assert len(fake_driver.calls.named("cuMemAllocManaged")) == 1


def test_managed_memory_is_pinned_memory_where_the_host_must_keep_out(fake_driver, driver):
    numbers = fake_driver.devices[0].attributes
    concurrent = 89
    assert concurrent in numbers
    numbers[concurrent] = 0
    managed = cuda.managed_array(10, np.int32)
    managed[:] = 3
    assert names_of_calls(fake_driver).count("cuMemHostAlloc") == 1
    assert "cuMemAllocManaged" not in names_of_calls(fake_driver)


def test_mapped_memory_is_the_hosts_own(fake_driver, driver):
    host = np.arange(12.0).reshape(3, 4)
    with cuda.mapped(host) as device:
        device[1, 2] = 50
        driver.synchronize()
        assert device[1, 2] == 50
        assert device.address == host.__array_interface__["data"][0]
    del device
    assert host[1, 2] == 50
    assert len(fake_driver.calls.named("cuMemHostUnregister")) == 1


def test_memory_cannot_be_mapped_twice_in_part(driver):
    host = np.arange(100.0)
    with (
        cuda.mapped(host[:60]) as first,
        pytest.raises(ArgumentError) as raised,
        cuda.mapped(host[40:]),
    ):
        pass
    del first
    assert str(raised.value).startswith("a part of the array's memory is mapped already\n")
    assert "CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED (712)" in str(raised.value)


def test_pinned_memory_is_mapped_as_it_is(fake_driver, driver):
    host = cuda.pinned_array(5, np.int32)
    with cuda.mapped(host) as device:
        device[:] = 4
        driver.synchronize()
    assert (host == 4).all()
    assert not fake_driver.calls.named("cuMemHostRegister")


def test_arrays_are_pinned_inside_a_block(fake_driver, driver):
    one, two = np.arange(5), np.arange(6.0)
    with cuda.pinned(one, two):
        stream = cuda.stream()
        array = cuda.to_device(one, stream=stream)
        stream.synchronize()
        assert len(fake_driver.calls.named("cuMemHostRegister")) == 2
    assert len(fake_driver.calls.named("cuMemHostUnregister")) == 2
    np.testing.assert_array_equal(array.copy_to_host(), one)


# --------------------------------------------------------------------------------- other processes


def test_memory_is_shared_with_other_processes(fake_driver, monkeypatch, pool_driver):
    monkeypatch.setattr(contexts.config, "memory_pool", False)
    driver = pool_driver
    array = cuda.to_device(np.arange(16, dtype=np.int32))
    handle, offset = driver.ipc_handle(array.address + 8)
    assert (len(handle), offset) == (64, 8)
    opened = driver.open_ipc(handle, 64)
    assert opened.size_bytes == 64
    del opened
    assert len(fake_driver.calls.named("cuIpcCloseMemHandle")) == 1
    del array


def test_memory_of_a_pool_cannot_be_shared(pool_driver):
    array = cuda.to_device(np.arange(16))
    with pytest.raises(DeviceError) as raised:
        pool_driver.ipc_handle(array.address)
    assert str(raised.value) == (
        "the memory of this array cannot be shared with other processes\n"
        "it comes from one of CUDA's memory pools\n"
        "help: set PYGPULIB_MEMORY_POOL=0 before the program starts"
    )


def test_a_handle_of_the_wrong_length_is_refused(pool_driver):
    with pytest.raises(ArgumentError, match="the handle of device memory has 3 bytes"):
        pool_driver.open_ipc(b"abc", 10)


def test_two_drivers_keep_apart(fake_driver):
    with cuda_in_use(fake_driver) as first:
        second = CudaDriver()
        address = second.allocate(100, 0)
        second.free(address)
        second.close()
        assert first.memory_info(0).free > 0
