"""The body of a function: registers, labels and instructions."""

from __future__ import annotations

import re

from tests.fakecuda.ptx.faults import PtxSyntaxError
from tests.fakecuda.ptx.syntax import (
    Address,
    Function,
    Group,
    Immediate,
    Instruction,
    LocalSymbol,
    Module,
    Operand,
    ParamSymbol,
    Register,
    Sink,
    Special,
    Symbol,
)
from tests.fakecuda.ptx.types import PRED, TYPES
from tests.fakecuda.ptx.variables import parse_variable, place_shared, split_list

_SPACE = re.compile(r"\s+")
_LABEL = re.compile(r"([A-Za-z_$%][\w$]*)\s*:(?!:)")
_LINE_DIRECTIVE = re.compile(r"\.(?:loc|file)\b[^\n]*")
_TARGETS = re.compile(r"\.(branchtargets|calltargets|callprototype)\b")
_INSTRUCTION = re.compile(r"(?:@(!?)([\w%$]+)\s+)?([\w.:]+)\s*(.*)$", re.DOTALL)
_INTEGER = re.compile(r"([+-]?)(0[xX][0-9A-Fa-f]+|0[bB][01]+|\d+)U?$")
_FLOAT_BITS = re.compile(r"(-?)0([fFdD])([0-9A-Fa-f]{8,16})$")
_ADDRESS = re.compile(r"\[\s*(.+?)\s*(?:([+-])\s*(-?\w+))?\s*\]$", re.DOTALL)


class _Scopes:
    """Names of registers and variables, of the innermost braces first."""

    def __init__(self, function: Function) -> None:
        self.function = function
        self.stack: list[dict[str, Operand]] = [{}]
        for name in function.param_sizes:
            self.stack[0][name] = ParamSymbol(name)

    def declare(self, name: str, operand: Operand) -> None:
        self.stack[-1][name] = operand

    def find(self, name: str) -> Operand | None:
        for names in reversed(self.stack):
            if name in names:
                return names[name]
        return None


