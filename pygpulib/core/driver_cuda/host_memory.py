"""Host memory that the device reads and writes, too: pinned, mapped, managed."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

import numpy as np

from pygpulib._bindings import cuda_driver as cu
from pygpulib.core.driver_cuda.api import device_attribute
from pygpulib.core.layout import byte_span
from pygpulib.core.memory import Buffer
from pygpulib.errors import ArgumentError, DeviceError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from pygpulib._bindings.library import Library
    from pygpulib.core.driver import Driver, HostArray
    from pygpulib.core.driver_cuda.contexts import Context


class HostMemory:
    """Memory that host and device address.

    Parameters
    ----------
    address : int
        First byte, for the host.
    device_address : int
        First byte, for the device.
    size_bytes : int
        Length.
    context : Context
        The device.
    dispose : callable
        Gives the memory back.
    owner : object
        Kept alive as long as this object.
    """

    __slots__ = (
        "__weakref__",
        "_context",
        "_dispose",
        "address",
        "device_address",
        "owner",
        "size_bytes",
    )

    def __init__(
        self,
        address: int,
        device_address: int,
        size_bytes: int,
        context: Context,
        dispose: Callable[[], None],
        owner: object = None,
    ) -> None:
        self.address = address
        self.device_address = device_address
        self.size_bytes = size_bytes
        self.owner = owner
        self._context = context
        self._dispose: Callable[[], None] | None = dispose

    @property
    def __array_interface__(self) -> dict[str, object]:
        """The bytes, for NumPy; an array that is made from this keeps the memory alive."""
        return {
            "version": 3,
            "typestr": "|u1",
            "shape": (self.size_bytes,),
            "data": (self.address, False),
        }

    def close(self) -> None:
        """Give the memory back at once; the device must not use it after that."""
        # Kernels and copies may still use it. The driver waits for them where it has to; where it
        # does not, namely for managed memory, `dispose` does.
        dispose, self._dispose = self._dispose, None
        if dispose is not None:
            self._context.retirement.dispose_now(self._context.handle, dispose)

    def __del__(self) -> None:
        if self._dispose is not None:
            self._context.retirement.add(self._context.handle, self._dispose)


def allocate_pinned(library: Library, context: Context, size_bytes: int) -> NDArray[np.uint8]:
    """Return new pinned memory; the device is current.

    Parameters
    ----------
    library : Library
        The driver library.
    context : Context
        The device.
    size_bytes : int
        Length.
    """
    pointer = ctypes.c_void_p()
    library.cuMemHostAlloc(
        ctypes.byref(pointer), max(size_bytes, 1), cu.HOST_ALLOC_PORTABLE | cu.HOST_ALLOC_MAPPED
    )
    address = pointer.value or 0

    def dispose() -> None:
        with context.after_pending():
            library.cuMemFreeHost(address)

    try:
        on_device = _device_address(library, address)
    except DeviceError:
        library.cuMemFreeHost(address)
        raise
    return np.asarray(HostMemory(address, on_device, size_bytes, context, dispose))


def allocate_managed(library: Library, context: Context, size_bytes: int) -> NDArray[np.uint8]:
    """Return new managed memory, which moves to whoever uses it; the device is current.

    Where the device cannot share such memory with a host that runs at the same time, it is pinned
    memory instead, which both may use at any time.
    """
    if not device_attribute(library, context.device, "CONCURRENT_MANAGED_ACCESS"):
        return allocate_pinned(library, context, size_bytes)
    pointer = ctypes.c_uint64()
    library.cuMemAllocManaged(ctypes.byref(pointer), max(size_bytes, 1), cu.ATTACH_GLOBAL)
    address = pointer.value

    def dispose() -> None:
        with context.after_pending():
            library.cuMemFree_v2(address)

    return np.asarray(HostMemory(address, address, size_bytes, context, dispose))


def device_address(array: HostArray) -> int | None:
    """Return where the device finds a host array, None if it cannot address it.

    Parameters
    ----------
    array : numpy.ndarray
        A host array, for example a view of pinned memory.
    """
    base: object = array
    while isinstance(base, np.ndarray):
        base = base.base
    if not isinstance(base, HostMemory):
        return None
    address: int = array.__array_interface__["data"][0]
    return base.device_address + address - base.address


def map_array(
    library: Library, driver: Driver, context: Context, array: HostArray
) -> tuple[Buffer, int]:
    """Return the memory of a host array as device memory; the device is current.

    Returns
    -------
    Buffer
        Keeps the array alive, and pinned.
    int
        Offset of the first element.
    """
    low, high = byte_span(array.shape, array.strides, array.itemsize)
    is_readonly = not array.flags.writeable
    known = device_address(array)
    if known is not None or low == high:
        buffer = Buffer(
            driver, (known or 0) + low, high - low, owner=array, is_readonly=is_readonly
        )
        return buffer, -low
    first = array.__array_interface__["data"][0] + low
    memory = _register(library, context, first, high - low, array)
    buffer = Buffer(
        driver, memory.device_address, high - low, owner=memory, is_readonly=is_readonly
    )
    return buffer, -low


def _register(
    library: Library, context: Context, address: int, size_bytes: int, owner: object
) -> HostMemory:
    flags = cu.HOST_REGISTER_PORTABLE | cu.HOST_REGISTER_MAPPED
    try:
        library.cuMemHostRegister_v2(address, size_bytes, flags)
    except DeviceError as error:
        if error.code != cu.HOST_MEMORY_ALREADY_REGISTERED:
            raise
        raise ArgumentError(
            "a part of the array's memory is mapped already",
            detail=error.detail,
            help="leave the block that maps the other array first, or map the whole array at once",
        ) from error

    def dispose() -> None:
        with context.after_pending():
            library.cuMemHostUnregister(address)

    try:
        on_device = _device_address(library, address)
    except DeviceError:
        library.cuMemHostUnregister(address)
        raise
    return HostMemory(address, on_device, size_bytes, context, dispose, owner)


def _device_address(library: Library, address: int) -> int:
    result = ctypes.c_uint64()
    library.cuMemHostGetDevicePointer_v2(ctypes.byref(result), address, 0)
    return result.value
