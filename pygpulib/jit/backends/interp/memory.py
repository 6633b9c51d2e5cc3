"""The interpreter's memory: virtual addresses, and a check of every access.

An allocation is a row of equal *slots* (one per thread for local memory, one per block for
shared memory, a single one for global memory) with unused bytes between them. Addresses of two
allocations are far apart, so that an access outside its allocation finds nothing there.
"""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pygpulib._record import record
from pygpulib.core.dtypes import DType

ADDRESS_BITS = 40
"""Addresses ``n << ADDRESS_BITS`` and above belong to allocation number ``n``."""

GARBAGE = 0xA5
"""What memory holds that nobody has written, and every byte of an undefined value."""

_SLOT_GAP = 256
_FIRST_NUMBER = 1
_MOST_ALIGNED = 4096

Bytes = NDArray[np.uint8]
Addresses = NDArray[np.int64]
Mask = NDArray[np.bool_]


@record(eq=True)
class Allocation:
    """One row of slots.

    Attributes
    ----------
    name : str
        For messages.
    base : int
        Virtual address of the first byte of the first slot.
    size : int
        Bytes of a slot.
    pitch : int
        Bytes from one slot to the next.
    data : ndarray of uint8
        The bytes of all slots, from ``base`` on.
    owners : ndarray or None
        Per lane, the only slot that it may touch; None where there is one slot for all.
    is_readonly : bool
        Whether a store is a fault.
    """

    name: str
    base: int
    size: int
    pitch: int
    data: Bytes
    owners: NDArray[np.int64] | None = None
    is_readonly: bool = False


class AccessError(Exception):
    """An access that memory refuses; the machine adds where and why.

    Attributes
    ----------
    lane : int
        The first lane whose access is wrong.
    problem : str
        What is wrong with it.
    """

    def __init__(self, lane: int, problem: str) -> None:
        super().__init__(problem)
        self.lane = lane
        self.problem = problem


class Memory:
    """All allocations of one launch, or of one run of some blocks."""

    def __init__(self, parent: Memory | None = None) -> None:
        self._allocations: list[Allocation] = list(parent._allocations) if parent else []

    def _next_base(self, alignment_offset: int = 0) -> int:
        return ((len(self._allocations) + _FIRST_NUMBER) << ADDRESS_BITS) + alignment_offset

    def add_array(self, array: NDArray[Any], name: str) -> int:
        """Make an array's own memory reachable.

        Parameters
        ----------
        array : ndarray
            Any layout; loads and stores go to it directly.
        name : str
            For messages.

        Returns
        -------
        int
            The virtual address of the array's first element; as aligned as the real one.
        """
        low, high = np.lib.array_utils.byte_bounds(array)
        size = high - low if array.size else 0
        data: Bytes = np.empty(0, np.uint8)
        if size:
            data = np.frombuffer(memoryview((ctypes.c_uint8 * size).from_address(low)), np.uint8)
        base = self._next_base(low % _MOST_ALIGNED)
        self._allocations.append(
            Allocation(name, base, size, size, data, is_readonly=not array.flags.writeable)
        )
        return base + (int(array.ctypes.data) - low if size else 0)

    def add_slots(
        self, name: str, count: int, size: int, alignment: int, owners: NDArray[np.int64]
    ) -> Addresses:
        """Allocate one slot per owner and return every lane's address.

        Parameters
        ----------
        name : str
            For messages.
        count, size, alignment : int
            How many slots, of how many bytes, starting at multiples of what.
        owners : ndarray
            The slot of each lane.
        """
        unit = max(alignment, _SLOT_GAP)
        pitch = -(-size // unit) * unit + unit
        base = self._next_base()
        data = np.full(count * pitch, GARBAGE, np.uint8)
        self._allocations.append(Allocation(name, base, size, pitch, data, owners))
        return base + owners * pitch

    def load(self, addresses: Addresses, mask: Mask, dtype: DType) -> NDArray[Any]:
        """Read one element per active lane; the other lanes get garbage.

        Parameters
        ----------
        addresses : ndarray of int64
            One per lane.
        mask : ndarray of bool
            The active lanes.
        dtype : DType
            The type of the element.
        """
        raw: Bytes = np.full((len(mask), dtype.size_bytes), GARBAGE, np.uint8)
        for allocation, lanes in self._groups(addresses, mask):
            offsets = self._check(allocation, addresses, lanes, dtype)
            raw[lanes] = allocation.data[offsets[:, None] + np.arange(dtype.size_bytes)]
        flat = raw.reshape(-1)
        return np.asarray(flat != 0) if dtype.is_bool else flat.view(dtype.numpy)

    def store(self, addresses: Addresses, mask: Mask, values: NDArray[Any], dtype: DType) -> None:
        """Write one element per active lane, in the order of the lanes.

        Parameters
        ----------
        addresses, values : ndarray
            One per lane.
        mask : ndarray of bool
            The active lanes.
        dtype : DType
            The type of the element.
        """
        raw = np.ascontiguousarray(values).view(np.uint8).reshape(len(mask), dtype.size_bytes)
        for allocation, lanes in self._groups(addresses, mask):
            offsets = self._check(allocation, addresses, lanes, dtype)
            if allocation.is_readonly:
                raise AccessError(int(lanes[0]), f"{allocation.name} is read-only")
            allocation.data[offsets[:, None] + np.arange(dtype.size_bytes)] = raw[lanes]

    def _groups(
        self, addresses: Addresses, mask: Mask
    ) -> list[tuple[Allocation, NDArray[np.int64]]]:
        """Split the active lanes by the allocation that their addresses lie in."""
        lanes = np.flatnonzero(mask)
        numbers = (addresses[lanes] >> ADDRESS_BITS) - _FIRST_NUMBER
        groups = []
        for number in np.unique(numbers):
            chosen = lanes[numbers == number]
            if not 0 <= number < len(self._allocations):
                raise AccessError(int(chosen[0]), "the address belongs to no array")
            groups.append((self._allocations[number], chosen))
        return groups

    @staticmethod
    def _check(
        allocation: Allocation, addresses: Addresses, lanes: NDArray[np.int64], dtype: DType
    ) -> NDArray[np.int64]:
        """Return offsets into the allocation's bytes, all of them good."""
        chosen = addresses[lanes]
        offsets = chosen - allocation.base
        own = 0 if allocation.owners is None else allocation.owners[lanes] * allocation.pitch
        within = offsets - own
        is_outside = (within < 0) | (within > allocation.size - dtype.size_bytes)
        if is_outside.any():
            first = int(np.flatnonzero(is_outside)[0])
            place = within[first]
            raise AccessError(
                int(lanes[first]),
                f"byte {place} is outside {allocation.name} of {allocation.size} bytes",
            )
        is_skewed = chosen % dtype.size_bytes != 0
        if is_skewed.any():
            first = int(np.flatnonzero(is_skewed)[0])
            raise AccessError(
                int(lanes[first]),
                f"the address is not a multiple of {dtype.size_bytes} in {allocation.name}",
            )
        return offsets
