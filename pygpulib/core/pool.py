"""A cache of host memory blocks: large allocations without page faults on every reuse."""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from typing import TYPE_CHECKING

import numpy as np

from pygpulib.errors import DeviceMemoryError

if TYPE_CHECKING:
    from numpy.typing import NDArray

ALIGNMENT = 64

_pools: weakref.WeakSet[HostPool] = weakref.WeakSet()


def size_class(size_bytes: int) -> int:
    """Return the size of the block that serves a request.

    Four classes per power of two, so that at most a fifth of a large block is unused.

    Parameters
    ----------
    size_bytes : int
        Requested bytes, zero or more.

    Returns
    -------
    int
        A multiple of 64, at least 64.

    Examples
    --------
    >>> size_class(1), size_class(64), size_class(65), size_class(1_000_000)
    (64, 64, 128, 1048576)
    """
    if size_bytes <= 4 * ALIGNMENT:
        return max(-(-size_bytes // ALIGNMENT), 1) * ALIGNMENT
    step = 1 << ((size_bytes - 1).bit_length() - 3)
    return -(-size_bytes // step) * step


class HostPool:
    """Aligned blocks of host memory, kept for reuse after they are freed.

    Parameters
    ----------
    cap_bytes : int
        How much freed memory to keep.

    Notes
    -----
    `free` runs in finalizers, which Python may start at any point, even inside `allocate` in
    the same thread. It therefore only appends to a queue, and sorts the queue into the free
    lists only if nobody holds the lock.
    """

    def __init__(self, cap_bytes: int) -> None:
        self.cap_bytes = cap_bytes
        self._lock = threading.Lock()
        self._returned: deque[int] = deque()
        self._free: dict[int, list[NDArray[np.uint8]]] = {}
        self._used: dict[int, NDArray[np.uint8]] = {}
        self._used_bytes = 0
        self._cached_bytes = 0
        _pools.add(self)

    def allocate(self, size_bytes: int) -> int:
        """Return the address of a block.

        Parameters
        ----------
        size_bytes : int
            Requested bytes, zero or more.

        Returns
        -------
        int
            An address that is a multiple of 64. The contents are arbitrary.

        Raises
        ------
        DeviceMemoryError
            If the system has no memory left, even after dropping the cache.
        """
        wanted = size_class(size_bytes)
        with self._lock:
            self._sort_returned()
            cached = self._free.get(wanted)
            if cached:
                block = cached.pop()
                self._cached_bytes -= wanted
            else:
                block = self._new_block(wanted)
            address: int = block.__array_interface__["data"][0]
            self._used[address] = block
            self._used_bytes += wanted
        return address

    def free(self, address: int) -> None:
        """Give a block back; safe in finalizers.

        Parameters
        ----------
        address : int
            What `allocate` returned.
        """
        self._returned.append(address)
        self._sort_if_idle()

    def trim(self) -> None:
        """Return all freed memory to the system."""
        with self._lock:
            self._sort_returned()
            self._drop_cached(0)

    @property
    def used_bytes(self) -> int:
        """Bytes of blocks that are in use."""
        self._sort_if_idle()
        return self._used_bytes

    @property
    def cached_bytes(self) -> int:
        """Bytes of freed blocks that are kept for reuse."""
        self._sort_if_idle()
        return self._cached_bytes

    def replace_lock(self) -> None:
        """Start with an unlocked lock, in a forked child whose parent may have held it."""
        self._lock = threading.Lock()

    def _sort_if_idle(self) -> None:
        if self._lock.acquire(blocking=False):
            try:
                self._sort_returned()
            finally:
                self._lock.release()

    def _sort_returned(self) -> None:
        while self._returned:
            block = self._used.pop(self._returned.popleft())
            self._free.setdefault(block.nbytes, []).append(block)
            self._used_bytes -= block.nbytes
            self._cached_bytes += block.nbytes
        if self._cached_bytes > self.cap_bytes:
            self._drop_cached(self.cap_bytes)

    def _drop_cached(self, limit_bytes: int) -> None:
        """Drop cached blocks, largest and then oldest first, down to a limit."""
        for size in sorted(self._free, reverse=True):
            blocks = self._free[size]
            while blocks and self._cached_bytes > limit_bytes:
                self._cached_bytes -= blocks.pop(0).nbytes
            if not blocks:
                del self._free[size]

    def _new_block(self, size_bytes: int) -> NDArray[np.uint8]:
        try:
            raw = self._raw_memory(size_bytes + ALIGNMENT)
        except MemoryError as cause:
            raise DeviceMemoryError(
                f"there is no memory left for an array of {size_bytes:,} bytes",
                detail=f"arrays in use hold {self._used_bytes:,} bytes",
                help="delete arrays that are no longer needed, or work on smaller pieces",
            ) from cause
        start = -raw.__array_interface__["data"][0] % ALIGNMENT
        return raw[start : start + size_bytes]

    def _raw_memory(self, size_bytes: int) -> NDArray[np.uint8]:
        try:
            return np.empty(size_bytes, np.uint8)
        except (MemoryError, ValueError):
            # NumPy says ValueError where the size does not fit its index type.
            self._drop_cached(0)
        try:
            return np.empty(size_bytes, np.uint8)
        except ValueError as cause:
            raise MemoryError from cause


def _replace_locks() -> None:
    for pool in list(_pools):
        pool.replace_lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_replace_locks)
