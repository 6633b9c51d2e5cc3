"""Printing from a thread.

A line is a node in the print buffer of the launch record: the number of its words, the number of
the print, the number of the block, then the operands (int64, or float64 for floats). A node that
does not fit is counted instead; where the first such one would start, the buffer holds a 0.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.jit.backends.cuda.atomics import RELAXED
from pygpulib.jit.backends.cuda.record import (
    BUFFER_WORD,
    CAPACITY_WORD,
    LOST_WORD,
    USED_WORD,
    as_word,
    record_word,
    wide_registers,
    word_at,
)
from pygpulib.jit.backends.cuda.spaces import GLOBAL
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.thread import Thread

NODE_HEADER_WORDS = 3


def emit_print(thread: Thread, op: ir.Print) -> None:
    """Write one line."""
    code = thread.code
    size = NODE_HEADER_WORDS + len(op.operands)
    used = record_word(thread, USED_WORD)
    first = code.emit(f"atomicrmw add {used}, i64 {size} {RELAXED}")
    end = code.emit(f"add i64 {first}, {size}")
    capacity = code.emit(f"load i64, {record_word(thread, CAPACITY_WORD)}")
    buffer = code.emit(f"load {GLOBAL}, {record_word(thread, BUFFER_WORD)}")
    node = word_at(thread, f"{GLOBAL} {buffer}", first)
    fits = code.emit(f"icmp sle i64 {end}, {capacity}")
    write, lost, done = (code.new_label(name) for name in ("line", "lost", "printed"))
    code.branch_if(fits, write, lost)
    code.label(write)
    number = str(thread.module.print_numbers[id(op)])
    words = [str(size), number, _block_number(thread)]
    words += [as_word(thread, value) for value in op.operands]
    for position, word in enumerate(words):
        code.do(f"store i64 {word}, {word_at(thread, node, str(position))}")
    code.branch(done)
    code.label(lost)
    _count_lost(thread, node, first, capacity)
    code.branch(done)
    code.label(done)


def _count_lost(thread: Thread, node: str, first: str, capacity: str) -> None:
    code = thread.code
    code.emit(f"atomicrmw add {record_word(thread, LOST_WORD)}, i64 1 {RELAXED}")
    is_last = code.emit(f"icmp slt i64 {first}, {capacity}")
    mark, counted = code.new_label("mark"), code.new_label("counted")
    code.branch_if(is_last, mark, counted)
    code.label(mark)
    code.do(f"store i64 0, {node}")
    code.branch(counted)
    code.label(counted)


def _block_number(thread: Thread) -> str:
    """Write the number of the block, x first."""
    code = thread.code
    x, y, z = wide_registers(thread, ir.CTAID)
    extent_x, extent_y, _ = wide_registers(thread, ir.NCTAID)
    rows = code.emit(f"mul i64 {extent_y}, {z}")
    rows = code.emit(f"add i64 {rows}, {y}")
    return code.emit(f"add i64 {code.emit(f'mul i64 {rows}, {extent_x}')}, {x}")
