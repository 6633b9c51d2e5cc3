"""The rules on the types and attributes of each operation, looked at by itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import assert_never

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir

Arithmetic = (
    ir.Const
    | ir.Undefined
    | ir.Unary
    | ir.Binary
    | ir.Compare
    | ir.Select
    | ir.Cast
    | ir.Bitcast
    | ir.Call
)
MemoryOp = ir.PointerAdd | ir.Load | ir.Store | ir.ConstantData | ir.Allocate | ir.Atomic


class RuleError(Exception):
    """A rule that an operation breaks; the verifier says where.

    Attributes
    ----------
    problem : str
        The rule, or what is wrong.
    """

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


def expect(holds: bool, rule: str) -> None:
    """Raise if a rule does not hold.

    Parameters
    ----------
    holds : bool
        Whether it does.
    rule : str
        What to say if not.
    """
    if not holds:
        raise RuleError(rule)


def check_types(op: ir.Op) -> None:
    """Check what can be seen without looking around.

    Parameters
    ----------
    op : Op
        Any operation; nested blocks are not looked at.

    Raises
    ------
    RuleError
        If an operand, a result or an attribute is not what the operation takes.
    """
    match op:
        case (
            ir.PointerAdd()
            | ir.Load()
            | ir.Store()
            | ir.ConstantData()
            | ir.Allocate()
            | ir.Atomic()
        ):
            _check_memory(op)
        case ir.If() | ir.For() | ir.Loop():
            _check_region(op)
        case ir.ReadRegister() | ir.Barrier() | ir.Raise() | ir.Print():
            _check_thread(op)
        case (
            ir.CallFunction()
            | ir.Fence()
            | ir.Scope()
            | ir.Yield()
            | ir.Continue()
            | ir.Break()
            | ir.Return()
            | ir.Unreachable()
        ):
            pass  # Nothing to see without the surroundings.
        case _:
            _check_arithmetic(op)


# ----------------------------------------------------------------------------------- arithmetic


def _check_arithmetic(op: Arithmetic) -> None:
    match op:
        case ir.Const():
            _check_const(op)
        case ir.Undefined():
            pass
        case ir.Unary():
            _same(op.operand, op.result)
            _check_unary_type(op.kind, _number(op.operand))
        case ir.Binary():
            _same(op.left, op.right, op.result)
            _check_binary_type(op.kind, _number(op.left))
        case ir.Compare():
            _same(op.left, op.right)
            _is(op.result, dtypes.bool_)
            is_equality = op.kind in (ir.CompareKind.EQ, ir.CompareKind.NE)
            expect(is_equality or isinstance(op.left.type, DType), "pointers have no order")
        case ir.Select():
            _is(op.condition, dtypes.bool_)
            _same(op.if_true, op.if_false, op.result)
        case ir.Cast():
            _number(op.operand)
            _number(op.result)
        case ir.Bitcast():
            _check_bitcast(op)
        case ir.Call():
            _check_call(op)
        case _:
            assert_never(op)


def _check_const(op: ir.Const) -> None:
    dtype, value = _number(op.result), op.value
    if dtype.is_bool:
        is_legal = isinstance(value, bool)
    elif dtype.is_float:
        is_legal = isinstance(value, float)
    else:
        low = -(1 << (dtype.bits - 1)) if dtype.is_signed else 0
        is_legal = type(value) is int and low <= value < low + (1 << dtype.bits)
    expect(is_legal, f"{value!r} is no constant of type {dtype}")
    if dtype.is_float and math.isfinite(value):
        expect(abs(value) <= dtype.float_format.largest, f"{value!r} is too large for {dtype}")


_BIT_KINDS = (ir.BinaryKind.AND, ir.BinaryKind.OR, ir.BinaryKind.XOR)
_SHIFT_KINDS = (ir.BinaryKind.SHIFT_LEFT, ir.BinaryKind.SHIFT_RIGHT)


def _check_unary_type(kind: ir.UnaryKind, dtype: DType) -> None:
    if kind is ir.UnaryKind.NOT:
        expect(not dtype.is_float, f"{kind.value} does not take {dtype}")
    else:
        expect(not dtype.is_bool, f"{kind.value} does not take {dtype}")


def _check_binary_type(kind: ir.BinaryKind, dtype: DType) -> None:
    if kind is ir.BinaryKind.DIVIDE:
        is_legal = dtype.is_float
    elif kind in _BIT_KINDS:
        is_legal = not dtype.is_float
    elif kind in _SHIFT_KINDS:
        is_legal = dtype.is_integer
    else:
        is_legal = not dtype.is_bool
    expect(is_legal, f"{kind.value} does not take {dtype}")


def _check_bitcast(op: ir.Bitcast) -> None:
    types = (op.operand.type, op.result.type)
    expect(dtypes.bool_ not in types, "the bits of a bool are not defined")
    sizes = [type_.size_bytes if isinstance(type_, DType) else 8 for type_ in types]
    expect(sizes[0] == sizes[1], "a bitcast keeps the size")


def _check_call(op: ir.Call) -> None:
    operands = tuple(_number(value) for value in op.operands)
    signature = op.intrinsic.rule(operands)
    name = op.intrinsic.name
    if signature is None or signature.operands != operands:
        raise RuleError(f"{name} does not take ({', '.join(map(str, operands))}) as they are")
    results = tuple(_number(value) for value in op.results)
    expect(results == signature.results, f"the results of {name} have other types")


# --------------------------------------------------------------------------------------- memory


def _check_memory(op: MemoryOp) -> None:
    match op:
        case ir.ConstantData():
            _pointer(op.result)
            expect(op.data.flags.c_contiguous, "constant data is C-contiguous")
        case ir.Allocate():
            _check_allocate(op)
        case ir.PointerAdd():
            _check_address(op.pointer, op.index, op.scale)
            _same(op.pointer, op.result)
        case ir.Load():
            _check_address(op.pointer, op.index, op.scale)
            _number(op.result)
        case ir.Store():
            _check_address(op.pointer, op.index, op.scale)
            _number(op.value)
        case ir.Atomic():
            _check_address(op.pointer, op.index, op.scale)
            _check_atomic(op)
        case _:
            assert_never(op)


def _check_address(pointer: ir.Value, index: ir.Value, scale: int) -> None:
    _pointer(pointer)
    _is(index, dtypes.int64)
    expect(scale > 0, "the scale of an address is positive")


def _check_allocate(op: ir.Allocate) -> None:
    expect(op.space in (ir.AddressSpace.SHARED, ir.AddressSpace.LOCAL), f"no {op.space.value}")
    _is(op.result, ir.Pointer(op.space))
    smallest = 0 if op.space is ir.AddressSpace.SHARED else 1
    expect(op.size_bytes >= smallest, f"a size of {op.size_bytes} bytes")
    is_power = op.alignment > 0 and op.alignment & (op.alignment - 1) == 0
    expect(is_power, f"an alignment of {op.alignment}, which is no power of two")


def _check_atomic(op: ir.Atomic) -> None:
    kind, dtype = op.kind, _number(op.value)
    _same(op.value, op.result)
    expect(not dtype.is_bool, f"atomic {kind.value} does not take {dtype}")
    is_exchange = kind is ir.AtomicKind.COMPARE_EXCHANGE
    expect(is_exchange == (op.expected is not None), "only cas has an expected value")
    if op.expected is not None:
        _same(op.value, op.expected)
    if kind in (ir.AtomicKind.AND, ir.AtomicKind.OR, ir.AtomicKind.XOR):
        expect(dtype.is_integer, f"atomic {kind.value} does not take {dtype}")
    if kind in (ir.AtomicKind.INCREMENT, ir.AtomicKind.DECREMENT):
        is_unsigned = dtype.is_integer and not dtype.is_signed
        expect(is_unsigned, f"atomic {kind.value} does not take {dtype}")


# ------------------------------------------------------------------------- control and threads


def _check_region(op: ir.If | ir.For | ir.Loop) -> None:
    match op:
        case ir.If():
            _is(op.condition, dtypes.bool_)
            leaves = not any(
                isinstance(block.ops[-1], ir.Yield)
                for block in (op.then_block, op.else_block)
                if block.ops
            )
            expect(not (leaves and op.results), "an if whose branches both leave has no results")
        case ir.For():
            _same(op.start, op.stop, op.step)
            expect(_number(op.start).is_integer, "the bounds of a for are integers")
            inits = [value.type for value in op.inits]
            results = [value.type for value in op.results]
            expect(inits == results, "a for has one result per carried value")
        case ir.Loop():
            pass
        case _:
            assert_never(op)


_PLAIN_BARRIERS = (ir.BarrierKind.BLOCK, ir.BarrierKind.WARP, ir.BarrierKind.GRID)


def _check_thread(op: ir.ReadRegister | ir.Barrier | ir.Raise | ir.Print) -> None:
    match op:
        case ir.ReadRegister():
            _is(op.result, dtypes.int32)
        case ir.Barrier():
            _check_barrier(op)
        case ir.Raise():
            for value in op.details:
                _number(value)
        case ir.Print():
            for value in op.operands:
                _number(value)
            expect(_count_holes(op.parts) == len(op.operands), "a print needs one operand per hole")
        case _:
            assert_never(op)


def _count_holes(parts: Sequence[ir.Part]) -> int:
    """Return how many operands the parts of a print take."""
    return sum(map(_holes, parts))


def _holes(part: ir.Part) -> int:
    match part:
        case str():
            return 0
        case ir.Format(_, is_complex):
            return 1 + is_complex
        case ir.Shown(count):
            return count
        case ir.Optional(parts):
            return 1 + _count_holes(parts)
        case None:
            return 1
        case _:
            assert_never(part)


def _check_barrier(op: ir.Barrier) -> None:
    if op.kind in _PLAIN_BARRIERS:
        expect(not op.results, f"a {op.kind.value} barrier has no result")
        takes_predicate = op.kind is ir.BarrierKind.WARP
        expect(takes_predicate or op.predicate is None, f"a {op.kind.value} barrier has no operand")
        if op.predicate is not None:
            expect(_number(op.predicate).is_integer, "a mask of lanes is an integer")
        return
    if op.predicate is None or len(op.results) != 1:
        raise RuleError("a counting barrier has one predicate and one result")
    _is(op.predicate, dtypes.int32)
    _is(op.results[0], dtypes.int32)


# ------------------------------------------------------------------------------- single checks


def _number(value: ir.Value) -> DType:
    if not isinstance(value.type, DType):
        raise RuleError(f"{value.type} stands where a number is expected")
    return value.type


def _pointer(value: ir.Value) -> None:
    expect(isinstance(value.type, ir.Pointer), f"{value.type} stands where an address is expected")


def _is(value: ir.Value, type_: ir.Type) -> None:
    expect(value.type == type_, f"{value.type} stands where {type_} is expected")


def _same(*values: ir.Value) -> None:
    first = values[0].type
    expect(
        all(value.type == first for value in values),
        f"{', '.join(str(value.type) for value in values)} are to be of one type",
    )
