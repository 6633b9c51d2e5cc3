import re
import subprocess
import sys
import threading

import pytest

from pygpulib.core import device as devices
from pygpulib.core.driver_null import NullDriver
from pygpulib.errors import DeviceIndexError, NoDeviceError


def test_the_current_device_is_the_first_one():
    device = devices.current_device()
    backend = devices.current_driver().name
    assert device.is_cpu is (backend == "cpu")
    assert device.id == 0
    assert device.name
    assert repr(device) == f"<{backend.upper()} device 0 '{device.name}'>"
    assert device == devices.get_device(0)
    assert hash(device) == hash(devices.get_device(0))


def test_limits_have_cudas_names():
    device = devices.current_device()
    assert device.compute_capability >= (7, 5)
    assert (device.MAX_THREADS_PER_BLOCK, device.WARP_SIZE) == (1024, 32)
    assert (device.MAX_GRID_DIM_X, device.MAX_BLOCK_DIM_Z) == (2**31 - 1, 64)
    assert device.MULTIPROCESSOR_COUNT >= 1
    assert device.supports_float16
    assert device.supports_bfloat16
    assert device.supports_fp8
    with pytest.raises(AttributeError, match=r"^'Device' object has no attribute 'NO_SUCH'$"):
        device.NO_SUCH  # noqa: B018


@pytest.mark.cpu_only("the other process has no simulated GPU")
def test_the_uuid_is_stable_and_in_cudas_form():
    form = r"GPU-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    assert re.fullmatch(form, devices.current_device().uuid)
    code = "from pygpulib.core.device import current_device as c; print(c().uuid)"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == devices.current_device().uuid


def test_memory_info_is_plausible():
    free, total = devices.current_device().memory_info()
    assert 0 < free <= total


def test_each_thread_selects_its_own_device():
    seen = []
    with devices.use_driver(NullDriver(device_count=3)):
        assert devices.select_device(2).id == 2
        thread = threading.Thread(target=lambda: seen.append(devices.current_device().id))
        thread.start()
        thread.join()
        assert devices.current_device().id == 2
        devices.select_device(0)
    assert seen == [0]


def test_a_device_is_current_inside_its_block():
    with devices.use_driver(NullDriver(device_count=3)):
        with devices.get_device(1), devices.get_device(2):
            assert devices.current_device().id == 2
        assert devices.current_device().id == 0


def test_reset_and_synchronize_reach_the_driver():
    driver = NullDriver()
    with devices.use_driver(driver):
        devices.current_device().synchronize()
        devices.current_device().reset()
    assert driver.names() == ["synchronize", "synchronize", "trim"]


@pytest.mark.parametrize("ordinal", [1, -1])
def test_a_device_that_does_not_exist_is_refused(ordinal):
    with pytest.raises(DeviceIndexError) as raised:
        devices.select_device(ordinal)
    assert str(raised.value) == (
        f"there is no device {ordinal}\nthis machine has 1 device, numbered from 0\n"
        "help: cuda.list_devices() shows them"
    )
    assert isinstance(raised.value, IndexError)
    assert isinstance(raised.value, NoDeviceError)


def test_asking_for_cuda_where_there_is_none_says_so(monkeypatch):
    monkeypatch.setenv("PYGPULIB_BACKEND", "cuda")
    monkeypatch.setenv("PYGPULIB_CUDA_LIBRARY", "/nowhere/libcuda.so.1")
    code = (
        "from pygpulib.cuda.devices import is_available, current_backend\n"
        "assert not is_available()\ncurrent_backend()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.endswith(
        "NoDeviceError: there is no CUDA driver on this machine, and PYGPULIB_BACKEND is 'cuda'\n"
        "the library /nowhere/libcuda.so.1 was not found\n"
        "help: install NVIDIA's driver, or set PYGPULIB_CUDA_LIBRARY to the path of the library; "
        "or unset PYGPULIB_BACKEND to run on the processor\n"
    )


def test_importing_arrays_imports_numpy_only():
    code = (
        "import sys, numpy; before = set(sys.modules)\n"
        "import pygpulib.core.array\n"
        "new = {name.partition('.')[0] for name in set(sys.modules) - before}\n"
        "print(sorted(new - {'pygpulib'}))"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    heavy = {"scipy", "llvmlite", "asyncio", "concurrent", "hypothesis"}
    assert not heavy & set(eval(out.stdout))
