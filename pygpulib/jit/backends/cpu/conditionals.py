"""Conditionals of a gang; see :mod:`pygpulib.jit.backends.cpu.control`."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from pygpulib.jit.backends.cpu.costs import has_effects, is_trivial, may_lose_lanes
from pygpulib.jit.backends.cpu.exits import read_results, result_slots
from pygpulib.jit.backends.cpu.gang import NO_LANES, Flow
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.gang import Finish, Gang


def emit_uniform_if(gang: Gang, op: ir.If) -> None:
    """Write a conditional on which all lanes agree."""
    code = gang.code
    slots = result_slots(gang, op.results)
    mask, is_nonempty = gang.mask, gang.is_nonempty
    keep = gang.keep_mask(mask)
    loses = may_lose_lanes(op.then_block, op.else_block) or (gang.is_split and mask is not None)
    mask_slot = gang.new_mask_slot(NO_LANES) if loses else None
    labels = code.new_label("then"), code.new_label("else")
    join = code.new_label("join")
    code.branch_if(gang.scalar(op.condition), *labels)

    def finish(terminator: ir.Op) -> None:
        assert isinstance(terminator, ir.Yield)
        for slot, result, value in zip(slots, op.results, terminator.values, strict=True):
            if slot is not None:
                gang.write_slot(slot, result, value, None)

    ends: list[tuple[str | None, bool, Flow]] = []
    for label, block in zip(labels, (op.then_block, op.else_block), strict=True):
        code.label(label)
        gang.join()
        gang.mask, gang.is_nonempty, gang.flow = keep(), is_nonempty, Flow.ON
        gang.write_block(False, block, finish)
        if gang.flow is not Flow.JUMPED:
            if mask_slot is not None:
                code.store(mask_slot, gang.mask_type, gang.mask_text(gang.mask))
            code.branch(join)
            ends.append((gang.mask, gang.is_nonempty, gang.flow))
    if not ends:
        gang.flow = Flow.JUMPED
        return
    code.label(join)
    gang.join()
    gang.flow = Flow.ON if any(flow is Flow.ON for _, _, flow in ends) else Flow.LEFT
    gang.is_nonempty = all(known and flow is Flow.ON for _, known, flow in ends)
    gang.mask = mask
    if any(end_mask is not mask for end_mask, _, _ in ends):
        assert mask_slot is not None
        gang.mask = code.load(mask_slot, gang.mask_type)
    read_results(gang, slots, op.results)


def emit_predicated_if(gang: Gang, op: ir.If) -> None:
    """Write both blocks without a jump, under complementary masks."""
    entry, is_nonempty, wide = gang.mask, gang.is_nonempty, gang.wide_mask
    condition = gang.vector(op.condition)
    masks = [gang.mask_and(entry, condition), entry]
    if may_lose_lanes(op.then_block, op.else_block) or has_effects(op.else_block):
        masks[1] = gang.mask_and(entry, gang.mask_not(condition))
    yielded: list[tuple[ir.Value, ...] | None] = [None, None]
    ends: list[str | None] = []
    for side, block in enumerate((op.then_block, op.else_block)):

        def finish(terminator: ir.Op, side: int = side) -> None:
            assert isinstance(terminator, ir.Yield)
            yielded[side] = terminator.values

        gang.mask, gang.is_nonempty, gang.flow = masks[side], False, Flow.ON
        gang.wide_mask = _wide_mask(op, side, masks[side], entry)
        gang.write_block(True, block, finish)
        assert gang.flow is not Flow.JUMPED
        ends.append(gang.mask)
    gang.wide_mask = wide
    _merge_masks(gang, (entry, is_nonempty), masks, ends, yielded)
    for position, result in enumerate(op.results):
        if result not in gang.used:
            continue
        sides = [values[position] for values in yielded if values is not None]
        if len(sides) == 1 or sides[0] is sides[1]:
            gang.define(result, gang.held(sides[0], gang.shape(result)))
            continue
        texts = gang.vector(sides[0]), gang.vector(sides[1])
        gang.define(result, gang.select_lanes(condition, result.type, *texts))


def _wide_mask(
    op: ir.If, side: int, mask: str | None, entry: str | None
) -> tuple[str | None, str | None]:
    """Return under which mask exits of one side may write, as ``Gang.wide_mask`` has it.

    That of both sides is right as long as none of its lanes has left: what these wrote stays.
    """
    if side and may_lose_lanes(op.then_block):
        return (None, None)
    return (mask, entry)


def _merge_masks(
    gang: Gang,
    entry: tuple[str | None, bool],
    masks: list[str | None],
    ends: list[str | None],
    yielded: list[tuple[ir.Value, ...] | None],
) -> None:
    """Unite the lanes that are left of both sides of an ``If``."""
    gang.flow = Flow.ON if any(values is not None for values in yielded) else Flow.LEFT
    if ends[0] is masks[0] and ends[1] is masks[1]:
        gang.mask, gang.is_nonempty = entry
        return
    gang.mask = gang.mask_or(gang.mask_text(ends[0]), gang.mask_text(ends[1]))
    gang.is_nonempty = False


def emit_coherent_if(gang: Gang, op: ir.If) -> None:
    """Write both blocks under complementary masks, each jumped over where no lane needs it."""
    entry, is_nonempty, wide = gang.mask, gang.is_nonempty, gang.wide_mask
    slots = result_slots(gang, op.results)
    condition = gang.vector(op.condition)
    keep_entry = gang.keep_mask(entry)
    keepers = [
        gang.keep_mask(gang.mask_and(entry, condition)),
        gang.keep_mask(gang.mask_and(entry, gang.mask_not(condition))),
    ]
    loses = may_lose_lanes(op.then_block, op.else_block) or gang.is_split
    yielded: list[tuple[ir.Value, ...] | None] = [None, None]
    read_ends: list[Callable[[], str | None]] = []
    for side, block in enumerate((op.then_block, op.else_block)):

        def finish(terminator: ir.Op, side: int = side) -> None:
            assert isinstance(terminator, ir.Yield)
            yielded[side] = terminator.values
            # The second side must not disturb what the first one wrote.
            mask = keepers[1]() if side and yielded[0] is not None else None
            for slot, result, value in zip(slots, op.results, terminator.values, strict=True):
                if slot is not None:
                    gang.write_slot(slot, result, value, mask)

        gang.mask, gang.flow = keepers[side](), Flow.ON
        gang.wide_mask = _wide_mask(op, side, gang.mask, keep_entry())
        if is_trivial(block):
            finish(block.terminator)
            read_ends.append(keepers[side])
        else:
            read_ends.append(_jump_over(gang, block, finish, loses) or keepers[side])
    gang.wide_mask = wide
    sides = [keep() for keep in keepers]
    ends = [
        side if read is keep else read()
        for side, keep, read in zip(sides, keepers, read_ends, strict=True)
    ]
    _merge_masks(gang, (keep_entry(), is_nonempty), sides, ends, yielded)
    read_results(gang, slots, op.results)


def _jump_over(
    gang: Gang, block: ir.Block, finish: Finish, loses: bool
) -> Callable[[], str | None] | None:
    """Write a block that is skipped without active lanes.

    Returns a way to read the mask at its end, or None where it is still that of the start.
    """
    code, mask = gang.code, gang.mask
    mask_slot = gang.new_mask_slot(NO_LANES) if loses else None
    work, done = code.new_label("work"), code.new_label("done")
    code.branch_if(gang.any_lane(mask), work, done)
    code.label(work)
    gang.is_nonempty = True
    gang.write_block(True, block, finish)
    assert gang.flow is not Flow.JUMPED
    if mask_slot is not None:
        code.store(mask_slot, gang.mask_type, gang.mask_text(gang.mask))
    code.branch(done)
    code.label(done)
    gang.join()
    if gang.mask is mask:
        return None
    if gang.flow is Flow.LEFT:
        return lambda: NO_LANES
    slot = mask_slot
    assert slot is not None
    return lambda: code.load(slot, gang.mask_type)
