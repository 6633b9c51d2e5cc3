"""PTX texts with one instruction changed, as a wrong code generator might have written it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

_LINE = re.compile(r"^\s*(?P<guard>@!?%p\d+\s+)?(?P<opcode>[a-z][\w.:]*)\s*(?P<operands>.*);\s*$")
_REGISTER = re.compile(r"%(?:p|rs|r|rd|fd|f|h|hh|b)\d+\b")
_INTEGER = re.compile(r"(?<![\w%$.])-?\d+(?![\w.])")
_FLOAT = re.compile(r"\b0([fd])([0-9A-F]{8,16})\b")
_LABEL = re.compile(r"^(\$\w+):")

# What does the same for all operands, as far as the simulation or its timing goes.
_WITHOUT_EFFECT = ("membar", "fence", "nanosleep", "pragma", "call", "prototype")

_INSTEAD = {
    "add": "sub",
    "sub": "add",
    "mul": "add",
    "and": "or",
    "or": "and",
    "xor": "or",
    "shl": "shr",
    "shr": "shl",
    "min": "max",
    "max": "min",
    "div": "mul",
    "rem": "div",
    "neg": "abs",
    "abs": "neg",
    "not": "neg",
}
_COMPARISONS = {
    "lt": "le",
    "le": "lt",
    "gt": "ge",
    "ge": "gt",
    "eq": "ne",
    "ne": "eq",
    "ltu": "geu",
    "leu": "gtu",
    "gtu": "leu",
    "geu": "ltu",
    "equ": "ne",
    "neu": "eq",
    "num": "nan",
    "nan": "num",
}
_ATOMICS = {
    "add": "max",
    "min": "max",
    "max": "min",
    "exch": "add",
    "and": "or",
    "or": "and",
    "xor": "or",
    "inc": "add",
}
_EXCHANGES = {"down": "up", "up": "down", "bfly": "idx", "idx": "bfly"}
_VOTES = {"any": "all", "all": "any"}
# Instructions whose result does not depend on the sign of the type, or that have no sign.
_SIGN_FREE = ("add", "sub", "and", "or", "xor", "not", "mov", "shl", "st", "selp", "setp.eq")
_ORDERED = ("sub", "div", "rem", "shl", "shr", "setp", "selp")


_ONE = {"f": 0x3F800000, "d": 0x3FF0000000000000}


class Mutant(NamedTuple):
    """A changed text.

    Attributes
    ----------
    kind
        What was done.
    line
        Number of the changed line, from 1.
    before, after
        The line.
    text
        The whole.
    """

    kind: str
    line: int
    before: str
    after: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}, line {self.line}: {self.before}  ->  {self.after or '(nothing)'}"


class _Instruction(NamedTuple):
    guard: str
    opcode: str
    operands: str
    earlier: tuple[str, ...]  # registers that an instruction before has written

    def write(self, *, guard: str | None = None, opcode: str = "", operands: str = "") -> str:
        guard = self.guard if guard is None else guard
        return f"\t{guard}{opcode or self.opcode} \t{operands or self.operands};"

    @property
    def base(self) -> str:
        return self.opcode.split(".")[0]

    @property
    def parts(self) -> list[str]:
        return re.findall(r"\{[^}]*\}|\[[^]]*\]|[^,\s][^,]*", self.operands)


def make_mutants(text: str) -> Iterator[Mutant]:
    """Change each instruction of a PTX text in all ways, one at a time."""
    lines = text.split("\n")
    written: list[str] = []
    for number, line in enumerate(lines, start=1):
        if line.startswith((".", "}", ")")):
            written = []
        found = _LINE.match(line)
        if found is None or found["opcode"].startswith(_WITHOUT_EFFECT) or ".param" in line[:20]:
            continue
        guard = found["guard"] or ""
        instruction = _Instruction(guard, found["opcode"], found["operands"], tuple(written))
        if instruction.base in ("ret", "exit"):
            continue
        if not _goes_to_next(instruction, lines[number:]):
            for kind, after in _changes(instruction):
                changed = "\n".join([*lines[: number - 1], after, *lines[number:]])
                yield Mutant(kind, number, _tidy(line), _tidy(after), changed)
        written += _results(instruction)


def _tidy(line: str) -> str:
    return " ".join(line.split())


def _goes_to_next(instruction: _Instruction, following: list[str]) -> bool:
    """Return whether a jump leads to what comes next anyhow."""
    if instruction.base != "bra":
        return False
    label = next((found for line in following if (found := _LABEL.match(line))), None)
    between = next((line for line in following if _LINE.match(line)), "")
    at_once = label is not None and following.index(label.string) < following.index(between)
    return bool(at_once and label and label[1] == instruction.operands.strip())


def _results(instruction: _Instruction) -> list[str]:
    if instruction.base in ("st", "bar", "bra", "red") or not instruction.parts:
        return []
    return _REGISTER.findall(instruction.parts[0])


def _changes(instruction: _Instruction) -> Iterator[tuple[str, str]]:
    yield "drop", ""
    for kind, change in (
        ("operation", _other_operations),
        ("constant", _other_constants),
        ("predicate", _other_guards),
        ("type", _other_types),
        ("operands", _other_order),
        ("register", _other_registers),
    ):
        for after in change(instruction):
            yield kind, after


def _other_operations(it: _Instruction) -> Iterator[str]:
    base, *modifiers = it.opcode.split(".")
    if base in ("setp", "set"):
        yield from _with_other_modifier(it, _COMPARISONS)
    elif base in ("atom", "red"):
        yield from _with_other_modifier(it, _ATOMICS)
    elif base == "shfl":
        yield from _with_other_modifier(it, _EXCHANGES)
    elif base == "vote":
        yield from _with_other_modifier(it, _VOTES)
    elif base == "fma" or (base == "mad" and "lo" in modifiers):
        yield it.write(operands=", ".join([*it.parts[:3], it.parts[1]]))
    elif base in _INSTEAD:
        yield _with_other_base(it, _INSTEAD[base], modifiers)


def _with_other_base(it: _Instruction, base: str, modifiers: list[str]) -> str:
    """Write an instruction with another name, and the modifiers that the other has."""
    is_float = modifiers[-1][0] == "f"
    is_wide = "wide" in modifiers
    kept = [m for m in modifiers if m not in ("lo", "hi", "wide", "approx", "full")]
    if it.base == "mul" and is_wide:
        return it.write(opcode=".".join(["mul", "lo", *kept]))  # refused by the assembler
    if base == "mul" and not is_float:
        kept.insert(0, "lo")
    if base == "shr" or (base in ("abs", "neg") and not is_float):
        kept = [m.replace("b", "s") for m in kept]
    if base == "shl":
        kept = [re.sub("[us]", "b", m) for m in kept]
    return it.write(opcode=".".join([base, *kept]))


def _with_other_modifier(it: _Instruction, table: dict[str, str]) -> Iterator[str]:
    parts = it.opcode.split(".")
    for place, part in enumerate(parts[1:], start=1):
        if part in table:
            yield it.write(opcode=".".join([*parts[:place], table[part], *parts[place + 1 :]]))


def _other_constants(it: _Instruction) -> Iterator[str]:
    if it.base in ("bra", "bar", "barrier"):
        return
    # A wrong member mask is for the hardware to find.
    operands = it.operands
    for found in _INTEGER.finditer(operands):
        value = int(found[0])
        for other in (value + 1, value - 1):
            yield it.write(
                operands=operands[: found.start()] + str(other) + operands[found.end() :]
            )
    for found in _FLOAT.finditer(operands):
        bits = int(found[2], 16) ^ (1 << (len(found[2]) * 4 - 12))
        if not int(found[2], 16):
            bits = _ONE[found[1]]
        changed = f"0{found[1]}{bits:0{len(found[2])}X}"
        yield it.write(operands=operands[: found.start()] + changed + operands[found.end() :])


def _other_guards(it: _Instruction) -> Iterator[str]:
    if it.guard:
        negated = it.guard.replace("@!", "@") if "!" in it.guard else it.guard.replace("@", "@!")
        yield it.write(guard=negated)
        yield it.write(guard="")


def _other_types(it: _Instruction) -> Iterator[str]:
    if it.opcode.startswith(_SIGN_FREE) or (it.base in ("mul", "mad") and "lo" in it.opcode):
        return
    parts = it.opcode.split(".")
    for place, part in enumerate(parts[1:], start=1):
        found = re.fullmatch(r"([usb])(8|16|32|64)", part)
        if found is None:
            continue
        letter = {"u": "s", "s": "u", "b": "s"}[found[1]]
        others = [f"{letter}{found[2]}"] if found[1] != "b" and _sign_matters(it, place) else []
        if it.base in ("ld", "st") and int(found[2]) > 8:
            others.append(f"{found[1]}{int(found[2]) // 2}")
        for other in others:
            yield it.write(opcode=".".join([*parts[:place], other, *parts[place + 1 :]]))
    if re.search(r"cvt\.rn\.f64\.[us](8|16|32)$", it.opcode):
        return  # always exact
    for rounding, other in (("rn", "rz"), ("rzi", "rni"), ("rmi", "rpi"), ("rpi", "rmi")):
        if rounding in parts:
            yield it.write(opcode=".".join(other if p == rounding else p for p in parts))


def _sign_matters(it: _Instruction, place: int) -> bool:
    """Return whether signed and unsigned mean something else in a modifier of an instruction."""
    parts = it.opcode.split(".")
    if it.base == "cvt":
        to, source = parts[-2:]
        if to[0] in "us" and source[0] in "us" and "sat" not in parts:
            return place == len(parts) - 1 and int(to[1:]) > int(source[1:])
    if it.base in ("atom", "red"):
        return "min" in parts or "max" in parts
    return True


def _other_order(it: _Instruction) -> Iterator[str]:
    parts = it.parts
    if it.opcode.startswith(("setp.eq", "setp.ne")):
        return
    if it.base in _ORDERED and len(parts) >= 3 and _REGISTER.fullmatch(parts[2]):
        yield it.write(operands=", ".join([parts[0], parts[2], parts[1], *parts[3:]]))


def _other_registers(it: _Instruction) -> Iterator[str]:
    """Replace each register that is read by the one of its class that was written last."""
    begin = 0 if it.base in ("st", "red") else len(it.parts[0]) if it.parts else 0
    for found in _REGISTER.finditer(it.operands, begin):
        other = _last_of_class(found[0], it.earlier)
        if other is not None:
            operands = it.operands
            yield it.write(operands=operands[: found.start()] + other + operands[found.end() :])


def _last_of_class(register: str, earlier: Iterable[str]) -> str | None:
    wanted = register.rstrip("0123456789")
    same = [name for name in earlier if name.rstrip("0123456789") == wanted and name != register]
    return same[-1] if same else None
