"""Functions that change nothing and are there for programs written for numba."""

from __future__ import annotations

from typing import TypeVar

_T = TypeVar("_T")


def literal_unroll(container: _T) -> _T:
    """Return a tuple to iterate over; loops over tuples of several types are always unrolled."""
    return container
