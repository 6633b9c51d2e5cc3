from __future__ import annotations

import asyncio
import ctypes
import gc

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib._bindings.cuda_constants import STATUS_NAMES
from pygpulib.core.device import use_driver
from pygpulib.core.driver import LaunchShape
from pygpulib.core.driver_cuda import CudaDriver
from pygpulib.core.driver_cuda.modules import ImageOptions
from pygpulib.errors import (
    DeviceLostError,
    DeviceMemoryError,
    DriverError,
    ImageError,
    KernelFault,
    LaunchError,
)
from tests.fakecuda import programs
from tests.fakecuda.devices import cuda_in_use
from tests.fakecuda.driver.library import cuda_header

SHAPE = LaunchShape((4, 1, 1), (32, 1, 1))
OPTIONS = cuda_header().enums["CUjit_option"]


@pytest.fixture
def driver(fake_driver):
    with cuda_in_use(fake_driver) as driver:
        yield driver


class Arguments:
    """The addresses of the arguments of FILL."""

    def __init__(self, address, count, first):
        self.values = ctypes.c_uint64(address), ctypes.c_uint32(count), ctypes.c_int32(first)
        self.addresses = (ctypes.c_void_p * 3)(*map(ctypes.addressof, self.values))

    @property
    def address(self):
        return ctypes.addressof(self.addresses)


def fill(driver, function, array, first, stream=0, **more):
    arguments = Arguments(array.address, array.size, first)
    driver.launch_function(function, SHAPE, arguments.address, stream, **more)


@pytest.mark.parametrize("cooperative", [False, True])
def test_a_kernel_is_loaded_and_launched(fake_driver, driver, cooperative):
    function = driver.load_image(programs.FILL.encode(), "fill")
    array = cuda.device_array(100, np.int32)
    fill(driver, function, array, 7, cooperative=cooperative)
    np.testing.assert_array_equal(array.copy_to_host(), 7 + 3 * np.arange(100))
    (launch,) = fake_driver.launches
    assert (launch.grid, launch.block) == (SHAPE.grid, SHAPE.block)


def test_a_kernel_runs_in_the_order_of_its_stream(driver):
    function = driver.load_image(programs.FILL.encode(), "fill")
    stream = cuda.stream()
    array = cuda.device_array(100, np.int32, stream=stream)
    host = cuda.pinned_array(100, np.int32)
    for first in range(3):
        fill(driver, function, array, first, stream.handle)
    array.copy_to_host(host, stream=stream)
    stream.synchronize()
    np.testing.assert_array_equal(host, 2 + 3 * np.arange(100))


def test_memory_given_back_after_a_launch_stays_until_it_is_done(driver):
    function = driver.load_image(programs.FILL.encode(), "fill")
    result = cuda.device_array(100, np.int32)
    for first in range(4):
        array = cuda.device_array(100, np.int32)
        fill(driver, function, array, first)
        result.copy_to_device(array)
        del array
    np.testing.assert_array_equal(result.copy_to_host(), 3 + 3 * np.arange(100))


def test_a_kernel_tells_about_itself(driver):
    function = driver.load_image(programs.SHARED.encode(), "shared")
    assert driver.function_attribute(function, "MAX_THREADS_PER_BLOCK") == 128
    assert driver.function_attribute(function, "SHARED_SIZE_BYTES") == 4096
    assert driver.max_active_blocks(function, 128, 0) >= 1
    driver.set_dynamic_shared_limit(function, 60000)
    assert driver.function_attribute(function, "MAX_DYNAMIC_SHARED_SIZE_BYTES") == 60000


def test_a_variable_of_an_image_is_found(driver):
    function = driver.load_image(programs.VARIABLE.encode(), "add")
    address, size = driver.global_variable(function, "total")
    assert size == 4
    assert address % 4 == 0


def test_the_compiler_is_told_the_options(fake_driver, driver):
    options = ImageOptions(has_line_info=True)
    driver.load_image(programs.NOTHING.encode(), "nothing", options)
    (call,) = fake_driver.calls.named("cuModuleLoadDataEx")
    assert call.arguments["numOptions"] == 3
    names = {number: name for name, number in OPTIONS.items()}
    assert [(names[number], value) for number, value in options.items()] == [
        ("CU_JIT_GENERATE_LINE_INFO", 1)
    ]


def test_an_image_is_dropped(fake_driver, driver):
    function = driver.load_image(programs.NOTHING.encode(), "nothing")
    driver.launch_function(function, SHAPE, 0, 0)
    driver.unload_image(function)
    assert len(fake_driver.calls.named("cuModuleUnload")) == 1


# ---------------------------------------------------------------------------------------- errors


