"""Device memory that can also contain pieces of the host's memory, at their own addresses."""

from __future__ import annotations

import bisect
import copy
import ctypes
from typing import TYPE_CHECKING

import numpy as np

from tests.fakecuda.memory import PAGE, DeviceMemory

if TYPE_CHECKING:
    from collections.abc import Iterable

ADDRESS_BITS = 47  # of a program's addresses on Linux


class UnifiedMemory(DeviceMemory):
    """An arena, and every other address of the process once it is adopted."""

    def __init__(self, arena_bytes: int) -> None:
        super().__init__(arena_bytes)
        self._arena = self.bytes  # keeps the memory
        self.base = PAGE
        self.capacity = (1 << ADDRESS_BITS) - PAGE
        everything = (ctypes.c_ubyte * self.capacity).from_address(PAGE)
        self.bytes = np.ctypeslib.as_array(everything)

    def adopt(self, address: int, size: int) -> None:
        """Let the device use memory of the host."""
        with self._lock:
            self.allocations[address] = size
            bisect.insort(self._starts, address)
            self._bounds = None

    def disown(self, address: int) -> None:
        """Take memory of the host away from the device."""
        with self._lock:
            del self.allocations[address]
            self._starts.remove(address)
            self._bounds = None

    def showing(self, addresses: Iterable[int]) -> DeviceMemory:
        """Return a view of the memory in which only some allocations exist."""
        shown = copy.copy(self)
        shown.allocations = {address: self.allocations[address] for address in addresses}
        shown._starts = sorted(shown.allocations)
        shown._holes = list(self._holes)
        shown._bounds = None
        return shown
