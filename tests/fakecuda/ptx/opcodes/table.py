"""How the meaning of an opcode is written down and found.

Most instructions are *pure*: a function of values that knows nothing of threads. The functions of
the opcode modules look at an instruction's modifiers and return it, with the types of its operands.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.fakecuda.ptx.faults import UnsupportedPtx
from tests.fakecuda.ptx.frames import Lanes
from tests.fakecuda.ptx.operands import reader, writer
from tests.fakecuda.ptx.syntax import Group, Instruction, Operand
from tests.fakecuda.ptx.types import PtxType

# Executes an instruction for some lanes. Those that move threads return the number of the next
# instruction, or -1 if they have noted the threads' places themselves.
Step = Callable[[Lanes], "int | None"]


class Pure(NamedTuple):
    """A function of the source operands' values, and the types of sources and results.

    With several results the function returns a tuple. `carry_in` and `carry_out` add the carry
    flag as last source and as second result.
    """

    function: Callable[..., np.ndarray | tuple[np.ndarray, ...]]
    sources: tuple[PtxType, ...]
    results: tuple[PtxType, ...]
    carry_in: bool = False
    carry_out: bool = False


PURE: dict[str, Callable[[Instruction], Pure]] = {}
DIRECT: dict[str, Callable[[Instruction], Step]] = {}
CONTROL: dict[str, Callable[[Instruction], Step]] = {}

Meaning = Callable[[Instruction], Pure]
Maker = Callable[[Instruction], Step]


def pure(*opcodes: str) -> Callable[[Meaning], Meaning]:
    """Register what returns the `Pure` of the opcodes."""

    def register(meaning: Meaning) -> Meaning:
        PURE.update(dict.fromkeys(opcodes, meaning))
        return meaning

    return register


def direct(*opcodes: str) -> Callable[[Maker], Maker]:
    """Register what makes the step of opcodes that access more than registers."""

    def register(maker: Maker) -> Maker:
        DIRECT.update(dict.fromkeys(opcodes, maker))
        return maker

    return register


def control(*opcodes: str) -> Callable[[Maker], Maker]:
    """Register what makes the step of opcodes that move threads."""

    def register(maker: Maker) -> Maker:
        CONTROL.update(dict.fromkeys(opcodes, maker))
        return maker

    return register


def destinations(operand: Operand) -> tuple[Operand, ...]:
    """Return the operands of a destination `p|q`, or the only one."""
    return operand.items if isinstance(operand, Group) else (operand,)


def pure_step(instruction: Instruction, meaning: Pure) -> Step:
    """Return the step that applies a function to the operands."""
    operands = list(instruction.operands)
    function = meaning.function
    if len(meaning.results) == 1:
        targets: tuple[Operand, ...] = (operands[0],)
    else:
        targets = destinations(operands[0])
    if len(operands) - 1 < len(meaning.sources):
        raise UnsupportedPtx(f"line {instruction.line}: too few operands: {instruction.text}")
    readers = [reader(o, t) for o, t in zip(operands[1:], meaning.sources, strict=False)]
    writers = [writer(o, t) for o, t in zip(targets, meaning.results, strict=False)]
    if meaning.carry_in or meaning.carry_out:
        return _carry_step(meaning, readers, writers[0])
    if len(meaning.results) > 1:
        return _several_results(function, readers, writers)
    write = writers[0]
    if len(readers) == 1:
        (read,) = readers

        def run_unary(lanes: Lanes) -> None:
            write(lanes, function(read(lanes)))

        return run_unary
    if len(readers) == 2:
        first, second = readers

        def run_binary(lanes: Lanes) -> None:
            write(lanes, function(first(lanes), second(lanes)))

        return run_binary

    def run(lanes: Lanes) -> None:
        write(lanes, function(*[read(lanes) for read in readers]))

    return run


def _several_results(function: Callable, readers: list, writers: list) -> Step:
    def run(lanes: Lanes) -> None:
        results = function(*[read(lanes) for read in readers])
        for write, result in zip(writers, results, strict=False):
            write(lanes, result)

    return run


def _carry_step(meaning: Pure, readers: list, write: Callable) -> Step:
    from tests.fakecuda.ptx.syntax import CARRY_SLOT, Register
    from tests.fakecuda.ptx.types import PRED

    flag = Register(CARRY_SLOT, PRED, "carry")
    read_flag, write_flag = reader(flag, PRED), writer(flag, PRED)

    def run(lanes: Lanes) -> None:
        values = [read(lanes) for read in readers]
        if meaning.carry_in:
            values.append(read_flag(lanes))
        result, carry = meaning.function(*values)
        write(lanes, result)
        if meaning.carry_out:
            write_flag(lanes, carry)

    return run
