"""The operations without control flow: arithmetic, memory, threads."""

from __future__ import annotations

from typing import Any, assert_never

import numpy as np

from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.interp.atomics import combine
from pygpulib.jit.backends.interp.memory import AccessError, Addresses, Mask
from pygpulib.jit.backends.interp.state import Array, Frame, State, garbage, numpy_type
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.arithmetic import (
    apply_binary,
    apply_bitcast,
    apply_cast,
    apply_compare,
    apply_unary,
    constant,
)
from pygpulib.jit.printing import format_print

Arithmetic = (
    ir.Const
    | ir.Undefined
    | ir.Unary
    | ir.Binary
    | ir.Compare
    | ir.Select
    | ir.Cast
    | ir.Bitcast
    | ir.PointerAdd
)
MemoryOp = ir.Load | ir.Store | ir.Atomic | ir.ConstantData | ir.Allocate
ThreadOp = ir.ReadRegister | ir.Barrier | ir.Fence | ir.Print | ir.Call


def compute(state: State, frame: Frame, op: Arithmetic) -> Array:
    """Return the result of an arithmetic operation, in all lanes at once."""
    values = frame.values
    match op:
        case ir.Const():
            return constant(op.value, _dtype(op.result), state.lanes.count)
        case ir.Undefined():
            return garbage(op.result.type, state.lanes.count)
        case ir.Unary():
            return apply_unary(op.kind, values[op.operand])
        case ir.Binary():
            return apply_binary(op.kind, values[op.left], values[op.right])
        case ir.Compare():
            return apply_compare(op.kind, values[op.left], values[op.right])
        case ir.Select():
            condition, if_true, if_false = frame.read((op.condition, op.if_true, op.if_false))
            return np.where(condition, if_true, if_false)
        case ir.Cast():
            return apply_cast(values[op.operand], _dtype(op.result))
        case ir.Bitcast():
            return apply_bitcast(values[op.operand], numpy_type(op.result.type))
        case ir.PointerAdd():
            return _address(frame, op)
        case _:
            assert_never(op)


def _dtype(value: ir.Value) -> DType:
    assert isinstance(value.type, DType)
    return value.type


def _address(frame: Frame, op: ir.PointerAdd | ir.Load | ir.Store | ir.Atomic) -> Addresses:
    with np.errstate(all="ignore"):
        return np.asarray(frame.values[op.pointer] + frame.values[op.index] * op.scale, np.int64)


# --------------------------------------------------------------------------------------- memory


def access(state: State, frame: Frame, op: MemoryOp, mask: Mask) -> None:
    """Run an operation on memory for the active lanes."""
    values = frame.values
    match op:
        case ir.Allocate():
            values[op.result] = _allocate(state, frame, op)
        case ir.ConstantData():
            values[op.result] = _constant_data(state, op)
        case ir.Load() | ir.Store() | ir.Atomic():
            try:
                _access_element(state, frame, op, mask)
            except AccessError as cause:
                index = values[op.index][cause.lane]
                array = f" of array {op.access.array!r}" if op.access else ""
                problem = f"the access to index {index}{array} is wrong: {cause.problem}"
                raise state.fault(op, cause.lane, problem) from None
        case _:
            assert_never(op)


def _access_element(
    state: State, frame: Frame, op: ir.Load | ir.Store | ir.Atomic, mask: Mask
) -> None:
    values = frame.values
    addresses = _address(frame, op)
    match op:
        case ir.Load():
            values[op.result] = state.memory.load(addresses, mask, _dtype(op.result))
        case ir.Store():
            state.memory.store(addresses, mask, values[op.value], _dtype(op.value))
        case ir.Atomic():
            values[op.result] = _change(state, frame, op, addresses, mask)
        case _:
            assert_never(op)


def _change(state: State, frame: Frame, op: ir.Atomic, addresses: Addresses, mask: Mask) -> Array:
    dtype = _dtype(op.result)
    value = frame.values[op.value]
    expected = None if op.expected is None else frame.values[op.expected]
    result = garbage(dtype, state.lanes.count)
    for lane in np.flatnonzero(mask):
        one = np.zeros_like(mask)
        one[lane] = True
        old = state.memory.load(addresses, one, dtype)
        with np.errstate(all="ignore"):
            new = combine(op.kind, old, value, expected)
        state.memory.store(addresses, one, new, dtype)
        result[lane] = old[lane]
    return result


def _allocate(state: State, frame: Frame, op: ir.Allocate) -> Addresses:
    lanes = state.lanes
    if op.space is ir.AddressSpace.LOCAL:
        if op not in frame.local:
            frame.local[op] = state.memory.add_slots(
                "local memory",
                lanes.count,
                op.size_bytes,
                op.alignment,
                np.arange(lanes.count),
            )
        return frame.local[op]
    key: object = op if op.size_bytes else ir.AddressSpace.SHARED
    if key not in state.shared:
        state.shared[key] = state.memory.add_slots(
            "shared memory",
            lanes.blocks,
            op.size_bytes or state.dynamic_shared_bytes,
            op.alignment,
            lanes.block_slots,
        )
    return state.shared[key]


