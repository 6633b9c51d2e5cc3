"""Functions of the warp: the lanes that a mask names wait for each other and exchange values."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fakecuda.ptx.barriers import warp_masks
from tests.fakecuda.ptx.faults import IllegalInstruction
from tests.fakecuda.ptx.frames import Lanes
from tests.fakecuda.ptx.layout import WARP_SIZE
from tests.fakecuda.ptx.opcodes.table import Step, control, destinations, direct
from tests.fakecuda.ptx.operands import reader, writer
from tests.fakecuda.ptx.syntax import Immediate, Instruction, Operand
from tests.fakecuda.ptx.types import PRED, U32

_EVERY = np.arange(WARP_SIZE)
# What a lane reads from one that does not take part.
_ABSENT = 0xCDCDCDCD


def together(instruction: Instruction, mask: Operand, exchange: Callable[[Lanes], None]) -> Step:
    """Return the step that waits for the lanes of the mask and then exchanges."""
    read_mask = reader(mask, U32)

    def run(lanes: Lanes) -> int:
        geometry, barriers = lanes.machine.geometry, lanes.machine.scheduler.barriers
        members = lanes.spread(read_mask(lanes))
        outside = members & lanes.pick(geometry.lane_bit) == 0
        if outside.any():
            place = int(np.argmax(outside))
            raise IllegalInstruction(
                f"the mask 0x{int(members[place]):08x} does not name the lane that executes it",
                int(lanes.numbers[place]),
            )
        barriers.wait_for_warp(lanes, instruction, members, exchange)
        return -1

    return run


class Table:
    """Values of the lanes of all warps, as rows; `present` tells which lanes take part."""

    def __init__(self, lanes: Lanes) -> None:
        geometry = lanes.machine.geometry
        self.warp, self.lane = lanes.pick(geometry.warp), lanes.pick(geometry.lane_in_warp)
        self.present = np.zeros((geometry.warps, WARP_SIZE), bool)
        self.present[self.warp, self.lane] = True

    def rows(self, values: np.ndarray, absent: int) -> np.ndarray:
        """Arrange the lanes' values."""
        table = np.full(self.present.shape, absent, values.dtype)
        table[self.warp, self.lane] = values
        return table

    def mates(self, members: np.ndarray) -> np.ndarray:
        """Return for each lane which lanes of its warp it does something together with."""
        named = (members[:, None] >> _EVERY.astype(np.uint32)) & np.uint32(1) != 0
        return named & self.present[self.warp]


def as_mask(chosen: np.ndarray) -> np.ndarray:
    """Join rows of 32 truth values to masks."""
    return (chosen.astype(np.uint32) << _EVERY.astype(np.uint32)).sum(axis=1, dtype=np.uint32)


# ------------------------------------------------------------------------------------ shfl


