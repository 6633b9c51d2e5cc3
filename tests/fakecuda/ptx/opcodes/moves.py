"""Moves of registers and conversions of addresses."""

from __future__ import annotations

import numpy as np

from tests.fakecuda.ptx.frames import Lanes
from tests.fakecuda.ptx.layout import WINDOWS
from tests.fakecuda.ptx.opcodes.table import Pure, Step, direct, pure
from tests.fakecuda.ptx.operands import reader, writer
from tests.fakecuda.ptx.spaces import in_window
from tests.fakecuda.ptx.syntax import Immediate, Instruction
from tests.fakecuda.ptx.types import PRED, U64, unsigned


@direct("mov")
def move(instruction: Instruction) -> Step:
    """mov, also between a vector of registers and one register."""
    kind = instruction.type
    if kind is not PRED:
        kind = unsigned(kind.size)
    target, source = instruction.operands
    # The notation of a float constant need not be that of the type.
    read = reader(source, instruction.type if isinstance(source, Immediate) else kind)
    write = writer(target, kind)

    def run(lanes: Lanes) -> None:
        write(lanes, read(lanes))

    return run


@pure("cvta")
def convert_address(instruction: Instruction) -> Pure:
    """cvta: between addresses of a space and generic ones."""
    kind = instruction.type
    space = instruction.choose("global", "shared", "shared::cta", "local", "const", "param")
    window = np.uint64(WINDOWS.get((space or "global").split("::")[0], 0))
    if kind.size == 4:  # generic addresses have 64 bits here
        window = np.uint64(0)
    if "to" in instruction.modifiers:
        return Pure(lambda a: a - window, (kind,), (kind,))
    return Pure(lambda a: a + window, (kind,), (kind,))


@pure("isspacep")
def is_in_space(instruction: Instruction) -> Pure:
    space = instruction.modifiers[0].split(":")[0]

    def function(a: np.ndarray) -> np.ndarray:
        if space in WINDOWS:
            return in_window(a, WINDOWS[space])
        if space == "const":
            return np.zeros(a.shape, bool)
        return ~np.logical_or.reduce([in_window(a, window) for window in WINDOWS.values()])

    return Pure(function, (U64,), (PRED,))
