"""How to lay threads on vectors: along which axis of the block, and how many."""

from __future__ import annotations

from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.cpu.memory import memory_type, size_of
from pygpulib.jit.backends.cpu.target import CpuTarget
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import blocks_of, results_of, walk
from pygpulib.jit.passes.find_lane_shapes import LaneShapes, find_lane_shapes

MAX_WIDTH = 32
_MIN_WIDTH = 8

# Rough costs of an access by all lanes: one scalar, whole registers, one element after the other.
_UNIFORM, _CONTIGUOUS, _SCATTERED = 1.0, 4.0, 32.0

# How often a loop's body is taken to run.
_LOOP_WEIGHT = 8.0


def choose_width(function: ir.Function, target: CpuTarget) -> int:
    """Return how many threads to run as one vector: what fills four vector registers.

    Four independent operations hide the latency of one, and more do not fit the registers.
    Only floats count, and what is loaded: other integers are mostly addresses, which stay
    scalar.
    """
    sizes = [4]
    for op in walk(function.body):
        if isinstance(op, ir.Binary | ir.Call | ir.Cast | ir.Load):
            sizes += [
                value.type.size_bytes
                for value in results_of(op)
                if isinstance(value.type, DType)
                and (value.type.is_float or isinstance(op, ir.Load))
            ]
    return max(_MIN_WIDTH, min(MAX_WIDTH, 4 * target.vector_bytes // max(sizes)))


def choose_axes(function: ir.Function) -> tuple[int, int, int]:
    """Return the axes of a block, best first, for the lanes of a gang.

    Any grouping of threads is right; the best one makes most accesses contiguous. Axes along
    which threads do not differ come last.
    """
    registers = {op.register for op in walk(function.body) if isinstance(op, ir.ReadRegister)}

    def badness(axis: int) -> tuple[bool, float, int]:
        if ir.TID[axis] not in registers:
            return (True, 0.0, axis)
        return (False, _access_cost(function.body, find_lane_shapes(function, axis), 1.0), axis)

    if sum(tid in registers for tid in ir.TID) < 2:
        order = sorted(range(3), key=lambda axis: (ir.TID[axis] not in registers, axis))
    else:
        order = sorted(range(3), key=badness)
    return (order[0], order[1], order[2])


def spins(function: ir.Function) -> bool:
    """Return whether threads may wait in a loop for what other threads exchange.

    Lanes of one gang run in lock step: one that waits for another would hold it up for ever. Such
    kernels run thread by thread.
    """
    exchanges = (ir.AtomicKind.COMPARE_EXCHANGE, ir.AtomicKind.EXCHANGE)
    return any(
        isinstance(inner, ir.Atomic) and inner.kind in exchanges
        for op in walk(function.body)
        if isinstance(op, ir.Loop)
        for inner in walk(op.body)
    )


def _access_cost(block: ir.Block, shapes: LaneShapes, weight: float) -> float:
    total = 0.0
    for op in block.ops:
        if isinstance(op, ir.Load | ir.Store):
            total += weight * _one_access(op, shapes)
        inner = weight * _LOOP_WEIGHT if isinstance(op, ir.For | ir.Loop) else weight
        for nested in blocks_of(op):
            total += _access_cost(nested, shapes, inner)
    return total


def _one_access(op: ir.Load | ir.Store, shapes: LaneShapes) -> float:
    pointer, index = shapes[op.pointer].stride, shapes[op.index].stride
    if pointer is None or index is None:
        return _SCATTERED
    stride = abs(pointer + index * op.scale)
    value = op.result if isinstance(op, ir.Load) else op.value
    if stride == 0:
        return _UNIFORM
    return _CONTIGUOUS if stride == size_of(memory_type(value.type)) else _SCATTERED