def shuffle_source(
    mode: str, lane: np.ndarray, operand: np.ndarray, clamp: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the lane that is read and whether it is in range."""
    segment = clamp >> 8 & 31
    bound = clamp & 31
    first = lane & segment
    last = first | (bound & ~segment)
    operand = operand & 31
    match mode:
        case "up":
            source = lane - operand
            return source, source >= last
        case "down":
            source = lane + operand
        case "bfly":
            source = lane ^ operand
        case _:
            source = first | (operand & ~segment)
    return source, source <= last


@control("shfl")
def shuffle(instruction: Instruction) -> Step:
    mode = instruction.choose("up", "down", "bfly", "idx")
    assert mode is not None
    operands = instruction.operands
    targets = destinations(operands[0])
    write = writer(targets[0], U32)
    write_valid = writer(targets[1], PRED) if len(targets) > 1 else None
    read_value, read_operand, read_clamp = (reader(item, U32) for item in operands[1:4])

    def exchange(lanes: Lanes) -> None:
        table = Table(lanes)
        values = table.rows(read_value(lanes), _ABSENT)
        operand = read_operand(lanes).astype(np.int64)
        source, valid = shuffle_source(
            mode, table.lane, operand, read_clamp(lanes).astype(np.int64)
        )
        source = np.where(valid, source, table.lane)
        result = values[table.warp, source]
        if write_valid is not None:
            write_valid(lanes, lanes.spread(valid).copy())
        write(lanes, result)

    mask = operands[4] if len(operands) > 4 else Immediate(0xFFFFFFFF)
    return together(instruction, mask, exchange)


# ---------------------------------------------------------------------- vote, match, redux


@control("vote")
def vote(instruction: Instruction) -> Step:
    mode = instruction.choose("all", "any", "uni", "ballot")
    operands = instruction.operands
    mask = operands[2]
    read_mask, read_vote = reader(mask, U32), reader(operands[1], PRED)
    write = writer(operands[0], U32 if mode == "ballot" else PRED)

    def exchange(lanes: Lanes) -> None:
        table = Table(lanes)
        mates = table.mates(lanes.spread(read_mask(lanes)))
        yes = table.rows(read_vote(lanes), False)[table.warp]
        match mode:
            case "ballot":
                result = as_mask(yes & mates)
            case "any":
                result = (yes & mates).any(axis=1)
            case "all":
                result = (yes | ~mates).all(axis=1)
            case _:
                result = (yes | ~mates).all(axis=1) | ~(yes & mates).any(axis=1)
        write(lanes, result)

    return together(instruction, mask, exchange)


@control("match")
def match_values(instruction: Instruction) -> Step:
    """match.any: who has my value; match.all: all, if everyone has the same one."""
    everyone = "all" in instruction.modifiers
    operands = instruction.operands
    targets = destinations(operands[0])
    mask = operands[2]
    read_mask, read_value = reader(mask, U32), reader(operands[1], instruction.type)
    write = writer(targets[0], U32)
    write_same = writer(targets[1], PRED) if len(targets) > 1 else None

    def exchange(lanes: Lanes) -> None:
        table = Table(lanes)
        mates = table.mates(lanes.spread(read_mask(lanes)))
        values = read_value(lanes)
        equal = table.rows(values, 0)[table.warp] == lanes.spread(values)[:, None]
        equal &= mates
        if everyone:
            same = (equal == mates).all(axis=1)
            equal &= same[:, None]
            if write_same is not None:
                write_same(lanes, same)
        write(lanes, as_mask(equal))

    return together(instruction, mask, exchange)


_REDUCTIONS = {
    "add": (np.add, 0),
    "min": (np.minimum, None),
    "max": (np.maximum, None),
    "and": (np.bitwise_and, -1),
    "or": (np.bitwise_or, 0),
    "xor": (np.bitwise_xor, 0),
}


@control("redux")
def reduce_in_warp(instruction: Instruction) -> Step:
    kind = instruction.type
    name = instruction.choose(*_REDUCTIONS)
    assert name is not None
    function, neutral = _REDUCTIONS[name]
    if neutral is None:
        limits = np.finfo(kind.dtype) if kind.is_float else np.iinfo(kind.dtype)
        neutral = limits.max if name == "min" else limits.min
    start = np.array(neutral).astype(kind.dtype)
    operands = instruction.operands
    read_value, write = reader(operands[1], kind), writer(operands[0], kind)
    read_mask = reader(operands[2], U32)

    def exchange(lanes: Lanes) -> None:
        table = Table(lanes)
        mates = table.mates(lanes.spread(read_mask(lanes)))
        values = table.rows(read_value(lanes), 0)[table.warp]
        result = function.reduce(np.where(mates, values, start), axis=1, dtype=kind.dtype)
        write(lanes, result)

    return together(instruction, operands[2], exchange)


@control("elect")
def elect(instruction: Instruction) -> Step:
    """elect: the lowest lane of the mask."""
    operands = instruction.operands
    targets = destinations(operands[0])
    mask = operands[1]
    read_mask = reader(mask, U32)
    write_lane, write_chosen = writer(targets[0], U32), writer(targets[1], PRED)

    def exchange(lanes: Lanes) -> None:
        table = Table(lanes)
        leader = table.mates(lanes.spread(read_mask(lanes))).argmax(axis=1)
        write_lane(lanes, leader.astype(np.uint32))
        write_chosen(lanes, leader == table.lane)

    return together(instruction, mask, exchange)


@direct("activemask")
def active_mask(instruction: Instruction) -> Step:
    """activemask: the lanes that execute this together."""
    write = writer(instruction.operands[0], U32)

    def run(lanes: Lanes) -> None:
        geometry = lanes.machine.geometry
        write(lanes, warp_masks(geometry, lanes.numbers)[lanes.pick(geometry.warp)])

    return run
