"""Random functions of all the syntax that Python has, most of which make no sense."""

from __future__ import annotations

import warnings
from random import Random
from typing import Any

from tests.helpers.ways import define

_NAMES = ("a", "b", "n", "x", "y", "v", "w", "x", "y", "v", "w", "TABLE", "PAIR")
_RARE_NAMES = ("missing", "t", "f", "g", "helper", "cuda", "math")
_BUILTINS = (
    *("abs", "min", "max", "range", "len", "int", "float", "complex", "bool", "tuple", "round"),
    *("pow", "divmod", "sum", "enumerate", "zip", "slice", "isinstance", "print", "sorted", "list"),
    *("math.sin", "math.floor", "math.pi", "np.float32", "np.sum", "np.arange", "cmath.exp"),
    *("np.maximum", "cuda.grid", "cuda.gridsize", "cuda.threadIdx", "cuda.nothing", "operator.add"),
    *("dict", "str", "object", "super", "eval", "open", "getattr", "reversed", "type", "iter"),
)
_LITERALS = (
    *("0", "1", "-1", "2", "3", "64", "10**9", "2**63", "2**64", "-2**63", "1.5", "1e400", "nan"),
    *("True", "False", "None", "...", "'s'", "b'b'", "''", "2j", "()", "(1,)", "(1, 2.5)", "[1]"),
    *("{}", "{1}", "f'{a}'", "__debug__", "NotImplemented"),
)
_PARAMETERS = ("", "x", "x, y=1", "*x", "**x", "x, /", "*, x=2")
_BINARY = ("+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^")
_COMPARE = ("<", "<=", ">", ">=", "==", "!=", "is", "is not", "in", "not in")


def make_function(random: Random) -> tuple[Any, str]:
    """Return a function ``kernel(a, b, n)`` that Python accepts, and its text."""
    while True:
        text = _Writer(random).program()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            try:
                return define(text, "kernel", **_scope()), text
            except SyntaxError:
                continue  # such as a `break` outside a loop


def _scope() -> dict[str, Any]:
    import cmath
    import math
    import operator

    import numpy as np

    from pygpulib import cuda

    return {
        "math": math,
        "cmath": cmath,
        "operator": operator,
        "TABLE": np.arange(12.0).reshape(3, 4),
        "PAIR": ((1, 2), (3.5, 4)),
        "helper": cuda.jit(device=True)(_helper),
        "nan": float("nan"),
    }


def _helper(x: Any, y: Any = 2) -> Any:
    return x * y


