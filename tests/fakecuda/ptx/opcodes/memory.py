"""Loads and stores."""

from __future__ import annotations

import re

import numpy as np

from tests.fakecuda.ptx.faults import UnsupportedPtx
from tests.fakecuda.ptx.frames import Lanes
from tests.fakecuda.ptx.opcodes.table import Step, direct
from tests.fakecuda.ptx.operands import address_reader, reader, unpacked, writer
from tests.fakecuda.ptx.syntax import (
    Address,
    Group,
    Instruction,
    Operand,
    ParamSymbol,
)
from tests.fakecuda.ptx.types import PtxType, unsigned

_SPACES = re.compile(r"(global|shared|local|param|const)(?:::\w+)?$")
# Accesses by which threads may watch each other.
_WATCHING = ("volatile", "relaxed", "acquire", "mmio")


def space_of(instruction: Instruction) -> str:
    """Return the state space that the modifiers name; constants lie in global memory."""
    for modifier in instruction.modifiers:
        match = _SPACES.match(modifier)
        if match:
            return "global" if match[1] == "const" else match[1]
    return "generic"


def address_of(operand: Operand) -> Address:
    if isinstance(operand, Address):
        return operand
    raise UnsupportedPtx(f"{operand} as an address")


def _elements(operand: Operand) -> tuple[Operand, ...]:
    return operand.items if isinstance(operand, Group) else (operand,)


@direct("ld", "ldu")
def load(instruction: Instruction) -> Step:
    kind = instruction.type
    address = address_of(instruction.operands[1])
    if isinstance(address.base, ParamSymbol):
        return _load_param(instruction, address.base.key, address.offset)
    space = space_of(instruction)
    writers = [writer(item, kind) for item in _elements(instruction.operands[0])]
    read_address = address_reader(address.base, address.offset)
    watching = instruction.choose(*_WATCHING) is not None
    size, count = kind.size, len(writers)

    def run(lanes: Lanes) -> None:
        machine = lanes.machine
        if watching:
            machine.scheduler.be_patient_no_more()
        values = machine.spaces.load(space, read_address(lanes), size, count, lanes)
        for write, loaded in zip(writers, values, strict=True):
            write(lanes, unpacked(loaded, kind))

    return run


@direct("st")
def store(instruction: Instruction) -> Step:
    kind = unsigned(instruction.type.size)
    address = address_of(instruction.operands[0])
    items = _elements(instruction.operands[1])
    if isinstance(address.base, ParamSymbol):
        return _store_param(address.base.key, address.offset, items, kind)
    space = space_of(instruction)
    readers = [reader(item, kind) for item in items]
    read_address = address_reader(address.base, address.offset)

    def run(lanes: Lanes) -> None:
        values = [read(lanes) for read in readers]
        lanes.machine.spaces.store(space, read_address(lanes), values, kind.size, lanes)

    return run


# ------------------------------------------------------------------- parameters of functions


def _load_param(instruction: Instruction, key: str, offset: int) -> Step:
    """Load from a parameter; those of the kernel are the same for all threads."""
    kind = instruction.type
    targets = _elements(instruction.operands[0])
    writers = [writer(item, kind) for item in targets]
    size = kind.size

    def run(lanes: Lanes) -> None:
        frame, machine = lanes.frame, lanes.machine
        if frame.function.entry and key in frame.function.parameter_names:
            start = int(machine.param_offset(key)[0]) + offset
            rows = machine.spaces.parameters[None, start : start + size * len(writers)]
        else:
            rows = frame.param_bytes(key)[:, offset : offset + size * len(writers)]
            rows = rows if lanes.index is None else rows[lanes.index]
        for position, write in enumerate(writers):
            part = np.ascontiguousarray(rows[:, position * size : (position + 1) * size])
            write(lanes, unpacked(part.view(kind.raw).reshape(-1), kind))

    return run


def _store_param(key: str, offset: int, items: tuple[Operand, ...], kind: PtxType) -> Step:
    readers = [reader(item, kind) for item in items]
    size = kind.size

    def run(lanes: Lanes) -> None:
        rows = lanes.frame.param_bytes(key)
        chosen = slice(None) if lanes.index is None else lanes.index
        for position, read in enumerate(readers):
            start = offset + position * size
            values = np.ascontiguousarray(read(lanes)).view(np.uint8).reshape(-1, size)
            rows[chosen, start : start + size] = values

    return run


# -------------------------------------------------------------------------------- no effects


@direct(
    "membar",
    "fence",
    "prefetch",
    "prefetchu",
    "discard",
    "applypriority",
    "createpolicy",
    "pmevent",
    "griddepcontrol",
)
def nothing(instruction: Instruction) -> Step:
    """What only concerns ordering and caches: every access here happens at once, in order."""
    return lambda lanes: None


@direct("nanosleep")
def sleep(instruction: Instruction) -> Step:
    """nanosleep lets others go first."""
    return lambda lanes: lanes.machine.scheduler.be_patient_no_more()


@direct("alloca", "stacksave", "stackrestore")
def dynamic_stack(instruction: Instruction) -> Step:
    raise UnsupportedPtx(f"line {instruction.line}: {instruction.text}")
