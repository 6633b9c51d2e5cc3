"""How lanes leave a region with its results."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.gang import Gang, Target
    from pygpulib.jit.ir import ops as ir


def collect(gang: Gang, slot: str | None) -> None:
    """Add the active lanes to a mask in a stack slot."""
    if slot is not None:
        old = gang.code.load(slot, gang.mask_type)
        gang.code.store(slot, gang.mask_type, gang.mask_or(old, gang.mask_text(gang.mask)))


def write_results(gang: Gang, target: Target, values: tuple[ir.Value, ...]) -> None:
    """Write the results of a region that the active lanes leave.

    Where the region is left at several times, only these lanes may be written; lanes that have
    yet to leave may be too, since they will write theirs later: that mask is often at hand
    before the comparison that decides is.
    """
    if target.region is None:
        return
    mask = gang.mask if target.is_divergent else None
    if mask is not None and mask is gang.wide_mask[0]:
        mask = gang.wide_mask[1]
    for slot, result, value in zip(target.slots, target.region.results, values, strict=True):
        if slot is not None:
            gang.write_slot(slot, result, value, mask)


def write_carried(gang: Gang, target: Target, values: tuple[ir.Value, ...]) -> None:
    """Write the carried values of the next iteration."""
    mask = gang.mask if target.continued is not None else None
    for slot, param, value in zip(target.next_slots, target.carried, values, strict=True):
        gang.write_slot(slot, param, value, mask)


def result_slots(gang: Gang, results: tuple[ir.Value, ...]) -> tuple[str | None, ...]:
    """Return a stack slot per result that anybody uses."""
    return tuple(gang.new_slot(result) if result in gang.used else None for result in results)


def read_results(gang: Gang, slots: tuple[str | None, ...], results: tuple[ir.Value, ...]) -> None:
    """Define results as what their slots hold."""
    for slot, result in zip(slots, results, strict=True):
        if slot is not None:
            gang.read_slot(slot, result)
