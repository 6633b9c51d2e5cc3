"""Loads and stores under the names that tell a GPU's caches what to expect.

They are plain accesses, on every back end: caches decide for themselves.

Sources
-------
PTX ISA, "Cache Operators".
"""

from __future__ import annotations

from typing import Any, TypeAlias

Memory: TypeAlias = Any
"""An array or an address."""
Index: TypeAlias = Any
"""An integer, or a tuple of one integer per axis."""
Scalar: TypeAlias = Any
"""A number."""


def ldca(array: Memory, index: Index) -> Scalar:
    """Return an element that will be needed again."""
    return array[index]


def ldcg(array: Memory, index: Index) -> Scalar:
    """Return an element that other multiprocessors need, too."""
    return array[index]


def ldcs(array: Memory, index: Index) -> Scalar:
    """Return an element that is needed once."""
    return array[index]


def ldlu(array: Memory, index: Index) -> Scalar:
    """Return an element for the last time."""
    return array[index]


def ldcv(array: Memory, index: Index) -> Scalar:
    """Return an element that others may have changed."""
    return array[index]


def stcg(array: Memory, index: Index, value: Scalar) -> None:
    """Set an element that other multiprocessors need, too."""
    array[index] = value


def stcs(array: Memory, index: Index, value: Scalar) -> None:
    """Set an element that will be needed once."""
    array[index] = value


def stwb(array: Memory, index: Index, value: Scalar) -> None:
    """Set an element."""
    array[index] = value


def stwt(array: Memory, index: Index, value: Scalar) -> None:
    """Set an element that the host may need."""
    array[index] = value
