"""Device memory: from CUDA's stream-ordered pools, or kept for reuse by this package."""

from __future__ import annotations

import ctypes
from contextlib import ExitStack, nullcontext
from typing import TYPE_CHECKING, Protocol

from pygpulib._bindings import cuda_driver as cu
from pygpulib.core.driver import DEFAULT_STREAM
from pygpulib.core.pool import size_class
from pygpulib.errors import DeviceError, DeviceMemoryError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    from pygpulib._bindings.library import Library
    from pygpulib.core.driver import MemoryInfo
    from pygpulib.core.driver_cuda.pending import PendingWork

ALIGNMENT = 256


class DevicePool(Protocol):
    """Memory of one device, which is current whenever a method is called.

    `allocate` and `trim` may run in any thread. `free` runs under the lock of `Retirement`.
    """

    can_share: bool

    def allocate(self, size_bytes: int, stream: int) -> int:
        """Return the address of memory that is ready for a stream."""
        ...

    def free(self, address: int) -> None:
        """Take memory back once all that was queued so far is done."""
        ...

    def trim(self) -> None:
        """Return what is not in use to the system."""
        ...

    def owns(self, address: int) -> bool:
        """Return whether memory came from here."""
        ...

    def memory_info(self) -> MemoryInfo | None:
        """Return free and total memory, None if CUDA knows it."""
        ...

    def defer_cleanup(self) -> AbstractContextManager[object]:
        """Return a context in which nothing is given back to where it came from."""
        ...

    def close(self) -> None:
        """Return everything to the system; nothing is in use."""
        ...


class _Pool:
    """What is alike in the package's own pools."""

    def memory_info(self) -> None:
        """Return None: CUDA knows."""
        return

    def defer_cleanup(self) -> AbstractContextManager[object]:
        """Return a context without effect: nothing is given back here unless asked for."""
        return nullcontext()


class StreamOrderedPool(_Pool):
    """A pool of CUDA's, kept apart from those of other libraries.

    Parameters
    ----------
    library : Library
        The driver library.
    device : int
        The driver's number of the device.
    pending : PendingWork
        What the device may still be working on.
    cap_bytes : int
        How much unused memory to keep.
    """

    can_share = False

    def __init__(self, library: Library, device: int, pending: PendingWork, cap_bytes: int) -> None:
        self._library = library
        self._pending = pending
        self._homes: dict[int, int] = {}
        properties = cu.MemPoolProps(
            alloc_type=cu.ALLOCATION_PINNED,
            location=cu.MemLocation(cu.LOCATION_DEVICE, device),
        )
        handle = ctypes.c_void_p()
        library.cuMemPoolCreate(ctypes.byref(handle), ctypes.byref(properties))
        self.handle = handle.value or 0
        threshold = ctypes.c_uint64(cap_bytes)
        try:
            library.cuMemPoolSetAttribute(
                self.handle, cu.POOL_RELEASE_THRESHOLD, ctypes.byref(threshold)
            )
        except DeviceError:
            self.close()
            raise

    def allocate(self, size_bytes: int, stream: int) -> int:
        """Return the address of memory that is ready for a stream."""
        address = ctypes.c_uint64()
        self._library.cuMemAllocFromPoolAsync(
            ctypes.byref(address), max(size_bytes, 1), self.handle, stream
        )
        try:
            self._pending.mark(stream)
        except DeviceError:
            self._library.cuMemFreeAsync(address.value, stream)
            raise
        self._homes[address.value] = stream
        self._pending.note_allocation(stream)
        return address.value

    def free(self, address: int) -> None:
        """Take memory back once all that was queued so far is done."""
        # Another thread may be given the address as soon as it is free.
        home = self._homes.pop(address)
        try:
            self._library.cuMemFreeAsync(address, self._pending.find_order(home))
        except DeviceError:
            self._homes[address] = home
            raise

    def owns(self, address: int) -> bool:
        """Return whether memory came from here."""
        return address in self._homes

    def trim(self) -> None:
        """Return what is not in use to the system."""
        self._library.cuMemPoolTrimTo(self.handle, 0)

    def close(self) -> None:
        """Drop the pool, with what could not be given back."""
        with ExitStack() as stack:
            stack.callback(self._library.cuMemPoolDestroy, self.handle)
            for address in self._homes:
                stack.callback(self._library.cuMemFreeAsync, address, DEFAULT_STREAM)

    def share_with(self, device: int) -> None:
        """Let another device use the memory in place."""
        access = cu.MemAccessDesc(cu.MemLocation(cu.LOCATION_DEVICE, device), cu.ACCESS_READ_WRITE)
        self._library.cuMemPoolSetAccess(self.handle, ctypes.byref(access), 1)


