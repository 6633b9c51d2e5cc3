"""SciPy's functions that factor matrices, in terms of NumPy's and cuSOLVER's routines.

See `pygpulib.linalg.cuda_scipy`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pygpulib import blas
from pygpulib.core.array import ndarray
from pygpulib.linalg import cuda_factors as of_numpy
from pygpulib.linalg import cuda_norms, kernels
from pygpulib.linalg.cuda_equations import factor_each
from pygpulib.linalg.cuda_ranks import size_eps
from pygpulib.linalg.cuda_scipy import is_single
from pygpulib.linalg.job import (
    HostNumbers,
    Job,
    Result,
    flatten,
    is_square,
    transpose,
    with_name,
)
from pygpulib.linalg.solver import is_offered, real_dtype


def lu(
    job: Job,
    a: ndarray,
    permute_l: object = False,
    p_indices: object = False,
) -> Result:
    """Factor into triangles, and take them apart."""
    if not is_single(a) or a.size == 1:
        return NotImplemented
    (m, n), k = a.shape, min(a.shape)
    factors, pivots, _ = factor_each(job, a)
    lower, upper = job.empty((m, k), a.dtype), job.empty((k, n), a.dtype)
    job.put_band(factors, lower, -m, -1, is_unit=True)
    job.put_triangle("U", factors, upper)
    order = _order(job.read(pivots), m)
    if permute_l:
        return job.multiply(_permutation(job, order, a.dtype), lower), upper
    if p_indices:
        return job.upload(order), lower, upper
    return _permutation(job, order, real_dtype(a.dtype)), lower, upper


def _order(pivots: HostNumbers, rows: int) -> HostNumbers:
    """Return which row of the triangle each row of the matrix belongs to."""
    exchanged = np.arange(rows)
    for place, other in enumerate(pivots - 1):
        exchanged[[place, other]] = exchanged[[other, place]]
    return np.argsort(exchanged).astype(np.int32)


def _permutation(job: Job, order: HostNumbers, dtype: np.dtype[Any]) -> ndarray:
    made = job.empty((order.size, order.size), dtype)
    columns = job.upload(order).reshape(1, -1)
    job.visit(kernels.put_ones, made, flatten(made), columns)
    return made


def qr(
    job: Job,
    a: ndarray,
    mode: str = "full",
    pivoting: object = False,
) -> Result:
    """Factor with Householder's reflections, and multiply these."""
    if not is_single(a) or pivoting or mode not in ("full", "r", "economic", "raw"):
        return NotImplemented
    m, n = a.shape
    rows = min(m, n) if mode in ("economic", "raw") else m
    factors, tau = of_numpy.reflect(job, a)
    r = of_numpy.upper_part(job, factors, rows)
    if mode == "r":
        return (r,)
    if mode == "raw":
        return (factors, tau), r
    return of_numpy.basis(job, factors, tau, rows), r


# ----------------------------------------------------------------------------- singular values


