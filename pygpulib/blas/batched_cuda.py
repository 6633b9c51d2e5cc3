"""Stacks of problems on a GPU: cuBLAS's batched routines."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib._bindings.cublas import OPERATIONS, POINTER_MODE_HOST
from pygpulib.blas.cuda_functions import call_sized
from pygpulib.blas.cuda_matrices import LibraryMatrix, apply_letter, find_matrix, pack
from pygpulib.blas.cuda_numbers import is_zero, place_numbers, read_number, send
from pygpulib.blas.lists_cuda import ListProduct
from pygpulib.blas.routines import LETTERS
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.errors import ArgumentError

if TYPE_CHECKING:
    from pygpulib.blas.cuda import CudaEngine
    from pygpulib.blas.lists import Triple


class CudaBatched:
    """The `Batched` protocol over arrays in device memory.

    Parameters
    ----------
    engine : CudaEngine
        What has the library's handles.
    """

    takes_lists = True

    def __init__(self, engine: CudaEngine) -> None:
        self._engine = engine

    def gemm_lists(
        self,
        letters: tuple[str, str],
        numbers: tuple[Any, Any],
        triples: list[Triple],
        stream: int,
    ) -> None:
        """Write alpha op(a) op(b) + beta c to c for each triple: one call for each layout."""
        product = ListProduct(self._engine, letters, stream)
        is_only_written = not isinstance(numbers[1], ndarray) and not numbers[1]
        for triple in triples:
            product.add(triple, is_only_written)
        product.run(numbers, triples[0][2].dtype)

    def gemm(
        self,
        transa: str,
        transb: str,
        alpha: Any,
        a: ndarray,
        b: ndarray,
        beta: Any,
        c: ndarray,
        stream: int,
    ) -> None:
        """Write alpha op(a) op(b) + beta c to c."""
        if not c.size:
            return
        if not a.size or not b.size:
            self._engine.scale(c, beta, stream)
            return
        is_read = isinstance(beta, ndarray) or bool(beta)
        output = find_matrix(c) or self._new_output(c, stream, is_read)
        first = self._factor(a, transa, output.is_flipped, stream)
        second = self._factor(b, transb, output.is_flipped, stream)
        rows, columns = c.shape[1:]
        inner = a.shape[2] if transa == "N" else a.shape[1]
        if output.is_flipped:
            first, second, rows, columns = second, first, columns, rows
        scalars = [read_number(each, c.dtype) for each in (alpha, beta)]
        if is_zero(scalars[0]):
            # Then factors are not read, whatever they hold.
            inner = 0
        numbers = place_numbers(scalars, stream)
        self._call(
            "gemmStridedBatched",
            c.dtype,
            stream,
            first[1],
            second[1],
            rows,
            columns,
            inner,
            numbers.addresses[0],
            *self._arguments(first[0]),
            *self._arguments(second[0]),
            numbers.addresses[1],
            *self._arguments(output),
            c.shape[0],
            mode=numbers.mode,
        )
        if output.array is not c:
            self._engine.assign(c, output.array, stream)

    def getrf(self, factors: ndarray, pivots: ndarray, info: ndarray, stream: int) -> None:
        """Factor matrices in place."""
        count, n, _ = factors.shape
        self._call(
            "getrfBatched",
            factors.dtype,
            stream,
            n,
            self._addresses(factors, stream),
            max(n, 1),
            pivots.address,
            info.address,
            count,
        )

    def getrs(
        self, trans: str, factors: ndarray, pivots: ndarray, right: ndarray, stream: int
    ) -> None:
        """Solve in place of the right sides."""
        count, n, columns = right.shape
        self._call_with_host_info(
            "getrsBatched",
            factors.dtype,
            stream,
            [
                OPERATIONS[trans],
                n,
                columns,
                self._addresses(factors, stream),
                max(n, 1),
                pivots.address,
                self._addresses(right, stream),
                max(n, 1),
            ],
            [count],
        )

    def getri(
        self, factors: ndarray, pivots: ndarray, inverses: ndarray, info: ndarray, stream: int
    ) -> None:
        """Write the inverses."""
        count, n, _ = factors.shape
        self._call(
            "getriBatched",
            factors.dtype,
            stream,
            n,
            self._addresses(factors, stream),
            max(n, 1),
            pivots.address,
            self._addresses(inverses, stream),
            max(n, 1),
            info.address,
            count,
        )

    def geqrf(self, factors: ndarray, tau: ndarray, stream: int) -> None:
        """Factor matrices in place."""
        count, m, n = factors.shape
        self._call_with_host_info(
            "geqrfBatched",
            factors.dtype,
            stream,
            [m, n, self._addresses(factors, stream), max(m, 1), self._addresses(tau, stream)],
            [count],
        )

    def gels(self, matrices: ndarray, right: ndarray, info: ndarray, stream: int) -> None:
        """Solve in place of the right sides' first rows; the matrices are lost."""
        count, m, n = matrices.shape
        self._call_with_host_info(
            "gelsBatched",
            matrices.dtype,
            stream,
            [
                OPERATIONS["N"],
                m,
                n,
                right.shape[2],
                self._addresses(matrices, stream),
                max(m, 1),
                self._addresses(right, stream),
                max(m, 1),
            ],
            [info.address, count],
        )

    # -------------------------------------------------------------------------------- calls

    def _call(
        self,
        name: str,
        dtype: np.dtype[Any],
        stream: int,
        *arguments: Any,
        mode: int = POINTER_MODE_HOST,
    ) -> None:
        values = [each.address if isinstance(each, ndarray) else each for each in arguments]
        with self._engine.handle(stream) as handle:
            handle.use_numbers(mode)
            exported = f"cublas{LETTERS[dtype.name]}{name}"
            call_sized(handle.library, exported, handle.pointer, *values)

    def _call_with_host_info(
        self,
        name: str,
        dtype: np.dtype[Any],
        stream: int,
        arguments: list[Any],
        last: list[Any],
    ) -> None:
        """Call a function that says at once which of its arguments is wrong."""
        info = ctypes.c_int()
        self._call(name, dtype, stream, *arguments, ctypes.addressof(info), *last)
        if info.value:
            raise ArgumentError(
                f"cuBLAS refuses argument {-info.value} of {LETTERS[dtype.name]}{name}"
            )

    def _addresses(self, stack: ndarray, stream: int) -> ndarray:
        """Return the addresses of the matrices of a stack, in device memory."""
        places = stack.address + np.arange(stack.shape[0], dtype=np.int64) * stack.strides[0]
        return send(places, stream)

    def _arguments(self, stack: LibraryMatrix) -> tuple[int, int, int]:
        return stack.array.address, stack.leading, stack.distance

    # ------------------------------------------------------------------------------ layouts

    def _factor(
        self, array: ndarray, letter: str, transposed: bool, stream: int
    ) -> tuple[LibraryMatrix, int]:
        stack = find_matrix(array) or pack(self._engine, array, stream)
        return apply_letter(self._engine, stack, letter, transposed, stream)

    def _new_output(self, array: ndarray, stream: int, is_read: bool) -> LibraryMatrix:
        if is_read:
            return pack(self._engine, array, stream)
        found = find_matrix(device_array(array.shape, array.dtype, stream=stream))
        assert found is not None
        return found
