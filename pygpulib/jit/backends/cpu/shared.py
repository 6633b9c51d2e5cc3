"""Shared memory: where each array of a block lies in the block's own piece of memory."""

from __future__ import annotations

from pygpulib._record import record
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk

_ALIGNMENT = 64


@record(eq=True)
class SharedPlaces:
    """Offsets of a kernel's shared arrays.

    Attributes
    ----------
    offsets : dict
        Offset in bytes by the operation (by identity) that allocates.
    dynamic_offset : int
        Where the launch's dynamic shared memory starts; all its arrays do.
    """

    offsets: dict[int, int]
    dynamic_offset: int

    def offset_of(self, op: ir.Allocate) -> int:
        """Return where an array lies."""
        return self.offsets.get(id(op), self.dynamic_offset)


def place_shared(function: ir.Function) -> SharedPlaces:
    """Place a kernel's shared arrays one after the other, the dynamic ones last."""
    offsets: dict[int, int] = {}
    end = 0
    for op in walk(function.body):
        is_shared = isinstance(op, ir.Allocate) and op.space is ir.AddressSpace.SHARED
        if isinstance(op, ir.Allocate) and is_shared and op.size_bytes:
            alignment = max(op.alignment, _ALIGNMENT)
            offsets[id(op)] = -(-end // alignment) * alignment
            end = offsets[id(op)] + op.size_bytes
    return SharedPlaces(offsets, -(-end // _ALIGNMENT) * _ALIGNMENT)


def uses_shared(function: ir.Function) -> bool:
    """Return whether a kernel has shared memory."""
    return any(
        isinstance(op, ir.Allocate) and op.space is ir.AddressSpace.SHARED
        for op in walk(function.body)
    )
