"""Device memory from plug-ins, and for other processes."""

from __future__ import annotations

import ctypes
import pickle
import sys
import types
import weakref

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core import memory_managers
from pygpulib.core.driver_cuda import contexts
from pygpulib.errors import (
    ArgumentError,
    DeviceError,
    DeviceMemoryError,
    DeviceMismatchError,
    MemoryManagerError,
)
from tests.fakecuda.client import Client
from tests.fakecuda.devices import cuda_in_use, names_of_calls


@pytest.fixture(autouse=True)
def _no_plugin(monkeypatch):
    monkeypatch.setattr(memory_managers, "_registered", [])


@pytest.fixture
def driver(fake_driver):
    with cuda_in_use(fake_driver) as driver:
        yield driver


class Pool:
    """An allocator as another library has it."""

    def __init__(self):
        self.client = Client()
        self.sizes = {}
        self.largest = 1 << 20
        self.deferring = 0

    def take(self, size):
        if size > self.largest:
            raise MemoryError("std::bad_alloc")
        address = self.client.allocate(size)
        self.sizes[address] = size
        return address

    def give(self, address):
        del self.sizes[address]
        self.client.call("cuMemFree_v2", address)


@pytest.fixture
def plugin(driver):
    """A plug-in as RMM's is written."""
    pool = Pool()

    class Manager(cuda.GetIpcHandleMixin, cuda.HostOnlyCUDAMemoryManager):
        made = 0

        def initialize(self):
            type(self).made += 1

        def memalloc(self, size):
            address = pool.take(size)
            self.allocations[address] = size

            def finalize():
                pool.give(address)

            return cuda.MemoryPointer(
                weakref.proxy(self.context), ctypes.c_uint64(address), size, finalizer=finalize
            )

        def get_memory_info(self):
            raise NotImplementedError

        @property
        def interface_version(self):
            return 1

    Manager.pool = pool
    return Manager


@pytest.fixture
def double(driver):
    @cuda.jit
    def double(values):
        i = cuda.grid(1)
        if i < values.size:
            values[i] += values[i]

    return double


def test_a_plugin_allocates(fake_driver, plugin, double):
    cuda.set_memory_manager(plugin)
    array = cuda.to_device(np.arange(40, dtype=np.int32))
    assert plugin.pool.sizes == {array.address: 160}
    for _ in range(3):
        double[1, 64](array)
    np.testing.assert_array_equal(array.copy_to_host(), 8 * np.arange(40))
    assert "cuMemAllocFromPoolAsync" not in names_of_calls(fake_driver)
    assert plugin.made == 1
    assert cuda.current_context().get_memory_info().total == fake_driver.devices[0].memory_bytes


@pytest.mark.parametrize("is_own", [False, True])
def test_memory_goes_back_when_kernels_are_done(fake_driver, plugin, double, is_own):
    cuda.set_memory_manager(plugin)
    stream = cuda.stream() if is_own else 0
    array = cuda.device_array(40, np.int32)
    double[1, 64, stream](array)
    cuda.synchronize()
    double[1, 64, stream](array)
    del array
    if fake_driver.deferred:
        assert plugin.pool.sizes
    cuda.synchronize()
    assert not plugin.pool.sizes


def test_memory_that_is_there_already_stays(plugin, double):
    old = cuda.to_device(np.arange(40, dtype=np.int32))
    cuda.set_memory_manager(plugin)
    new = cuda.to_device(old.copy_to_host())
    assert list(plugin.pool.sizes) == [new.address]
    double[1, 64](old)
    del old
    np.testing.assert_array_equal(new.copy_to_host(), np.arange(40))
    cuda.close()


def test_a_plugin_without_memory_is_asked_again_and_reported(plugin):
    cuda.set_memory_manager(plugin)
    with pytest.raises(DeviceMemoryError) as raised:
        cuda.device_array(1 << 21, np.int8)
    assert str(raised.value).startswith("there is no device memory left for an array of 2,097,152")
    assert "std::bad_alloc" in str(raised.value.__cause__)


def test_the_memory_a_plugin_tells_of_is_told(plugin):
    plugin.get_memory_info = lambda self: cuda.MemoryInfo(5, 7)
    cuda.set_memory_manager(plugin)
    array = cuda.device_array(3)
    assert cuda.current_context().get_memory_info() == (5, 7)
    del array


def test_a_plugin_defers(plugin):
    cuda.set_memory_manager(plugin)
    array = cuda.device_array(3)
    with cuda.defer_cleanup():
        del array
        cuda.synchronize()
        assert plugin.pool.sizes
    cuda.synchronize()
    assert not plugin.pool.sizes


