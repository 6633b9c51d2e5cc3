"""Random structured kernels: text that both CPython and the front end take.

Values stay small, so that integers fit and floats that are whole are exact; loops end; a thread
writes only its own row. All correct ways to run a program therefore agree to the bit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any

import numpy as np

from tests.helpers.ways import define

_NAMES = ("p", "q", "r", "s", "t")
_MAX_DEPTH = 4
_COLUMNS = 16

_HEAD = """\
def kernel(rows, xs, ys, u):
    n = cuda.threadIdx.x + cuda.blockDim.x * (cuda.threadIdx.y + cuda.blockDim.y * cuda.threadIdx.z)
    n += cuda.blockIdx.x * (cuda.blockDim.x * cuda.blockDim.y * cuda.blockDim.z)
    if n >= rows.shape[0]:
        return
    a, x, y = rows[n], xs[n], ys[n]
"""

LAUNCHES: tuple[tuple[int, tuple[int, ...]], ...] = (
    *((1, (1,)), (3, (1,)), (1, (5,)), (2, (8,)), (1, (17,)), (1, (33,)), (2, (16, 1))),
    *((1, (3, 5)), (1, (1, 9)), (2, (2, 2, 3)), (1, (1, 1, 7)), (1, (4, 4)), (1, (8, 1, 2))),
)
"""Grids and blocks of few threads, of all the kinds that a back end may treat apart."""


@dataclass(frozen=True)
class KernelProgram:
    """A kernel, its text, and a launch of it.

    Attributes
    ----------
    kernel : callable
        The Python function ``kernel(rows, xs, ys, u)``; each thread of the grid has a row of 16
        float64, a number of each of two columns, and a number that all threads share.
    text : str
        Its text, with the functions that it calls.
    grid, block : int, tuple of int
        The launch's sizes; the last threads may have no row.
    arguments : tuple
        What to pass; copy it for each run.
    """

    kernel: Callable[..., object]
    text: str
    grid: int
    block: tuple[int, ...]
    arguments: tuple[Any, ...]


def make_program(random: Random) -> KernelProgram:
    """Write a kernel and define it."""
    text = _Writer(random).program()
    grid, block = random.choice(LAUNCHES)
    threads = grid * int(np.prod(block))
    rows = max(1, threads - random.choice([0, 0, 1, 3]))
    numbers = np.random.default_rng(random.randrange(2**32))

    def column() -> np.ndarray[Any, Any]:
        if random.random() < 0.5:
            return numbers.integers(-9, 30, rows)
        return numbers.integers(-18, 60, rows) / 2

    shared: float = random.choice([3, -7, 0, 2.5, -0.5, 20.0])
    arguments = (np.zeros((rows, _COLUMNS)), column(), column(), shared)
    return KernelProgram(define(text, "kernel"), text, grid, block, arguments)


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []
        self.functions: list[str] = []
        self.pair_functions: list[str] = []
        self.closures: list[str] = []
        self.budget = 0
        self.counters = 0
        self.has_row = True
        self.returns: str | None = None

    def program(self) -> str:
        for number in range(self.random.randint(0, 3)):
            self._device_function(number)
        self.budget = self.random.randint(6, 24)
        self.has_row, self.returns = True, None
        self.lines += _HEAD.splitlines()
        known = self._block(1, ["u", "x", "y"], in_loop=False)
        for place, each in enumerate(known[:8]):
            self._line(1, f"a[{place}] = {each}")
        return "\n".join(self.lines) + "\n"

    def _device_function(self, number: int) -> None:
        """Write a function of two numbers, or of a row and two numbers; of one result or two."""
        is_pair = self.random.random() < 0.3
        self.has_row = self.random.random() < 0.3
        self.returns = "pair" if is_pair else "number"
        self.budget = self.random.randint(3, 12)
        name, row = f"f{number}", "a, " if self.has_row else ""
        self.lines += ["@cuda.jit(device=True)", f"def {name}({row}x, y):"]
        known = self._block(1, ["x", "y"], in_loop=False)
        self._line(1, f"return {self._result(known)}")
        # Row functions are called by the kernel only, which has a row for sure.
        call = f"{name}(a, {{}}, {{}})" if self.has_row else f"{name}({{}}, {{}})"
        (self.pair_functions if is_pair else self.functions).append(call)
        self.closures = []

    def _result(self, known: list[str]) -> str:
        if self.returns == "pair":
            return f"{self._expression(known)}, {self._expression(known)}"
        return self._expression(known)

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _callable(self, calls: list[str]) -> list[str]:
        return [call for call in calls if self.has_row or "(a, " not in call]

    # every method below returns the names that surely have a value afterwards

    def _block(self, depth: int, known: list[str], *, in_loop: bool) -> list[str]:
        known = list(known)
        for _ in range(self.random.randint(1, 4)):
            self.budget -= 1
            known = self._statement(depth, known, in_loop=in_loop)
        return known

    def _statement(self, depth: int, known: list[str], *, in_loop: bool) -> list[str]:
        kinds = ["assign"] * 4 + ["augmented"] * 2 + ["unpack", "walrus"]
        if self.has_row:
            kinds += ["store", "store"]
        if depth < _MAX_DEPTH and self.budget > 0:
            kinds += ["if", "if", "for", "while", "unrolled", "zipped"]
        if depth == 1:
            kinds.append("closure")
        else:
            kinds.append("leave")
        if in_loop:
            kinds.append("jump")
        kind = self.random.choice(kinds)
        made: list[str] = getattr(self, f"_{kind}")(depth, known, in_loop)
        return made

    # ---------------------------------------------------------------------------- plain statements

    def _assign(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        name = self.random.choice([*_NAMES, "x"])
        value = self._expression(known)
        if self.random.random() < 0.1:
            value = f"bool({self._condition(known)})"
        self._line(depth, f"{name} = {value}")
        return sorted({*known, name})

    def _unpack(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        first, second, third = self.random.sample(_NAMES, 3)
        pairs = self._callable(self.pair_functions)
        if pairs and self.random.random() < 0.6:
            call = self._call(pairs, known)
            if self.random.random() < 0.5:
                self._line(depth, f"{first}, {second} = {call}")
                return sorted({*known, first, second})
            self._line(depth, f"({first}, {second}), {third} = {call}, {self._expression(known)}")
            return sorted({*known, first, second, third})
        if {first, second} <= set(known) and self.random.random() < 0.4:
            self._line(depth, f"{first}, {second} = {second}, {first}")
        else:
            values = f"{self._expression(known)}, {self._expression(known)}"
            self._line(depth, f"{first}, {second} = {values}")
        return sorted({*known, first, second})

    def _walrus(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        name, other = self.random.choice(_NAMES), self.random.choice(known)
        self._line(depth, f"{other} = (({name} := {self._expression(known)}) + {other}) % 64")
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

    def _closure(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        """Define an inner function; what it captures is read when it is called."""
        self.counters += 1
        name = f"c{self.counters}"
        inner = [*known, "v"]
        if self.random.random() < 0.4:
            self._line(depth, f"{name} = lambda v, w: {self._expression(inner)}")
        else:
            self._line(depth, f"def {name}(v, w=2):")
            self._line(depth + 1, f"if {self._condition(inner)}:")
            self._line(depth + 2, f"return {self._expression(inner)}")
            self._line(depth + 1, f"v = {self._expression([*inner, 'w'])}")
            self._line(depth + 1, f"return {self._expression([*inner, 'w'])}")
        self.closures.append(f"{name}({{}}, {{}})")
        return known

    def _leave(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        self._line(depth, f"if {self._condition(known)}:")
        value = f" {self._result(known)}" if self.returns else ""
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

    # --------------------------------------------------------------------------- nested statements

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
        bounds = ["3", "1, 4", "5, 0, -2", "int(x) % 4", "int(y) % 3, 4", "4, int(x) % 5, -1"]
        items = f"range({self.random.choice(bounds)})"
        if self.has_row and self.random.random() < 0.2:
            items = self.random.choice(["a[2:5]", "a[::-5]", "a[int(x) % 20:]", "a[-3:int(y)]"])
        self._line(depth, f"for {name} in {items}:")
        return self._loop(depth, known, [name], in_loop)

    def _unrolled(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        name = self.random.choice(["i", "j", "q"])
        items = self.random.choice(["(1, 2.5, 3)", "(x, 2)", "(0.5, y, 7, 8)", "(3, 1)"])
        self._line(depth, f"for {name} in {items}:")
        return self._loop(depth, known, [name], in_loop)

    def _zipped(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        first, second = self.random.sample(["i", "j", "q", "r"], 2)
        items = ["enumerate((x, 3, y))", "zip((1, 2, 3), (y, 5))", "zip(range(4), range(9, 0, -3))"]
        if self.has_row:
            items += ["enumerate(a[1:4])", "zip(a[:3], range(int(y) % 5))"]
        self._line(depth, f"for {first}, {second} in {self.random.choice(items)}:")
        return self._loop(depth, known, [first, second], in_loop)

    def _while(self, depth: int, known: list[str], in_loop: bool) -> list[str]:
        self.counters += 1
        counter = f"n{self.counters}"
        start = self.random.choice(["0", "1", "3", "4", "int(x) % 5", "int(u) % 4"])
        self._line(depth, f"{counter} = {start}")
        more = f" and ({self._condition(known)})" if self.random.random() < 0.3 else ""
        self._line(depth, f"while {counter} > 0{more}:")
        self._line(depth + 1, f"{counter} -= 1")
        return self._loop(depth, known, [], in_loop)

    def _loop(self, depth: int, known: list[str], targets: list[str], in_loop: bool) -> list[str]:
        self._block(depth + 1, sorted({*known, *targets}), in_loop=True)
        if self.random.random() < 0.25:
            self._line(depth, "else:")
            self._block(depth + 1, known, in_loop=in_loop)
        return known

    # --------------------------------------------------------------------------------- expressions

    def _condition(self, known: list[str]) -> str:
        operator = self.random.choice(["<", "<=", ">", "==", "!="])
        condition = f"{self._atom(known)} {operator} {self._atom(known)}"
        roll = self.random.random()
        if roll < 0.1:
            condition = f"{self._atom(known)} < {self._atom(known)} <= {self._atom(known)}"
        elif roll < 0.3:
            connective = self.random.choice(["and", "or"])
            condition += f" {connective} {self._atom(known)} > 3"
        elif roll < 0.35:
            condition = f"{self._atom(known)} in (1, 2.5, {self._atom(known)})"
        return f"not ({condition})" if self.random.random() < 0.1 else condition

    def _expression(self, known: list[str], depth: int = 0) -> str:
        roll = self.random.random()
        if depth > 1 or roll < 0.3:
            return self._atom(known)
        left, right = (self._expression(known, depth + 1) for _ in range(2))
        calls = self._callable(self.functions) + self.closures
        if roll < 0.38:
            return f"({left} if {self._condition(known)} else {right})"
        if roll < 0.46 and calls:
            return f"{self.random.choice(calls).format(left, right)} % 64"
        if roll < 0.52:
            return f"({left} / (abs({right}) % 16 + 1))"
        if roll < 0.56:
            return f"{self.random.choice(['min', 'max'])}({left}, {right})"
        if roll < 0.6:
            return f"({left} // ({right} % 5 + 1))"
        if roll < 0.63:
            return f"({left} {self.random.choice(['and', 'or'])} {right})"
        operator = self.random.choice(["+", "-", "*"])
        return f"(({left} {operator} {right}) % 64)"

    def _call(self, calls: list[str], known: list[str]) -> str:
        return self.random.choice(calls).format(self._atom(known), self._atom(known))

    def _atom(self, known: list[str]) -> str:
        if self.random.random() < 0.25:
            return self.random.choice(["0", "1", "2", "7", "0.5", "2.5", "-3", "True"])
        if self.random.random() < 0.01:  # may have no value; CPython says so when it happens
            return self.random.choice(_NAMES)
        if self.has_row and self.random.random() < 0.05:
            return self.random.choice(
                ["a[8]", "a[-1]", f"a[int({self.random.choice(known)}) % 16]"]
            )
        return self.random.choice(known)
