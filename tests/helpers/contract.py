"""The arithmetic of the kernel language as NumPy computes it, one operation at a time.

Operands and results are arrays; their dtypes are the types of the language. Every function first
decides the dtype in which the language computes, then computes in it. Nothing here warns.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

Column = np.ndarray[Any, Any]

_QUIET = np.errstate(all="ignore")
_I8, _U8, _F4, _F8 = (np.dtype(name) for name in ("i8", "u8", "f4", "f8"))

ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**")
BITWISE = ("&", "|", "^")
SHIFTS = ("<<", ">>")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")

_COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def widened(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return what one operand computes in: integers and truth values have 64 bits."""
    return {"b": _I8, "i": _I8, "u": _U8}.get(dtype.kind, dtype)


def arithmetic_dtype(left: np.dtype[Any], right: np.dtype[Any]) -> np.dtype[Any]:
    """Return what two operands compute in."""
    if left.kind in "biu" and right.kind in "biu":
        return _U8 if left.kind == right.kind == "u" else _I8
    return np.promote_types(left, right)


def binary_dtype(symbol: str, left: np.dtype[Any], right: np.dtype[Any]) -> np.dtype[Any] | None:
    """Return the dtype of ``left symbol right``, or None if there is no such operation."""
    common = arithmetic_dtype(left, right)
    if symbol in SHIFTS:
        return widened(left) if common.kind in "iu" else None
    if symbol in BITWISE:
        if left.kind == right.kind == "b":
            return left
        return common if common.kind in "iu" else None
    if symbol == "/":
        return _F8 if common.kind in "iu" else common
    if symbol in ("//", "%") and common.kind == "c":
        return None
    if symbol == "**" and left.kind == "f" and right.kind in "iu":
        common = left
    if symbol in ("//", "%", "**") and common == np.float16:
        return _F4
    return common


@_QUIET
def binary(symbol: str, x: Column, y: Column) -> Column:
    """Return ``x symbol y``; an integer divided by zero is 0."""
    dtype = binary_dtype(symbol, x.dtype, y.dtype)
    assert dtype is not None
    if symbol == "**" and dtype.kind in "iu":
        return _integer_power(x, y, dtype)
    if symbol in SHIFTS:
        function = np.left_shift if symbol == "<<" else np.right_shift
        return function(x.astype(dtype), y.astype(dtype))
    a, b = x.astype(dtype), y.astype(dtype)
    if dtype.kind == "c" and symbol in _COMPLEX:
        return _COMPLEX[symbol](a, b)
    return _REAL[symbol](a, b)


_REAL: dict[str, Callable[[Column, Column], Column]] = {
    "+": np.add,
    "-": lambda x, y: x - y,
    "*": np.multiply,
    "/": np.true_divide,
    "//": np.floor_divide,
    "%": np.remainder,
    "**": np.power,
    "&": np.bitwise_and,
    "|": np.bitwise_or,
    "^": np.bitwise_xor,
}


def _integer_power(x: Column, y: Column, dtype: np.dtype[Any]) -> Column:
    """Return exact powers modulo 2**64; those with a negative exponent are truncated."""
    wrap = 2**64
    values = []
    for base, exponent in zip(x.astype(dtype).tolist(), y.astype(dtype).tolist(), strict=True):
        if exponent >= 0:
            values.append(pow(base, exponent, wrap))
        else:
            values.append({1: 1, -1: -1 if exponent % 2 else 1}.get(base, 0) % wrap)
    return np.array(values, np.uint64).astype(dtype)


def _pack(real: Column, imag: Column) -> Column:
    z = np.empty(len(real), np.result_type(real, np.complex64))
    z.real, z.imag = real, imag
    return z


def _multiply(a: Column, b: Column) -> Column:
    return _pack(a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real)


def _divide(a: Column, b: Column) -> Column:
    """Divide by Smith's method, step by step as CPython does."""
    is_regular = np.abs(b.real) >= np.abs(b.imag)
    ratio = np.where(is_regular, b.imag / b.real, b.real / b.imag)
    by_real, by_imag = b.real + b.imag * ratio, b.real * ratio + b.imag
    real = np.where(
        is_regular, (a.real + a.imag * ratio) / by_real, (a.real * ratio + a.imag) / by_imag
    )
    imag = np.where(
        is_regular, (a.imag - a.real * ratio) / by_real, (a.imag * ratio - a.real) / by_imag
    )
    return _pack(real, imag)


_COMPLEX = {"*": _multiply, "/": _divide}


@_QUIET
def compare(symbol: str, x: Column, y: Column) -> Column:
    """Return ``x symbol y``: integers by value, others in their common dtype."""
    if x.dtype.kind in "biu" and y.dtype.kind in "biu":
        pairs = zip(x.tolist(), y.tolist(), strict=True)
        return np.array([_COMPARE[symbol](a, b) for a, b in pairs], np.bool_)
    common = np.promote_types(x.dtype, y.dtype)
    return _COMPARE[symbol](x.astype(common), y.astype(common))


@_QUIET
def unary(symbol: str, x: Column) -> Column:
    """Return ``-x``, ``+x``, ``~x`` or ``not x``."""
    wide = x.astype(widened(x.dtype))
    return {
        "-": lambda: np.negative(wide),
        "+": lambda: wide,
        "~": lambda: np.invert(wide),
        "not": lambda: x == 0,
    }[symbol]()


