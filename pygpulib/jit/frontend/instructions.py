"""The instructions of Python's byte code, in a form that differs little between versions."""

from __future__ import annotations

import dis
import sys
from types import CodeType

from pygpulib._record import record

_IGNORED = frozenset(
    {
        "CACHE",
        "COPY_FREE_VARS",
        "END_FOR",
        "EXTENDED_ARG",
        "MAKE_CELL",
        "NOP",
        "NOT_TAKEN",
        "POP_ITER",
        "PRECALL",
        "PUSH_NULL",
        "RESUME",
        "TO_BOOL",
    }
)

_JUMPS = frozenset({*dis.hasjrel, *dis.hasjabs})

# One instruction that stands for two.
_PAIRS = {
    "LOAD_FAST_LOAD_FAST": ("LOAD_FAST", "LOAD_FAST"),
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW": ("LOAD_FAST", "LOAD_FAST"),
    "STORE_FAST_LOAD_FAST": ("STORE_FAST", "LOAD_FAST"),
    "STORE_FAST_STORE_FAST": ("STORE_FAST", "STORE_FAST"),
}


@record(frozen=False)
class Instruction:
    """An instruction; ``target`` is where it jumps to, as a position in the list."""

    name: str
    argument: int
    value: object
    text: str
    target: int = -1


def list_instructions(code: CodeType) -> list[Instruction]:
    """Return the instructions of a code, without those that only help the interpreter."""
    found: list[Instruction] = []
    targets: list[int] = []
    places: dict[int, int] = {}
    ends_loop = False
    for each in dis.get_instructions(code):
        places[each.offset] = len(found)
        # Since 3.13 the end of a loop is two instructions.
        is_ignored = each.opname in _IGNORED or (ends_loop and each.opname == "POP_TOP")
        ends_loop = each.opname == "END_FOR" and sys.version_info >= (3, 13)
        if is_ignored:
            continue
        names = _PAIRS.get(each.opname, (each.opname,))
        values = each.argval if len(names) == 2 else (value_of(code, each),)
        for name, value in zip(names, values, strict=True):
            found.append(Instruction(name, each.arg or 0, value, each.argrepr))
            targets.append(each.argval if is_jump(each) else -1)
    for instruction, target in zip(found, targets, strict=True):
        instruction.target = places.get(target, -1)
    return found


def is_jump(instruction: dis.Instruction) -> bool:
    """Return whether an instruction names a place in the code."""
    return instruction.opcode in _JUMPS


def value_of(code: CodeType, instruction: dis.Instruction) -> object:
    """Return the name or the constant that an instruction refers to."""
    if instruction.opname == "KW_NAMES":
        return code.co_consts[instruction.arg or 0]
    value: object = instruction.argval
    return value


def share_exits(instructions: list[Instruction]) -> list[Instruction]:
    """Let jumps to copies of one way out of the function go to the last of them."""
    exits: dict[tuple[object, ...], int] = {}
    ways: dict[int, tuple[object, ...]] = {}
    for start, first in enumerate(instructions):
        way = [(first.name, repr(first.value))]
        for each in instructions[start + 1 : start + 4]:
            if way[-1][0].startswith("RETURN"):
                break
            way.append((each.name, repr(each.value)))
        if way[-1][0].startswith("RETURN"):
            ways[start] = tuple(way)
            exits[tuple(way)] = start
    for instruction in instructions:
        if "JUMP" in instruction.name and instruction.target in ways:
            instruction.target = exits[ways[instruction.target]]
    return instructions
