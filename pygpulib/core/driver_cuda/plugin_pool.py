"""Device memory from a plug-in of another library."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pygpulib.core.driver import DEFAULT_STREAM, MemoryInfo
from pygpulib.errors import DeviceMemoryError

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pygpulib.core.driver_cuda.pending import PendingWork


class PluginPool:
    """A `DevicePool` whose memory a plug-in gives.

    Parameters
    ----------
    manager : BaseCUDAMemoryManager
        The plug-in, for one device.
    pending : PendingWork
        What the device may still be working on.
    """

    can_share = True

    def __init__(self, manager: Any, pending: PendingWork) -> None:  # noqa: ANN401
        self.manager = manager
        self._pending = pending
        self._pointers: dict[int, Any] = {}
        manager.initialize()

    def owns(self, address: int) -> bool:
        """Return whether memory came from here."""
        return address in self._pointers

    def allocate(self, size_bytes: int, stream: int) -> int:
        """Return the address of memory that is ready for the default stream, and so for others."""
        self._pending.release_kept()
        try:
            pointer = self.manager.memalloc(max(size_bytes, 1))
        except MemoryError as error:
            if isinstance(error, DeviceMemoryError):
                raise
            raise DeviceMemoryError(
                f"the memory manager {type(self.manager).__name__} has no memory left for "
                f"{size_bytes:,} bytes",
                detail=str(error),
            ) from error
        address = int(pointer.device_pointer_value)
        self._pointers[address] = pointer
        self._pending.mark(DEFAULT_STREAM)
        self._pending.note_allocation(DEFAULT_STREAM)
        return address

    def free(self, address: int) -> None:
        """Take memory back; the plug-in gets it once all that was queued so far is done."""
        order = self._pending.find_order(DEFAULT_STREAM)
        self._pending.keep(order, self._pointers.pop(address))

    def trim(self) -> None:
        """Give the plug-in what is done."""
        self._pending.release_kept()

    def memory_info(self) -> MemoryInfo | None:
        """Return free and total memory, None if the plug-in does not know."""
        try:
            free, total = self.manager.get_memory_info()
        except NotImplementedError:
            return None
        return MemoryInfo(free, total)

    def defer_cleanup(self) -> AbstractContextManager[object]:
        """Return a context in which the plug-in gives nothing back."""
        context: AbstractContextManager[object] = self.manager.defer_cleanup()
        return context

    def close(self) -> None:
        """Give everything back."""
        self._pointers.clear()
