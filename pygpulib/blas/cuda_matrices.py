"""Matrices in device memory, and stacks of them, as cuBLAS takes them: packed where it does not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib._bindings.cublas import OPERATIONS
from pygpulib._record import record
from pygpulib.blas.layout import find_columns

if TYPE_CHECKING:
    from pygpulib.blas.cuda import CudaEngine
    from pygpulib.core.array import ndarray


@record
class LibraryMatrix:
    """A matrix, or a stack of them: its columns, or those of its transpose, are contiguous.

    Attributes
    ----------
    array : ndarray
        The array, with two axes or three.
    leading, distance : int
        Elements from one column to the next, and from one matrix to the next. The latter is 0 where
        one serves for all.
    is_flipped : bool
        Whether the columns are the array's rows.
    """

    array: ndarray
    leading: int
    distance: int
    is_flipped: bool


def is_aligned(array: ndarray) -> bool:
    """Return whether an array lies where its dtype may."""
    return not array.address % array.dtype.alignment


def find_matrix(array: ndarray, flipped: bool | None = None) -> LibraryMatrix | None:
    """Return a matrix as it lies in memory, or None if the library does not take it.

    Parameters
    ----------
    array : ndarray
        The matrix, or a stack.
    flipped : bool, optional
        The orientation that will do; default: either.
    """
    columns = find_columns(array.shape[-2:], array.strides[-2:], array.itemsize, flipped)
    if columns is None or not is_aligned(array):
        return None
    distance = 0
    if array.ndim > 2 and array.shape[0] > 1:
        distance, rest = divmod(array.strides[0], array.itemsize)
        if rest or distance < 0:
            return None
    return LibraryMatrix(array, columns.leading, distance, columns.is_flipped)


def pack(engine: CudaEngine, array: ndarray, stream: int, flipped: bool = True) -> LibraryMatrix:
    """Return a packed copy of a matrix or stack, with contiguous rows if it is to be flipped."""
    axes = (*range(array.ndim - 2), array.ndim - 1, array.ndim - 2)
    turned = array if flipped else array.transpose(*axes)
    made = engine.copy(turned, array.dtype, "C", stream)
    rows, columns = made.shape[-2:]
    distance = rows * columns if array.ndim > 2 and array.shape[0] > 1 else 0
    found = made if flipped else made.transpose(*axes)
    return LibraryMatrix(found, max(columns, 1), distance, flipped)


def apply_letter(
    engine: CudaEngine, matrix: LibraryMatrix, letter: str, transposed: bool, stream: int
) -> tuple[LibraryMatrix, int]:
    """Return op(A), or its transpose, as a matrix and the library's number of what makes it."""
    is_conjugated = letter == "C" and matrix.array.dtype.kind == "c"
    is_turned = ((letter != "N") != transposed) != matrix.is_flipped
    if is_conjugated and not is_turned:
        # The library conjugates only what it transposes.
        matrix, is_turned = pack(engine, matrix.array, stream, not matrix.is_flipped), True
    return matrix, OPERATIONS[("C" if is_conjugated else "T") if is_turned else "N"]
