"""Loads, stores and addresses; memory of blocks and threads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core import dtypes
from pygpulib.jit.backends.cuda.module import ALIGNMENT, INVARIANT, whole
from pygpulib.jit.backends.cuda.spaces import GENERIC
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.thread import Thread

_UNITS = {1: "i8", 2: "i16", 4: "i32", 8: "i64"}


def emit_load(thread: Thread, op: ir.Load) -> None:
    """Write a load."""
    held = thread.register_type(op.result)
    type_ = "i8" if held == "i1" else held
    # What lies in constant or local memory has instructions of its own.
    suffix = f", {INVARIANT}" if op.invariant else ""
    suffix += thread.module.scopes.mark(op.pointer)
    text = thread.code.emit(f"load {type_}, {address_of(thread, op)}{suffix}")
    if held == "i1":
        text = thread.arithmetic.cast(dtypes.uint8, dtypes.bool_, 0, text)
    thread.define(op.result, text)


def emit_store(thread: Thread, op: ir.Store) -> None:
    """Write a store."""
    text = thread.typed(op.value)
    if op.value.type == dtypes.bool_:
        text = f"i8 {thread.cast(op.value, dtypes.uint8)}"
    mark = thread.module.scopes.mark(op.pointer)
    thread.code.do(f"store {text}, {address_of(thread, op)}{mark}")


def address_of(thread: Thread, op: ir.Load | ir.Store | ir.Atomic | ir.PointerAdd) -> str:
    """Write the address of an access, and return it with its type."""
    type_, pointer = thread.register_type(op.pointer), thread.text(op.pointer)
    return f"{type_} {_offset(thread, f'{type_} {pointer}', thread.text(op.index), op.scale)}"


def emit_pointer_add(thread: Thread, op: ir.PointerAdd) -> None:
    """Write an address computation."""
    pointer = thread.typed(op.pointer)
    thread.define(op.result, _offset(thread, pointer, thread.text(op.index), op.scale))


def _offset(thread: Thread, pointer: str, index: str, scale: int) -> str:
    unit = _UNITS.get(scale)
    if unit is None:
        index, unit = thread.code.emit(f"mul i64 {index}, {scale}"), "i8"
    return thread.code.emit(f"getelementptr {unit}, {pointer}, i64 {index}")


def emit_allocate(thread: Thread, op: ir.Allocate) -> None:
    """Write memory of the block or the thread."""
    if op.space is ir.AddressSpace.LOCAL:
        text = thread.code.slot(f"[{whole(op.size_bytes)} x i8]", max(op.alignment, ALIGNMENT))
    elif op.size_bytes:
        text = thread.module.shared_array(op.size_bytes, max(op.alignment, ALIGNMENT))
    else:
        text = thread.module.dynamic_shared()
    thread.define(op.result, text)


def emit_constant_data(thread: Thread, op: ir.ConstantData) -> None:
    """Write the address of constant data."""
    assert isinstance(op.result.type, ir.Pointer)
    spaces = thread.module.spaces
    is_constant = op.result.type.space is ir.AddressSpace.CONSTANT
    space = spaces.constant_space if is_constant else 1
    symbol = thread.module.constant_data(op.data, space)
    type_ = thread.register_type(op.result)
    if type_ == GENERIC:
        symbol = thread.code.emit(f"addrspacecast ptr addrspace({space}) {symbol} to ptr")
    thread.define(op.result, symbol)


def emit_bitcast(thread: Thread, op: ir.Bitcast) -> None:
    """Write the reading of bits as another type; whole numbers are generic addresses."""
    old, new = thread.register_type(op.operand), thread.register_type(op.result)
    text = thread.text(op.operand)
    if isinstance(op.operand.type, ir.Pointer) and isinstance(op.result.type, ir.Pointer):
        text = _move(thread, text, old, new)
    elif isinstance(op.operand.type, ir.Pointer):
        text = thread.code.emit(f"ptrtoint ptr {_move(thread, text, old, GENERIC)} to {new}")
    elif isinstance(op.result.type, ir.Pointer):
        text = _move(thread, thread.code.emit(f"inttoptr {old} {text} to ptr"), GENERIC, new)
    else:
        text = thread.arithmetic.bitcast(op.operand.type, op.result.type, 0, text)
    thread.define(op.result, text)


def _move(thread: Thread, text: str, old: str, new: str) -> str:
    """Write an address as one of another space."""
    return text if old == new else thread.code.emit(f"addrspacecast {old} {text} to {new}")
