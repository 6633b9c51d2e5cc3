"""Barriers of blocks and warps, and fences."""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from pygpulib.core import dtypes
from pygpulib.jit.backends.cuda.grid_barrier import emit_grid_barrier
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import BarrierKind, FenceScope

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.thread import Thread

_COUNTING = {
    BarrierKind.BLOCK_COUNT: "popc",
    BarrierKind.BLOCK_AND: "and",
    BarrierKind.BLOCK_OR: "or",
}

_FENCES = {FenceScope.BLOCK: "cta", FenceScope.DEVICE: "gl", FenceScope.SYSTEM: "sys"}


def emit_barrier(thread: Thread, op: ir.Barrier) -> None:
    """Write a barrier."""
    code = thread.code
    match op.kind:
        case BarrierKind.BLOCK:
            code.call_void("llvm.nvvm.barrier0", [])
        case BarrierKind.BLOCK_COUNT | BarrierKind.BLOCK_AND | BarrierKind.BLOCK_OR:
            assert op.predicate is not None
            predicate = [("i32", thread.text(op.predicate))]
            text = code.call(f"llvm.nvvm.barrier0.{_COUNTING[op.kind]}", "i32", predicate)
            if op.kind is not BarrierKind.BLOCK_COUNT:
                holds = code.emit(f"icmp ne i32 {text}, 0")
                text = code.emit(f"zext i1 {holds} to i32")
            thread.define(op.results[0], text)
        case BarrierKind.WARP:
            mask = "-1" if op.predicate is None else thread.cast(op.predicate, dtypes.uint32)
            code.call_void("llvm.nvvm.bar.warp.sync", [("i32", mask)])
        case BarrierKind.GRID:
            emit_grid_barrier(thread)
        case _:
            assert_never(op.kind)


def emit_fence(thread: Thread, op: ir.Fence) -> None:
    """Write a fence."""
    thread.code.call_void(f"llvm.nvvm.membar.{_FENCES[op.scope]}", [])
