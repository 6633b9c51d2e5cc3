"""How a thread reports an error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.jit.backends.cuda.atomics import RELAXED
from pygpulib.jit.backends.cuda.record import (
    ERROR_WORD,
    MAX_DETAILS,
    STATE_WORD,
    as_word,
    record_word,
    wide_registers,
)
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.thread import Thread


def emit_raise(thread: Thread, op: ir.Raise) -> None:
    """Write the record of an error, which the first thread of the launch to fail fills."""
    if op.code is None:
        return
    code = thread.code
    state = record_word(thread, STATE_WORD)
    exchange = code.emit(f"cmpxchg {state}, i64 0, i64 1 {RELAXED} monotonic")
    is_first = code.emit(f"extractvalue {{ i64, i1 }} {exchange}, 1")
    fault, reported = code.new_label("fault"), code.new_label("reported")
    code.branch_if(is_first, fault, reported)
    code.label(fault)
    details = op.details[:MAX_DETAILS]
    words = [
        str(op.code),
        *wide_registers(thread, ir.CTAID),
        *wide_registers(thread, ir.TID),
        str(len(details)),
        *(as_word(thread, value) for value in details),
    ]
    for position, word in enumerate(words, start=ERROR_WORD):
        code.do(f"store i64 {word}, {record_word(thread, position)}")
    code.branch(reported)
    code.label(reported)
