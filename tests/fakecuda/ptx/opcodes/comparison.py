"""Comparisons and choices."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fakecuda.ptx import rounding
from tests.fakecuda.ptx.opcodes.table import Pure, pure
from tests.fakecuda.ptx.syntax import Group, Instruction
from tests.fakecuda.ptx.types import PRED, PtxType

_ORDERED: dict[str, Callable[..., np.ndarray]] = {
    "eq": np.equal,
    "ne": np.not_equal,
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "lo": np.less,
    "ls": np.less_equal,
    "hi": np.greater,
    "hs": np.greater_equal,
}
_UNORDERED = {"equ": "eq", "neu": "ne", "ltu": "lt", "leu": "le", "gtu": "gt", "geu": "ge"}
_COMPARISONS = (*_ORDERED, *_UNORDERED, "num", "nan")
_COMBINATIONS = {"and": np.logical_and, "or": np.logical_or, "xor": np.logical_xor}


def comparison(name: str, kind: PtxType) -> Callable[..., np.ndarray]:
    """Return the function of a comparison; `neu` and its like hold for NaN, the others do not."""

    def unordered(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        return np.isnan(a) | np.isnan(b)

    if name == "nan":
        return unordered
    if name == "num":
        return lambda a, b: ~unordered(a, b)
    if name in _UNORDERED:
        holds = _ORDERED[_UNORDERED[name]]
        return lambda a, b: holds(a, b) | unordered(a, b)
    if name == "ne" and kind.is_float:
        return lambda a, b: (a != b) & ~unordered(a, b)
    return _ORDERED[name]


def _combined(instruction: Instruction, kind: PtxType) -> tuple[Callable, int]:
    """Return the comparison with its boolean operation, and the number of predicates read."""
    # The modifiers end with types, so .ftz and these cannot be confused with one.
    name = instruction.choose(*_COMPARISONS)
    assert name is not None
    compare = comparison(name, kind)
    if "ftz" in instruction.modifiers:
        exact = compare

        def compare(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            return exact(rounding.flush(a), rounding.flush(b))

    operation = instruction.choose(*_COMBINATIONS)
    if operation is None:
        return compare, 0
    combine = _COMBINATIONS[operation]
    return lambda a, b, c: combine(compare(a, b), c), 1


@pure("setp")
def set_predicate(instruction: Instruction) -> Pure:
    """setp p|q: the second predicate gets the negated comparison, then the combination."""
    kind = instruction.type
    function, predicates = _combined(instruction, kind)
    name = instruction.choose(*_COMPARISONS)
    operation = instruction.choose(*_COMBINATIONS)
    assert name is not None
    plain = comparison(name, kind)

    def both(a: np.ndarray, b: np.ndarray, *c: np.ndarray) -> tuple[np.ndarray, ...]:
        opposite = ~plain(a, b)
        second = _COMBINATIONS[operation](opposite, c[0]) if operation else opposite
        return function(a, b, *c), second

    sources = (kind, kind) + (PRED,) * predicates
    if not isinstance(instruction.operands[0], Group):
        return Pure(function, sources, (PRED,))
    if kind.parts == 2:
        return Pure(
            lambda a, b, *c: tuple(function(a[:, p], b[:, p], *c) for p in range(2)),
            sources,
            (PRED, PRED),
        )
    return Pure(both, sources, (PRED, PRED))


@pure("set")
def set_value(instruction: Instruction) -> Pure:
    """set: all ones, or 1.0, where the comparison holds."""
    result, kind = instruction.types[-2:]
    function, predicates = _combined(instruction, kind)
    true = result.dtype.type(1.0) if result.is_float else np.array(-1).astype(result.dtype)

    def values(*operands: np.ndarray) -> np.ndarray:
        return np.where(function(*operands), true, result.dtype.type(0)).astype(result.dtype)

    return Pure(values, (kind, kind) + (PRED,) * predicates, (result,))


@pure("selp")
def select(instruction: Instruction) -> Pure:
    kind = instruction.type
    return Pure(lambda a, b, c: np.where(c, a, b), (kind, kind, PRED), (kind,))


@pure("slct")
def select_by_sign(instruction: Instruction) -> Pure:
    """slct: a where c >= 0 (also for -0), else b (also for NaN)."""
    kind, sign = instruction.types[-2:]
    ftz = "ftz" in instruction.modifiers

    def function(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> np.ndarray:
        return np.where((rounding.flush(c) if ftz else c) >= 0, a, b)

    return Pure(function, (kind, kind, sign), (kind,))
