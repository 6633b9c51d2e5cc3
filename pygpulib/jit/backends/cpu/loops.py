"""Loops of a gang.

A loop is *divergent* if its lanes may leave at different times; then the mask of the lanes that
are still in it is carried along, and the loop ends when it is empty. Results are collected as
lanes leave. An induction variable that starts affine and steps uniformly stays one scalar.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.cpu.costs import exits_of, leaves_through
from pygpulib.jit.backends.cpu.exits import (
    collect,
    read_results,
    result_slots,
    write_carried,
    write_results,
)
from pygpulib.jit.backends.cpu.gang import NO_LANES, Flow, Target
from pygpulib.jit.backends.cpu.operations import compare_lanes
from pygpulib.jit.backends.llvm.text import register_type, suffix
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import CompareKind
from pygpulib.jit.passes.loop_bounds import direction, may_overflow

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.gang import Gang


def emit_loop(gang: Gang, op: ir.For | ir.Loop) -> None:
    """Write a loop; at least one lane is active at its start."""
    assert gang.is_nonempty
    code, keep_entry = gang.code, gang.keep_mask(gang.mask)
    target, active = _open(gang, op)
    induction_slot = _open_induction(gang, op) if isinstance(op, ir.For) else ""
    gang.read_kept(op.body)
    head = code.new_label("loop")
    code.branch(head)
    code.label(head)
    gang.join()
    with gang.dominated():
        if gang.is_split:
            gang.mask = keep_entry()
        read_results(gang, target.next_slots, target.carried)
        if active is not None:
            gang.mask = code.load(active, gang.mask_type)
        at_head = gang.mask
        if isinstance(op, ir.For):
            gang.read_slot(induction_slot, op.body.params[0])
            _test(gang, op, target)
        if target.continued is not None:
            code.store(target.continued, gang.mask_type, NO_LANES)
        _emit_body(gang, op, target)
        if gang.flow is not Flow.JUMPED:
            if isinstance(op, ir.For):
                _advance(gang, op, induction_slot)
            _close(gang, target, active, at_head, head)
    code.label(target.exit_label)
    gang.join()
    gang.flow = Flow.ON
    _restore_mask(gang, op, target, active, keep_entry())
    read_results(gang, target.slots, op.results)


def _open(gang: Gang, op: ir.For | ir.Loop) -> tuple[Target, str | None]:
    """Make the stack slots of a loop; return its target and the slot of its mask."""
    code = gang.code
    is_divergent = gang.shapes.is_divergent(op)
    carried = op.body.params[1:] if isinstance(op, ir.For) else op.body.params
    next_slots = []
    for param, init in zip(carried, op.inits, strict=True):
        slot = gang.empty_slot(param)
        code.store(slot, gang.register(param), gang.held(init, gang.shape(param)))
        next_slots.append(slot)
    is_early = exits_of(op.body, ir.Continue) > isinstance(op.body.terminator, ir.Continue)
    target = Target(
        region=op,
        exit_label=code.new_label("left"),
        is_divergent=is_divergent,
        slots=result_slots(gang, op.results),
        rejoin=gang.new_mask_slot(NO_LANES) if is_divergent and leaves_through(op.body) else None,
        carried=carried,
        next_slots=tuple(next_slots),
        latch_label=code.new_label("latch"),
        continued=gang.new_mask_slot(NO_LANES) if is_divergent and is_early else None,
    )
    return target, gang.new_mask_slot(gang.mask_text(gang.mask)) if is_divergent else None


def _emit_body(gang: Gang, op: ir.For | ir.Loop, target: Target) -> None:
    def finish(terminator: ir.Op) -> None:
        assert isinstance(terminator, ir.Continue)
        write_carried(gang, target, terminator.values)

    gang.is_nonempty = True
    wide, gang.wide_mask = gang.wide_mask, (None, None)
    gang.write_block(target, op.body, finish)
    gang.wide_mask = wide
    if target.continued is not None and gang.flow is Flow.ON:
        waiting = gang.code.load(target.continued, gang.mask_type)
        gang.code.store(
            target.continued, gang.mask_type, gang.mask_or(waiting, gang.mask_text(gang.mask))
        )
    if target.is_latch_used:
        if gang.flow is not Flow.JUMPED:
            gang.code.branch(target.latch_label)
        gang.code.label(target.latch_label)
        gang.join()
        gang.flow = Flow.ON


def _close(gang: Gang, target: Target, active: str | None, at_head: str | None, head: str) -> None:
    """Write the way back to the head, for the lanes that are still in the loop."""
    code = gang.code
    if active is None:
        code.branch(head)
        return
    mask = gang.mask
    if target.continued is not None:
        mask = code.load(target.continued, gang.mask_type)
    code.store(active, gang.mask_type, gang.mask_text(mask))
    if mask is at_head:
        code.branch(head)
    elif mask == NO_LANES:
        code.branch(target.exit_label)
    else:
        code.branch_if(gang.any_lane(mask), head, target.exit_label)


def _restore_mask(
    gang: Gang, op: ir.For | ir.Loop, target: Target, active: str | None, entry: str | None
) -> None:
    """Set the mask behind a loop: the lanes that entered, without those that left further."""
    gang.mask = entry
    # A loop is only entered with a lane, and nobody is lost where nobody leaves further.
    gang.is_nonempty = target.rejoin is None
    if target.rejoin is None:
        return
    assert active is not None
    is_together = (
        isinstance(op, ir.For)
        and exits_of(op.body, ir.Break) == 0
        and all(gang.shape(value).is_uniform for value in (op.start, op.stop, op.step))
    )
    # Where all lanes that are left end together, the loop's own mask says who they are.
    gang.mask = gang.code.load(active if is_together else target.rejoin, gang.mask_type)


# ----------------------------------------------------------------------------- counted loops


def _open_induction(gang: Gang, op: ir.For) -> str:
    induction = op.body.params[0]
    slot = gang.empty_slot(induction)
    start = gang.held(op.start, gang.shape(induction))
    gang.code.store(slot, gang.register(induction), start)
    return slot


def _test(gang: Gang, op: ir.For, target: Target) -> None:
    """Write the test at the head: who goes on, and the results of those who do not."""
    code = gang.code
    carried = op.body.params[1:]
    body = code.new_label("body")
    bounds = (op.start, op.stop, op.step)
    if all(gang.shape(value).is_uniform for value in bounds):
        exhausted = code.new_label("exhausted")
        code.branch_if(_goes_on_uniform(gang, op), body, exhausted)
        code.label(exhausted)
        with gang.dominated():
            write_results(gang, target, carried)
        collect(gang, target.rejoin)
        code.branch(target.exit_label)
        code.label(body)
        return
    before = gang.mask
    goes_on = _goes_on(gang, op)
    # Written for all lanes still in the loop: whoever goes on writes again later.
    write_results(gang, target, carried)
    gang.mask = gang.mask_and(before, goes_on)
    if target.rejoin is not None:
        stopping = gang.mask_and(before, gang.mask_not(goes_on))
        old = code.load(target.rejoin, gang.mask_type)
        code.store(target.rejoin, gang.mask_type, gang.mask_or(old, stopping))
    code.branch_if(gang.any_lane(gang.mask), body, target.exit_label)
    code.label(body)


def _goes_on_uniform(gang: Gang, op: ir.For) -> str:
    """Write a scalar ``i1``: whether another iteration follows."""
    induction = op.body.params[0]
    here, stop = gang.scalar(induction), gang.scalar(op.stop)

    def compare(kind: CompareKind) -> str:
        return gang.arithmetic.compare(kind, induction.type, 0, here, stop)

    kind = direction(op, gang.ranges)
    if kind is not None:
        return compare(kind)
    return _by_direction(gang, op, 0, compare(CompareKind.LT), compare(CompareKind.GT))


def _goes_on(gang: Gang, op: ir.For) -> str:
    """Write a vector of ``i1``: which lanes have another iteration."""
    induction = op.body.params[0]
    kind = direction(op, gang.ranges)
    if kind is not None:
        return compare_lanes(gang, kind, induction, op.stop)
    up = compare_lanes(gang, CompareKind.LT, induction, op.stop)
    down = compare_lanes(gang, CompareKind.GT, induction, op.stop)
    return _by_direction(gang, op, gang.width, up, down)


def _by_direction(gang: Gang, op: ir.For, width: int, up: str, down: str) -> str:
    """Write ``up`` for positive steps, ``down`` for negative ones, false for steps of 0."""
    type_ = op.step.type
    assert isinstance(type_, DType)
    step = gang.vector(op.step) if width else gang.scalar(op.step)
    zero = gang.arithmetic.number(0, type_, width)
    mask = f"<{width} x i1>" if width else "i1"
    is_up = gang.arithmetic.compare(CompareKind.GT, type_, width, step, zero)
    is_down = gang.arithmetic.compare(CompareKind.LT, type_, width, step, zero)
    goes_down = gang.code.emit(f"and {mask} {is_down}, {down}")
    return gang.code.emit(f"select {mask} {is_up}, {mask} {up}, {mask} {goes_down}")


def _advance(gang: Gang, op: ir.For, slot: str) -> None:
    """Write the next value of the induction variable, which never passes the type's end."""
    induction = op.body.params[0]
    type_ = induction.type
    assert isinstance(type_, DType)
    width = gang.register_width(induction)
    held = gang.vector if width else gang.scalar
    register = register_type(type_, width)
    here, step = held(induction), held(op.step)
    if not may_overflow(op, gang.ranges):
        following = gang.code.emit(f"add {register} {here}, {step}")
    else:
        sign = "s" if type_.is_signed else "u"
        name = f"llvm.{sign}add.sat.{suffix(type_.llvm, width)}"
        following = gang.code.call(name, register, [(register, here), (register, step)])
    gang.code.store(slot, register, following)
