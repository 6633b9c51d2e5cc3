"""Loops of one thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pygpulib.jit.backends.cuda.thread import Join, Region
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import CompareKind
from pygpulib.jit.passes.loop_bounds import direction, may_overflow

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.thread import Thread

WriteBlock = Callable[["Thread", ir.Block], None]


def emit_loop(thread: Thread, op: ir.Loop, write_block: WriteBlock) -> Join:
    """Write an endless loop; return where those go who leave it."""
    end = thread.join("left", op.results)
    head = thread.join("loop", op.body.params)
    head.come(thread.texts(op.inits))
    thread.define_all(op.body.params, head.begin())
    with thread.inside(Region(op, end, head)):
        write_block(thread, op.body)
    head.seal()
    return end


def emit_for(thread: Thread, op: ir.For, write_block: WriteBlock) -> Join:
    """Write a counted loop; return where those go who leave it."""
    kind = direction(op, thread.ranges)
    if kind is not None and not may_overflow(op, thread.ranges):
        return _emit_plain(thread, op, kind, write_block)
    return _emit_by_distance(thread, op, kind, write_block)


def _emit_plain(thread: Thread, op: ir.For, kind: CompareKind, write_block: WriteBlock) -> Join:
    """Write a loop whose induction variable never passes the end of its type."""
    code, type_ = thread.code, thread.register_type(op.start)
    end = thread.join("left", op.results)
    head = thread.join("loop", op.body.params)
    head.come(thread.texts((op.start, *op.inits)))
    here, *carried = names = head.begin()
    thread.define_all(op.body.params, names)
    goes_on = thread.arithmetic.compare(kind, op.start.type, 0, here, thread.text(op.stop))
    end.arrive(carried)
    body = code.new_label("body")
    code.branch_if(goes_on, body, end.label)
    code.label(body)
    latched = _write_body(thread, op, end, write_block)
    if latched is not None:
        wraps = "nsw" if thread.dtype(op.start).is_signed else "nuw"
        following = code.emit(f"add {wraps} {type_} {here}, {thread.text(op.step)}")
        head.come([following, *latched])
    head.seal()
    return end


def _write_body(thread: Thread, op: ir.For, end: Join, write_block: WriteBlock) -> list[str] | None:
    """Write the body; return what the next iteration gets, or None if there never is one."""
    again = thread.join("latch", op.inits)
    with thread.inside(Region(op, end, again)):
        write_block(thread, op.body)
    return again.open()


def _emit_by_distance(
    thread: Thread, op: ir.For, kind: CompareKind | None, write_block: WriteBlock
) -> Join:
    """Write a loop that counts down the distance to its end, which never overflows."""
    code, type_ = thread.code, thread.register_type(op.start)
    end = thread.join("left", op.results)
    runs, distance, size = _measure(thread, op, kind)
    induction, *carried_types = (thread.register_type(param) for param in op.body.params)
    head = Join(code, "loop", [induction, type_, *carried_types])
    head.arrive([thread.text(op.start), distance, *thread.texts(op.inits)])
    end.arrive(thread.texts(op.inits))
    code.branch_if(runs, head.label, end.label)
    here, left, *carried = head.begin()
    thread.define_all(op.body.params, [here, *carried])
    following = _write_body(thread, op, end, write_block)
    if following is not None:
        goes_on = code.emit(f"icmp ugt {type_} {left}, {size}")
        onward = code.new_label("onward")
        end.arrive(following)
        code.branch_if(goes_on, onward, end.label)
        code.label(onward)
        rest = code.emit(f"sub nuw {type_} {left}, {size}")
        there = code.emit(f"add {type_} {here}, {thread.text(op.step)}")
        head.come([there, rest, *following])
    head.seal()
    return end


def _measure(thread: Thread, op: ir.For, kind: CompareKind | None) -> tuple[str, str, str]:
    """Write whether a loop runs at all, how far its end is, and the size of its step."""
    code, write = thread.code, thread.arithmetic
    dtype, type_ = thread.dtype(op.start), thread.register_type(op.start)
    start, stop, step = thread.texts((op.start, op.stop, op.step))

    def way(kind: CompareKind) -> tuple[str, str, str]:
        runs = write.compare(kind, dtype, 0, start, stop)
        if kind is CompareKind.LT:
            return runs, code.emit(f"sub {type_} {stop}, {start}"), step
        distance = code.emit(f"sub {type_} {start}, {stop}")
        return runs, distance, code.emit(f"sub {type_} 0, {step}")

    if kind is not None:
        return way(kind)
    up = way(CompareKind.LT)
    is_up = write.compare(CompareKind.GT, dtype, 0, step, "0")
    if not dtype.is_signed:
        return code.emit(f"and i1 {is_up}, {up[0]}"), up[1], up[2]
    down = way(CompareKind.GT)
    is_down = write.compare(CompareKind.LT, dtype, 0, step, "0")
    goes_down = code.emit(f"and i1 {is_down}, {down[0]}")
    runs = code.emit(f"select i1 {is_up}, i1 {up[0]}, i1 {goes_down}")
    distance, size = (
        write.select(dtype, 0, is_up, one, other)
        for one, other in zip(up[1:], down[1:], strict=True)
    )
    return runs, distance, size
