"""How the threads that run together access memory, and whether they stay together in loops."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.findings import AccessKind, LoopFinding, MemoryAccess
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from pygpulib.jit.passes.find_lane_shapes import LaneShapes

_POINTER_BYTES = 8


def examine(op: ir.Op, shapes: LaneShapes) -> MemoryAccess | LoopFinding | None:
    """Return what there is to say about an operation.

    Parameters
    ----------
    op : Op
        The operation.
    shapes : LaneShapes
        How its values differ between the threads.
    """
    match op:
        case ir.Load(result=value) | ir.Store(value=value) | ir.Atomic(value=value):
            return _examine_access(op, value.type, shapes)
        case ir.For() | ir.Loop():
            return LoopFinding(shapes.is_divergent(op), op.span)
        case _:
            return None


def _examine_access(
    op: ir.Load | ir.Store | ir.Atomic, type_: ir.Type, shapes: LaneShapes
) -> MemoryAccess:
    pointer, index = shapes[op.pointer].stride, shapes[op.index].stride
    stride = None if pointer is None or index is None else pointer + index * op.scale
    size = type_.size_bytes if isinstance(type_, DType) else _POINTER_BYTES
    kinds = {None: AccessKind.SCATTERED, 0: AccessKind.UNIFORM}
    kinds |= {size: AccessKind.CONTIGUOUS, -size: AccessKind.REVERSED}
    return MemoryAccess(
        type(op).__name__.lower(),
        op.access.array if op.access is not None else "",
        str(type_),
        kinds.get(stride, AccessKind.STRIDED),
        stride,
        op.span,
    )