def _constant_data(state: State, op: ir.ConstantData) -> Addresses:
    if op not in state.shared:
        frozen = op.data.view()
        frozen.flags.writeable = False
        address = state.memory.add_array(frozen, "the constant array")
        state.shared[op] = np.full(state.lanes.count, address)
    return state.shared[op]


# -------------------------------------------------------------------------------------- threads


def cooperate(state: State, frame: Frame, op: ThreadOp, mask: Mask) -> None:
    """Run an operation on threads, or one that the host sees."""
    match op:
        case ir.ReadRegister():
            frame.values[op.result] = state.read(op.register)
        case ir.Fence():
            pass  # Lanes run in step, so every access is in order already.
        case ir.Barrier():
            _wait(state, frame, op, mask)
        case ir.Print():
            _print(state, frame, op, mask)
        case ir.Call():
            results = (
                _call_warps(state, frame, op, mask)
                if op.intrinsic.effect is ir.Effect.CONVERGE
                else _call_lanes(state, frame, op, mask)
            )
            frame.values.update(zip(op.results, results, strict=True))
        case _:
            assert_never(op)


def _wait(state: State, frame: Frame, op: ir.Barrier, mask: Mask) -> None:
    if op.kind is ir.BarrierKind.WARP:
        return
    by_block = (state.lanes.blocks, state.lanes.threads)
    is_here = mask.reshape(by_block)
    is_missing = (state.alive & ~mask).reshape(by_block)
    late = np.flatnonzero(is_missing & is_here.any(axis=1, keepdims=True))
    # Threads may pass by a barrier of the grid.
    if late.size and op.kind is not ir.BarrierKind.GRID:
        raise state.fault(op, int(late[0]), "a barrier is not reached by all threads")
    if op.predicate is None:
        return
    holds = (frame.values[op.predicate] != 0).reshape(by_block)
    counted = {
        ir.BarrierKind.BLOCK_COUNT: lambda: (holds & is_here).sum(axis=1),
        ir.BarrierKind.BLOCK_AND: lambda: (holds | ~is_here).all(axis=1),
        ir.BarrierKind.BLOCK_OR: lambda: (holds & is_here).any(axis=1),
    }[op.kind]()
    frame.values[op.results[0]] = np.repeat(counted, by_block[1]).astype(np.int32)


def _print(state: State, frame: Frame, op: ir.Print, mask: Mask) -> None:
    columns = frame.read(op.operands)
    types = [_dtype(operand) for operand in op.operands]
    for lane in np.flatnonzero(mask):
        numbers = [column[lane].item() for column in columns]
        state.outcome.printed.append(format_print(op.parts, types, numbers))


def _call_lanes(state: State, frame: Frame, op: ir.Call, mask: Mask) -> list[Array]:
    """Apply the reference of an intrinsic to one lane after the other."""
    operands = frame.read(op.operands)
    results = [garbage(result.type, state.lanes.count) for result in op.results]
    for lane in np.flatnonzero(mask):
        answer = op.intrinsic.reference(*(operand[lane] for operand in operands))
        answers = answer if isinstance(answer, tuple) else (answer,)
        # What returns nothing returns None.
        for array, value in zip(results, answers, strict=bool(results)):
            array[lane] = _convert(value, array.dtype)
    return results


def _call_warps(state: State, frame: Frame, op: ir.Call, mask: Mask) -> list[Array]:
    """Apply the reference of a collective intrinsic to one warp after the other.

    It is given which lanes are active, then arrays over the lanes of the warp.
    """
    operands = frame.read(op.operands)
    results = [garbage(result.type, state.lanes.count) for result in op.results]
    for warp in state.lanes.warps:
        if not mask[warp].any():
            continue
        answer = op.intrinsic.reference(mask[warp], *(operand[warp] for operand in operands))
        answers = answer if isinstance(answer, tuple) else (answer,)
        for array, values in zip(results, answers, strict=bool(results)):
            array[warp] = np.where(mask[warp], values, array[warp]).astype(array.dtype)
    return results


def _convert(value: Any, dtype: np.dtype[Any]) -> Any:  # noqa: ANN401 - a NumPy or Python scalar
    """Convert what a reference returned; integers wrap."""
    if dtype.kind in "iu":
        return np.array(int(value) & ((1 << (8 * dtype.itemsize)) - 1), f"u{dtype.itemsize}").view(
            dtype
        )
    with np.errstate(all="ignore"):
        return np.asarray(value).astype(dtype)
