"""Every function of the driver fails once: what the user is told, and what is left behind."""

from __future__ import annotations

import ctypes
import gc
import warnings

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib._bindings.cuda_driver import FUNCTIONS
from pygpulib.core.device import use_driver
from pygpulib.core.driver import LaunchShape
from pygpulib.core.driver_cuda import CudaDriver, contexts
from pygpulib.errors import DeviceError, NoDeviceError, PyGpuLibWarning
from tests.fakecuda import programs
from tests.fakecuda.devices import cuda_in_use
from tests.fakecuda.driver import Code, FakeCuda

# Functions that give things back. If one of these fails, what it was to give back stays.
DISPOSALS = {
    "cuCtxPopCurrent_v2",
    "cuCtxPushCurrent_v2",
    "cuDevicePrimaryCtxRelease_v2",
    "cuEventDestroy_v2",
    "cuIpcCloseMemHandle",
    "cuMemFreeAsync",
    "cuMemFreeHost",
    "cuMemFree_v2",
    "cuMemHostUnregister",
    "cuMemPoolDestroy",
    "cuModuleUnload",
    "cuStreamDestroy_v2",
}
# Called at the start, where a failure means that there is no device.
AT_START = {"cuInit", "cuDriverGetVersion", "cuDeviceGetCount", "cuDeviceGet"}
# Failures that are answers, or that only change what an error says.
ANSWERS = {"cuGetErrorString", "cuGetErrorName"}
# Not part of what arrays, streams and kernels need.
UNUSED = {
    "cuCtxDisablePeerAccess",
    "cuCtxEnablePeerAccess",
    "cuCtxGetCurrent",
    "cuCtxGetLimit",
    "cuCtxSetLimit",
    "cuDeviceCanAccessPeer",
    "cuDeviceGetPCIBusId",
    "cuDeviceTotalMem_v2",
    "cuLinkAddData_v2",
    "cuLinkComplete",
    "cuLinkCreate_v2",
    "cuLinkDestroy",
    "cuMemPoolGetAttribute",
    "cuMemPoolSetAccess",
    "cuMemcpyPeerAsync",
    "cuPointerGetAttribute",
    "cuProfilerStart",
    "cuProfilerStop",
    "cuStreamQuery",
}


def launch(driver, array, stream, cooperative):
    function = driver.load_image(programs.FILL.encode(), "fill")
    driver.function_attribute(function, "NUM_REGS")
    driver.set_dynamic_shared_limit(function, 1024)
    driver.max_active_blocks(function, 32, 0)
    values = ctypes.c_uint64(array.address), ctypes.c_uint32(array.size), ctypes.c_int32(0)
    addresses = (ctypes.c_void_p * 3)(*map(ctypes.addressof, values))
    shape = LaunchShape((4, 1, 1), (32, 1, 1))
    where = ctypes.addressof(addresses)
    driver.launch_function(function, shape, where, stream, cooperative=cooperative)
    driver.unload_image(function)


def share(driver, array):
    handle, _ = driver.ipc_handle(array.address)
    del array
    return driver.open_ipc(handle, 100)


def use_everything(driver):
    """Use arrays, streams, events and kernels in all ways that differ for the driver."""
    assert driver.device_properties(0).attributes
    host = np.arange(60, dtype=np.int32).reshape(3, 4, 5)
    stream, event, end = cuda.stream(), cuda.event(), cuda.event(timing=False)
    array = cuda.to_device(host, stream=stream)
    event.record(stream)
    other = cuda.stream()
    event.wait(other)
    target = cuda.device_array_like(array)
    target[...] = array
    _ = target[:, 1:, 2].copy_to_host(stream=other)
    _ = target[:, ::2, ::2].copy_to_host()
    _ = target[0, :, 2].copy_to_host()
    target[::2, 1:3, 1:3] = host[::2, 1:3, 1:3]
    for dtype in (np.int8, np.int16, np.int32):
        cuda.device_array(10, dtype)[...] = 258 % 127
    launch(driver, target, stream.handle, False)
    launch(driver, target, stream.handle, True)
    event.query()
    event.synchronize()
    cuda.event_elapsed_time(event, event)
    end.record(other)
    stream.add_callback(lambda *_: None)
    stream.synchronize()
    with cuda.mapped(np.arange(10)) as mapped:
        mapped[:] = 3
    managed = cuda.managed_array(5, np.int32)
    pinned = cuda.pinned_array(5, np.int32)
    cuda.to_device(pinned, stream=other)
    del managed, pinned, array, stream
    function = driver.load_image(programs.VARIABLE.encode(), "add")
    driver.global_variable(function, "total")
    driver.unload_image(function)
    cuda.current_context().get_memory_info()
    cuda.synchronize()
    cuda.current_context().reset()


