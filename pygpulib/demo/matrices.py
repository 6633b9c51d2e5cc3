"""A product of matrices and a system of equations, compared with NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np

from pygpulib import blas, linalg
from pygpulib.core.array import ndarray

ORDER = 1024
SEED = 1
TOLERANCE = 1e-3

Matrix = np.ndarray[Any, np.dtype[np.float32]]


def make_matrices() -> tuple[Matrix, Matrix]:
    """Return a matrix that is far from singular, and another one."""
    rng = np.random.default_rng(SEED)
    a, b = rng.random((2, ORDER, ORDER), np.float32)
    return a + ORDER * np.eye(ORDER, dtype=np.float32), b


def multiply(d_a: ndarray, d_b: ndarray) -> ndarray:
    """Return the product of two matrices on the device."""
    product: ndarray = blas.gemm("N", "N", 1, d_a, d_b)
    return product


def solve(d_a: ndarray, d_b: ndarray) -> ndarray:
    """Return the x for which the product of the first matrix with x is the second."""
    solution: ndarray = linalg.solve(d_a, d_b)
    return solution


def deviation(got: ndarray, expected: Matrix) -> float:
    """Return the largest difference of elements, in parts of the largest element."""
    difference = np.abs(np.asarray(got, np.float32) - expected).max()
    return float(difference / np.abs(expected).max())
