"""What the driver tells about a device."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from pygpulib._bindings import cuda_driver as cu
from pygpulib._bindings.cuda_constants import DEVICE_ATTRIBUTES
from pygpulib.core.driver import SMALL_FLOATS, DeviceProperties
from pygpulib.core.driver_cuda.api import compute_capability, device_attribute
from pygpulib.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pygpulib._bindings.library import Library

_NAME_BYTES = 256
_LIMITS = (
    "MAX_THREADS_PER_BLOCK",
    "MAX_BLOCK_DIM_X",
    "MAX_BLOCK_DIM_Y",
    "MAX_BLOCK_DIM_Z",
    "MAX_GRID_DIM_X",
    "MAX_GRID_DIM_Y",
    "MAX_GRID_DIM_Z",
    "MAX_SHARED_MEMORY_PER_BLOCK",
    "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN",
    "WARP_SIZE",
)


def device_name(library: Library, device: int) -> str:
    """Return the product's name."""
    name = ctypes.create_string_buffer(_NAME_BYTES)
    library.cuDeviceGetName(name, _NAME_BYTES, device)
    return name.value.decode(errors="replace")


def device_uuid(library: Library, device: int) -> str:
    """Return the UUID in the form that nvidia-smi shows."""
    uuid = cu.Uuid()
    library.cuDeviceGetUuid(ctypes.byref(uuid), device)
    digits = bytes(uuid.bytes).hex()
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    return f"GPU-{'-'.join(parts)}"


def device_memory(library: Library, device: int) -> int:
    """Return the bytes of memory."""
    size = ctypes.c_size_t()
    library.cuDeviceTotalMem_v2(ctypes.byref(size), device)
    return size.value


def read_limits(library: Library, device: int) -> Mapping[str, int]:
    """Return the attributes that limit the sizes of a launch."""
    return {name: device_attribute(library, device, name) for name in _LIMITS}


def read_properties(library: Library, device: int) -> DeviceProperties:
    """Return everything that is known of a device."""
    attributes = {}
    for name in DEVICE_ATTRIBUTES:
        try:
            attributes[name] = device_attribute(library, device, name)
        except DeviceError as error:
            # An attribute that is newer than the driver.
            if error.code != cu.INVALID_VALUE:
                raise
    return DeviceProperties(
        name=device_name(library, device),
        uuid=device_uuid(library, device),
        compute_capability=compute_capability(library, device),
        is_cpu=False,
        attributes=attributes,
        extra_dtypes=SMALL_FLOATS,
    )