class _Writer:
    def __init__(self, random: Random) -> None:
        self.random = random
        self.lines: list[str] = []

    def program(self) -> str:
        self._line(0, "def kernel(a, b, n):")
        if self.random.random() < 0.9:
            self._line(1, f"x, y, v, w = n, 1, (b, 2.5), {self.random.choice(['a', 'b', '0.5'])}")
        self._block(1)
        return "\n".join(self.lines) + "\n"

    def _line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def _block(self, depth: int) -> None:
        for _ in range(self.random.randint(1, 3)):
            self._statement(depth)

    def _statement(self, depth: int) -> None:
        if depth < 4 and self.random.random() < 0.45:
            self._nested(depth)
        else:
            self._line(depth, self._simple())

    def _simple(self) -> str:
        e, target = self._expression, self._target
        forms = [
            lambda: f"{target()} = {e()}",
            lambda: f"{target()} = {e()}",
            lambda: f"{target()} = {target()} = {e()}",
            lambda: f"{self._single_target()} {self.random.choice(_BINARY)}= {e()}",
            lambda: f"{self._name()}: int = {e()}",
            e,
            lambda: "return",
            lambda: f"return {e()}",
            lambda: "pass",
            lambda: "break",
            lambda: "continue",
            lambda: f"del {self._single_target()}",
            lambda: f"assert {e()}, {e()}",
            lambda: f"raise {self.random.choice(['ValueError', 'x', '1'])}({e()})",
            lambda: "import os",
            lambda: f"global {self._name()}",
            lambda: f"nonlocal {self._name()}",
            lambda: f"yield {e()}",
        ]
        # The strange ones are rarer, or nothing else would be reached.
        weights = [6, 6, 2, 6, 2, 3, 1, 1, 2, 2, 2] + [0.3] * 7
        return self.random.choices(forms, weights)[0]()

    def _nested(self, depth: int) -> None:
        e, random = self._expression, self.random
        heads = [
            *(f"if {e()}:", f"if {e()}:", f"while {e()}:", f"for {self._target()} in {e()}:"),
            *(f"for {self._name()} in range({e()}):", f"for {self._name()} in ({e()}, {e()}):"),
            f"def {random.choice('fg')}({random.choice(_PARAMETERS)}):",
            *(f"with {e()}:", "try:", f"match {e()}:", "class C:", "async def f():"),
        ]
        weights = [4, 4, 2, 3, 3, 3, 2, 0.2, 0.2, 0.2, 0.2, 0.1]
        head = random.choices(heads, weights)[0]
        self._line(depth, head)
        if head.startswith("match"):
            self._line(depth + 1, f"case {random.choice(['1', '_', '(x, y)', 'x'])}:")
            self._block(depth + 2)
            return
        self._block(depth + 1)
        if head == "try:":
            self._line(depth, random.choice(["except ValueError:", "finally:", "except:"]))
            self._block(depth + 1)
        elif head[:2] in ("if", "wh", "fo") and random.random() < 0.3:
            self._line(depth, "else:")
            self._block(depth + 1)

    def _name(self) -> str:
        return self.random.choice(_NAMES if self.random.random() < 0.95 else _RARE_NAMES)

    def _single_target(self) -> str:
        name = self._name()
        return self.random.choice([name, name, f"a[{self._expression(2)}]", f"{name}.real"])

    def _target(self) -> str:
        if self.random.random() < 0.8:
            return self._single_target()
        first, second = self._single_target(), self._single_target()
        return self.random.choice(
            [f"{first}, {second}", f"({first}, {second}), x", f"{first}, *{self._name()}", "[x, y]"]
        )

    def _expression(self, depth: int = 0) -> str:
        if depth > 2 or self.random.random() < 0.3:
            return self._atom()

        def e() -> str:
            return self._expression(depth + 1)

        choose = self.random.choice
        forms = [
            lambda: f"({e()} {choose(_BINARY)} {e()})",
            lambda: f"({e()} {choose(_COMPARE)} {e()})",
            lambda: f"({choose(['-', '+', '~', 'not '])}{e()})",
            lambda: f"({e()} {choose(['and', 'or'])} {e()})",
            lambda: f"({e()} if {e()} else {e()})",
            lambda: (
                f"{choose(_BUILTINS)}({', '.join(e() for _ in range(choose([0, 1, 1, 2, 3])))})"
            ),
            lambda: f"{self._name()}({e()})",
            lambda: f"helper({e()}, y={e()})",
            lambda: f"{self._name()}[{e()}]",
            lambda: f"{self._name()}[{e()}:{e()}, {choose(['...', 'None', '::-1', e()])}]",
            lambda: f"{self._name()}.{choose(['shape', 'size', 'real', 'T', 'x', 'sum', 'dtype'])}",
            lambda: f"({e()}, {e()})",
            lambda: f"(lambda x: {e()})({e()})",
            lambda: f"(x := {e()})",
            lambda: f"[{e()} for x in {e()}]",
            lambda: f"sum({e()} for x in {e()})",
            lambda: f"max(*{e()}, **{e()})",
            lambda: f"{{{e()}: {e()}}}",
            lambda: f"(await {e()})",
        ]
        weights = [6, 4, 3, 3, 3, 5, 2, 2, 5, 2, 3, 3, 1, 1] + [0.2] * 5
        return self.random.choices(forms, weights)[0]()

    def _atom(self) -> str:
        roll = self.random.random()
        if roll < 0.55:
            return self.random.choice(["b", "n", "x", "y", "a[0]", "cuda.grid(1)", "n", "v[0]"])
        if roll < 0.65:
            return self._name()
        if roll < 0.7:
            return self.random.choice(_BUILTINS)
        return self.random.choice(_LITERALS) if roll < 0.78 else self.random.choice("0123")
