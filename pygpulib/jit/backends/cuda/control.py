"""Structured control flow as basic blocks; what constructs give are phi nodes where they end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.jit.backends.cuda.faults import emit_raise
from pygpulib.jit.backends.cuda.grid_barrier import emit_departure
from pygpulib.jit.backends.cuda.loops import emit_for, emit_loop
from pygpulib.jit.backends.cuda.operations import emit_simple
from pygpulib.jit.backends.cuda.thread import Region
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pygpulib.jit.backends.cuda.thread import Join, Thread


def emit_block(thread: Thread, block: ir.Block) -> None:
    """Write a block with its terminator."""
    for op in block.ops[:-1]:
        thread.code.mark(op.span)
        if not _emit(thread, op):
            # Nothing comes to what follows.
            return
    thread.code.mark(block.terminator.span)
    _end(thread, block.terminator)


def _emit(thread: Thread, op: ir.Op) -> bool:
    """Write an operation; return whether control goes on behind it."""
    match op:
        case ir.If():
            return _emit_if(thread, op)
        case ir.For():
            return _go_on(thread, emit_for(thread, op, emit_block), op.results)
        case ir.Loop():
            return _go_on(thread, emit_loop(thread, op, emit_block), op.results)
        case ir.Scope():
            end = thread.join("returned", op.results)
            with thread.inside(Region(op, end)):
                emit_block(thread, op.body)
            return _go_on(thread, end, op.results)
        case _:
            emit_simple(thread, op)
            return True


def _go_on(thread: Thread, end: Join, results: Sequence[ir.Value]) -> bool:
    """Start what follows a construct; return whether anything comes there."""
    names = end.open()
    if names is None:
        return False
    thread.define_all(results, names)
    return True


def _emit_if(thread: Thread, op: ir.If) -> bool:
    code, blocks = thread.code, (op.then_block, op.else_block)
    yields = [_only_yield(block) for block in blocks]
    if yields[0] is not None and yields[1] is not None:
        _emit_choice(thread, op, yields[0], yields[1])
        return True
    end = thread.join("end", op.results)
    labels = []
    for name, values in zip(("then", "else"), yields, strict=True):
        if values is not None:
            end.arrive(thread.texts(values))
        labels.append(code.new_label(name) if values is None else end.label)
    code.branch_if(thread.text(op.condition), *labels)
    for label, block, values in zip(labels, blocks, yields, strict=True):
        if values is None:
            code.label(label)
            with thread.inside(Region(op, end)):
                emit_block(thread, block)
    return _go_on(thread, end, op.results)


def _only_yield(block: ir.Block) -> tuple[ir.Value, ...] | None:
    """Return what a block gives that does nothing else, or None."""
    last = block.terminator
    return last.values if isinstance(last, ir.Yield) and len(block.ops) == 1 else None


def _emit_choice(
    thread: Thread, op: ir.If, if_true: tuple[ir.Value, ...], if_false: tuple[ir.Value, ...]
) -> None:
    """Write a construct that only chooses between values."""
    condition = thread.text(op.condition)
    for result, *choices in zip(op.results, if_true, if_false, strict=True):
        one, other = map(thread.typed, choices)
        thread.define(result, thread.code.emit(f"select i1 {condition}, {one}, {other}"))


def _end(thread: Thread, op: ir.Op) -> None:
    match op:
        case ir.Yield(values):
            _leave(thread, thread.nearest(ir.If), values)
        case ir.Break(values):
            _leave(thread, thread.nearest(ir.For, ir.Loop), values)
        case ir.Continue(values):
            loop = thread.nearest(ir.For, ir.Loop)
            assert loop is not None
            assert loop.again is not None
            loop.again.come(thread.texts(values))
        case ir.Return(values):
            scope = thread.nearest(ir.Scope)
            if scope is not None:
                _leave(thread, scope, values)
            else:
                _return(thread, values)
        case ir.Raise():
            emit_raise(thread, op)
            _end_thread(thread)
        case ir.Unreachable():
            thread.code.do("unreachable")
        case _:
            raise AssertionError(op)


def _leave(thread: Thread, region: Region | None, values: Sequence[ir.Value]) -> None:
    assert region is not None
    region.end.come(thread.texts(values))


def _return(thread: Thread, values: Sequence[ir.Value]) -> None:
    """Write the end of the function."""
    if thread.is_kernel:
        emit_departure(thread)
    if not values:
        thread.code.do("ret void")
        return
    type_ = thread.module.result_type(thread.function)
    answer = "poison"
    for position, value in enumerate(values):
        part = f"insertvalue {type_} {answer}, {thread.typed(value)}, {position}"
        answer = thread.code.emit(part)
    thread.code.do(f"ret {type_} {answer}")


def _end_thread(thread: Thread) -> None:
    """Write the end of the thread, wherever it is."""
    emit_departure(thread)
    if thread.is_kernel:
        thread.code.do("ret void")
    else:
        thread.code.call_void("llvm.nvvm.exit", [])
        thread.code.do("unreachable")
