"""Barriers: of the block (bar, barrier) and of the warp (bar.warp)."""

from __future__ import annotations

import numpy as np

from tests.fakecuda.ptx.barriers import BARRIERS_PER_BLOCK
from tests.fakecuda.ptx.faults import IllegalInstruction
from tests.fakecuda.ptx.frames import Lanes
from tests.fakecuda.ptx.opcodes.table import Step, control
from tests.fakecuda.ptx.opcodes.warp import together
from tests.fakecuda.ptx.operands import Reader, reader, writer
from tests.fakecuda.ptx.syntax import Immediate, Instruction
from tests.fakecuda.ptx.types import PRED, U32


@control("bar", "barrier")
def barrier(instruction: Instruction) -> Step:
    if "warp" in instruction.modifiers:
        return together(instruction, instruction.operands[0], _note_warp_barrier)
    kind = instruction.choose("sync", "arrive", "red")
    if kind == "arrive":
        return _arrive(instruction)
    if kind == "red":
        return _reduce(instruction)
    operands = instruction.operands
    read_number, read_count = _number_and_count(operands)

    def run(lanes: Lanes) -> int:
        _wait(lanes, instruction, read_number, read_count, lambda free: None)
        return -1

    return run


def _note_warp_barrier(lanes: Lanes) -> None:
    races = lanes.machine.races
    if races is not None:
        races.pass_warp_barrier(np.unique(lanes.pick(lanes.machine.geometry.warp)))


def _number_and_count(operands: tuple) -> tuple[Reader, Reader]:
    number = operands[0] if operands else Immediate(0)
    count = operands[1] if len(operands) > 1 else Immediate(0)
    return reader(number, U32), reader(count, U32)


def _wait(
    lanes: Lanes, instruction: Instruction, read_number: Reader, read_count: Reader, meeting
) -> None:
    numbers, counts = read_number(lanes), read_count(lanes)
    _check(numbers, counts)
    barriers = lanes.machine.scheduler.barriers
    barriers.wait_for_block(lanes, instruction, numbers, counts, meeting)


def _check(numbers: np.ndarray, counts: np.ndarray) -> None:
    if (numbers >= BARRIERS_PER_BLOCK).any():
        raise IllegalInstruction(f"a block has {BARRIERS_PER_BLOCK} barriers, not more")
    if (counts % 32 != 0).any():
        raise IllegalInstruction("a barrier counts whole warps: multiples of 32 threads")


def _arrive(instruction: Instruction) -> Step:
    read_number, read_count = _number_and_count(instruction.operands)

    def run(lanes: Lanes) -> int:
        numbers = read_number(lanes)
        _check(numbers, read_count(lanes))
        # The threads are past the barrier before it releases those that wait.
        scheduler = lanes.machine.scheduler
        scheduler.move(lanes, lanes.frame.depth, instruction.pc + 1)
        scheduler.barriers.arrive(lanes, lanes.spread(numbers))
        return -1

    return run


def _reduce(instruction: Instruction) -> Step:
    """bar.red: count or combine predicates of the block's threads."""
    mode = instruction.choose("popc", "and", "or")
    target, *inputs, vote = instruction.operands
    read_number, read_count = _number_and_count(tuple(inputs))
    read_vote = reader(vote, PRED)
    write = writer(target, U32 if mode == "popc" else PRED)

    def meeting(lanes: Lanes) -> None:
        barriers = lanes.machine.scheduler.barriers
        blocks = lanes.pick(lanes.machine.geometry.block_of)
        yes, met = barriers.yes[blocks], barriers.met[blocks]
        match mode:
            case "popc":
                write(lanes, yes.astype(np.uint32))
            case "and":
                write(lanes, yes == met)
            case _:
                write(lanes, yes > 0)

    def run(lanes: Lanes) -> int:
        lanes.machine.scheduler.barriers.vote[lanes.numbers] = read_vote(lanes)
        _wait(lanes, instruction, read_number, read_count, meeting)
        return -1

    return run
