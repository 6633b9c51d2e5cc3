"""Random kernels: text that both CPython and the front end take."""

from __future__ import annotations

import linecache
from collections.abc import Callable
from random import Random
from typing import Any

from tests.helpers.kernels import Device

_NAMES = ("p", "q", "r", "s", "t")
_MAX_DEPTH = 4


def make_kernel(random: Random) -> tuple[Callable[..., object], str]:
    """Write a kernel of the parameters ``a`` (float64 array), ``x`` and ``y``, and define it."""
    writer = _Writer(random)
    text = writer.program()
    filename = f"<kernel {abs(hash(text))}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    scope: dict[str, Any] = {"Device": Device}
    exec(compile(text, filename, "exec"), scope)
    return scope["kernel"], text


class _Writer:
    """Writes functions whose values stay small and whose loops end."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.functions: list[str] = []
        self.budget = 0
        self.counters = 0
        self.in_device = False

    def program(self) -> str:
        for number in range(self.random.randint(0, 2)):
            self._function(f"f{number}", ["x", "y"], is_device=True)
            self.functions.append(f"f{number}")
        self._function("kernel", ["a", "x", "y"], is_device=False)
        return "\n".join(self.lines) + "\n"

    def _function(self, name: str, parameters: list[str], *, is_device: bool) -> None:
        self.in_device = is_device
        self.budget = self.random.randint(4, 24)
        if is_device:
            self.lines.append("@Device")
        self.lines.append(f"def {name}({', '.join(parameters)}):")
        known = [each for each in parameters if each != "a"]
        known = self._block(1, known, in_loop=False)
        if is_device:
            self._line(1, f"return {self._expression(known)}")
        else:
            for place, each in enumerate(known[:8]):
                self._line(1, f"a[{place}] = {each}")

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    # every method below returns the names that surely have a value afterwards

    def _block(self, depth: int, known: list[str], *, in_loop: bool) -> list[str]:
        known = list(known)
        for _ in range(self.random.randint(1, 4)):
            self.budget -= 1
            known = self._statement(depth, known, in_loop=in_loop)
        return known

    def _statement(self, depth: int, known: list[str], *, in_loop: bool) -> list[str]:
        kinds = ["assign"] * 4 + ["augmented"] * 2
        if not self.in_device:
            kinds.append("store")
        if depth < _MAX_DEPTH and self.budget > 0:
            kinds += ["if", "if", "for", "while", "unrolled"]
        if depth > 1:
            kinds.append("leave")
        if in_loop:
            kinds += ["jump"]
        kind = self.random.choice(kinds)
        return getattr(self, f"_{kind}")(depth, known, in_loop)

    def _assign(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        if self.random.random() < 0.2:
            first, second = self.random.sample(_NAMES, 2)
            values = f"{self._expression(known)}, {self._expression(known)}"
            self._line(depth, f"{first}, {second} = {values}")
            return sorted({*known, first, second})
        name = self.random.choice([*_NAMES, "x"])
        self._line(depth, f"{name} = {self._expression(known)}")
        return sorted({*known, name})

    def _augmented(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        name = self.random.choice(known)
        operator = self.random.choice(["+=", "-=", "+=", "*="])
        self._line(depth, f"{name} {operator} {self._atom(known)}")
        self._line(depth, f"{name} = {name} % 64")
        return known

    def _store(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        place = str(self.random.randint(8, 15))
        if self.random.random() < 0.6:  # any sign, and often the counter of a loop
            name = self.random.choice(known)
            place = self.random.choice([f"int({name}) % 16", f"(int({name}) - 40) % 31 - 15"])
        self._line(depth, f"a[{place}] += {self._expression(known)}")
        if self.random.random() < 0.4:
            name = self.random.choice(known)
            self._line(depth, f"if {name} == int({name}) and -16 <= {name} < 16:")
            self._line(depth + 1, f"a[int({name})] += 1")
        return known

    def _leave(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        value = f" {self._expression(known)}" if self.in_device else ""
        self._line(depth, f"if {self._condition(known)}:")
        self._line(depth + 1, f"return{value}")
        return known

    def _jump(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        jump = self.random.choice(["break", "continue"])
        if self.random.random() < 0.8:
            self._line(depth, f"if {self._condition(known)}:")
            self._line(depth + 1, jump)
        else:
            self._line(depth, jump)
        return known

    def _if(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        self._line(depth, f"if {self._condition(known)}:")
        sure = set(self._block(depth + 1, known, in_loop=in_loop))
        if self.random.random() < 0.3:
            self._line(depth, f"elif {self._condition(known)}:")
            sure &= set(self._block(depth + 1, known, in_loop=in_loop))
        if self.random.random() < 0.6:
            self._line(depth, "else:")
            sure &= set(self._block(depth + 1, known, in_loop=in_loop))
        else:
            sure &= set(known)
        return sorted(sure)

    def _for(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        name = self.random.choice(["i", "j", "p"])
        bounds = self.random.choice(["3", "1, 4", "5, 0, -2", "int(x) % 4", "int(y) % 3, 4"])
        self._line(depth, f"for {name} in range({bounds}):")
        self._block(depth + 1, sorted({*known, name}), in_loop=True)
        return self._else(depth, known, in_loop)

    def _unrolled(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        name = self.random.choice(["i", "j", "q"])
        items = self.random.choice(["(1, 2.5, 3)", "(x, 2)", "(0.5, y, 7, 8)"])
        self._line(depth, f"for {name} in {items}:")
        self._block(depth + 1, sorted({*known, name}), in_loop=True)
        return self._else(depth, known, in_loop)

    def _while(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        self.counters += 1
        counter = f"n{self.counters}"
        self._line(depth, f"{counter} = {self.random.randint(0, 4)}")
        more = f" and {self._condition(known)}" if self.random.random() < 0.3 else ""
        self._line(depth, f"while {counter} > 0{more}:")
        self._line(depth + 1, f"{counter} -= 1")
        self._block(depth + 1, known, in_loop=True)
        return self._else(depth, known, in_loop)

    def _else(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        if self.random.random() < 0.25:
            self._line(depth, "else:")
            self._block(depth + 1, known, in_loop=in_loop)
        return known

    def _condition(self, known: list[str]) -> str:
        operator = self.random.choice(["<", "<=", ">", "==", "!="])
        condition = f"{self._atom(known)} {operator} {self._atom(known)}"
        if self.random.random() < 0.2:
            connective = self.random.choice(["and", "or"])
            condition += f" {connective} {self._atom(known)} > 3"
        return f"not ({condition})" if self.random.random() < 0.1 else condition

    def _expression(self, known: list[str], depth: int = 0) -> str:
        roll = self.random.random()
        if depth > 1 or roll < 0.3:
            return self._atom(known)
        left, right = (self._expression(known, depth + 1) for _ in range(2))
        if roll < 0.38:
            return f"({left} if {self._condition(known)} else {right})"
        if roll < 0.46 and self.functions and not self.in_device:
            return f"{self.random.choice(self.functions)}({left}, {right})"
        if roll < 0.52:
            return f"({left} / (abs({right}) % 16 + 1))"
        operator = self.random.choice(["+", "-", "*"])
        return f"(({left} {operator} {right}) % 64)"

    def _atom(self, known: list[str]) -> str:
        if self.random.random() < 0.25:
            return self.random.choice(["0", "1", "2", "7", "0.5", "2.5", "-3", "True"])
        if self.random.random() < 0.01:  # may have no value; CPython says so when it happens
            return self.random.choice(_NAMES)
        return self.random.choice(known)
