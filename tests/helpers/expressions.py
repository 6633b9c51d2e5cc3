"""Random expressions over columns of all dtypes, with the values that the language promises."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import NamedTuple

import numpy as np

from pygpulib.core.dtypes import ALL_DTYPES
from tests.helpers import contract
from tests.helpers.contract import Column

DTYPES = [row.numpy for row in ALL_DTYPES]

_LITERALS = ("0", "1", "2", "-3", "7", "255", "100000", "0.5", "-2.5", "3.0", "1e10", "True", "2j")


class Expression(NamedTuple):
    """A text and its value in each row."""

    text: str
    value: Column

    @property
    def kind(self) -> str:
        """The letter of its dtype's kind."""
        return self.value.dtype.kind


def random_column(random: Random, rows: int) -> Column:
    """Return a column of a random dtype: special values and others."""
    dtype = random.choice(DTYPES)
    rng = np.random.default_rng(random.randrange(2**32))
    special, others = contract.edges(dtype), contract.random_values(rng, dtype, rows)
    return np.where(rng.random(rows) < 0.3, rng.choice(special, rows), others)


class Writer:
    """Writes expressions of some columns.

    Parameters
    ----------
    random : Random
        Decides.
    columns : dict of str to Column
        The variables.
    """

    def __init__(self, random: Random, columns: dict[str, Column]) -> None:
        self.random = random
        self.columns = columns
        self.rows = len(next(iter(columns.values())))

    def write(self, depth: int) -> Expression:
        """Return an expression of at most some depth."""
        if depth == 0 or self.random.random() < 0.1:
            return self._variable()
        makers: list[Callable[[int], Expression | None]] = [
            *(self._binary,) * 4,
            self._comparison,
            self._choice,
            self._extreme,
            self._unary,
            self._cast,
            self._shift,
        ]
        made = self.random.choice(makers)(depth - 1)
        return self.write(depth) if made is None else made

    def _variable(self) -> Expression:
        name = self.random.choice(list(self.columns))
        return Expression(name, self.columns[name])

    def _literal(self) -> Expression:
        text = self.random.choice(_LITERALS)
        value = eval(text)
        return Expression(f"({text})", np.full(self.rows, value))

    def _operands(self, depth: int) -> tuple[Expression, Expression]:
        """Return two operands, one of them perhaps a literal."""
        first, second = self.write(depth), self.write(depth)
        if self.random.random() < 0.25:
            second = self._literal()
        return (first, second) if self.random.random() < 0.5 else (second, first)

    def _binary(self, depth: int) -> Expression | None:
        x, y = self._operands(depth)
        symbol = self.random.choice(("+", "-", "*", "/", "//", "%", *contract.BITWISE))
        if contract.binary_dtype(symbol, x.value.dtype, y.value.dtype) is None:
            return None
        return Expression(
            f"({x.text} {symbol} {y.text})", contract.binary(symbol, x.value, y.value)
        )

    def _comparison(self, depth: int) -> Expression:
        x, y = self._operands(depth)
        is_complex = "c" in (x.kind, y.kind)
        symbol = self.random.choice(contract.COMPARISONS[: 2 if is_complex else None])
        return Expression(
            f"({x.text} {symbol} {y.text})", contract.compare(symbol, x.value, y.value)
        )

    def _choice(self, depth: int) -> Expression:
        x = self.write(depth)  # no literal: a condition known now drops the other side
        y = self._literal() if self.random.random() < 0.25 else self.write(depth)
        is_false = contract.unary("not", x.value)
        match self.random.randrange(3):
            case 0:
                return Expression(
                    f"({x.text} and {y.text})", contract.choose(is_false, x.value, y.value)
                )
            case 1:
                return Expression(
                    f"({x.text} or {y.text})", contract.choose(is_false, y.value, x.value)
                )
            case _:
                z = self.write(depth)
                return Expression(
                    f"({y.text} if {x.text} else {z.text})",
                    contract.choose(is_false, z.value, y.value),
                )

    def _extreme(self, depth: int) -> Expression | None:
        x, y = self._operands(depth)
        if "c" in (x.kind, y.kind):
            return None
        name = self.random.choice(["min", "max"])
        return Expression(f"{name}({x.text}, {y.text})", contract.extreme(name, x.value, y.value))

    def _unary(self, depth: int) -> Expression | None:
        x = self.write(depth)
        symbols = ["-", "+", "not"]
        if x.kind in "biu":
            symbols.append("~")
        if x.kind != "c":
            symbols.append("abs")
        symbol = self.random.choice(symbols)
        if symbol == "abs":
            return Expression(f"abs({x.text})", contract.absolute(x.value))
        return Expression(f"({symbol} {x.text})", contract.unary(symbol, x.value))

    def _cast(self, depth: int) -> Expression | None:
        x = self.write(depth)
        dtype = self.random.choice(DTYPES)
        is_lossy = x.kind == "c" and dtype.kind != "c"
        if is_lossy or not contract.fits(x.value, dtype).all():
            return None
        return Expression(f"np.{dtype.type.__name__}({x.text})", contract.cast(x.value, dtype))

    def _shift(self, depth: int) -> Expression | None:
        x, y = self.write(depth), self.write(depth)
        if x.kind not in "biu" or y.kind not in "biu":
            return None
        symbol = self.random.choice(contract.SHIFTS)
        count = contract.binary("&", y.value, np.full(self.rows, 63))
        return Expression(
            f"({x.text} {symbol} ({y.text} & 63))", contract.binary(symbol, x.value, count)
        )
