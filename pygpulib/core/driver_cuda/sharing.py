"""Device memory that other devices and other processes use."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING

from pygpulib._bindings import cuda_driver as cu
from pygpulib.core.device import selected_ordinal
from pygpulib.core.driver_cuda.pools import StreamOrderedPool
from pygpulib.core.memory import Buffer
from pygpulib.errors import ArgumentError, DeviceError, DeviceMismatchError

if TYPE_CHECKING:
    from pygpulib._bindings.library import Library
    from pygpulib.core.driver import Driver
    from pygpulib.core.driver_cuda.contexts import Context, Contexts

_HANDLE_BYTES = 64


def can_access_peer(contexts: Contexts, ordinal: int, peer: int) -> bool:
    """Return whether kernels of a device can use another device's memory in place."""
    if ordinal == peer:
        return False
    answer = ctypes.c_int()
    contexts.library.cuDeviceCanAccessPeer(
        ctypes.byref(answer), contexts.devices[ordinal], contexts.devices[peer]
    )
    return bool(answer.value)


def device_of_address(contexts: Contexts, address: int) -> int:
    """Return the number of the device whose memory an address of another library is in.

    Memory that CUDA does not know, or of a device that cannot be used, counts as the calling
    thread's device's: a launch finds out.
    """
    if len(contexts.devices) == 1:
        return 0
    number = ctypes.c_int()
    contexts.current()
    try:
        contexts.library.cuPointerGetAttribute(
            ctypes.byref(number), cu.POINTER_DEVICE_ORDINAL, address
        )
    except DeviceError as error:
        if error.code != cu.INVALID_VALUE:
            raise
        return selected_ordinal()
    if number.value not in contexts.devices:
        return selected_ordinal()
    return contexts.devices.index(number.value)


def enable_peer_access(contexts: Contexts, ordinal: int, peer: int) -> None:
    """Let kernels of a device use another device's memory in place.

    Parameters
    ----------
    contexts : Contexts
        The devices.
    ordinal : int
        The device that gets access.
    peer : int
        The device whose memory it is.

    Raises
    ------
    DeviceMismatchError
        If the devices are not connected in a way that allows this.
    """
    if not can_access_peer(contexts, ordinal, peer):
        raise DeviceMismatchError(
            f"device {ordinal} cannot use the memory of device {peer} in place",
            detail="CUDA reports no peer access between the two",
            help="copy the array to the device that needs it",
        )
    with contexts.of(peer) as owner:
        pool = owner.pool
        if isinstance(pool, StreamOrderedPool):
            pool.share_with(contexts.devices[ordinal])
    with contexts.of(ordinal):
        try:
            contexts.library.cuCtxEnablePeerAccess(owner.handle, 0)
        except DeviceError as error:
            if error.code != cu.PEER_ACCESS_ALREADY_ENABLED:
                raise


def ipc_handle(library: Library, context: Context, address: int) -> tuple[bytes, int]:
    """Return what another process needs to open device memory.

    Parameters
    ----------
    library : Library
        The driver library.
    context : Context
        The device; it is current.
    address : int
        An address in the memory.

    Returns
    -------
    bytes
        The handle.
    int
        How far the address is from the start of what the handle opens.
    """
    if not context.pool.can_share:
        raise DeviceError(
            "the memory of this array cannot be shared with other processes",
            detail="it comes from one of CUDA's memory pools",
            help="set PYGPULIB_MEMORY_POOL=0 before the program starts",
        )
    base, size = ctypes.c_uint64(), ctypes.c_size_t()
    library.cuMemGetAddressRange_v2(ctypes.byref(base), ctypes.byref(size), address)
    handle = cu.IpcMemHandle()
    library.cuIpcGetMemHandle(ctypes.byref(handle), base.value)
    return bytes(handle), address - base.value


class _OpenedMemory:
    """Another process's memory, until this object dies."""

    __slots__ = ("_context", "_library", "address")

    def __init__(self, library: Library, context: Context, address: int) -> None:
        self.address = address
        self._library = library
        self._context = context

    def __del__(self) -> None:
        library, context, address = self._library, self._context, self.address

        def close() -> None:
            with context.after_pending():
                library.cuIpcCloseMemHandle(address)

        context.retirement.add(context.handle, close)


def open_ipc(
    library: Library, driver: Driver, context: Context, handle: bytes, size_bytes: int
) -> Buffer:
    """Return device memory of another process.

    Parameters
    ----------
    library : Library
        The driver library.
    driver : Driver
        The driver that the buffer belongs to.
    context : Context
        The device; it is current.
    handle : bytes
        What `ipc_handle` returned there.
    size_bytes : int
        Bytes from the start of what the handle opens.
    """
    if len(handle) != _HANDLE_BYTES:
        raise ArgumentError(
            f"the handle of device memory has {len(handle)} bytes",
            detail=f"expected {_HANDLE_BYTES} bytes",
        )
    address = ctypes.c_uint64()
    library.cuIpcOpenMemHandle_v2(
        ctypes.byref(address), cu.IpcMemHandle.from_buffer_copy(handle), cu.IPC_LAZY_PEER_ACCESS
    )
    owner = _OpenedMemory(library, context, address.value)
    return Buffer(driver, address.value, size_bytes, owner=owner)