class _BodyParser:
    def __init__(self, module: Module, function: Function) -> None:
        self.module, self.function = module, function
        self.scopes = _Scopes(function)
        function.registers.append(PRED)  # the carry flag
        function.start = len(module.code)

    def parse(self, text: str, line: int) -> None:
        position = 0
        while True:
            space = _SPACE.match(text, position)
            if space:
                line += space[0].count("\n")
                position = space.end()
            if position >= len(text):
                break
            end = self._parse_item(text, position, line)
            line += text.count("\n", position, end)
            position = end
        # Falling off the end returns.
        self._add("ret", (), (), None, line, "ret (end of the function)")

    def _parse_item(self, text: str, position: int, line: int) -> int:
        """Parse a brace, label or statement and return the position after it."""
        if text[position] == "{":
            self.scopes.stack.append({})
            return position + 1
        if text[position] == "}":
            self.scopes.stack.pop()
            return position + 1
        directive = _LINE_DIRECTIVE.match(text, position)
        if directive:
            return directive.end()
        label = _LABEL.match(text, position)
        if label:
            return self._parse_label(label[1], text, label.end())
        end = text.find(";", position)
        if end < 0:
            raise PtxSyntaxError(f"line {line}: no semicolon after: {text[position:].strip()}")
        self._parse_statement(text[position:end].strip(), line)
        return end + 1

    def _parse_label(self, name: str, text: str, position: int) -> int:
        space = _SPACE.match(text, position)
        after = space.end() if space else position
        targets = _TARGETS.match(text, after)
        if targets is None:
            self.function.labels[name] = len(self.module.code)
            return position
        end = text.index(";", after)
        if targets[1] == "branchtargets":
            self.function.branch_targets[name] = split_list(text[targets.end() : end])
        return end + 1

    def _parse_statement(self, text: str, line: int) -> None:
        if not text:
            return
        if text[0] != ".":
            self._parse_instruction(text, line)
            return
        space, _, rest = text[1:].partition(" ") if " " in text else text[1:].partition("\t")
        space = space.split("\t")[0]
        rest = text[1 + len(space) :].strip()
        if space == "reg":
            self._declare_registers(rest, line)
        elif space in ("local", "shared", "param"):
            self._declare_variable(space, rest)
        elif space not in ("pragma", "loc", "file", "maxnreg"):
            raise PtxSyntaxError(f"line {line}: not understood: {text}")

    def _declare_registers(self, text: str, line: int) -> None:
        match = re.match(r"(?:\.v[248]\s+)?\.(\w+)\s+(.*)$", text, re.DOTALL)
        if match is None or match[1] not in TYPES:
            raise PtxSyntaxError(f"line {line}: registers not understood: {text}")
        for item in split_list(match[2]):
            several = re.match(r"(.*)<(\d+)>$", item)
            names = (
                [f"{several[1]}{number}" for number in range(int(several[2]))]
                if several
                else [item]
            )
            for name in names:
                slot = len(self.function.registers)
                self.scopes.declare(name, Register(slot, TYPES[match[1]], name))
                self.function.registers.append(TYPES[match[1]])

    def _declare_variable(self, space: str, text: str) -> None:
        variable = parse_variable(text, space)
        function = self.function
        if space == "shared":
            # Names in braces may repeat; LLVM's do not.
            place_shared(self.module, variable)
        elif space == "local":
            start = -(-function.local_size // variable.align) * variable.align
            self.scopes.declare(variable.name, LocalSymbol(variable.name, start))
            function.local_size = start + variable.size
        else:
            key = f"{variable.name}@{len(function.param_sizes)}"
            function.param_sizes[key] = variable.size
            self.scopes.declare(variable.name, ParamSymbol(key))

    def _parse_instruction(self, text: str, line: int) -> None:
        match = _INSTRUCTION.match(text)
        if match is None:
            raise PtxSyntaxError(f"line {line}: not understood: {text}")
        negated, guard_name, name, rest = match.groups()
        guard = self.scopes.find(guard_name) if guard_name else None
        if guard_name:
            if not isinstance(guard, Register):
                raise PtxSyntaxError(f"line {line}: unknown predicate {guard_name}")
            guard = Register(guard.slot, guard.type, guard.name, bool(negated))
        parts = tuple(name.split("."))
        try:
            operands = tuple(self._operand(item) for item in split_list(rest))
        except PtxSyntaxError as error:
            raise PtxSyntaxError(f"line {line}: {error} in: {text}") from None
        self._add(parts[0], parts[1:], operands, guard, line, _SPACE.sub(" ", text))

    def _add(
        self,
        opcode: str,
        modifiers: tuple[str, ...],
        operands: tuple[Operand, ...],
        guard: Register | None,
        line: int,
        text: str,
    ) -> None:
        types = tuple(TYPES[item] for item in modifiers if item in TYPES)
        code = self.module.code
        code.append(
            Instruction(
                opcode,
                modifiers,
                types,
                operands,
                guard,
                line,
                text,
                self.function,
                self.module,
                len(code),
            )
        )

    # ------------------------------------------------------------------------------- operands

    def _operand(self, text: str) -> Operand:
        first = text[0]
        if first == "[":
            return self._address(text)
        if first in "{(":
            return Group(tuple(self._operand(item) for item in split_list(text[1:-1])))
        if "|" in text:
            return Group(tuple(self._operand(item.strip()) for item in text.split("|")))
        if text == "_":
            return Sink()
        if first.isdigit() or (first in "+-" and text[1:2].isdigit()):
            return _number(text)
        if first == "!":
            register = self._operand(text[1:].strip())
            if isinstance(register, Register):
                return Register(register.slot, register.type, register.name, True)
            raise PtxSyntaxError(f"{text} is no register")
        return self._name(text)

    def _name(self, text: str) -> Operand:
        found = self.scopes.find(text)
        if found is not None:
            return found
        offset = re.match(r"(.*?)\s*\+\s*(\d+)$", text)
        if offset:
            return Address(self._name(offset[1]), int(offset[2]))
        if text[0] == "%":
            return Special(text)
        if text == "WARP_SZ":
            return Immediate(32)
        return Symbol(text)

    def _address(self, text: str) -> Operand:
        match = _ADDRESS.match(text)
        if match is None:
            raise PtxSyntaxError(f"address not understood: {text}")
        offset = int(match[3] or "0", 0) * (-1 if match[2] == "-" else 1)
        return Address(self._operand(match[1]), offset)


def _number(text: str) -> Immediate:
    bits = _FLOAT_BITS.match(text)
    if bits:
        size = 4 if bits[2] in "fF" else 8
        value = int(bits[3], 16)
        return Immediate(value ^ (1 << (8 * size - 1)) if bits[1] else value, size)
    integer = _INTEGER.match(text)
    if integer is None:
        raise PtxSyntaxError(f"number not understood: {text}")
    digits = integer[2]
    value = int(digits, 8) if re.fullmatch(r"0[0-7]+", digits) else int(digits, 0)
    return Immediate(-value if integer[1] == "-" else value)


def parse_body(module: Module, function: Function, text: str, line: int) -> None:
    """Append the code of a function to the module's."""
    _BodyParser(module, function).parse(text, line)
