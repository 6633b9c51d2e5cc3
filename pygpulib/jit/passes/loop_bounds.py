"""What is known about how a counted loop runs."""

from __future__ import annotations

from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import CompareKind
from pygpulib.jit.passes.find_ranges import Ranges
from pygpulib.jit.passes.intervals import range_of_type


def direction(op: ir.For, ranges: Ranges) -> CompareKind | None:
    """Return how the induction variable compares with the end while the loop goes on, if known."""
    step = ranges[op.step]
    if step.low > 0:
        return CompareKind.LT
    return CompareKind.GT if step.high < 0 else None


def may_overflow(op: ir.For, ranges: Ranges) -> bool:
    """Return whether the last addition of the step may pass the end of the type."""
    step, stop, whole = ranges[op.step], ranges[op.stop], range_of_type(op.step.type)
    assert whole is not None
    is_up = step.low >= 0 and stop.high - 1 + step.high <= whole.high
    is_down = step.high <= 0 and stop.low + 1 + step.low >= whole.low
    return not (is_up or is_down)