def svd(
    job: Job,
    a: ndarray,
    full_matrices: bool = True,
    compute_uv: bool = True,
    lapack_driver: object = "gesdd",
) -> Result:
    """Factor into singular values and vectors."""
    if not is_single(a) or lapack_driver not in ("gesdd", "gesvd"):
        return NotImplemented
    found = of_numpy.svd(job, a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


def svdvals(
    job: Job,
    a: ndarray,
) -> Result:
    """Find singular values."""
    return svd(job, a, False, False)


def orth(job: Job, A: ndarray, rcond: Any = None) -> Result:
    """Take the left singular vectors that count."""
    if not is_single(A) or not job.is_finite(A):
        return NotImplemented
    u, s, _ = of_numpy.decompose(job, A, "S")
    return u[:, : _rank(job, A, s, rcond)]


def null_space(
    job: Job,
    A: ndarray,
    rcond: Any = None,
) -> Result:
    """Take the right singular vectors that do not count."""
    if not is_single(A):
        return NotImplemented
    _, s, vh = of_numpy.decompose(job, A, "A")
    rest: Any = vh[_rank(job, A, s, rcond) :]
    return job.conjugate(job.copy(transpose(rest))) if rest.size else transpose(rest)


def _rank(job: Job, a: ndarray, s: ndarray, rcond: Any) -> int:
    values = job.read(s)
    limit = values.max() * (size_eps(a) if rcond is None else rcond)
    return int((values > limit).sum())


# --------------------------------------------------------------------------------- eigenvalues


def eigh(
    job: Job,
    a: ndarray,
    b: ndarray | None = None,
    *,
    lower: object = True,
    eigvals_only: object = False,
    type: object = 1,  # noqa: A002
    **others: object,
) -> Result:
    """Find eigenvalues and, if asked for, eigenvectors of one matrix or of a pair."""
    if any(each is not None for each in others.values()) or not is_single(a) or not is_square(a):
        return NotImplemented
    uplo, mode = "L" if lower else "U", "N" if eigvals_only else "V"
    if b is not None:
        return _eigen_of_pair(job, (a, b), (type, uplo, mode))
    found = (of_numpy.eigvalsh if eigvals_only else of_numpy.eigh)(job, a, uplo)
    return found if eigvals_only else tuple(found)


def _eigen_of_pair(job: Job, pair: tuple[ndarray, ndarray], how: tuple[object, str, str]) -> Result:
    a, b = pair
    kind, uplo, mode = how
    if not is_offered(a, b) or a.shape != b.shape or kind not in (1, 2, 3):
        return NotImplemented
    n, vectors, info = a.shape[0], job.copy(a), job.vectors((1,), np.int32)
    values = job.vectors((n,), real_dtype(a.dtype))
    job.run(
        "sygvd",
        itype=kind,
        jobz=mode,
        uplo=uplo,
        n=n,
        a=vectors,
        b=job.copy(b),
        w=values,
        info=info,
    )
    if job.read(info).any():
        return NotImplemented
    return values if mode == "N" else (values, vectors)


def eigvalsh(job: Job, a: ndarray, b: ndarray | None = None, **options: Any) -> Result:
    """Find eigenvalues of one matrix or of a pair."""
    return eigh(job, a, b, eigvals_only=True, **options)


def eig(
    job: Job,
    a: ndarray,
    b: object = None,
    left: object = False,
    right: object = True,
    homogeneous_eigvals: object = False,
) -> Result:
    """Find eigenvalues and right eigenvectors of one matrix."""
    if b is not None or left or homogeneous_eigvals or not is_single(a):
        return NotImplemented
    found = of_numpy.general_eigen(job, a, "V" if right else "N")
    if found is NotImplemented:
        return NotImplemented
    values, vectors, _ = found
    return (values, vectors) if right else values


def eigvals(
    job: Job,
    a: ndarray,
    b: object = None,
    homogeneous_eigvals: object = False,
) -> Result:
    """Find eigenvalues of one matrix."""
    return eig(job, a, b, False, False, homogeneous_eigvals)


# --------------------------------------------------------------------------------------- norms


def norm(
    job: Job,
    a: ndarray,
    ord: Any = None,  # noqa: A002
    axis: object = None,
    keepdims: bool = False,
) -> Result:
    """Combine the elements of vectors or matrices."""
    if not is_offered(a):
        return NotImplemented
    is_plain = axis is None and not keepdims
    if is_plain and a.ndim == 1 and ord in (None, 2):
        return float(blas.nrm2(job.pack(a), stream=job.stream))  # whose squares never overflow
    found = cuda_norms.norm(job, a, ord, axis, keepdims)
    # What SciPy takes from LAPACK are numbers of Python.
    is_of_lapack = a.ndim == 2 and ord in (1, np.inf) and min(a.shape) > 1
    return float(found) if is_plain and is_of_lapack else found


NATIVE = with_name([eig, eigh, eigvals, eigvalsh, lu, norm, null_space, orth, qr, svd, svdvals])
"""SciPy's functions that are here, by name."""
