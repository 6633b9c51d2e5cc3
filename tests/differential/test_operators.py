"""Operators, built-in functions and conversions of every pair of dtypes.

Each pair of dtypes makes one kernel that applies all operations; its results are compared with
NumPy computing in the dtype that the language promises, and with the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

from pygpulib.core.dtypes import ALL_DTYPES
from tests.helpers import contract
from tests.helpers.contract import Column
from tests.helpers.ways import define, run_interpreted, run_native

DTYPES = [row.numpy for row in ALL_DTYPES]


@dataclass(frozen=True)
class Operation:
    """An expression of ``x`` (and ``y``), its exact value, and where that is promised.

    Attributes
    ----------
    text : str
        The expression.
    expected : Column
        The reference.
    ulps : float
        How far the result may be from it, in ulps of the result.
    where : Column, optional
        The rows that the reference holds for; elsewhere all ways to run the kernel must agree.
    """

    text: str
    expected: Column
    ulps: float = 0
    where: Column | None = None


def run_all(operations: list[Operation], *columns: Column) -> None:
    """Compile all operations into one kernel, run it both ways and compare."""
    names = ("x", "y")[: len(columns)]
    lines = [
        f"def kernel({', '.join(f'{name}s' for name in names)}, outs):",
        "    i = cuda.grid(1)",
        f"    if i < {names[0]}s.size:",
        *(f"        {name} = {name}s[i]" for name in names),
        *(f"        outs[{at}][i] = {each.text}" for at, each in enumerate(operations)),
    ]
    kernel = define("\n".join(lines) + "\n", "kernel")
    rows = len(columns[0])
    results = []
    for run in (run_native, run_interpreted):
        outs = tuple(np.zeros(rows, each.expected.dtype) for each in operations)
        run(kernel, (rows + 31) // 32, 32, *columns, outs)
        results.append(outs)
    for each, native, interpreted in zip(operations, *results, strict=True):
        check(each, native, interpreted, columns)


def check(
    operation: Operation, native: Column, interpreted: Column, columns: tuple[Column, ...]
) -> None:
    names = dict(zip(("x", "y"), columns, strict=False))
    results = {"native": native, "interpreted": interpreted, "expected": operation.expected}
    promised = np.ones(len(native), np.bool_) if operation.where is None else operation.where
    if operation.ulps:
        for actual in (native, interpreted):
            near = contract.within_ulps(actual, operation.expected, operation.ulps)
            contract.assert_all(near | ~promised, operation.text, **names, **results)
    else:
        exact = contract.same_bits(native, operation.expected)
        contract.assert_all(exact | ~promised, operation.text, **names, **results)
        alike = contract.same_bits(native, interpreted)
        contract.assert_all(alike, operation.text, **names, **results)


# -------------------------------------------------------------------------------- two operands


def binary_operations(x: Column, y: Column) -> list[Operation]:
    found = [
        Operation(f"x {symbol} y", contract.binary(symbol, x, y))
        for symbol in ("+", "-", "*", "/", "//", "%", *contract.BITWISE)
        if contract.binary_dtype(symbol, x.dtype, y.dtype) is not None
    ]
    if x.dtype.kind in "biu" and y.dtype.kind in "biu":
        # A count outside the word has no meaning in Python or C.
        inside = (y >= 0) & (y.astype(np.uint64) < 64)
        counts = np.where(inside, y, np.zeros_like(y))
        found += [
            Operation(f"x {symbol} y", contract.binary(symbol, x, counts), 0, inside)
            for symbol in contract.SHIFTS
        ]
    return found


def power_operations(x: Column, y: Column) -> list[Operation]:
    dtype = contract.binary_dtype("**", x.dtype, y.dtype)
    assert dtype is not None
    if dtype.kind in "iu":
        exact = contract.binary("**", x, y)
        return [Operation("x ** y", exact), Operation("pow(x, y)", exact)]
    if dtype.kind == "c":
        return []  # has its own test: NumPy's is no reference far from 1
    with np.errstate(all="ignore"):
        a, b = (column.astype(dtype).astype(np.longdouble) for column in (x, y))
        # In long double, so that what is left is the error of the language's function.
        return [Operation("x ** y", np.power(a, b).astype(dtype), 2)]


def comparison_operations(x: Column, y: Column) -> list[Operation]:
    is_complex = "c" in (x.dtype.kind, y.dtype.kind)
    symbols = contract.COMPARISONS[:2] if is_complex else contract.COMPARISONS
    return [Operation(f"x {symbol} y", contract.compare(symbol, x, y)) for symbol in symbols]


def choice_operations(x: Column, y: Column) -> list[Operation]:
    found = [
        Operation("x and y", contract.choose(x == 0, x, y)),
        Operation("x or y", contract.choose(x == 0, y, x)),
        Operation("y if x else x", contract.choose(x == 0, x, y)),
    ]
    if "c" not in (x.dtype.kind, y.dtype.kind):
        found.append(Operation("min(x, y)", contract.extreme("min", x, y)))
        found.append(Operation("max(x, y)", contract.extreme("max", x, y)))
        found.append(Operation("divmod(x, y)[0]", contract.binary("//", x, y)))
        found.append(Operation("divmod(x, y)[1]", contract.binary("%", x, y)))
    return found


@pytest.mark.parametrize("right", DTYPES, ids=str)
@pytest.mark.parametrize("left", DTYPES, ids=str)
def test_two_operands(left: np.dtype[Any], right: np.dtype[Any]) -> None:
    x, y = contract.pairs(left, right)
    make: list[Callable[[Column, Column], list[Operation]]] = [
        binary_operations,
        power_operations,
        comparison_operations,
        choice_operations,
    ]
    run_all([each for one in make for each in one(x, y)], x, y)


# ---------------------------------------------------------------------------------- one operand


def unary_operations(x: Column) -> list[Operation]:
    found = [Operation(f"{symbol}x", contract.unary(symbol, x)) for symbol in "+-"]
    found.append(Operation("not x", contract.unary("not", x)))
    found.append(Operation("bool(x)", x != 0))
    if x.dtype.kind == "c":
        part = np.dtype(f"f{x.dtype.itemsize // 2}")
        wide = x.astype(np.clongdouble)
        with np.errstate(all="ignore"):
            length = np.abs(wide).astype(part)
        # CUDA's library is two units off at most, where that may also be an infinity.
        clear = ~(np.isfinite(length) & (length > np.finfo(part).max / 2))
        found.append(Operation("abs(x)", length, 2, clear))
        found.append(Operation("complex(x)", x))
        found.append(Operation("x.real", x.real.copy()))
        found.append(Operation("x.imag", x.imag.copy()))
        found.append(Operation("x.conjugate()", x.conj()))
        return found
    found.append(Operation("abs(x)", contract.absolute(x)))
    found.append(Operation("float(x)", x if x.dtype.kind == "f" else x.astype(np.float64)))
    found.append(Operation("complex(x)", contract.cast(x, np.dtype("c16"))))
    found.append(Operation("complex(x, x).imag", x.astype(np.float64)))
    if x.dtype.kind in "biu":
        found.append(Operation("~x", contract.unary("~", x)))
        found.append(Operation("int(x)", x.astype(contract.widened(x.dtype))))
        found.append(Operation("round(x)", x.astype(contract.widened(x.dtype))))
        return found
    inside = contract.fits(x, np.dtype("i8"))
    whole = np.where(inside, x, np.zeros_like(x))
    found.append(Operation("int(x)", np.trunc(whole).astype(np.int64), 0, inside))
    found.append(Operation("round(x)", np.rint(whole).astype(np.int64), 0, inside))
    return found


def cast_operations(x: Column) -> list[Operation]:
    found = []
    for dtype in DTYPES:
        if x.dtype.kind == "c" and dtype.kind != "c":
            continue
        inside = contract.fits(x, dtype)
        expected = contract.cast(np.where(inside, x, np.zeros_like(x)), dtype)
        spelling = f"np.{dtype.type.__name__}(x)"
        found.append(Operation(spelling, expected, 0, inside))
        found.append(Operation("x", expected, 0, inside))  # converted by the store
    return found


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_one_operand(dtype: np.dtype[Any]) -> None:
    rng = np.random.default_rng(dtype.num)
    x = np.concatenate([contract.edges(dtype), contract.random_values(rng, dtype, 200)])
    run_all(unary_operations(x) + cast_operations(x), x)


def test_conversions_round_once() -> None:
    """A float64 just above the middle of two halves goes up, whatever lies in between."""
    half = np.arange(1, 200, dtype=np.float16)
    middle = (half.astype(np.float64) + np.nextafter(half, np.float16(np.inf))) / 2
    x = np.concatenate([middle, middle * (1 + 2.0**-50), middle * (1 - 2.0**-50)])
    run_all([Operation("np.float16(x)", x.astype(np.float16))], x)
    wide = np.array([2**40 + 2**16 + 1, 2**63 - 1, 2**53 + 1, 2**24 + 1], np.int64)
    wide = np.concatenate([wide, -wide])
    run_all([Operation("np.float32(x)", wide.astype(np.float32))], wide)
    run_all([Operation("np.float64(x)", wide.astype(np.float64))], wide)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_half_powers(dtype: str) -> None:
    rng = np.random.default_rng(5)
    dtype_ = np.dtype(dtype)
    x = np.concatenate([contract.edges(dtype_), contract.random_values(rng, dtype_, 200)])
    with np.errstate(all="ignore"):
        root = np.sqrt(np.where(np.isneginf(x), np.inf, x).astype("f8") + 0.0)
        inverse = 1 / root
    run_all([Operation("x ** 0.5", root), Operation("x ** -0.5", inverse)], x)


@pytest.mark.parametrize("other", [np.dtype("c16"), np.dtype("f8"), np.dtype("i8")], ids=str)
def test_complex_powers(other: np.dtype[Any]) -> None:
    rng = np.random.default_rng(other.num)
    x = (rng.normal(size=80) + 1j * rng.normal(size=80)) * 3
    y = (rng.normal(size=80) * 3 + (1j * rng.normal(size=80) if other.kind == "c" else 0)).astype(
        other
    )
    run_all([Operation("x ** y", x ** y.astype(complex), 200)], x, y)
    run_all([Operation("x ** 3", x * x * x, 8), Operation("x ** -2", 1 / (x * x), 8)], x)
