"""How BLAS sees arrays: columns at a distance, elements at a distance, or not at all.

BLAS takes a matrix whose columns are contiguous, at a *leading dimension* from each other. A matrix
with contiguous rows is the transpose of one like that: *flipped*. Everything here is arithmetic
with shapes and strides; strides are in bytes, distances in elements.
"""

from __future__ import annotations

from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._record import record

if TYPE_CHECKING:
    from pygpulib.core.layout import Shape


@record(eq=True)
class Columns:
    """A matrix as BLAS takes it.

    Attributes
    ----------
    leading : int
        Elements from one column to the next.
    is_flipped : bool
        Whether the columns are the array's rows.
    """

    leading: int
    is_flipped: bool


def find_columns(
    shape: Shape, strides: Shape, itemsize: int, flipped: bool | None = None
) -> Columns | None:
    """Return how BLAS can take a matrix, or None if it cannot.

    Parameters
    ----------
    shape, strides : tuple of int
        Layout of an array with two axes.
    itemsize : int
        Bytes of one element.
    flipped : bool, optional
        The orientation that will do; default: either, columns first.

    Examples
    --------
    >>> find_columns((2, 3), (24, 8), 8)
    Columns(leading=3, is_flipped=True)
    >>> find_columns((2, 3), (48, 16), 8) is None
    True
    """
    if not flipped:
        leading = _leading(shape, strides, itemsize)
        if leading:
            return Columns(leading, False)
    if flipped is None or flipped:
        leading = _leading(shape[::-1], strides[::-1], itemsize)
        if leading:
            return Columns(leading, True)
    return None


def _leading(shape: Shape, strides: Shape, itemsize: int) -> int:
    """Return the leading dimension of a matrix with contiguous columns, 0 if they are not."""
    rows, columns = shape
    if rows > 1 and columns and strides[0] != itemsize:
        return 0
    least = max(rows, 1)
    # The distance of columns of which there are not two does not matter.
    if columns < 2 or not rows:
        return least
    leading, rest = divmod(strides[1], itemsize)
    return leading if not rest and leading >= least else 0


def turn(letter: str, matrices: Any) -> Any:
    """Return a matrix of NumPy, or a stack, as one of BLAS's letters says."""
    if letter == "N":
        return matrices
    turned = matrices.swapaxes(-1, -2)
    return turned.conj() if letter == "C" and matrices.dtype.kind == "c" else turned


def find_increment(shape: Shape, strides: Shape, itemsize: int) -> int:
    """Return the distance of the elements of a vector, or 0 if BLAS cannot take it.

    Examples
    --------
    >>> find_increment((5,), (-16,), 8)
    -2
    """
    if shape[0] < 2:
        return 1
    increment, rest = divmod(strides[0], itemsize)
    return 0 if rest else increment


def spans_overlap(first: tuple[int, int], second: tuple[int, int]) -> bool:
    """Return whether two ranges of addresses have bytes in common."""
    return first[0] < second[1] and second[0] < first[1]


def share_elements(
    first: tuple[int, int], second: tuple[int, int], count: int, itemsize: int
) -> bool:
    """Return whether two vectors, which do not repeat memory themselves, have elements in common.

    Where their steps differ, the answer may also be true for vectors that just miss each other.

    Parameters
    ----------
    first, second : tuple of int
        Address and stride of each.
    count : int
        How many elements each has.
    itemsize : int
        Bytes of one element.

    Examples
    --------
    >>> share_elements((0, 16), (8, 16), 9, 8), share_elements((0, 8), (8, 8), 2, 8)
    (False, True)
    """
    if not count:
        return False
    spans = []
    for address, stride in (first, second):
        reach = (count - 1) * stride
        spans.append((address + min(reach, 0), address + max(reach, 0) + itemsize))
    if not spans_overlap(*spans):
        return False
    if count < 2:
        return True
    step = gcd(first[1], second[1])
    rest = (first[0] - second[0]) % step
    return rest < itemsize or step - rest < itemsize


def repeats_memory(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Return whether two elements of an array lie in the same memory.

    Examples
    --------
    >>> repeats_memory((3, 4), (0, 8), 8), repeats_memory((3, 4), (64, 16), 8)
    (True, False)
    >>> repeats_memory((2, 2), (24, 16), 8), repeats_memory((3, 4), (24, 16), 8)
    (False, True)
    """
    if 0 in shape:
        return False
    axes = sorted((abs(s), n) for n, s in zip(shape, strides, strict=True) if n > 1)
    if any(step < itemsize for step, _ in axes):
        return True
    if len(axes) != 2:
        return not _is_nested(axes, itemsize) and _repeats_offsets(axes, itemsize)
    (fine, many), (coarse, few) = axes
    if coarse >= fine * (many - 1) + itemsize:
        return False
    # Element (i, j) meets (i', j') where the difference of rows is that of columns.
    return any(
        _meets(coarse * distance, fine, many, itemsize) for distance in range(1, min(few, many + 1))
    )


def _is_nested(axes: list[tuple[int, int]], itemsize: int) -> bool:
    """Return whether each step of an axis goes beyond all that the finer ones reach."""
    reach = itemsize
    for step, length in axes:
        if step < reach:
            return False
        reach += step * (length - 1)
    return True


def _repeats_offsets(axes: list[tuple[int, int]], itemsize: int) -> bool:
    offsets = np.zeros(1, np.int64)
    for step, length in axes:
        offsets = np.add.outer(offsets, step * np.arange(length)).ravel()
    offsets.sort()
    return bool((np.diff(offsets) < itemsize).any())


def _meets(distance: int, step: int, count: int, itemsize: int) -> bool:
    """Return whether a distance is, up to an element's size, a number of steps below a count."""
    below, rest = divmod(distance, step)
    if below < count and rest < itemsize:
        return True
    return below + 1 < count and step - rest < itemsize
