"""Direction numbers of the Sobol sequences, expanded from the table of Joe and Kuo (2008).

SciPy has that table: for each dimension a primitive polynomial and the first numbers.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib.errors import LibraryError

Words: TypeAlias = NDArray[Any]

MAX_DIMENSIONS = 21201
"""How many dimensions the table has."""


@cache
def joe_kuo(bits: int, dimensions: int) -> Words:
    """Return the direction numbers of the first dimensions.

    Parameters
    ----------
    bits : int
        Width of the numbers, up to 64.
    dimensions : int
        At most `MAX_DIMENSIONS`.

    Returns
    -------
    ndarray of uint64 of shape (dimensions, bits)
        The highest bit of a number is worth one half. Read-only.
    """
    polynomials, initial = _table()
    polynomials, initial = polynomials[:dimensions], initial[:dimensions]
    directions = np.zeros((dimensions, bits), np.uint64)
    shifts = np.arange(bits - 1, -1, -1, dtype=np.uint64)
    directions[:1] = np.uint64(1) << shifts
    degrees = np.frexp(polynomials)[1] - 1
    for degree in range(1, int(degrees.max(initial=0)) + 1):
        (rows,) = np.nonzero(degrees == degree)
        if rows.size:
            first = initial[rows, : min(degree, bits)].astype(np.uint64)
            directions[rows] = _expand(polynomials[rows], degree, first, shifts)
    directions.flags.writeable = False
    return directions


def _expand(polynomials: Words, degree: int, first: Words, shifts: Words) -> Words:
    """Continue the direction numbers of dimensions whose polynomials have the same degree."""
    bits = len(shifts)
    numbers = np.zeros((len(polynomials), bits), np.uint64)
    numbers[:, : first.shape[1]] = first << shifts[: first.shape[1]]
    # All ones where a coefficient is 1.
    coefficients = [
        np.where(polynomials >> (degree - j) & 1, ~np.uint64(0), np.uint64(0))
        for j in range(1, degree)
    ]
    for i in range(degree, bits):
        oldest = numbers[:, i - degree]
        number = oldest ^ (oldest >> np.uint64(degree))
        for j, coefficient in enumerate(coefficients, 1):
            number ^= numbers[:, i - j] & coefficient
        numbers[:, i] = number
    return numbers


@cache
def _table() -> tuple[Words, Words]:
    """Return the polynomials, as numbers, and the first numbers of each dimension."""
    from importlib.util import find_spec

    spec = find_spec("scipy")
    folders = spec.submodule_search_locations if spec is not None else None
    path = os.path.join((folders or [""])[0], "stats", "_sobol_direction_numbers.npz")
    try:
        with np.load(path) as table:
            return table["poly"], table["vinit"]
    except FileNotFoundError as cause:
        raise LibraryError(
            "the direction numbers of the Sobol sequences cannot be found",
            detail=f"expected them in {path}",
            help="install SciPy from its own package",
        ) from cause
