"""Plug-ins for device memory and shared arrays where kernels run on the processor."""

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core import memory_managers
from pygpulib.core.device import use_driver
from pygpulib.core.driver_cpu import CpuDriver
from pygpulib.errors import ConfigurationWarning, UnsupportedFeatureError

HELP = (
    "device arrays are shared with other processes on GPUs only\n"
    "help: where kernels run on the processor, put a NumPy array in a block of "
    "multiprocessing.shared_memory, and give that to kernels of both processes"
)


@pytest.fixture(autouse=True)
def _on_the_processor(monkeypatch):
    monkeypatch.setattr(memory_managers, "_registered", [])
    with use_driver(CpuDriver()):
        yield


class Manager(cuda.HostOnlyCUDAMemoryManager):
    interface_version = 1

    def memalloc(self, size):
        raise AssertionError

    initialize = get_ipc_handle = get_memory_info = memalloc


def test_a_plugin_is_accepted_and_not_used():
    with pytest.warns(ConfigurationWarning) as caught:
        cuda.set_memory_manager(Manager)
    assert str(caught[0].message) == (
        "the memory manager Manager is not used: kernels run on the processor, and arrays lie in "
        "the memory of the host"
    )
    assert cuda.to_device(np.arange(3)).copy_to_host().tolist() == [0, 1, 2]


def test_arrays_are_not_shared_with_other_processes():
    with pytest.raises(UnsupportedFeatureError) as raised:
        cuda.to_device(np.arange(3)).get_ipc_handle()
    assert str(raised.value) == HELP
    with pytest.raises(UnsupportedFeatureError) as raised, cuda.open_ipc_array(b"", 3, np.int8):
        pass
    assert str(raised.value) == HELP
