"""Calls that are too large for the integers of SciPy's BLAS, done part by part.

What is cut are vectors, and the axes of products along which all matrices lie column after column.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._record import record
from pygpulib.blas.routines import DTYPES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pygpulib.blas.routines import Routine

    Entry = Callable[[dict[str, Any]], Any]
    Values = dict[str, Any]

# What becomes of the numbers that the parts of a vector give.
_SUMS = ("dot", "dotc", "asum")
_ALONG_VECTORS = frozenset(
    ["axpy", "scal", "rscal", "copy", "swap", "rot", "rrot", "rotm", "nrm2", "amax", *_SUMS]
)


@record
class Cut:
    """An axis along which a product can be cut.

    Attributes
    ----------
    size : str
        The size.
    matrices : tuple of tuple of str
        Matrices of which that is the number of columns, by their letters of transposition: name,
        flag (empty if there is none) and the letters.
    vectors : tuple of str
        Vectors that are as long, if the flag in `vector_letters` is one of its letters.
    is_summed : bool
        Whether parts are added up, so that only the first one multiplies the old output.
    """

    size: str
    matrices: tuple[tuple[str, str, str], ...]
    vectors: tuple[tuple[str, str, str], ...]
    is_summed: bool


_CUTS = {
    "gemm": (
        Cut("n", (("B", "transb", "N"), ("C", "", "")), (), False),
        Cut("k", (("A", "transa", "N"), ("B", "transb", "TC")), (), True),
    ),
    "gemv": (
        Cut("n", (("A", "trans", "N"),), (("x", "trans", "N"),), True),
        Cut("n", (("A", "trans", "TC"),), (("y", "trans", "TC"),), False),
    ),
}


def run_in_parts(routine: Routine, letter: str, entry: Entry, values: Values, most: int) -> Any:
    """Do a routine part by part.

    Parameters
    ----------
    routine : Routine
        What to do.
    letter : str
        Which dtype.
    entry : callable
        Does the routine where sizes are at most `most`.
    values : dict
        The arguments.
    most : int
        The largest size of a part.

    Returns
    -------
    object
        What the routine returns; NotImplemented if it cannot be cut where it is too large.
    """
    itemsize = np.dtype(DTYPES[letter]).itemsize
    if routine.name in _ALONG_VECTORS:
        if any(abs(values[f"inc{name}"]) > most for name in _vectors(routine)):
            return NotImplemented
        return _run_along_vectors(routine, letter, entry, values, most)
    for cut in _CUTS.get(routine.name, ()):
        if values[cut.size] > most and _applies(cut, values):
            for part in _cut(cut, values, itemsize, most):
                # Another axis may be too large as well.
                if run_in_parts(routine, letter, entry, part, most) is NotImplemented:
                    return NotImplemented
            return None
    sizes = [value for name, value in values.items() if isinstance(value, int) and name in _SIZES]
    return NotImplemented if max(sizes, default=0) > most else entry(values)


_SIZES = frozenset(["m", "n", "k", "lda", "ldb", "ldc", "incx", "incy"])


def _vectors(routine: Routine) -> list[str]:
    return [operand.name for operand in routine.operands]


def _spans(count: int, most: int) -> Iterator[tuple[int, int]]:
    for first in range(0, count, most):
        yield first, min(most, count - first)


def _shifted(values: Values, name: str, span: tuple[int, int], count: int, itemsize: int) -> int:
    """Return where a part of a vector begins in memory."""
    first, length = span
    step: int = values[f"inc{name}"]
    # Where steps are negative, the address is that of the last element.
    skipped = first if step > 0 else count - first - length
    start: int = values[name]
    return start + skipped * abs(step) * itemsize


def _run_along_vectors(
    routine: Routine, letter: str, entry: Entry, values: Values, most: int
) -> Any:
    itemsize = np.dtype(DTYPES[letter]).itemsize
    count = values["n"]
    found: list[Any] = []
    for span in _spans(count, most):
        places = {name: _shifted(values, name, span, count, itemsize) for name in _vectors(routine)}
        part = values | places | {"n": span[1]}
        result = entry(part)
        if routine.name == "amax":
            place = part["x"] + (result - 1) * abs(part["incx"]) * itemsize
            found.append((_size_of(place, letter), span[0] + result))
        else:
            found.append(result)
    if not routine.returns_number:
        return None
    if routine.name == "amax":
        # The first of the largest.
        largest: tuple[float, int] = max(found, key=lambda each: each[0])
        return largest[1]
    return math.hypot(*found) if routine.name == "nrm2" else sum(found)


def _size_of(address: int, letter: str) -> float:
    """Return what `amax` compares of an element."""
    from pygpulib.blas.missing import host_vector

    number = host_vector(address, 1, 1, DTYPES[letter])[0]
    return float(abs(number.real) + abs(number.imag))


def _applies(cut: Cut, values: Values) -> bool:
    """Return whether matrices lie so that the axis counts their columns."""
    return all(
        not flag or values[flag] in letters for _, flag, letters in (*cut.matrices, *cut.vectors)
    )


def _cut(cut: Cut, values: Values, itemsize: int, most: int) -> Iterator[Values]:
    count = values[cut.size]
    for span in _spans(count, most):
        part = values | {cut.size: span[1]}
        for name, _, _ in cut.matrices:
            part[name] = values[name] + span[0] * values[f"ld{name.lower()}"] * itemsize
        for name, _, _ in cut.vectors:
            part[name] = _shifted(values, name, span, count, itemsize)
        if cut.is_summed and span[0]:
            part["beta"] = 1.0
        yield part
