"""Branches, calls and ends of threads."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tests.fakecuda.ptx import host_calls
from tests.fakecuda.ptx.faults import IllegalInstruction, Trap, UnsupportedPtx
from tests.fakecuda.ptx.frames import Lanes
from tests.fakecuda.ptx.opcodes.table import Step, control, direct
from tests.fakecuda.ptx.operands import reader
from tests.fakecuda.ptx.syntax import (
    Function,
    Group,
    Instruction,
    Operand,
    ParamSymbol,
    Register,
    Symbol,
)
from tests.fakecuda.ptx.types import U32, U64
from tests.fakecuda.ptx.variables import function_address


def _label(instruction: Instruction, operand: Operand) -> int:
    if not isinstance(operand, Symbol) or operand.name not in instruction.function.labels:
        raise UnsupportedPtx(f"line {instruction.line}: unknown label in: {instruction.text}")
    return instruction.function.labels[operand.name]


@control("bra")
def branch(instruction: Instruction) -> Step:
    target = _label(instruction, instruction.operands[0])
    return lambda lanes: target


@control("brx")
def branch_by_index(instruction: Instruction) -> Step:
    """brx.idx: to one of the labels of a table."""
    read_index = reader(instruction.operands[0], U32)
    table = instruction.operands[1]
    assert isinstance(table, Symbol)
    names = instruction.function.branch_targets[table.name]
    targets = np.array([instruction.function.labels[name] for name in names], np.int64)

    def run(lanes: Lanes) -> int:
        index = read_index(lanes)
        if (index >= len(targets)).any():
            place = int(np.argmax(lanes.spread(index) >= len(targets)))
            raise IllegalInstruction(
                f"index {int(lanes.spread(index)[place])} of a table of {len(targets)} labels",
                int(lanes.numbers[place]),
            )
        lanes.machine.scheduler.move(lanes, lanes.frame.depth, targets[index])
        return -1

    return run


@control("exit")
def end_threads(instruction: Instruction) -> Step:
    def run(lanes: Lanes) -> int:
        lanes.machine.scheduler.finish(lanes)
        return -1

    return run


@direct("trap", "brkpt")
def trap(instruction: Instruction) -> Step:
    def run(lanes: Lanes) -> None:
        raise Trap(f"the kernel executed {instruction.opcode}", int(lanes.numbers[0]))

    return run


# ------------------------------------------------------------------------------------ calls


@control("ret")
def give_back(instruction: Instruction) -> Step:
    """ret: go on after the call; at the end of the kernel the thread ends."""

    def run(lanes: Lanes) -> int:
        machine, frame = lanes.machine, lanes.frame
        if frame.depth == 0:
            machine.scheduler.finish(lanes)
            return -1
        numbers = lanes.numbers
        places = frame.return_pc[numbers]
        for place in np.unique(places):
            some = Lanes(machine, frame, numbers[places == place])
            _return_to(some, int(place))
        return -1

    return run


def _return_to(lanes: Lanes, place: int) -> None:
    machine, frame = lanes.machine, lanes.frame
    call = machine.module.code[place - 1]
    caller = machine.frame(frame.depth - 1, call.function)
    results = _call_operands(call)[0]
    for source, target in zip(frame.function.result_names, results, strict=True):
        assert isinstance(target, ParamSymbol)
        rows = frame.param_bytes(source)[lanes.index]
        caller.param_bytes(target.key)[lanes.index] = rows
    machine.scheduler.move(lanes, frame.depth - 1, place)


def _call_operands(
    instruction: Instruction,
) -> tuple[Sequence[Operand], Operand, Sequence[Operand]]:
    """Return results, callee and arguments of a call."""
    operands = list(instruction.operands)
    results = operands.pop(0).items if isinstance(operands[0], Group) else ()
    callee = operands.pop(0)
    arguments = operands[0].items if operands and isinstance(operands[0], Group) else ()
    return results, callee, arguments


@control("call")
def call(instruction: Instruction) -> Step:
    results, callee, arguments = _call_operands(instruction)
    if isinstance(callee, Symbol):
        if callee.name in instruction.module.functions:
            function = instruction.module.functions[callee.name]
            return lambda lanes: _enter(lanes, instruction, function, arguments)
        known = host_calls.find(callee.name)
        if known is None:
            raise UnsupportedPtx(f"line {instruction.line}: unknown function {callee.name}")
        return lambda lanes: known(lanes, results, arguments)
    assert isinstance(callee, Register)
    read_address = reader(callee, U64)

    def run(lanes: Lanes) -> int:
        functions = {function_address(f): f for f in instruction.module.functions.values()}
        addresses = lanes.spread(read_address(lanes))
        for address in np.unique(addresses):
            some = lanes.subset(addresses == address)
            if int(address) not in functions:
                raise IllegalInstruction(
                    f"call of 0x{int(address):x}, which is no function", int(some.numbers[0])
                )
            _enter(some, instruction, functions[int(address)], arguments)
        return -1

    return run


def _enter(
    lanes: Lanes, instruction: Instruction, function: Function, arguments: Sequence[Operand]
) -> int:
    machine, caller = lanes.machine, lanes.frame
    frame = machine.frame(caller.depth + 1, function)
    numbers = lanes.numbers
    for name, operand in zip(function.parameter_names, arguments, strict=True):
        assert isinstance(operand, ParamSymbol)
        frame.param_bytes(name)[numbers] = caller.param_bytes(operand.key)[numbers]
    frame.return_pc[numbers] = instruction.pc + 1
    base = lanes.pick(caller.local_base) + -(-caller.function.local_size // 16) * 16
    if len(frame.local_base) == 1 and machine.geometry.lanes > 1:
        frame.local_base = np.zeros(machine.geometry.lanes, np.int64)
    frame.local_base[numbers if len(frame.local_base) > 1 else slice(None)] = base
    machine.spaces.reserve_local(int(base.max()) + function.local_size)
    machine.scheduler.move(lanes, frame.depth, function.start)
    return -1
