"""Functions of a warp."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.llvm.atomics import pattern_of
from pygpulib.jit.intrinsics.warp import WARP_SIZE
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.thread import Thread

# PTX's names of shuffles, what tells them where a warp ends, and how to find the lane to read.
_SHUFFLES = {
    "shuffle": ("idx", 31, ""),
    "shuffle_up": ("up", 0, "sub"),
    "shuffle_down": ("down", 31, "add"),
    "shuffle_xor": ("bfly", 31, "xor"),
}


def emit_warp_call(thread: Thread, op: ir.Call, name: str) -> None:
    """Write a call of one of the primitives of :mod:`pygpulib.jit.intrinsics.warp`."""
    code = thread.code
    (result,) = op.results
    match name:
        case "active_lanes":
            text = code.call("llvm.nvvm.activemask", "i32", [])
        case "ballot":
            arguments = [_typed(thread, value) for value in op.operands]
            text = code.call("llvm.nvvm.vote.ballot.sync", "i32", arguments)
        case "match":
            mask, value = op.operands
            parts = _words(thread, value, 64)
            type_ = "i64" if thread.dtype(value).bits == 64 else "i32"
            arguments = [_typed(thread, mask), (type_, parts[0])]
            text = code.call(f"llvm.nvvm.match.any.sync.{type_}", "i32", arguments)
        case _:
            text = _shuffle(thread, op, name)
    thread.define(result, text)


def _typed(thread: Thread, value: ir.Value) -> tuple[str, str]:
    return thread.register_type(value), thread.text(value)


def _words(thread: Thread, value: ir.Value, most: int) -> list[str]:
    """Write a value as i32, or as one i64 or two i32 if it has 64 bits."""
    code, dtype, write = thread.code, thread.dtype(value), thread.arithmetic
    text = thread.text(value)
    if not dtype.is_bool:
        text = write.bitcast(dtype, pattern_of(dtype), 0, text)
        dtype = pattern_of(dtype)
    if dtype.bits < 32:
        return [write.cast(dtype, dtypes.uint32, 0, text)]
    if dtype.bits == 32 or most == 64:
        return [text]
    high = code.emit(f"lshr i64 {text}, 32")
    return [code.emit(f"trunc i64 {part} to i32") for part in (text, high)]


def _from_words(thread: Thread, dtype: DType, words: list[str]) -> str:
    code, write, text = thread.code, thread.arithmetic, words[0]
    if dtype.is_bool:
        return write.cast(dtypes.uint32, dtype, 0, text)
    pattern = pattern_of(dtype)
    if len(words) == 2:
        low, high = (code.emit(f"zext i32 {word} to i64") for word in words)
        text = code.emit(f"or i64 {code.emit(f'shl i64 {high}, 32')}, {low}")
    else:
        text = write.cast(dtypes.uint32, pattern, 0, text)
    return write.bitcast(pattern, dtype, 0, text)


def _shuffle(thread: Thread, op: ir.Call, name: str) -> str:
    mask, value, operand = op.operands
    kind, clamp, instruction = _SHUFFLES[name]
    lane = thread.text(operand)
    number = thread.constants.get(operand)
    if instruction and not (number is not None and 0 <= number < WARP_SIZE):
        # The instructions look at five bits only; a lane that does not exist gives one's own value.
        lane = _source(thread, instruction, lane)
        kind, clamp = "idx", 31
    words = [
        thread.code.call(
            f"llvm.nvvm.shfl.sync.{kind}.i32",
            "i32",
            [_typed(thread, mask), ("i32", word), ("i32", lane), ("i32", str(clamp))],
        )
        for word in _words(thread, value, 32)
    ]
    return _from_words(thread, thread.dtype(value), words)


def _source(thread: Thread, instruction: str, distance: str) -> str:
    """Write the number of the lane to read."""
    code = thread.code
    own = thread.register(ir.Register.LANEID)
    lane = code.emit(f"{instruction} i32 {own}, {distance}")
    exists = code.emit(f"icmp ult i32 {lane}, {WARP_SIZE}")
    return code.emit(f"select i1 {exists}, i32 {lane}, i32 {own}")
