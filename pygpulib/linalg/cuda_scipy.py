"""SciPy's functions that solve equations, in terms of the vendor's routines.

Options that are not named here are the host's business, and so are matrices for which a routine
fails or that are almost singular: SciPy says in its own words what is wrong with them. Arrays are
never overwritten, and their elements have been checked where SciPy would.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pygpulib import blas
from pygpulib.core.array import ndarray
from pygpulib.linalg import cuda_equations as of_numpy
from pygpulib.linalg import cuda_factors, cuda_ranks, kernels
from pygpulib.linalg.condition import is_well_conditioned
from pygpulib.linalg.job import (
    Job,
    Result,
    diagonal_of,
    flatten,
    is_matrix,
    is_square,
    with_name,
)
from pygpulib.linalg.solver import eps_of, is_offered

_TRANSPOSES: dict[object, str] = {0: "N", 1: "T", 2: "C", "N": "N", "T": "T", "C": "C"}
_GENERAL = (None, "gen", "general")
_POSITIVE = ("pos", "positive definite")
# Whether the other triangle is conjugated.
_MIRRORED = {"sym": False, "symmetric": False, "her": True, "hermitian": True}


def is_single(array: object) -> bool:
    """Return whether something is a matrix that the library computes with, and no stack."""
    return isinstance(array, ndarray) and is_matrix(array) and array.ndim == 2


def _right_sides(job: Job, a: object, b: ndarray) -> ndarray | None:
    """Return a copy of right sides as columns, None if they do not fit a square matrix."""
    if not isinstance(a, ndarray) or not is_single(a) or not is_square(a) or not is_offered(a, b):
        return None
    columns = job.reshape(b, -1, 1) if b.ndim == 1 else b
    if columns.ndim != 2 or columns.shape[0] != a.shape[0]:
        return None
    return job.copy(columns)


def _like(b: ndarray, x: ndarray) -> ndarray:
    """Return solutions as a vector if the right side is one."""
    return x.reshape(-1) if b.ndim == 1 else x


# ------------------------------------------------------------------------------------ equations


def solve(
    job: Job,
    a: ndarray,
    b: ndarray,
    lower: object = False,
    assume_a: Any = None,
    transposed: object = False,
) -> Result:
    """Solve with one matrix, with what is known of it."""
    x = _right_sides(job, a, b)
    if x is None or a.size == 1 or (transposed and a.dtype.kind == "c"):
        return NotImplemented
    if assume_a in _POSITIVE:
        is_solved = _solve_positive(job, a, "L" if lower else "U", x)
    elif assume_a in _MIRRORED:
        whole = job.empty(a.shape, a.dtype)
        stacks = flatten(a), flatten(whole)
        job.visit(kernels.mirror, whole, *stacks, bool(lower), _MIRRORED[assume_a])
        is_solved = _solve_general(job, whole, x, "T" if transposed else "N")
    elif assume_a in _GENERAL:
        is_solved = _solve_general(job, a, x, "T" if transposed else "N")
    else:
        return NotImplemented
    return _like(b, x) if is_solved else NotImplemented


def _solve_general(job: Job, a: ndarray, x: ndarray, trans: str = "N") -> bool:
    """Solve in place; return whether the solution is worth something."""
    factors, pivots, info = of_numpy.factor_each(job, a)
    if job.read(info).any():
        return False

    def substitute(right: ndarray, letter: str) -> None:
        of_numpy.substitute(job, factors, pivots, right, letter)

    substitute(x, trans)
    return is_well_conditioned(job, a, substitute)


def _solve_positive(job: Job, a: ndarray, uplo: str, x: ndarray) -> bool:
    factor = _factor(job, a, uplo)
    if factor is None:
        return False

    def substitute(right: ndarray, _letter: str) -> None:
        _substitute_positive(job, factor, uplo, right)

    substitute(x, "N")
    return is_well_conditioned(job, a, substitute)


def _substitute_positive(job: Job, factor: ndarray, uplo: str, x: ndarray) -> None:
    n, info = factor.shape[0], job.vectors((1,), np.int32)
    job.run("Xpotrs", uplo=uplo, n=n, nrhs=x.shape[1], a=factor, b=x, info=info)


def solve_triangular(
    job: Job,
    a: ndarray,
    b: ndarray,
    trans: object = 0,
    lower: object = False,
    unit_diagonal: object = False,
) -> Result:
    """Solve with a triangle of a matrix."""
    x = _right_sides(job, a, b)
    if x is None or trans not in _TRANSPOSES:
        return NotImplemented
    if not unit_diagonal:
        smallest = job.reduce("smallest", diagonal_of(a).reshape(1, -1))
        if not job.read(smallest)[0]:
            return NotImplemented
    uplo, letter = "L" if lower else "U", _TRANSPOSES[trans]
    blas.trsm("L", uplo, letter, bool(unit_diagonal), 1, a, x, stream=job.stream)
    return _like(b, x)


def inv(
    job: Job,
    a: ndarray,
    *,
    assume_a: Any = None,
) -> Result:
    """Solve for the columns of the unit matrix."""
    if not is_single(a) or not is_square(a) or assume_a not in _GENERAL:
        return NotImplemented
    x = job.identity(a.shape, a.dtype)
    return x if _solve_general(job, a, x) else NotImplemented


def det(
    job: Job,
    a: ndarray,
) -> Result:
    """Multiply the diagonal of a triangle, in double precision."""
    if not is_single(a) or not is_square(a):
        return NotImplemented
    factors, pivots, _ = of_numpy.factor_each(job, a)
    kind = np.complex128 if a.dtype.kind == "c" else np.float64
    with np.errstate(all="ignore"):
        product = job.read(diagonal_of(factors)).prod(dtype=kind)
    exchanges = (job.read(pivots) != np.arange(1, a.shape[0] + 1)).sum()
    return -product if exchanges % 2 else product


def lstsq(
    job: Job,
    a: ndarray,
    b: ndarray,
    cond: object = None,
    lapack_driver: object = None,
) -> Result:
    """Multiply with the factors of the pseudo-inverse."""
    if not is_single(a) or not is_offered(a, b) or lapack_driver not in (None, "gelsd", "gelss"):
        return NotImplemented
    limit = eps_of(a) if cond is None else cond
    found = cuda_ranks.least_squares(job, a, b, limit)
    if found is NotImplemented:
        return NotImplemented
    x, residuals, rank, s = found
    if not residuals.size:
        return x, job.vectors((0,), a.dtype), rank, s
    return x, job.settle(residuals.reshape(b.shape[1:])), rank, s


def pinv(
    job: Job,
    a: ndarray,
    *,
    atol: Any = None,
    rtol: Any = None,
    return_rank: object = False,
) -> Result:
    """Turn the factors of the singular value decomposition round."""
    if not is_single(a):
        return NotImplemented
    absolute = 0.0 if atol is None else atol
    relative = cuda_ranks.size_eps(a) if rtol is None else rtol
    if absolute < 0 or relative < 0:
        return NotImplemented
    inverse, values, limit = cuda_ranks.pseudo_inverse(job, a, absolute, relative)
    return (inverse, (values > limit).sum()) if return_rank else inverse


# -------------------------------------------------------------------------------- factorizations


def lu_factor(
    job: Job,
    a: ndarray,
) -> Result:
    """Factor into triangles."""
    if not is_single(a):
        return NotImplemented
    factors, pivots, info = of_numpy.factor_each(job, a)
    if job.read(info).any():
        return NotImplemented
    # LAPACK's rows count from 1, SciPy's from 0.
    return factors, job.upload((job.read(pivots) - 1).astype(np.int32))


def lu_solve(
    job: Job,
    lu_and_piv: tuple[ndarray, ndarray],
    b: ndarray,
    trans: object = 0,
) -> Result:
    """Solve with triangles."""
    factors, pivots = lu_and_piv
    if not isinstance(pivots, ndarray) or pivots.dtype.kind != "i" or trans not in (0, 1, 2):
        return NotImplemented
    x = _right_sides(job, factors, b)
    if x is None or pivots.shape != factors.shape[:1]:
        return NotImplemented
    rows = job.upload(job.read(pivots).astype(np.int64) + 1)
    of_numpy.substitute(job, job.copy(factors), rows, x, _TRANSPOSES[trans])
    return _like(b, x)


def cho_factor(
    job: Job,
    a: ndarray,
    lower: object = False,
) -> Result:
    """Factor a positive definite matrix; the other triangle keeps what it held."""
    if not is_single(a):
        return NotImplemented
    factor = _factor(job, a, "L" if lower else "U")
    return NotImplemented if factor is None else (factor, lower)


def cholesky(
    job: Job,
    a: ndarray,
    lower: object = False,
) -> Result:
    """Factor a positive definite matrix, with zeros in the other triangle."""
    found = cho_factor(job, a, lower)
    if found is NotImplemented:
        return NotImplemented
    result = job.empty(a.shape, a.dtype)
    job.put_triangle("L" if lower else "U", found[0], result)
    return result


def _factor(job: Job, a: ndarray, uplo: str) -> ndarray | None:
    if not is_square(a):
        return None
    factor, info = cuda_factors.factor_positive(job, a, uplo)
    return None if job.read(info).any() else factor


def cho_solve(
    job: Job,
    c_and_lower: tuple[ndarray, object],
    b: ndarray,
) -> Result:
    """Solve with a triangle."""
    factor, lower = c_and_lower
    x = _right_sides(job, factor, b)
    if x is None:
        return NotImplemented
    _substitute_positive(job, job.copy(factor), "L" if lower else "U", x)
    return _like(b, x)


NATIVE = with_name(
    [
        cho_factor,
        cho_solve,
        cholesky,
        det,
        inv,
        lstsq,
        lu_factor,
        lu_solve,
        pinv,
        solve,
        solve_triangular,
    ]
)
"""SciPy's functions that are here, by name."""
