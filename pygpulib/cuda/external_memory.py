"""Device memory from plug-ins, and for other processes, under numba's names."""

from __future__ import annotations

import warnings
from typing import Any

from pygpulib.core import memory_managers
from pygpulib.core.device import current_device
from pygpulib.core.driver import MemoryInfo
from pygpulib.core.ipc import IpcArrayHandle, IpcHandle, open_ipc_array
from pygpulib.core.memory_managers import (
    BaseCUDAMemoryManager,
    GetIpcHandleMixin,
    HostOnlyCUDAMemoryManager,
    MemoryPointer,
)
from pygpulib.errors import ConfigurationWarning

__all__ = [
    "BaseCUDAMemoryManager",
    "GetIpcHandleMixin",
    "HostOnlyCUDAMemoryManager",
    "IpcArrayHandle",
    "IpcHandle",
    "MemoryInfo",
    "MemoryPointer",
    "open_ipc_array",
    "set_memory_manager",
]


def set_memory_manager(mm_plugin: Any) -> None:  # noqa: ANN401
    """Let a plug-in allocate the device memory of all arrays from now on.

    Parameters
    ----------
    mm_plugin : type
        The plug-in, for example RMM's; derives from `BaseCUDAMemoryManager`.

    Raises
    ------
    MemoryManagerError
        If it is for another version of the interface.

    Warns
    -----
    ConfigurationWarning
        If kernels run on the processor, where arrays lie in the memory of the host.
    """
    memory_managers.set_memory_manager(mm_plugin)
    if current_device().is_cpu:
        warnings.warn(
            f"the memory manager {mm_plugin.__name__} is not used: kernels run on the processor, "
            "and arrays lie in the memory of the host",
            ConfigurationWarning,
            stacklevel=2,
        )
