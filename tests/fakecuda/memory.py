"""Device memory of the simulated GPU: an arena of host memory with exact bounds of allocations."""

from __future__ import annotations

import bisect
import threading

import numpy as np

# Bytes between two allocations that belong to neither, so that overruns do not hit a neighbour.
GUARD = 256
PAGE = 4096


class OutOfDeviceMemoryError(MemoryError):
    """Tell that an allocation does not fit."""


class DeviceMemory:
    """Allocate and access device memory; a device address is the host address of the same byte.

    Parameters
    ----------
    capacity_bytes
        Size of the arena, guards between allocations included.
    """

    def __init__(self, capacity_bytes: int = 1 << 26) -> None:
        raw = np.zeros(capacity_bytes + PAGE, np.uint8)  # the system maps pages on first use
        skip = -raw.ctypes.data % PAGE
        self.capacity = capacity_bytes
        self.bytes = raw[skip : skip + capacity_bytes]
        self.base: int = self.bytes.ctypes.data
        self.allocations: dict[int, int] = {}
        self._starts: list[int] = []  # sorted starts of the allocations
        self._ends: dict[int, int] = {}  # where the guards behind allocations end
        self._holes: list[tuple[int, int]] = [(self.base, self.base + capacity_bytes)]
        self._bounds: tuple[np.ndarray, np.ndarray] | None = None
        self._lock = threading.RLock()

    def allocate(self, size: int, align: int = 256) -> int:
        """Reserve `size` bytes and return their address."""
        needed = max(size, 1)
        with self._lock:
            for position, (start, end) in enumerate(self._holes):
                address = -(-start // align) * align
                after = -(-(address + needed + GUARD) // GUARD) * GUARD
                if end == self.base + self.capacity and address + needed <= end:
                    after = min(after, end)  # nothing lies behind the arena
                if after <= end:
                    rest = [(start, address), (after, end)]
                    self._holes[position : position + 1] = [h for h in rest if h[0] < h[1]]
                    self.allocations[address] = size
                    self._ends[address] = after
                    bisect.insort(self._starts, address)
                    self._bounds = None
                    return address
        raise OutOfDeviceMemoryError(f"{size} bytes do not fit into the device's memory")

    def free(self, address: int) -> None:
        """Give an allocation back.

        Raises
        ------
        KeyError
            If no allocation starts at `address`.
        """
        with self._lock:
            del self.allocations[address]
            self._starts.remove(address)
            self._bounds = None
            holes = sorted([*self._holes, (address, self._ends.pop(address))])
            joined = [holes[0]]
            for start, stop in holes[1:]:
                if start <= joined[-1][1]:
                    joined[-1] = (joined[-1][0], max(stop, joined[-1][1]))
                else:
                    joined.append((start, stop))
            self._holes = joined

    @property
    def used_bytes(self) -> int:
        """Bytes of all allocations."""
        return sum(self.allocations.values())

    def find(self, address: int) -> tuple[int, int] | None:
        """Return start and size of the allocation that contains the byte at `address`."""
        with self._lock:
            position = bisect.bisect_right(self._starts, address) - 1
            if position < 0:
                return None
            base = self._starts[position]
            size = self.allocations[base]
        return (base, size) if address < base + size else None

    def view(self, address: int, size: int) -> np.ndarray:
        """Return the bytes of a range of one allocation, for reading and writing.

        Raises
        ------
        IndexError
            If the range does not lie in one allocation.
        """
        offset = address - self.base
        if size == 0:
            return self.bytes[:0]
        found = self.find(address)
        if found is None or address + size > found[0] + found[1]:
            raise IndexError(f"{size} bytes at 0x{address:x} are not in one allocation")
        return self.bytes[offset : offset + size]

    def read(self, address: int, size: int) -> bytes:
        """Copy bytes out."""
        return self.view(address, size).tobytes()

    def write(self, address: int, data: bytes | bytearray | memoryview) -> None:
        """Copy bytes in."""
        self.view(address, len(data))[:] = np.frombuffer(data, np.uint8)

    def first_outside(self, addresses: np.ndarray, size: int) -> int | None:
        """Return the position of the first access of `size` bytes that is not in one allocation."""
        if not len(addresses):
            return None
        low, high = int(addresses.min()), int(addresses.max())
        found = self.find(low)
        if found is not None and high + size <= found[0] + found[1]:
            return None
        starts, ends = self._limits()
        place = np.searchsorted(starts, addresses, "right") - 1
        # Compared by what is left: an address near 2**64 plus the size would wrap around.
        room = ends[place]
        bad = (addresses >= room) | (room - addresses < np.uint64(size))
        return int(np.argmax(bad)) if bad.any() else None

    def _limits(self) -> tuple[np.ndarray, np.ndarray]:
        with self._lock:
            if self._bounds is None:
                starts = [0, *self._starts]
                ends = [0, *(start + self.allocations[start] for start in self._starts)]
                self._bounds = np.array(starts, np.uint64), np.array(ends, np.uint64)
            return self._bounds
