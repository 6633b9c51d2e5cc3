"""The block's own piece of memory: where shared arrays and large local ones lie in it."""

from __future__ import annotations

from pygpulib._record import record
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk

_ALIGNMENT = 64

# Local arrays beyond this are not kept on the stack: threads have 512 KB of it on some systems, and
# a gang of 16 lanes may ask for 8 MB.
_STACK_BYTES = 64 << 10


@record(eq=True)
class SharedPlaces:
    """Offsets of a kernel's shared arrays, and of the local ones that the stack has no room for.

    Attributes
    ----------
    offsets : dict
        Offset in bytes by the operation (by identity) that allocates.
    dynamic_offset : int
        Where the launch's dynamic shared memory starts; all its arrays do.
    """

    offsets: dict[int, int]
    dynamic_offset: int

    def offset_of(self, op: ir.Allocate) -> int | None:
        """Return where an array lies, or None if that is on the stack."""
        if op.space is ir.AddressSpace.SHARED:
            return self.offsets.get(id(op), self.dynamic_offset)
        return self.offsets.get(id(op))


def place_shared(function: ir.Function, width: int) -> SharedPlaces:
    """Place a kernel's arrays one after the other, those in dynamic shared memory last.

    Parameters
    ----------
    function : ir.Function
        The kernel.
    width : int
        For how many threads at a time local arrays are placed; 0 if not here at all.
    """
    offsets: dict[int, int] = {}
    end = on_stack = 0
    for op in walk(function.body):
        if not isinstance(op, ir.Allocate):
            continue
        size = op.size_bytes
        if op.space is ir.AddressSpace.LOCAL:
            size = op.stride_bytes * width
            if on_stack + size <= _STACK_BYTES:
                on_stack += size
                continue
        if size:
            alignment = max(op.alignment, _ALIGNMENT)
            offsets[id(op)] = -(-end // alignment) * alignment
            end = offsets[id(op)] + size
    return SharedPlaces(offsets, -(-end // _ALIGNMENT) * _ALIGNMENT)


def uses_piece(function: ir.Function, places: SharedPlaces) -> bool:
    """Return whether the blocks of a kernel need such a piece of memory."""
    return bool(places.offsets) or any(
        isinstance(op, ir.Allocate) and op.space is ir.AddressSpace.SHARED
        for op in walk(function.body)
    )
