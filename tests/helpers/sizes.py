"""How much a test does: less where each thread costs as much as many do elsewhere."""

from __future__ import annotations

from pygpulib.core.device import current_device

SIMULATED = "Simulated GPU"
"""Name of the fake driver's devices."""


def scaled(count: int) -> int:
    """Return a number of blocks, examples or repetitions: a sixteenth on a simulated GPU."""
    return max(1, count // 16) if current_device().name == SIMULATED else count
