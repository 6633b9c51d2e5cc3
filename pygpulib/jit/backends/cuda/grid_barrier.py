"""Barriers of the grid.

The threads of a block meet at a barrier of the block, and one of them stands for it. A word of the
launch record counts blocks: those that wait in its bits 0-19, those that have ended for good in
bits 20-39, and in the rest how often the barrier has opened. It opens when every block waits or has
ended, so that blocks that have returned are not waited for. Only atomic additions change the word:
the last to come sees from the count before its own that it is the last, and nobody else is left to
change the counts before it has opened the barrier.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.jit.backends.cuda.atomics import RELAXED
from pygpulib.jit.backends.cuda.record import BARRIER_WORD, record_word
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.thread import Thread

_COUNT_BITS = 20
_ONE_ENDED = 1 << _COUNT_BITS
_OPENED_SHIFT = 2 * _COUNT_BITS
_COUNT_MASK = (1 << _COUNT_BITS) - 1

# Shared counters of a block: threads that have come to the barrier, and that have ended.
_COME, _ENDED = "grid_come", "grid_ended"


def emit_arrival_counters(thread: Thread) -> None:
    """Write, at a kernel's start, what its barriers of the grid count in."""
    if not thread.module.is_cooperative:
        return
    for name in (_COME, _ENDED):
        # All threads write the same.
        thread.code.do(f"store i32 0, {thread.module.counter(name)}")
    _meet(thread)


def emit_grid_barrier(thread: Thread) -> None:
    """Write a barrier of the grid."""
    code, module = thread.code, thread.module
    come = module.counter(_COME)
    _meet(thread)
    order = code.emit(f"atomicrmw add {come}, i32 1 {RELAXED}")
    stand, wait, on = (code.new_label(name) for name in ("stand", "wait", "opened"))
    code.branch_if(code.emit(f"icmp eq i32 {order}, 0"), stand, on)
    code.label(stand)
    code.call_void("llvm.nvvm.membar.gl", [])
    word = record_word(thread, BARRIER_WORD)
    before = code.emit(f"atomicrmw add {word}, i64 1 {RELAXED}")
    _open_if_last(thread, word, before, "1")
    opened = code.emit(f"lshr i64 {before}, {_OPENED_SHIFT}")
    code.branch(wait)
    code.label(wait)
    now = code.emit(f"load atomic i64, {word} {RELAXED}, align 8")
    opened_now = code.emit(f"lshr i64 {now}, {_OPENED_SHIFT}")
    passed = code.new_label("passed")
    code.branch_if(code.emit(f"icmp eq i64 {opened_now}, {opened}"), wait, passed)
    code.label(passed)
    code.call_void("llvm.nvvm.membar.gl", [])
    code.branch(on)
    code.label(on)
    _meet(thread)
    code.do(f"store i32 0, {come}")


def emit_departure(thread: Thread) -> None:
    """Write, at a thread's end, that barriers of the grid must not wait for it."""
    code, module = thread.code, thread.module
    if not module.is_cooperative:
        return
    # What each thread has written must be seen by those whom the last one lets go on.
    code.call_void("llvm.nvvm.membar.gl", [])
    order = code.emit(f"atomicrmw add {module.counter(_ENDED)}, i32 1 {RELAXED}")
    ended = code.emit(f"add i32 {order}, 1")
    is_last = code.emit(f"icmp eq i32 {ended}, {_product(thread, ir.NTID, 'i32')}")
    depart, gone = code.new_label("depart"), code.new_label("gone")
    code.branch_if(is_last, depart, gone)
    code.label(depart)
    code.call_void("llvm.nvvm.membar.gl", [])
    word = record_word(thread, BARRIER_WORD)
    before = code.emit(f"atomicrmw add {word}, i64 {_ONE_ENDED} {RELAXED}")
    _open_if_last(thread, word, before, "0")
    code.branch(gone)
    code.label(gone)


def _open_if_last(thread: Thread, word: str, before: str, own: str) -> None:
    """Write the opening of the barrier by the last block, of which ``own`` wait."""
    code = thread.code
    waiting = code.emit(f"and i64 {before}, {_COUNT_MASK}")
    waiting = code.emit(f"add i64 {waiting}, {own}")
    ended = code.emit(f"and i64 {code.emit(f'lshr i64 {before}, {_COUNT_BITS}')}, {_COUNT_MASK}")
    known = code.emit(f"add i64 {waiting}, {ended}")
    if own == "0":
        known = code.emit(f"add i64 {known}, 1")
    is_last = code.emit(f"icmp eq i64 {known}, {_product(thread, ir.NCTAID, 'i64')}")
    last, closed = code.new_label("last"), code.new_label("counted")
    code.branch_if(is_last, last, closed)
    code.label(last)
    change = code.emit(f"sub i64 {1 << _OPENED_SHIFT}, {waiting}")
    code.emit(f"atomicrmw add {word}, i64 {change} {RELAXED}")
    code.branch(closed)
    code.label(closed)


def _product(thread: Thread, registers: tuple[ir.Register, ...], type_: str) -> str:
    """Write how many threads a block has, or blocks the grid."""
    code = thread.code
    texts = [thread.register(register) for register in registers]
    if type_ != "i32":
        texts = [code.emit(f"zext i32 {text} to {type_}") for text in texts]
    plane = code.emit(f"mul {type_} {texts[0]}, {texts[1]}")
    return code.emit(f"mul {type_} {plane}, {texts[2]}")


def _meet(thread: Thread) -> None:
    """Write a barrier of the block to which the threads of a warp may come one after the other."""
    thread.code.call_void("llvm.nvvm.barrier.sync", [("i32", "0")])
