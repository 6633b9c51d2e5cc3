"""The names of numba's ``numba.cuda.cudadrv.driver`` that programs use."""

from __future__ import annotations

from pygpulib.core.device import Device
from pygpulib.core.memory_managers import (
    BaseCUDAMemoryManager,
    GetIpcHandleMixin,
    HostOnlyCUDAMemoryManager,
    MemoryPointer,
)
from pygpulib.core.stream import Event, Stream
from pygpulib.cuda.devices import Context
from pygpulib.errors import CudaAPIError, CudaSupportError, LinkerError

__all__ = [
    "BaseCUDAMemoryManager",
    "Context",
    "CudaAPIError",
    "CudaSupportError",
    "Device",
    "Event",
    "GetIpcHandleMixin",
    "HostOnlyCUDAMemoryManager",
    "LinkerError",
    "MemoryPointer",
    "Stream",
]
