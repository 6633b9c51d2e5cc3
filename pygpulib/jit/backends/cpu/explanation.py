"""What the CPU back end made of a kernel, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core.dtypes import DType
from pygpulib.core.processor import LAUNCH_LIMITS
from pygpulib.jit.backends.accesses import examine
from pygpulib.jit.backends.findings import Finding, LaneCall, Layout, Resources
from pygpulib.jit.ir import intrinsic as lowerings
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.passes.find_lane_shapes import LaneShapes, find_lane_shapes

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pygpulib.jit.backends.cpu.target import CpuVariant

_AXES = ("x", "y", "z", "warp")


def find_resources(function: ir.Function) -> Resources:
    """Return what a kernel takes.

    Parameters
    ----------
    function : ir.Function
        Its prepared IR.
    """
    bytes_in = dict.fromkeys(ir.AddressSpace, 0)
    constants = {}
    for op in _all_ops(function):
        if isinstance(op, ir.Allocate):
            bytes_in[op.space] += op.size_bytes
        elif isinstance(op, ir.ConstantData):
            constants[id(op.data)] = op.data.nbytes
    return Resources(
        registers_per_thread=0,
        constant_bytes=sum(constants.values()),
        shared_bytes=bytes_in[ir.AddressSpace.SHARED],
        local_bytes=bytes_in[ir.AddressSpace.LOCAL],
        max_threads_per_block=LAUNCH_LIMITS["MAX_THREADS_PER_BLOCK"],
    )


def _all_ops(function: ir.Function) -> Iterator[ir.Op]:
    yield from walk(function.body)
    for callee in function.callees:
        yield from walk(callee.body)


def explain_variant(
    function: ir.Function,
    variant: CpuVariant,
    block: tuple[int, int, int],
    was_cached: bool | None,
) -> Layout:
    """Describe how a kernel runs blocks of one shape.

    Parameters
    ----------
    function : ir.Function
        Its prepared IR.
    variant : CpuVariant
        How the block lies on vectors.
    block : tuple of int
        The block's shape.
    was_cached : bool or None
        Whether the machine code was found on disk.
    """
    shapes = find_lane_shapes(function, variant.axis)
    found = (_examine(op, shapes, variant) for op in walk(function.body))
    # Passes may repeat what is once in the source.
    findings = dict.fromkeys(each for each in found if each is not None)
    axis = _AXES[variant.axis]
    return Layout(block, variant.width, axis, variant.full, was_cached, tuple(findings))


def _examine(op: ir.Op, shapes: LaneShapes, variant: CpuVariant) -> Finding | None:
    match op:
        case ir.Call(lowerings.Intrinsic(name=name, cpu=lowerings.Extern(symbols))):
            (result,) = op.results
            operand_type = op.operands[0].type
            assert isinstance(operand_type, DType)
            if shapes[result].is_uniform or variant.width == 1:
                return None
            return LaneCall(name, symbols[operand_type], op.span)
        case _:
            return examine(op, shapes)
