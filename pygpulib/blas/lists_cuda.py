"""Products of matrices that lie anywhere in a GPU's memory: cuBLAS with lists of addresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.blas.cuda_functions import call_sized
from pygpulib.blas.cuda_matrices import LibraryMatrix, apply_letter, is_aligned, pack
from pygpulib.blas.cuda_numbers import is_zero, place_numbers, read_number, send
from pygpulib.blas.layout import find_columns
from pygpulib.blas.routines import LETTERS

if TYPE_CHECKING:
    from pygpulib.blas.cuda import CudaEngine
    from pygpulib.blas.layout import Columns
    from pygpulib.blas.lists import Triple
    from pygpulib.core.array import ndarray

    # Operations; rows, columns and the inner length; three leading dimensions.
    Key = tuple[tuple[int, int], tuple[int, int, int], tuple[int, int, int]]


class ListProduct:
    """Products of one dtype, sorted into groups that are one call each.

    Parameters
    ----------
    engine : CudaEngine
        What copies, and has the library's handles.
    letters : tuple of str
        What is done to the factors first.
    stream : int
        Where the work is queued.
    """

    def __init__(self, engine: CudaEngine, letters: tuple[str, str], stream: int) -> None:
        self._engine = engine
        self._letters = letters
        self._stream = stream
        self._layouts: dict[Any, Columns | None] = {}
        self._groups: dict[Key, list[tuple[int, int, int]]] = {}
        self._copied: list[tuple[ndarray, ndarray]] = []
        self._kept: list[ndarray] = []

    def add(self, triple: Triple, is_only_written: bool) -> None:
        """Put a product into a group."""
        a, b, c = triple
        if not c.size:
            return
        output = self._place_output(c, is_only_written)
        first = self._place_factor(a, self._letters[0], output.is_flipped)
        second = self._place_factor(b, self._letters[1], output.is_flipped)
        m, n = c.shape
        k = a.shape[1] if self._letters[0] == "N" else a.shape[0]
        if output.is_flipped:
            m, n, first, second = n, m, second, first
        (one, operation), (two, other) = first, second
        key = (operation, other), (m, n, k), (one.leading, two.leading, output.leading)
        places = one.array.address, two.array.address, output.array.address
        self._kept += [one.array, two.array]
        self._groups.setdefault(key, []).append(places)

    def run(self, scalars: tuple[Any, Any], dtype: np.dtype[Any]) -> None:
        """Queue one call for each group."""
        numbers = [read_number(each, dtype) for each in scalars]
        placed = place_numbers(numbers, self._stream)
        tables = [np.array(places, np.int64).T.ravel() for places in self._groups.values()]
        if not tables:
            return
        # All lists of addresses go to the device together.
        addresses = send(np.concatenate(tables), self._stream)
        place = addresses.address
        with self._engine.handle(self._stream) as handle:
            handle.use_numbers(placed.mode)
            name = f"cublas{LETTERS[dtype.name]}gemmBatched"
            for (operations, sizes, leading), places in self._groups.items():
                count = len(places)
                # Where alpha is 0, factors are not read, whatever they hold.
                inner = 0 if is_zero(numbers[0]) else sizes[2]
                call_sized(
                    handle.library,
                    name,
                    handle.pointer,
                    *operations,
                    *sizes[:2],
                    inner,
                    placed.addresses[0],
                    place,
                    leading[0],
                    place + 8 * count,
                    leading[1],
                    placed.addresses[1],
                    place + 16 * count,
                    leading[2],
                    count,
                )
                place += 24 * count
        for target, source in self._copied:
            self._engine.assign(target, source, self._stream)

    def _find(self, array: ndarray) -> LibraryMatrix | None:
        """Return a matrix as it lies; those of one shape and strides are looked at once."""
        key = array.shape, array.strides
        if key not in self._layouts:
            self._layouts[key] = find_columns(array.shape, array.strides, array.itemsize)
        columns = self._layouts[key]
        if columns is None or not is_aligned(array):
            return None
        return LibraryMatrix(array, columns.leading, 0, columns.is_flipped)

    def _place_output(self, array: ndarray, is_only_written: bool) -> LibraryMatrix:
        found = self._find(array)
        if found is not None:
            return found
        if is_only_written:
            made = self._engine.empty(array.shape, array.dtype, "C", self._stream)
            found = LibraryMatrix(made, max(array.shape[1], 1), 0, True)
        else:
            found = pack(self._engine, array, self._stream)
        self._copied.append((array, found.array))
        return found

    def _place_factor(
        self, array: ndarray, letter: str, transposed: bool
    ) -> tuple[LibraryMatrix, int]:
        found = self._find(array) or pack(self._engine, array, self._stream)
        return apply_letter(self._engine, found, letter, transposed, self._stream)