def test_a_plugin_of_another_version_is_refused(plugin):
    plugin.interface_version = 2
    with pytest.raises(RuntimeError) as raised:
        cuda.set_memory_manager(plugin)
    assert str(raised.value) == (
        "the memory manager Manager is for version 2 of the interface\n"
        "EMM Plugin interface has version 2 - version 1 required\n"
        "help: install a version of its library that goes with this one"
    )


def test_a_plugin_needs_a_context(plugin):
    with pytest.raises(MemoryManagerError, match="Memory manager requires a context"):
        plugin()
    manager = plugin(context=None)
    assert manager.memhostalloc(10).nbytes == 10
    manager.reset()


def test_a_plugin_is_named_by_the_environment(plugin, monkeypatch):
    module = types.ModuleType("their_memory")
    module._numba_memory_manager = plugin
    monkeypatch.setitem(sys.modules, "their_memory", module)
    monkeypatch.setattr(
        memory_managers, "config", types.SimpleNamespace(cuda_memory_manager="their_memory")
    )
    array = cuda.device_array(3)
    assert list(plugin.pool.sizes) == [array.address]
    del array


def test_a_module_without_a_plugin_is_reported(driver, monkeypatch):
    monkeypatch.setattr(
        memory_managers, "config", types.SimpleNamespace(cuda_memory_manager="no_such_module")
    )
    with pytest.raises(MemoryManagerError) as raised:
        cuda.device_array(3)
    assert str(raised.value) == (
        "the memory manager 'no_such_module' cannot be used\n"
        "PYGPULIB_CUDA_MEMORY_MANAGER names it; No module named 'no_such_module'\n"
        "help: name a module that has _numba_memory_manager, or unset the variable"
    )


def test_arrays_are_made_over_memory_of_others(plugin, double):
    pool = plugin.pool
    cuda.synchronize()
    address = pool.take(160)
    memory = cuda.MemoryPointer(
        None, ctypes.c_uint64(address), 160, finalizer=lambda: pool.give(address)
    )
    array = cuda.devicearray.DeviceNDArray((40,), (4,), np.int32, gpu_data=memory)
    array[:] = 1
    double[1, 64](array)
    assert (array.copy_to_host() == 2).all()
    del memory
    assert pool.sizes
    del array
    assert not pool.sizes


# ---------------------------------------------------------------------------- between processes


@pytest.fixture
def shareable(monkeypatch):
    monkeypatch.setattr(contexts.config, "memory_pool", False)


def test_an_array_is_opened_by_its_handle(fake_driver, shareable, driver):
    array = cuda.to_device(np.arange(24, dtype=np.int32).reshape(4, 6))
    handle = pickle.loads(pickle.dumps(array[1:, ::-2].get_ipc_handle()))
    with handle as opened:
        np.testing.assert_array_equal(opened.copy_to_host(), array.copy_to_host()[1:, ::-2])
        opened[0] = 7
        with pytest.raises(ArgumentError, match="the handle of a shared array is open already"):
            handle.open()
    del opened
    assert (array[1, ::-2].copy_to_host() == 7).all()
    assert len(fake_driver.calls.named("cuIpcCloseMemHandle")) == 1


def test_a_bare_handle_is_opened(shareable, driver):
    array = cuda.to_device(np.arange(24, dtype=np.int32))
    handle = array.get_ipc_handle().handle
    signed = [number - 256 if number > 127 else number for number in handle.handle]
    with cuda.open_ipc_array(signed, (5,), np.int32, offset=8) as opened:
        assert opened.copy_to_host().tolist() == [2, 3, 4, 5, 6]
    del opened
    with cuda.open_ipc_array(handle.handle, (3,), np.int32, strides=(8,)) as opened:
        assert opened.copy_to_host().tolist() == [0, 2, 4]
    del opened


def test_memory_of_a_pool_is_not_shared(driver):
    with pytest.raises(DeviceError, match="cannot be shared with other processes"):
        cuda.to_device(np.arange(3)).get_ipc_handle()


def test_memory_of_a_plugin_is_shared(plugin):
    cuda.set_memory_manager(plugin)
    array = cuda.to_device(np.arange(3))
    with array.get_ipc_handle() as opened:
        assert opened.copy_to_host().tolist() == [0, 1, 2]
    del opened


def test_a_device_that_is_not_seen_is_reported(shareable, driver):
    handle = cuda.to_device(np.arange(3)).get_ipc_handle()
    handle.uuid = "GPU-of-another-machine"
    with pytest.raises(DeviceMismatchError) as raised:
        handle.open()
    assert str(raised.value) == (
        "a shared array is on a device that this process does not see\n"
        "its device is GPU-of-another-machine\n"
        "help: CUDA_VISIBLE_DEVICES must name the same devices in both processes"
    )


def test_what_is_no_handle_is_refused(driver):
    with (
        pytest.raises(ArgumentError, match="the handle of device memory has 3 bytes"),
        cuda.open_ipc_array(b"abc", (3,), np.int32),
    ):
        pass