class _Block:
    """Memory that waits for reuse: the stream that gave it back, and an event of that moment."""

    __slots__ = ("address", "event", "stream")

    def __init__(self, address: int, stream: int, event: int) -> None:
        self.address = address
        self.stream = stream
        self.event = event


class CachingPool(_Pool):
    """Memory of `cuMemAlloc`, kept for reuse: for devices without pools of CUDA's.

    Parameters
    ----------
    library : Library
        The driver library.
    pending : PendingWork
        What the device may still be working on.
    cap_bytes : int
        How much unused memory to keep.
    locked : callable
        Runs a function under the lock of `Retirement`, after giving back what is queued there.

    Notes
    -----
    A block that is given back carries an event. Another stream than the one it was given back on
    waits for that event before it uses the block.
    """

    can_share = True

    def __init__(
        self,
        library: Library,
        pending: PendingWork,
        cap_bytes: int,
        locked: Callable[[Callable[[], int]], int],
    ) -> None:
        self._library = library
        self._pending = pending
        self._cap_bytes = cap_bytes
        self._locked = locked
        self._sizes: dict[int, tuple[int, int]] = {}
        self._free: dict[int, list[_Block]] = {}
        self._cached_bytes = 0

    def allocate(self, size_bytes: int, stream: int) -> int:
        """Return the address of memory that is ready for a stream."""
        wanted = max(size_class(size_bytes), ALIGNMENT)
        return self._locked(lambda: self._take(wanted, stream))

    def _take(self, size_bytes: int, stream: int) -> int:
        blocks = self._free.get(size_bytes)
        if blocks:
            block = next((block for block in blocks if block.stream == stream), blocks[0])
            if block.stream != stream:
                self._library.cuStreamWaitEvent(stream, block.event, 0)
            blocks.remove(block)
            self._cached_bytes -= size_bytes
            self._pending.return_event(block.event)
            address = block.address
        else:
            address = self._new_memory(size_bytes)
        self._sizes[address] = size_bytes, stream
        self._pending.note_allocation(stream)
        return address

    def _new_memory(self, size_bytes: int) -> int:
        address = ctypes.c_uint64()
        self._library.cuMemAlloc_v2(ctypes.byref(address), size_bytes)
        return address.value

    def free(self, address: int) -> None:
        """Take memory back once all that was queued so far is done."""
        size_bytes, home = self._sizes[address]
        stream = self._pending.find_order(home)
        event = self._pending.record(stream)
        del self._sizes[address]
        self._free.setdefault(size_bytes, []).append(_Block(address, stream, event))
        self._cached_bytes += size_bytes
        if self._cached_bytes > self._cap_bytes:
            self._drop_cached(self._cap_bytes)

    def owns(self, address: int) -> bool:
        """Return whether memory in use came from here."""
        return address in self._sizes

    def trim(self) -> None:
        """Return what is not in use to the system."""

        def drop() -> int:
            self._drop_cached(0)
            return 0

        self._locked(drop)

    def close(self) -> None:
        """Return everything to the system, with what could not be given back."""
        with ExitStack() as stack:
            for address in self._sizes:
                stack.callback(self._library.cuMemFree_v2, address)
            stack.callback(self._drop_cached, 0)

    def _drop_cached(self, limit_bytes: int) -> None:
        """Drop cached blocks, largest and then oldest first, down to a limit."""
        for size in sorted(self._free, reverse=True):
            blocks = self._free[size]
            while blocks and self._cached_bytes > limit_bytes:
                block = blocks.pop(0)
                self._cached_bytes -= size
                self._pending.return_event(block.event)
                # This waits for all that uses the memory.
                self._library.cuMemFree_v2(block.address)


def check_size(size_bytes: int) -> None:
    """Refuse more memory than there are addresses: the driver would take the size modulo 2**64.

    Raises
    ------
    DeviceMemoryError
        If it is so much.
    """
    if size_bytes >= 1 << 63:
        raise DeviceMemoryError(
            f"there is no memory for an array of {size_bytes:,} bytes",
            detail="expected less than 2**63 bytes",
        )


def out_of_memory(asked: int, free: int, total: int, cause: DeviceMemoryError) -> DeviceMemoryError:
    """Return the error for a request that even an empty cache cannot fulfil."""
    error = DeviceMemoryError(
        f"there is no device memory left for an array of {asked:,} bytes",
        detail=f"{free:,} of {total:,} bytes are free\n{cause.detail}",
        help="delete arrays that are no longer needed, or work on smaller pieces",
    )
    error.code = cause.code
    return error
