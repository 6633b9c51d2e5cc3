"""The straight-line operations of one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from pygpulib.core.dtypes import DType
from pygpulib.errors import InternalError
from pygpulib.jit.backends.cuda.atomics import emit_atomic
from pygpulib.jit.backends.cuda.barriers import emit_barrier, emit_fence
from pygpulib.jit.backends.cuda.calls import emit_call, emit_call_function
from pygpulib.jit.backends.cuda.memory import (
    emit_allocate,
    emit_bitcast,
    emit_constant_data,
    emit_load,
    emit_pointer_add,
    emit_store,
)
from pygpulib.jit.backends.cuda.prints import emit_print
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.thread import Thread


def emit_simple(thread: Thread, op: ir.Op) -> None:
    """Write an operation without nested blocks."""
    writer = _WRITERS.get(type(op))
    if writer is None:
        raise InternalError(f"the operation {type(op).__name__} has no code here")
    writer(thread, op)


def _emit_const(thread: Thread, op: ir.Const) -> None:
    thread.constants[op.result] = op.value
    thread.define(op.result, thread.number(op.value, thread.dtype(op.result)))


def _emit_undefined(thread: Thread, op: ir.Undefined) -> None:
    type_ = op.result.type
    thread.define(op.result, thread.number(0, type_) if isinstance(type_, DType) else "null")


def _emit_unary(thread: Thread, op: ir.Unary) -> None:
    dtype, operand = thread.dtype(op.result), thread.text(op.operand)
    thread.define(op.result, thread.arithmetic.unary(op.kind, dtype, 0, operand))


def _emit_binary(thread: Thread, op: ir.Binary) -> None:
    dtype = thread.dtype(op.result)
    left, right = thread.texts((op.left, op.right))
    text = thread.arithmetic.binary(op.kind, dtype, 0, left, right, strict=op.strict)
    thread.define(op.result, text)


def _emit_compare(thread: Thread, op: ir.Compare) -> None:
    left, right = thread.texts((op.left, op.right))
    if isinstance(op.left.type, ir.Pointer):
        text = thread.code.emit(f"icmp {op.kind.value} {thread.typed(op.left)}, {right}")
    else:
        text = thread.arithmetic.compare(op.kind, op.left.type, 0, left, right)
    thread.define(op.result, text)


def _emit_select(thread: Thread, op: ir.Select) -> None:
    condition, if_true, if_false = map(thread.typed, (op.condition, op.if_true, op.if_false))
    thread.define(op.result, thread.code.emit(f"select {condition}, {if_true}, {if_false}"))


def _emit_cast(thread: Thread, op: ir.Cast) -> None:
    thread.define(op.result, thread.cast(op.operand, thread.dtype(op.result)))


def _emit_register(thread: Thread, op: ir.ReadRegister) -> None:
    thread.define(op.result, thread.register(op.register))


_WRITERS: dict[type, Callable[[Thread, Any], None]] = {
    ir.Const: _emit_const,
    ir.Undefined: _emit_undefined,
    ir.Unary: _emit_unary,
    ir.Binary: _emit_binary,
    ir.Compare: _emit_compare,
    ir.Select: _emit_select,
    ir.Cast: _emit_cast,
    ir.Bitcast: emit_bitcast,
    ir.Call: emit_call,
    ir.CallFunction: emit_call_function,
    ir.ReadRegister: _emit_register,
    ir.Barrier: emit_barrier,
    ir.Fence: emit_fence,
    ir.PointerAdd: emit_pointer_add,
    ir.Load: emit_load,
    ir.Store: emit_store,
    ir.ConstantData: emit_constant_data,
    ir.Allocate: emit_allocate,
    ir.Atomic: emit_atomic,
    ir.Print: emit_print,
}