def use_old_allocator(driver):
    """Use what needs memory of cuMemAlloc."""
    one, two = cuda.stream(), cuda.stream()
    first = cuda.to_device(np.arange(100), stream=one)
    opened = share(driver, first)
    del opened, first
    second = cuda.to_device(np.arange(100), stream=two)
    second.copy_to_host(stream=one)
    del second
    cuda.synchronize()
    cuda.current_context().reset()


assert (
    cuda_in_use
)  # imported, so that the process's own driver is chosen before there is a fake one

SCENARIOS = {"everything": (use_everything, True), "old allocator": (use_old_allocator, False)}


def run(fake, scenario, monkeypatch, failing="", call=1):
    """Return the error of a scenario in which one call fails, and the warnings."""
    function, has_pool = SCENARIOS[scenario]
    monkeypatch.setattr(contexts.config, "memory_pool", has_pool)
    driver = None
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        if failing:
            fake.fail(failing, Code.OPERATING_SYSTEM, on_call=call)
        try:
            driver = CudaDriver()
            with use_driver(driver):
                function(driver)
            error = None
        except DeviceError as raised:
            error = raised
            error.__traceback__ = None
            if error.__cause__ is not None:
                error.__cause__.__traceback__ = None
            error.__context__ = None
        gc.collect(1)
        if driver is not None:
            try:
                driver.close()
            except DeviceError as raised:
                error = error or raised
    return error, [w for w in caught if issubclass(w.category, PyGpuLibWarning)]


def called(scenario):
    """Return how often a scenario calls each function."""
    counts: dict[str, int] = {}
    with FakeCuda(use_assembler=False) as fake, pytest.MonkeyPatch.context() as patch:
        error, caught = run(fake, scenario, patch)
        assert error is None
        assert caught == []
        assert fake.leaks() == []
        for call in fake.calls:
            counts[call.name] = counts.get(call.name, 0) + 1
    return counts


COUNTS = {scenario: called(scenario) for scenario in SCENARIOS}
CASES = [
    (scenario, name, number)
    for scenario, counts in COUNTS.items()
    for name, count in counts.items()
    for number in sorted({1, (count + 1) // 2, count})
    if name not in ANSWERS
]


def test_the_scenarios_use_every_function():
    used = {name for counts in COUNTS.values() for name in counts}
    assert used | UNUSED | ANSWERS == set(FUNCTIONS)
    assert not used & UNUSED


@pytest.mark.parametrize(("scenario", "name", "number"), CASES)
def test_a_failure_names_what_failed_and_leaves_nothing(scenario, name, number, monkeypatch):
    with FakeCuda(use_assembler=False) as fake:
        error, caught = run(fake, scenario, monkeypatch, name, number)
        told = "\n".join([str(error), *(str(warning.message) for warning in caught)])
        assert f"{name} returned CUDA_ERROR_OPERATING_SYSTEM (304)" in told
        assert FUNCTIONS[name].action in told
        if name in AT_START:
            assert isinstance(error, NoDeviceError)
        elif name in str(error) and not isinstance(error, NoDeviceError):
            assert error.code == Code.OPERATING_SYSTEM
        if name not in DISPOSALS:
            assert fake.leaks() == []
        assert fake.faults == []
        assert fake.internal_errors == []
