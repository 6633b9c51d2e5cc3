"""What singular values tell: pseudo-inverses, least squares, ranks and condition numbers.

Which singular values count is decided on the host: it waits for the decomposition in any case.
"""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.linalg.cuda_equations import factor_each, substitute
from pygpulib.linalg.cuda_factors import decompose
from pygpulib.linalg.cuda_norms import norm
from pygpulib.linalg.job import (
    HostNumbers,
    Job,
    Result,
    is_matrix,
    is_square,
    transpose,
    with_name,
)
from pygpulib.linalg.solver import eps_of, is_offered, real_dtype

_EPS_OF_PINV = 1e-15


def _is_number(value: object) -> bool:
    return isinstance(value, Real)


def size_eps(a: ndarray) -> float:
    """Return the distance of floats as far as the size of matrices lets it matter."""
    return max(a.shape[-2:]) * eps_of(a)


def pinv(
    job: Job,
    a: ndarray,
    rcond: object = None,
    hermitian: bool = False,
    **others: object,
) -> Result:
    """Turn the factors of the singular value decomposition round."""
    if not is_matrix(a) or hermitian or (others and rcond is not None):
        return NotImplemented
    if rcond is None:
        rcond = others.get("rtol", _EPS_OF_PINV)
        rcond = size_eps(a) if rcond is None else rcond
    if not isinstance(rcond, Real):
        return NotImplemented
    return pseudo_inverse(job, a, 0, rcond)[0]


def pseudo_inverse(
    job: Job,
    a: ndarray,
    absolute: Any,
    relative: Any,
) -> tuple[ndarray, HostNumbers, HostNumbers]:
    """Return pseudo-inverses, all singular values, and the limits above which they count."""
    u, s, vh = decompose(job, a, "S")
    values = job.read(s)
    limits = absolute + relative * values.max(-1, keepdims=True)
    job.scale_columns(u, job.upload(reciprocals(values, limits)))
    return job.multiply(vh, u, "CC"), values, limits


def reciprocals(values: HostNumbers, cutoff: Any) -> HostNumbers:
    """Return the reciprocals of what is above a limit, and zeros."""
    is_large = values > cutoff
    return np.divide(1, values, where=is_large, out=np.zeros_like(values))


def lstsq(job: Job, a: ndarray, b: ndarray, rcond: object = None) -> Result:
    """Multiply with the factors of the pseudo-inverse."""
    limit = size_eps(a) if rcond is None and is_matrix(a) else rcond
    found = least_squares(job, a, b, limit)
    if found is NotImplemented:
        return NotImplemented
    x, residuals, rank, s = found
    return x, residuals, np.int32(rank), s


def least_squares(job: Job, a: ndarray, b: ndarray, limit: object) -> Result:
    """Return what NumPy's `lstsq` does."""
    if not is_offered(a, b) or a.ndim != 2 or not 1 <= b.ndim <= 2 or not isinstance(limit, Real):
        return NotImplemented
    m, n = a.shape
    right = job.reshape(b, -1, 1) if b.ndim == 1 else b
    if right.shape[0] != m:
        return NotImplemented
    u, s, vh = decompose(job, a, "S", "SVD did not converge in Linear Least Squares")
    values = job.read(s)
    # What is negative stands for rounding errors, as in LAPACK.
    cutoff = (eps_of(a) if float(limit) < 0 else float(limit)) * values.max()
    inner = job.copy(job.multiply(u, right, "CN"))
    job.scale_columns(transpose(inner), job.upload(reciprocals(values, cutoff)))
    x = job.multiply(vh, inner, "CN")
    rank = int((values > cutoff).sum())
    residuals = job.vectors((0,), values.dtype)
    if rank == n and m > n:
        rest = job.multiply(a, x, "NN", -1, 1, job.copy(right))
        residuals = job.reduce("square sum", transpose(rest))
    return x.reshape(-1) if b.ndim == 1 else x, residuals, rank, s


def matrix_rank(
    job: Job,
    A: ndarray,
    tol: object = None,
    hermitian: bool = False,
    *,
    rtol: object = None,
) -> Result:
    """Count singular values."""
    given = [each for each in (tol, rtol) if each is not None]
    if not is_matrix(A) or hermitian or len(given) > 1 or not all(map(_is_number, given)):
        return NotImplemented
    values = job.read(decompose(job, A, "N")[1])
    limit: Any = tol
    if limit is None:
        limit = values.max(-1, keepdims=True) * (size_eps(A) if rtol is None else rtol)
    return job.upload(np.asarray(np.count_nonzero(values > limit, axis=-1)))


def cond(job: Job, x: ndarray, p: Any = None) -> Result:
    """Divide singular values, or multiply the norms of a matrix and its inverse."""
    if not is_matrix(x):
        return NotImplemented
    if p is None or p in (2, -2):
        values = job.read(decompose(job, x, "N")[1])
        first, last = values[..., 0], values[..., -1]
        with np.errstate(all="ignore"):
            ratios = last / first if p == -2 else first / last
        return _without_nan(job, x, np.asarray(ratios))
    if not is_square(x):
        return NotImplemented
    factors, pivots, info = factor_each(job, x)
    inverse = job.identity(x.shape, x.dtype)
    substitute(job, factors, pivots, inverse)
    norms = [norm(job, each, p, axis=(-2, -1)) for each in (x, inverse)]
    if norms[0] is NotImplemented:
        return NotImplemented
    failed = job.read(info).reshape(x.shape[:-2]) != 0
    one, other = (job.read(each) if isinstance(each, ndarray) else each for each in norms)
    with np.errstate(all="ignore"):
        product = np.asarray(one * np.where(failed, np.nan, other), real_dtype(x.dtype))
    return _without_nan(job, x, product)


def _without_nan(job: Job, x: ndarray, numbers: HostNumbers) -> Result:
    """Return infinity for what has no condition number."""
    if np.isnan(numbers).any():
        if not job.is_finite(x):
            return NotImplemented
        numbers = np.where(np.isnan(numbers), numbers.dtype.type(np.inf), numbers)
    return job.upload(numbers)


NATIVE = with_name([cond, lstsq, matrix_rank, pinv])
"""NumPy's functions that are here, by name."""
