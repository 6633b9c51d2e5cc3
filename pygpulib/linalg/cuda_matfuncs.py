"""Functions of matrices, from products and solutions."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pygpulib import blas
from pygpulib.linalg import cuda_norms
from pygpulib.linalg.cuda_equations import solve_in_place
from pygpulib.linalg.job import Job, Result, each, is_square, with_name
from pygpulib.linalg.solver import real_dtype

if TYPE_CHECKING:
    from pygpulib.core.array import ndarray

# The largest 1-norms for which approximants of these degrees are exact to double precision, and to
# single: N. J. Higham, The scaling and squaring method for the matrix exponential revisited.
_DOUBLE = {
    3: 1.495585217958292e-2,
    5: 2.539398330063230e-1,
    7: 9.504178996162932e-1,
    9: 2.097847961257068,
    13: 5.371920351148152,
}
_SINGLE = {3: 4.258730016922831e-1, 5: 1.880152677804762, 7: 3.925724783138660}


def expm(job: Job, A: ndarray) -> Result:
    """Halve matrices until a rational function serves, and square that as often."""
    if not is_square(A):
        return NotImplemented
    result = job.empty(A.shape, A.dtype)
    for matrix, target in each(A.shape[:-2], A, result):
        found = _exponential(job, matrix)
        if found is None:
            return NotImplemented
        job.put(target, found)
    return result


def _exponential(job: Job, a: ndarray) -> ndarray | None:
    """Return the exponential of a matrix, None if it holds what is no finite number."""
    limits = _SINGLE if real_dtype(a.dtype) == np.float32 else _DOUBLE
    size = float(cuda_norms.norm(job, a, 1))
    if not math.isfinite(size):
        return None
    degree = next((each for each, limit in limits.items() if size <= limit), max(limits))
    halvings = max(0, math.ceil(math.log2(size / limits[degree]))) if size else 0
    scaled = job.copy(a)
    if halvings:
        blas.scal(2.0**-halvings, _elements(scaled), stream=job.stream)
    found = _approximate(job, scaled, degree)
    for _ in range(halvings):
        found = job.multiply(found, found)
    return found


def _elements(matrix: ndarray) -> ndarray:
    """Return the elements of a matrix with contiguous columns as a vector."""
    return matrix.T.reshape(-1)


def _approximate(job: Job, a: ndarray, degree: int) -> ndarray:
    """Return Padé's approximant of a degree, from its even and odd parts."""
    whole = [
        math.comb(degree, power) * math.factorial(2 * degree - power) for power in range(degree + 1)
    ]
    factors = [each / whole[0] for each in whole]
    square = job.copy(job.multiply(a, a))
    even, odd = (_polynomial(job, square, factors[first::2]) for first in (0, 1))
    odd = job.copy(job.multiply(a, odd))
    blas.axpy(-1, _elements(odd), _elements(even), stream=job.stream)
    below = job.copy(even)
    blas.axpy(2, _elements(odd), _elements(even), stream=job.stream)
    return solve_in_place(job, below, even)


def _polynomial(job: Job, square: ndarray, factors: list[float]) -> ndarray:
    """Return a polynomial of a matrix, by Horner's rule."""
    unit = job.identity(square.shape, square.dtype)
    result = job.copy(unit)
    blas.scal(factors[-1], _elements(result), stream=job.stream)
    for factor in reversed(factors[:-1]):
        result = job.copy(job.multiply(result, square))
        blas.axpy(factor, _elements(unit), _elements(result), stream=job.stream)
    return result


NATIVE = with_name([expm])
"""SciPy's functions that are here, by name."""
