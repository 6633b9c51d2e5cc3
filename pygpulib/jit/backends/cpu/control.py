"""Structured control flow of a gang, under masks where lanes may disagree.

What is uniform becomes a real jump. Where lanes disagree, both blocks of an ``If`` are written
one after the other under complementary masks: cheap ones without any jump (*predicated*),
costly ones behind a jump that is taken when no lane needs them (*coherent*). Lanes that leave a
region by ``Break``, ``Continue`` or ``Return`` drop out of the mask; the region's results are
collected in stack slots, which LLVM turns into registers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.jit.backends.cpu.barriers import emit_barrier
from pygpulib.jit.backends.cpu.conditionals import (
    emit_coherent_if,
    emit_predicated_if,
    emit_uniform_if,
)
from pygpulib.jit.backends.cpu.costs import is_costly, raises, wants_test
from pygpulib.jit.backends.cpu.exits import (
    collect,
    read_results,
    result_slots,
    write_carried,
    write_results,
)
from pygpulib.jit.backends.cpu.faults import emit_raise
from pygpulib.jit.backends.cpu.gang import NO_LANES, Flow, Target
from pygpulib.jit.backends.cpu.loops import emit_loop
from pygpulib.jit.backends.cpu.operations import emit_simple
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from types import UnionType

    from pygpulib.jit.backends.cpu.gang import Finish, Gang


def emit_block(
    gang: Gang,
    nesting: Target | bool,
    block: ir.Block,
    finish: Finish,
) -> None:
    """Write a block inside ``nesting``; ``finish`` is called at its regular end.

    When lanes have left in the middle and what follows is costly, it is skipped if no lane is
    left.
    """
    ends: list[tuple[str, str]] = []
    gang.nesting.append(nesting)
    with gang.dominated():
        for position, op in enumerate(block.ops[:-1]):
            _emit(gang, op)
            if gang.flow is Flow.JUMPED:
                break
            rest = block.ops[position + 1 :]
            if not gang.is_nonempty and gang.flow is Flow.ON and wants_test(gang, rest):
                ends.append(_skip_if_empty(gang))
        if gang.flow is Flow.ON:
            _end(gang, block.terminator, finish)
    gang.nesting.pop()
    for label, mask_slot in reversed(ends):
        _join_skipped(gang, label, mask_slot)


def _skip_if_empty(gang: Gang) -> tuple[str, str]:
    """Jump over the rest of a block if no lane is active; return where to, and the mask's slot."""
    code = gang.code
    slot = gang.new_mask_slot(NO_LANES)
    rest, end = code.new_label("some"), code.new_label("none")
    code.branch_if(gang.any_lane(gang.mask), rest, end)
    code.label(rest)
    gang.is_nonempty = True
    return end, slot


def _join_skipped(gang: Gang, label: str, mask_slot: str) -> None:
    code = gang.code
    if gang.flow is Flow.JUMPED:
        # Only the way without lanes comes here.
        code.label(label)
        gang.join()
        gang.flow, gang.mask = Flow.LEFT, NO_LANES
    else:
        if gang.flow is Flow.ON:
            code.store(mask_slot, gang.mask_type, gang.mask_text(gang.mask))
        code.branch(label)
        code.label(label)
        gang.join()
        gang.mask = NO_LANES
        if gang.flow is Flow.ON:
            gang.mask = code.load(mask_slot, gang.mask_type)
    gang.is_nonempty = False


def _end(gang: Gang, terminator: ir.Op, finish: Finish) -> None:
    match terminator:
        case ir.Break() | ir.Continue():
            _leave(gang, _nearest(gang, ir.For | ir.Loop), terminator, finish)
        case ir.Return():
            _leave(gang, _nearest(gang, ir.Scope | None), terminator, finish)
        case ir.Raise():
            emit_raise(gang, terminator)
            _leave(gang, 0, terminator, finish)
        case ir.Unreachable():
            gang.flow, gang.mask = Flow.LEFT, NO_LANES
        case _:
            finish(terminator)


def _nearest(gang: Gang, kinds: type | UnionType) -> int:
    """Return the position of the innermost enclosing region of a kind."""
    for position in reversed(range(len(gang.nesting))):
        outer = gang.nesting[position]
        if isinstance(outer, Target) and isinstance(outer.region, kinds):
            return position
    raise AssertionError(kinds)


def _leave(
    gang: Gang,
    position: int,
    op: ir.Break | ir.Continue | ir.Return | ir.Raise,
    finish: Finish,
) -> None:
    """Take the active lanes to the end of a region, by a jump if they are all that is left."""
    target = gang.nesting[position]
    assert isinstance(target, Target)
    between = gang.nesting[position + 1 :]
    if not between and isinstance(op, ir.Continue | ir.Return):
        finish(op)
        return
    if isinstance(op, ir.Continue):
        write_carried(gang, target, op.values)
        collect(gang, target.continued)
    elif not isinstance(op, ir.Raise):
        write_results(gang, target, op.values)
        collect(gang, target.rejoin)
    if target.region is None:
        collect(gang, gang.retired)
    splits = any(outer if isinstance(outer, bool) else outer.is_divergent for outer in between)
    # Lanes that went to the next iteration early must not be left behind.
    if splits or (isinstance(op, ir.Break) and target.continued is not None):
        gang.flow, gang.mask = Flow.LEFT, NO_LANES
        return
    if isinstance(op, ir.Continue):
        target.is_latch_used = True
        gang.code.branch(target.latch_label)
    else:
        target.is_exit_used = True
        gang.code.branch(target.exit_label)
    gang.flow = Flow.JUMPED


def _emit(gang: Gang, op: ir.Op) -> None:
    with gang.emitting(op):
        _dispatch(gang, op)


def _dispatch(gang: Gang, op: ir.Op) -> None:
    match op:
        case ir.If() if gang.shape(op.condition).is_uniform:
            emit_uniform_if(gang, op)
        case ir.If() if is_costly(gang, op.then_block) or is_costly(gang, op.else_block):
            emit_coherent_if(gang, op)
        case ir.If():
            emit_predicated_if(gang, op)
        case ir.For() | ir.Loop():
            emit_loop(gang, op)
        case ir.Scope():
            _emit_scope(gang, op)
        case ir.Barrier():
            emit_barrier(gang, op)
        case _:
            emit_simple(gang, op)


# --------------------------------------------------------------------------------------- scope


def _emit_scope(gang: Gang, op: ir.Scope) -> None:
    keep, is_nonempty = gang.keep_mask(gang.mask), gang.is_nonempty
    target = Target(
        region=op,
        exit_label=gang.code.new_label("returned"),
        is_divergent=gang.shapes.is_divergent(op),
        slots=result_slots(gang, op.results),
    )

    def finish(terminator: ir.Op) -> None:
        assert isinstance(terminator, ir.Return)
        write_results(gang, target, terminator.values)

    gang.write_block(target, op.body, finish)
    if target.is_exit_used:
        if gang.flow is not Flow.JUMPED:
            gang.code.branch(target.exit_label)
        gang.code.label(target.exit_label)
        gang.join()
        gang.flow = Flow.ON
    if gang.flow is Flow.JUMPED:
        return
    gang.flow, gang.mask, gang.is_nonempty = Flow.ON, keep(), is_nonempty
    gang.drop_raised(raises(op.body))
    read_results(gang, target.slots, op.results)
