"""The opcodes: one module per family, found by name in the tables of `table`."""

from __future__ import annotations

from tests.fakecuda.ptx.faults import UnsupportedPtx
from tests.fakecuda.ptx.opcodes import (
    atomics,
    barriers,
    bits,
    comparison,
    control,
    conversions,
    floating,
    integer,
    memory,
    moves,
    warp,
)
from tests.fakecuda.ptx.opcodes.table import CONTROL, DIRECT, PURE, Step, pure_step
from tests.fakecuda.ptx.syntax import Instruction

_FAMILIES = (
    atomics,
    barriers,
    bits,
    comparison,
    control,
    conversions,
    floating,
    integer,
    memory,
    moves,
    warp,
)


def supported() -> frozenset[str]:
    """Return the opcodes that are simulated."""
    return frozenset(PURE) | frozenset(DIRECT) | frozenset(CONTROL)


def executable(instruction: Instruction) -> Step:
    """Return what executes an instruction."""
    opcode = instruction.opcode
    if opcode in PURE:
        step = pure_step(instruction, PURE[opcode](instruction))
    elif opcode in DIRECT:
        step = DIRECT[opcode](instruction)
    elif opcode in CONTROL:
        step = CONTROL[opcode](instruction)
    else:
        raise UnsupportedPtx(f"line {instruction.line}: {instruction.text}")
    step.moves_threads = opcode in CONTROL
    return step