def test_bad_ptx_is_reported_with_what_the_compiler_said(driver):
    with pytest.raises(ImageError) as raised:
        driver.load_image(programs.NONSENSE.encode(), "nonsense")
    lines = str(raised.value).splitlines()
    assert lines[0].startswith("CUDA could not load a kernel: ")
    assert lines[1] == "cuModuleLoadDataEx returned CUDA_ERROR_INVALID_PTX (218)"
    assert "foo" in "\n".join(lines[2:])
    assert raised.value.code == 218


def test_a_kernel_that_is_not_in_the_image_leaves_nothing_behind(fake_driver, driver):
    with pytest.raises(DriverError, match="could not find a kernel") as raised:
        driver.load_image(programs.NOTHING.encode(), "something")
    assert "CUDA_ERROR_NOT_FOUND (500)" in str(raised.value)
    assert len(fake_driver.calls.named("cuModuleUnload")) == 1


def test_a_launch_of_an_impossible_shape_is_refused(driver):
    function = driver.load_image(programs.SHARED.encode(), "shared")
    with pytest.raises(LaunchError) as raised:
        driver.launch_function(function, LaunchShape((1, 1, 1), (2048, 1, 1)), 0, 0)
    assert str(raised.value).startswith("CUDA could not launch a kernel: ")
    assert "cuLaunchKernel returned CUDA_ERROR_" in str(raised.value)


@pytest.mark.parametrize(
    ("code", "kind", "help_text"),
    [
        (2, DeviceMemoryError, None),
        (3, LaunchError, "CUDA does not survive a fork"),
        (701, LaunchError, "use fewer threads in a block"),
        (709, LaunchError, "another library has reset the device"),
        (720, LaunchError, "use fewer blocks"),
        (719, DeviceLostError, "run with PYGPULIB_DEBUG=1"),
        (4711, LaunchError, None),
    ],
)
def test_a_launch_that_fails_says_what_helps(fake_driver, driver, code, kind, help_text):
    function = driver.load_image(programs.NOTHING.encode(), "nothing")
    fake_driver.fail("cuLaunchKernel", code)
    with pytest.raises(kind) as raised:
        driver.launch_function(function, SHAPE, 0, 0)
    assert f"cuLaunchKernel returned {STATUS_NAMES.get(code, 'an unknown status')} ({code})" in str(
        raised.value
    )
    assert raised.value.code == code
    if help_text is None:
        assert "help:" not in str(raised.value)
    else:
        assert f"\nhelp: {help_text}" in str(raised.value)


@pytest.fixture
def doomed(fake_driver):
    """A driver whose device will fail."""
    driver = CudaDriver()
    with use_driver(driver):
        yield driver
    with pytest.raises(DeviceLostError):
        driver.close()


def test_after_a_bad_access_the_device_is_lost(doomed, recwarn):
    driver = doomed
    function = driver.load_image(programs.FILL.encode(), "fill")
    array = cuda.device_array(10, np.int32)
    arguments = Arguments(64, 10, 0)
    driver.launch_function(function, SHAPE, arguments.address, 0)
    with pytest.raises(DeviceLostError) as raised:
        cuda.synchronize()
    text = str(raised.value)
    assert text.splitlines()[0] == (
        "the device failed: a kernel read or wrote memory that it may not: an index is out of "
        "range, or an array is used after its memory was given back"
    )
    assert "CUDA_ERROR_ILLEGAL_ADDRESS (700)" in text
    assert text.endswith(
        "help: run with PYGPULIB_DEBUG=1 to find the place; this process can no longer use "
        "the device: start a new one"
    )
    assert isinstance(raised.value, KernelFault)
    with pytest.raises(DeviceLostError):
        array.copy_to_host()
    with pytest.raises(DeviceLostError):
        cuda.device_array(10)
    with pytest.raises(DeviceLostError):
        cuda.default_stream().add_callback(print)
    # Finalizers are silent: the memory went with the device.
    del array
    gc.collect(1)
    assert [str(warning.message) for warning in recwarn] == []


def test_who_waits_for_a_stream_is_told_that_the_device_failed(fake_driver, doomed):
    async def run(driver):
        function = driver.load_image(programs.FILL.encode(), "fill")
        stream = cuda.stream()
        seen = []
        arguments = Arguments(64, 10, 0)
        driver.launch_function(function, SHAPE, arguments.address, stream.handle)
        try:
            stream.add_callback(lambda stream, status, arg: seen.append(status))
            waiting = stream.async_done()
        except DeviceLostError:
            # Where work is done at once, the next call is told already.
            assert not fake_driver.deferred
            return
        fake_driver.run_pending()
        with pytest.raises(DeviceLostError, match="a kernel read or wrote memory that it may not"):
            await waiting
        assert seen == [700]

    asyncio.run(run(doomed))
