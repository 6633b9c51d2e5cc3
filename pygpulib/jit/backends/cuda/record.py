"""The launch record: what a kernel tells the host besides the arrays that it writes.

A kernel that raises, prints or waits for the grid gets the address of such a record as its last
parameter: `RECORD_WORDS` int64 words of the device's memory. Word 0 is 1 once a thread has failed
(only the first one reports); then 1 is the number of the error, 2-4 the block, 5-7 the thread, 8
the number of details, 9-15 the details (int64, or the bits of float64 for floats). Printed lines
are collected in a buffer: 16 words used or asked for so far, 17 words there are, 18 lines that did
not fit, 19 the buffer's address. Word 20 is for barriers of the grid, and must be 0 at the launch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core.dtypes import DType, float64, int64
from pygpulib.jit.backends.cuda.module import RECORD_TYPE
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.thread import Thread

RECORD_WORDS = 24
STATE_WORD, ERROR_WORD, DETAIL_WORD = 0, 1, 9
MAX_DETAILS = 7
USED_WORD, CAPACITY_WORD, LOST_WORD, BUFFER_WORD = 16, 17, 18, 19
BARRIER_WORD = 20


def record_word(thread: Thread, position: int) -> str:
    """Write the address of a word of the record, and return it with its type."""
    return word_at(thread, f"{RECORD_TYPE} %record", str(position))


def word_at(thread: Thread, base: str, position: str) -> str:
    """Write the address of an 8-byte word, and return it with its type."""
    return f"{RECORD_TYPE} {thread.code.emit(f'getelementptr i64, {base}, i64 {position}')}"


def as_word(thread: Thread, value: ir.Value) -> str:
    """Write a value as the 64 bits of an int64 or, for floats, of a float64."""
    type_ = value.type
    if not isinstance(type_, DType):
        return thread.code.emit(f"ptrtoint {thread.typed(value)} to i64")
    if not type_.is_float:
        return thread.cast(value, int64)
    return thread.code.emit(f"bitcast double {thread.cast(value, float64)} to i64")


def wide_registers(thread: Thread, registers: tuple[ir.Register, ...]) -> list[str]:
    """Write registers as i64."""
    texts = [thread.register(register) for register in registers]
    return [thread.code.emit(f"zext i32 {text} to i64") for text in texts]
