"""Stacks of problems on the CPU: NumPy's product, and LAPACK for one matrix after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import lapack

from pygpulib.blas import small_stacks
from pygpulib.blas.layout import turn
from pygpulib.core.array import ndarray

if TYPE_CHECKING:
    from pygpulib.core.driver import HostArray


def _number(value: Any, dtype: np.dtype[Any]) -> Any:
    return dtype.type(value.item() if isinstance(value, ndarray) else value)


def _function(name: str, array: Any) -> Any:
    return lapack.get_lapack_funcs(name, dtype=array.dtype)


class CpuBatched:
    """The `Batched` protocol over arrays of NumPy."""

    takes_lists = False

    def gemm_lists(self, *_arguments: object) -> None:
        """Do nothing: lists are multiplied one after the other."""

    @np.errstate(all="ignore")
    def gemm(
        self,
        transa: str,
        transb: str,
        alpha: Any,
        a: HostArray,
        b: HostArray,
        beta: Any,
        c: HostArray,
        stream: int,  # noqa: ARG002
    ) -> None:
        """Write alpha op(a) op(b) + beta c to c."""
        first, second = turn(transa, a), turn(transb, b)
        alpha, beta = _number(alpha, c.dtype), _number(beta, c.dtype)
        if not alpha:
            # Factors are not read: they may hold anything.
            c[...] = c * beta if beta else 0
            return
        if small_stacks.fits(first, second, c):
            small_stacks.multiply(first, second, c, float(alpha), float(beta))
            return
        if not beta:
            np.matmul(first, second, out=c)
            if alpha != 1:
                np.multiply(c, alpha, out=c)
            return
        product = np.matmul(first, second)
        product *= alpha
        np.multiply(c, beta, out=c)
        np.add(c, product, out=c)

    def getrf(self, factors: HostArray, pivots: HostArray, info: HostArray, stream: int) -> None:  # noqa: ARG002
        """Factor matrices in place."""
        factor = _function("getrf", factors)
        for i, matrix in enumerate(factors):
            factors[i], order, info[i] = factor(matrix)
            pivots[i] = order + 1

    def getrs(
        self,
        trans: str,
        factors: HostArray,
        pivots: HostArray,
        right: HostArray,
        stream: int,  # noqa: ARG002
    ) -> None:
        """Solve in place of the right sides."""
        solve = _function("getrs", factors)
        number = {"N": 0, "T": 1, "C": 2}[trans]
        for i, matrix in enumerate(factors):
            right[i], _ = solve(matrix, pivots[i] - 1, right[i], trans=number)

    def getri(
        self,
        factors: HostArray,
        pivots: HostArray,
        inverses: HostArray,
        info: HostArray,
        stream: int,  # noqa: ARG002
    ) -> None:
        """Write the inverses."""
        invert = _function("getri", factors)
        for i, matrix in enumerate(factors):
            inverses[i], info[i] = invert(matrix, pivots[i] - 1)

    def geqrf(self, factors: HostArray, tau: HostArray, stream: int) -> None:  # noqa: ARG002
        """Factor matrices in place."""
        factor = _function("geqrf", factors)
        for i, matrix in enumerate(factors):
            factors[i], tau[i], _, _ = factor(matrix)

    def gels(self, matrices: HostArray, right: HostArray, info: HostArray, stream: int) -> None:  # noqa: ARG002
        """Solve in place of the right sides' first rows; the matrices are lost."""
        solve = _function("gels", matrices)
        for i, matrix in enumerate(matrices):
            # LAPACK does not mind matrices of nothing but zeros.
            is_zero = not matrix.any()
            _, right[i], info[i] = solve(matrix, right[i])
            info[i] = info[i] or is_zero
