"""What is worth a jump: rough costs of operations, and what leaves a region how."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.cpu.memory import address_of, memory_type, size_of
from pygpulib.jit.ir import intrinsic as lowerings
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import BinaryKind
from pygpulib.jit.ir.rewrite import results_of, walk

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.gang import Gang

# About what a mispredicted jump costs, in units of one vector instruction.
COSTLY = 24.0

# What must not run at all when no lane is active.
_NEEDS_A_LANE = 1e6

_SLOW_BINARY = frozenset({BinaryKind.FLOOR_DIVIDE, BinaryKind.MODULO, BinaryKind.REMAINDER})


def is_costly(gang: Gang, block: ir.Block) -> bool:
    """Return whether a block is worth a jump around it when no lane needs it."""
    return _block_cost(gang, block.ops) >= COSTLY


def wants_test(gang: Gang, ops: Iterable[ir.Op]) -> bool:
    """Return whether operations are worth a test for active lanes before them."""
    return _block_cost(gang, ops) >= COSTLY


def _block_cost(gang: Gang, ops: Iterable[ir.Op]) -> float:
    total = 0.0
    for op in ops:
        total += _cost(gang, op)
        if total >= COSTLY:
            break
    return total


def _cost(gang: Gang, op: ir.Op) -> float:
    match op:
        case ir.If():
            return 1 + _block_cost(gang, op.then_block.ops) + _block_cost(gang, op.else_block.ops)
        case ir.Scope():
            return _block_cost(gang, op.body.ops)
        case ir.Load() | ir.Store():
            return _access_cost(gang, op)
        case ir.Binary() | ir.Call() | ir.Unary() | ir.Compare() | ir.Select() | ir.Cast():
            is_scalar = all(not gang.shape(result).is_varying for result in results_of(op))
            return 0.25 if is_scalar else _vector_cost(gang, op)
        case (
            ir.Const()
            | ir.Undefined()
            | ir.ReadRegister()
            | ir.PointerAdd()
            | ir.Bitcast()
            | ir.ConstantData()
            | ir.Allocate()
        ):
            return 0.25
        case ir.Yield() | ir.Break() | ir.Continue() | ir.Return() | ir.Unreachable():
            return 0.0
        case _:
            return _NEEDS_A_LANE


def _access_cost(gang: Gang, op: ir.Load | ir.Store) -> float:
    stride = address_of(gang, op).stride
    value = op.result if isinstance(op, ir.Load) else op.value
    if stride == 0:
        return _NEEDS_A_LANE
    is_contiguous = stride is not None and abs(stride) == size_of(memory_type(value.type))
    return 4.0 if is_contiguous else float(gang.width)


def _vector_cost(gang: Gang, op: ir.Op) -> float:
    match op:
        case ir.Binary(kind, left) if kind in _SLOW_BINARY:
            is_float = isinstance(left.type, DType) and left.type.is_float
            return 8.0 * gang.width if is_float else 2.0 * gang.width
        case ir.Binary(BinaryKind.DIVIDE):
            return 8.0
        case ir.Call(intrinsic):
            is_vector = isinstance(intrinsic.cpu, lowerings.LLVM | lowerings.Emit)
            return 4.0 if is_vector else 8.0 * gang.width
        case _:
            return 1.0


def is_trivial(block: ir.Block) -> bool:
    """Return whether a block only yields values from outside."""
    return len(block.ops) == 1 and isinstance(block.terminator, ir.Yield)


def has_effects(block: ir.Block) -> bool:
    """Return whether a block reads or writes memory, or more."""
    return any(op.effect is not ir.Effect.NONE for op in walk(block))


def may_lose_lanes(*blocks: ir.Block) -> bool:
    """Return whether lanes may leave, out of an ``If``, from inside its blocks."""
    exits = (ir.Break, ir.Continue, ir.Return, ir.Raise)
    return any(isinstance(inner, exits) for block in blocks for inner in walk(block))


def raises(block: ir.Block) -> bool:
    """Return whether a thread may end with an error in a block."""
    return any(isinstance(inner, ir.Raise) for inner in walk(block))


def leaves_through(block: ir.Block) -> bool:
    """Return whether a loop's body has a ``Return`` out of the loop, or a ``Raise``."""
    for op in block.ops:
        match op:
            case ir.Return() | ir.Raise():
                return True
            case ir.If():
                if leaves_through(op.then_block) or leaves_through(op.else_block):
                    return True
            case ir.For() | ir.Loop():
                if leaves_through(op.body):
                    return True
            case ir.Scope():
                if raises(op.body):
                    return True
            case _:
                pass
    return False


def exits_of(block: ir.Block, kind: type[ir.Break] | type[ir.Continue]) -> int:
    """Count the ``Break`` or ``Continue`` operations of a loop in its body."""
    count = 0
    for op in block.ops:
        match op:
            case ir.If():
                count += exits_of(op.then_block, kind) + exits_of(op.else_block, kind)
            case _ if isinstance(op, kind):
                count += 1
            case _:
                pass
    return count