@_QUIET
def extreme(name: str, x: Column, y: Column) -> Column:
    """Return ``min(x, y)`` or ``max(x, y)``: the first unless the second is better."""
    dtype = np.promote_types(x.dtype, y.dtype)
    is_better = compare("<" if name == "min" else ">", y, x)
    return np.where(is_better, y.astype(dtype), x.astype(dtype))


@_QUIET
def choose(condition: Column, x: Column, y: Column) -> Column:
    """Return ``x if condition else y``."""
    dtype = np.promote_types(x.dtype, y.dtype)
    return np.where(condition, x.astype(dtype), y.astype(dtype))


@_QUIET
def absolute(x: Column) -> Column:
    """Return ``abs(x)``."""
    return np.abs(x.astype(widened(x.dtype)))


@_QUIET
def cast(x: Column, dtype: np.dtype[Any]) -> Column:
    """Convert; floats must be in the range of an integer dtype."""
    return x.astype(dtype)


def fits(x: Column, dtype: np.dtype[Any]) -> Column:
    """Return which elements a conversion to a dtype is promised for."""
    if x.dtype.kind != "f" or dtype.kind not in "iu":
        return np.ones(len(x), np.bool_)
    info = np.iinfo(dtype)
    with np.errstate(all="ignore"):
        whole = np.trunc(x.astype(np.float64))
        return (whole >= float(info.min)) & (whole < float(info.max) + (info.bits < 64))


# ---------------------------------------------------------------------------------------- operands


def edges(dtype: np.dtype[Any]) -> Column:
    """Return the special values of a dtype: zeros, ends of the range, subnormals, inf and nan."""
    if dtype.kind == "b":
        return np.array([False, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        values = [0, 1, 2, 3, 7, info.max, info.max - 1, info.min, info.min + 1, info.max // 2 + 1]
        values += [-1, -2, -3] if dtype.kind == "i" else []
        return np.array(values, dtype)
    if dtype.kind == "f":
        real = np.finfo(dtype)
        positive = [0.0, 1.0, 1.5, 2.0, 3.0, np.inf, real.max, real.tiny, real.smallest_subnormal]
        column = np.array([*positive, 1 + real.eps], dtype)
        return np.concatenate([column, -column, np.array([np.nan], dtype)])
    parts = edges(np.dtype(f"f{dtype.itemsize // 2}"))
    return _pack(parts, np.roll(parts, 4)).astype(dtype)


def random_values(rng: np.random.Generator, dtype: np.dtype[Any], count: int) -> Column:
    """Return numbers of all sizes."""
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(np.bool_)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        wide = rng.integers(info.min, info.max, count, dtype, endpoint=True)
        small = rng.integers(max(info.min, -9), 10, count).astype(dtype)
        return np.where(rng.random(count) < 0.5, wide, small)
    if dtype.kind == "f":
        decades = {2: 3.0, 4: 30.0, 8: 250.0}[dtype.itemsize]
        scale = 10.0 ** np.where(rng.random(count) < 0.7, 1, decades)
        spread = scale ** rng.uniform(-1, 1, count) * rng.choice([-1, 1], count)
        return np.where(rng.random(count) < 0.2, np.rint(spread), spread).astype(dtype)
    part = np.dtype(f"f{dtype.itemsize // 2}")
    return _pack(*(random_values(rng, part, count) for _ in range(2))).astype(dtype)


def pairs(left: np.dtype[Any], right: np.dtype[Any], count: int = 60) -> tuple[Column, Column]:
    """Return every pair of edges of two dtypes, and random ones; the same in every run."""
    rng = np.random.default_rng([left.num, right.num])
    a, b = edges(left), edges(right)
    return (
        np.concatenate([np.repeat(a, len(b)), random_values(rng, left, count)]),
        np.concatenate([np.tile(b, len(a)), random_values(rng, right, count)]),
    )


# --------------------------------------------------------------------------------------- agreement


def same_bits(actual: Column, expected: Column) -> Column:
    """Return where two columns are equal, the signs of zeros included; all nans are alike."""
    if expected.dtype.kind == "c":
        return same_bits(actual.real, expected.real) & same_bits(actual.imag, expected.imag)
    if expected.dtype.kind != "f":
        return actual == expected
    both_nan = np.isnan(actual) & np.isnan(expected)
    return both_nan | ((actual == expected) & (np.signbit(actual) == np.signbit(expected)))


@_QUIET
def within_ulps(actual: Column, expected: Column, ulps: float) -> Column:
    """Return where two columns differ by at most so many units in the last place."""
    info = np.finfo(expected.dtype)
    bound = ulps * (np.abs(expected) * float(info.eps) + float(info.smallest_subnormal))
    return same_bits(actual, expected) | (np.abs(actual - expected) <= bound)


def assert_all(holds: Column, text: str, **columns: Column) -> None:
    """Check that all rows hold; the message shows the first ones that do not."""
    if holds.all():
        return
    wrong = np.flatnonzero(~holds)
    rows = [
        ", ".join(f"{name} = {column[at]!r}" for name, column in columns.items())
        for at in wrong[:5]
    ]
    raise AssertionError("\n".join([f"{text}: {len(wrong)} of {len(holds)} rows", *rows]))
