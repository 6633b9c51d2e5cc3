"""Changes of single elements that no other thread can come between: ``cuda.atomic``.

The functions have a meaning only inside a kernel, where the front end knows them by identity. All
take arrays in global, shared or local memory, and return what the element was before.
"""

from __future__ import annotations

from typing import Any

from pygpulib.jit.intrinsics.threads import only_in_kernels


class Atomics:
    """Indivisible changes of one element of an array.

    ``ary`` is the array, ``idx`` an integer or a tuple of integers, one per dimension, and ``val``
    a number, which is converted to the array's dtype.
    """

    def __repr__(self) -> str:
        return "cuda.atomic"

    @staticmethod
    def add(ary: Any, idx: Any, val: Any) -> Any:
        """Add a number."""
        del ary, idx, val
        only_in_kernels("atomic.add")

    @staticmethod
    def sub(ary: Any, idx: Any, val: Any) -> Any:
        """Subtract a number."""
        del ary, idx, val
        only_in_kernels("atomic.sub")

    @staticmethod
    def and_(ary: Any, idx: Any, val: Any) -> Any:
        """Keep the bits that are set in the operand, too."""
        del ary, idx, val
        only_in_kernels("atomic.and_")

    @staticmethod
    def or_(ary: Any, idx: Any, val: Any) -> Any:
        """Set the bits that are set in the operand."""
        del ary, idx, val
        only_in_kernels("atomic.or_")

    @staticmethod
    def xor(ary: Any, idx: Any, val: Any) -> Any:
        """Turn the bits that are set in the operand."""
        del ary, idx, val
        only_in_kernels("atomic.xor")

    @staticmethod
    def inc(ary: Any, idx: Any, val: Any) -> Any:
        """Add 1, or go to 0 from ``val`` on; of unsigned integers."""
        del ary, idx, val
        only_in_kernels("atomic.inc")

    @staticmethod
    def dec(ary: Any, idx: Any, val: Any) -> Any:
        """Subtract 1, or go to ``val`` from 0 and from above ``val``; of unsigned integers."""
        del ary, idx, val
        only_in_kernels("atomic.dec")

    @staticmethod
    def exch(ary: Any, idx: Any, val: Any) -> Any:
        """Replace the element."""
        del ary, idx, val
        only_in_kernels("atomic.exch")

    @staticmethod
    def max(ary: Any, idx: Any, val: Any) -> Any:
        """Replace the element by ``val`` if that is larger; a nan stays, and replaces nothing."""
        del ary, idx, val
        only_in_kernels("atomic.max")

    @staticmethod
    def min(ary: Any, idx: Any, val: Any) -> Any:
        """Replace the element by ``val`` if that is smaller; a nan stays, and replaces nothing."""
        del ary, idx, val
        only_in_kernels("atomic.min")

    @staticmethod
    def nanmax(ary: Any, idx: Any, val: Any) -> Any:
        """Replace the element by ``val`` if that is larger, or if the element is nan."""
        del ary, idx, val
        only_in_kernels("atomic.nanmax")

    @staticmethod
    def nanmin(ary: Any, idx: Any, val: Any) -> Any:
        """Replace the element by ``val`` if that is smaller, or if the element is nan."""
        del ary, idx, val
        only_in_kernels("atomic.nanmin")

    @staticmethod
    def cas(ary: Any, idx: Any, old: Any, val: Any) -> Any:
        """Replace the element by ``val`` if it equals ``old``."""
        del ary, idx, old, val
        only_in_kernels("atomic.cas")

    @staticmethod
    def compare_and_swap(ary: Any, old: Any, val: Any) -> Any:
        """Replace the first element by ``val`` if it equals ``old``."""
        del ary, old, val
        only_in_kernels("atomic.compare_and_swap")


atomic = Atomics()
