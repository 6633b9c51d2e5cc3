"""Calls of intrinsics, of CUDA's mathematical library, and of the kernel's own functions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.errors import InternalError, UnsupportedFeatureError
from pygpulib.jit.backends.cuda.module import RECORD_TYPE
from pygpulib.jit.backends.cuda.warps import emit_warp_call
from pygpulib.jit.backends.llvm.text import suffix
from pygpulib.jit.ir import intrinsic as lowerings
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.thread import Thread

# What is approximated under fast mathematics.
_FAST = {
    f"__nv_{name}f": f"__nv_fast_{name}f"
    for name in ("cos", "exp", "exp10", "log", "log10", "log2", "pow", "sin", "tan")
}


# Tells functions in other languages from those that GPUs have. They may hold barriers.
FOREIGN = 'convergent nounwind "foreign"'


def emit_call(thread: Thread, op: ir.Call) -> None:
    """Write a call of an intrinsic."""
    match op.intrinsic.cuda:
        case lowerings.LLVM(name, flags):
            _call_llvm(thread, op, name, flags)
        case lowerings.Extern(symbols):
            _call_library(thread, op, symbols)
        case lowerings.Emit("bitcast"):
            (operand,), (result,) = op.operands, op.results
            text = thread.arithmetic.bitcast(operand.type, result.type, 0, thread.text(operand))
            thread.define(result, text)
        case lowerings.Emit(name) if op.intrinsic.effect is ir.Effect.CONVERGE:
            emit_warp_call(thread, op, name)
        case lowerings.Foreign(symbol, returns_status):
            _call_foreign(thread, op, symbol, returns_status)
        case lowerings.Unsupported(reason):
            raise UnsupportedFeatureError(
                f"{op.span or 'the kernel'}: {op.intrinsic.name} is not supported on GPUs: "
                f"{reason}",
                span=op.span,
            )
        case lowering:
            raise InternalError(f"the intrinsic {op.intrinsic.name} has no code here: {lowering}")


def _call_llvm(thread: Thread, op: ir.Call, name: str, flags: tuple[str, ...]) -> None:
    (result,) = op.results
    dtype = thread.dtype(op.operands[0])
    arguments = [(thread.register_type(value), thread.text(value)) for value in op.operands]
    for flag in flags:
        type_, _, value = flag.partition(" ")
        arguments.append((type_, value))
    # Fast mathematics has an approximate square root.
    fast = "fast " if dtype.is_float and thread.function.numeric.fastmath else ""
    symbol = f"llvm.{name}.{suffix(dtype.llvm, 0)}"
    text = thread.code.call(symbol, dtype.llvm, arguments, fast)
    # Counting intrinsics of LLVM answer in their operand's type.
    thread.define(result, thread.arithmetic.cast(dtype, thread.dtype(result), 0, text))


def _call_library(thread: Thread, op: ir.Call, symbols: Mapping[DType, str]) -> None:
    """Write a call of the library; what it has no function for is computed in float32."""
    (result,) = op.results
    first = thread.dtype(op.operands[0])
    is_small = first not in symbols and first.is_float
    symbol = symbols[dtypes.float32 if is_small else first]
    if thread.function.numeric.fastmath:
        symbol = _FAST.get(symbol, symbol)
    arguments = []
    for value in op.operands:
        dtype = thread.dtype(value)
        wide = dtypes.float32 if is_small and dtype.is_float else dtype
        arguments.append((wide.llvm, thread.cast(value, wide)))
    dtype = thread.dtype(result)
    wide = dtypes.float32 if is_small and dtype.is_float else dtype
    text = thread.code.call(symbol, wide.llvm, arguments)
    thread.define(result, thread.arithmetic.cast(wide, dtype, 0, text))


def _call_foreign(thread: Thread, op: ir.Call, symbol: str, returns_status: bool) -> None:
    """Write a call of a function in another language, where truth values are bytes."""
    code, arguments = thread.code, []
    for value in op.operands:
        type_, text = thread.register_type(value), thread.text(value)
        if type_ == "i1":
            type_, text = "i8", code.emit(f"zext i1 {text} to i8")
        arguments.append((type_, text))
    types = [thread.register_type(result) for result in op.results]
    (answer_type,) = ["i8" if type_ == "i1" else type_ for type_ in types] or ["void"]
    result_type, place = answer_type, ""
    if returns_status:
        # Also those without a result are handed an address.
        result_type, place = "i32", code.slot("i64", 8)
        arguments.insert(0, ("ptr", place))
    code.declare(symbol, result_type, (type_ for type_, _ in arguments), FOREIGN)
    values = ", ".join(f"{type_} {text}" for type_, text in arguments)
    call = f"call {result_type} @{symbol}({values})"
    answer = "" if result_type == "void" else code.emit(call)
    if not answer:
        code.do(call)
    for result, type_ in zip(op.results, types, strict=True):
        text = code.emit(f"load {answer_type}, ptr {place}") if returns_status else answer
        thread.define(result, code.emit(f"icmp ne i8 {text}, 0") if type_ == "i1" else text)


def emit_call_function(thread: Thread, op: ir.CallFunction) -> None:
    """Write a call of one of the kernel's own functions."""
    callee, symbol = thread.module.callees[op.callee]
    arguments = list(map(thread.typed, op.operands))
    if thread.module.has_record:
        arguments.append(f"{RECORD_TYPE} %record")
    type_ = thread.module.result_type(callee)
    call = f"call {type_} @{symbol}({', '.join(arguments)})"
    if not op.results:
        thread.code.do(call)
        return
    answer = thread.code.emit(call)
    for position, result in enumerate(op.results):
        thread.define(result, thread.code.emit(f"extractvalue {type_} {answer}, {position}"))
