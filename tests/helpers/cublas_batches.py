"""What the fake cuBLAS computes for stacks and lists of matrices, and in mixed precision."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from scipy.linalg import lapack

from pygpulib.blas.routines import DTYPES
from tests.helpers import blas_reference
from tests.helpers.simulated_memory import SimulatedMemory

OPERATIONS = {0: "N", 1: "T", 2: "C"}
DATA_TYPES = {
    0: "float32",
    1: "float64",
    2: "float16",
    3: "int8",
    10: "int32",
    14: ml_dtypes.bfloat16,
}
# Of factors, and of the arithmetic.
COMPUTE_TYPES = {
    64: ("float16", "float32"),
    65: ("float16", "float32"),
    68: ("float32", "float64"),
    69: ("float32", "float64"),
    70: ("float64", "float64"),
    71: ("float64", "float64"),
    72: ("int32", "int64"),
    74: ("float32", "float64"),
    75: ("float32", "float64"),
    77: ("float32", "float64"),
}
MIXED = ("cublasGemmEx", "cublasGemmStridedBatchedEx")


class Batches(SimulatedMemory):
    """Routines for many matrices; the fake library adds handles."""

    def run_batch(self, name: str, state: Any, kind: str, letter: str, *arguments: Any) -> None:
        dtype = np.dtype(DTYPES[letter])
        step = {**FACTORIZATIONS, **PRODUCTS}[kind]
        if kind in PRODUCTS:
            step(self, name, state, dtype, *arguments)
        else:
            self.submit(name, state, lambda: step(self, dtype, *arguments))

    def submit(self, name: str, state: Any, step: Any) -> None:
        raise NotImplementedError

    def _read_scalars(self, state: Any, places: Any, dtype: Any) -> Any:
        """Return what reads numbers: now those of the host, and later those of the device."""
        if state.mode == 1:
            return lambda: [self.number(each, dtype, on_device=True) for each in places]
        found = [self.number(each, dtype) for each in places]
        return lambda: found

    def _submit_product(self, name: str, state: Any, scalars: Any, step: Any) -> None:
        def run() -> None:
            numbers = scalars()
            step(numbers)
            assert repr(scalars()) == repr(numbers), "an output lies where numbers do"

        self.submit(name, state, run)

    def _blend(self, letters: Any, factors: Any, output: Any, numbers: Any, inner: Any) -> None:
        first, second = (
            blas_reference.op(letter, each).astype(inner)
            for letter, each in zip(letters, factors, strict=True)
        )
        product = numbers[0] * (first @ second)
        blended = blas_reference.blend(product, numbers[1], output.astype(inner))
        output[...] = blended.astype(output.dtype)

    def gemm_strided(self, name: str, state: Any, dtype: Any, *arguments: Any) -> None:
        transa, transb, m, n, k, alpha, *rest = arguments
        a, lda, step_a, b, ldb, step_b, beta, c, ldc, step_c, count = rest
        letters = OPERATIONS[transa], OPERATIONS[transb]
        scalars = self._read_scalars(state, (alpha, beta), dtype)

        def run(numbers: Any) -> None:
            for i in range(count):
                place = [
                    each + i * step * dtype.itemsize
                    for each, step in ((a, step_a), (b, step_b), (c, step_c))
                ]
                shapes = _shapes(letters, m, n, k)
                factors = [
                    self.matrix(at, *shape, leading, dtype)
                    for at, shape, leading in zip(place, shapes, (lda, ldb), strict=False)
                ]
                output = self.matrix(place[2], m, n, ldc, dtype)
                self._blend(letters, factors, output, numbers, dtype)

        self._submit_product(name, state, scalars, run)

    def gemm_pointers(self, name: str, state: Any, dtype: Any, *arguments: Any) -> None:
        transa, transb, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc, count = arguments
        letters = OPERATIONS[transa], OPERATIONS[transb]
        scalars = self._read_scalars(state, (alpha, beta), dtype)

        def run(numbers: Any) -> None:
            first, second = (
                self.matrices(places, count, *shape, leading, dtype)
                for places, shape, leading in zip(
                    (a, b), _shapes(letters, m, n, k), (lda, ldb), strict=True
                )
            )
            outputs = self.matrices(c, count, m, n, ldc, dtype)
            for one, two, output in zip(first, second, outputs, strict=True):
                self._blend(letters, (one, two), output, numbers, dtype)

        self._submit_product(name, state, scalars, run)

    def run_mixed(self, name: str, state: Any, *arguments: Any) -> None:
        transa, transb, m, n, k, alpha, *rest = arguments
        if name.startswith("cublasGemmEx"):
            a, type_a, lda, b, type_b, ldb, beta, c, type_c, ldc, compute, algorithm = rest
            steps, count = (0, 0, 0), 1
        else:
            a, type_a, lda, step_a, b, type_b, ldb, step_b, beta, c, type_c, ldc, *rest = rest
            step_c, count, compute, algorithm = rest
            steps = (step_a, step_b, step_c)
        assert algorithm == -1
        kinds = [np.dtype(DATA_TYPES[each]) for each in (type_a, type_b, type_c)]
        scale, inner = COMPUTE_TYPES[compute]
        scalars = self._read_scalars(state, (alpha, beta), np.dtype(scale))
        letters = OPERATIONS[transa], OPERATIONS[transb]
        shapes = (*_shapes(letters, m, n, k), (m, n))

        def run(numbers: Any) -> None:
            for i in range(count):
                *factors, output = (
                    self.matrix(at + i * step * kind.itemsize, *shape, leading, kind)
                    for at, step, kind, shape, leading in zip(
                        (a, b, c), steps, kinds, shapes, (lda, ldb, ldc), strict=True
                    )
                )
                self._blend(letters, factors, output, numbers, inner)

        self._submit_product(name, state, scalars, run)

    def integers(self, address: int, count: int) -> Any:
        self.check(address, 4 * count)
        return self.view(address, (count,), (4,), np.dtype(np.int32))

    def getrf(
        self, dtype: Any, n: int, a: int, lda: int, pivots: int, info: int, count: int
    ) -> None:
        factor = lapack.get_lapack_funcs("getrf", dtype=dtype)
        for i, matrix in enumerate(self.matrices(a, count, n, n, lda, dtype)):
            matrix[...], order, status = factor(matrix)
            self.integers(pivots + 4 * n * i, n)[...] = order + 1
            self.integers(info + 4 * i, 1)[...] = status

    def getrs(self, dtype: Any, trans: int, n: int, columns: int, *rest: int) -> None:
        a, lda, pivots, b, ldb, _, count = rest
        solve = lapack.get_lapack_funcs("getrs", dtype=dtype)
        right = self.matrices(b, count, n, columns, ldb, dtype)
        for i, matrix in enumerate(self.matrices(a, count, n, n, lda, dtype)):
            order = self.integers(pivots + 4 * n * i, n) - 1
            right[i][...] = solve(matrix, order, right[i], trans=trans)[0]

    def getri(self, dtype: Any, n: int, a: int, lda: int, *rest: int) -> None:
        pivots, c, ldc, info, count = rest
        invert = lapack.get_lapack_funcs("getri", dtype=dtype)
        outputs = self.matrices(c, count, n, n, ldc, dtype)
        for i, matrix in enumerate(self.matrices(a, count, n, n, lda, dtype)):
            order = self.integers(pivots + 4 * n * i, n) - 1
            outputs[i][...], self.integers(info + 4 * i, 1)[...] = invert(matrix, order)

    def geqrf(
        self, dtype: Any, m: int, n: int, a: int, lda: int, tau: int, info: int, count: int
    ) -> None:
        factor = lapack.get_lapack_funcs("geqrf", dtype=dtype)
        factors = self.matrices(tau, count, min(m, n), 1, max(min(m, n), 1), dtype)
        for i, matrix in enumerate(self.matrices(a, count, m, n, lda, dtype)):
            matrix[...], factors[i][:, 0], _, _ = factor(matrix)

    def gels(self, dtype: Any, trans: int, m: int, n: int, columns: int, *rest: int) -> None:
        a, lda, c, ldc, _, info, count = rest
        assert trans == 0
        solve = lapack.get_lapack_funcs("gels", dtype=dtype)
        right = self.matrices(c, count, m, columns, ldc, dtype)
        for i, matrix in enumerate(self.matrices(a, count, m, n, lda, dtype)):
            matrix[...], right[i][...], status = solve(matrix, right[i])
            self.integers(info + 4 * i, 1)[...] = status


def _shapes(letters: tuple[str, str], m: int, n: int, k: int) -> Any:
    return (m, k) if letters[0] == "N" else (k, m), (k, n) if letters[1] == "N" else (n, k)


PRODUCTS = {"gemmStridedBatched": Batches.gemm_strided, "gemmBatched": Batches.gemm_pointers}
FACTORIZATIONS = {
    "getrfBatched": Batches.getrf,
    "getrsBatched": Batches.getrs,
    "getriBatched": Batches.getri,
    "geqrfBatched": Batches.geqrf,
    "gelsBatched": Batches.gels,
}
