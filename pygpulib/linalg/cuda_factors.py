"""Factorizations, eigenvalues and singular values in terms of cuSOLVER's routines."""

from __future__ import annotations

from typing import Any

import numpy as np

from pygpulib import blas
from pygpulib.core.array import ndarray
from pygpulib.linalg import kernels
from pygpulib.linalg.cuda_equations import SMALL_ORDER, is_small_stack
from pygpulib.linalg.job import (
    Job,
    Result,
    each,
    flatten,
    is_matrix,
    is_square,
    named,
    transpose,
    with_name,
)
from pygpulib.linalg.solver import real_dtype

JACOBI_ORDER = 32
"""Stacks of matrices up to this size go to Jacobi's method, which does them all at once."""


def cholesky(job: Job, a: ndarray, *, upper: bool = False) -> Result:
    """Factor, and clear the other triangle."""
    if not is_square(a):
        return NotImplemented
    uplo = "U" if upper else "L"
    factors, info = factor_positive(job, a, uplo)
    result = job.empty(a.shape, a.dtype)
    job.put_triangle(uplo, factors, result)
    job.require(info, "Matrix is not positive definite")
    return result


def factor_positive(job: Job, a: ndarray, uplo: str) -> tuple[ndarray, ndarray]:
    """Return factors, with anything in the other triangle, and failures."""
    n, stack = a.shape[-1], a.shape[:-2]
    factors, info = job.copy(a), job.vectors(stack or (1,), np.int32)
    if is_small_stack(a):
        flat = flatten(factors)
        count = flat.shape[0]
        job.run("potrfBatched", uplo=uplo, n=n, a=flat, lda=n, infoarray=info, batchsize=count)
        return factors, info
    for factor, status in each(stack, factors, info):
        job.run("Xpotrf", uplo=uplo, n=n, a=factor, info=status)
    return factors, info


# ------------------------------------------------------------------------------------------ QR


def qr(job: Job, a: ndarray, mode: str = "reduced") -> Result:
    """Factor with Householder's reflections, and multiply these."""
    if not is_matrix(a) or mode not in ("reduced", "complete", "r", "raw"):
        return NotImplemented
    m, n = a.shape[-2:]
    factors, tau = reflect(job, a)
    if mode == "raw":
        return transpose(factors), tau
    rows = m if mode == "complete" else min(m, n)
    r = upper_part(job, factors, rows)
    if mode == "r":
        return r
    return named("qr", basis(job, factors, tau, rows), r)


def reflect(job: Job, a: ndarray) -> tuple[ndarray, ndarray]:
    """Return R, with reflections below it, and what these are scaled with."""
    (m, n), stack = a.shape[-2:], a.shape[:-2]
    if stack and max(m, n) <= SMALL_ORDER:
        flat = a if a.ndim == 3 else flatten(job.copy(a))
        found, scales = blas.geqrf_batched(flat, stream=job.stream)
        factors = job.empty(a.shape, a.dtype)
        job.put(flatten(factors), found)
        return factors, scales.reshape(*stack, min(m, n))
    factors, tau = job.copy(a), job.vectors((*stack, min(m, n)), a.dtype)
    info = job.vectors((1,), np.int32)
    for factor, row in each(stack, factors, tau):
        job.run("Xgeqrf", m=m, n=n, a=factor, tau=row, info=info)
    return factors, tau


def upper_part(job: Job, factors: ndarray, rows: int) -> ndarray:
    """Return the upper triangle of the first rows."""
    r = job.empty((*factors.shape[:-2], rows, factors.shape[-1]), factors.dtype)
    job.put_triangle("U", factors, r)
    return r


def basis(job: Job, factors: ndarray, tau: ndarray, columns: int) -> ndarray:
    """Return the first columns of Q."""
    m, k, stack = factors.shape[-2], tau.shape[-1], factors.shape[:-2]
    q = job.empty((*stack, m, columns), factors.dtype)
    if stack and max(factors.shape[-2:]) <= SMALL_ORDER:
        flat = flatten(q)
        scales = tau.reshape(flat.shape[0], k)
        count = flat.shape[0] * columns
        job.launch(kernels.multiply_reflections, count, flatten(factors), scales, flat)
        return q
    info = job.vectors((1,), np.int32)
    for factor, row, made in each(stack, factors, tau, q):
        job.put(made[:, :k], factor[:, :k])
        job.run("orgqr", m=m, n=columns, k=k, a=made, tau=row, info=info)
    return q


# --------------------------------------------------------------------------------- eigenvalues


def eigh(job: Job, a: ndarray, UPLO: str = "L") -> Result:  # noqa: N803
    """Find eigenvalues and eigenvectors."""
    found = _eigen(job, a, UPLO, "V")
    return found if found is NotImplemented else named("eigh", *found)


def eigvalsh(job: Job, a: ndarray, UPLO: str = "L") -> Result:  # noqa: N803
    """Find eigenvalues."""
    found = _eigen(job, a, UPLO, "N")
    return found if found is NotImplemented else found[0]


def _eigen(job: Job, a: ndarray, uplo: str, mode: str) -> Result:
    if not is_square(a) or uplo not in ("L", "U"):
        return NotImplemented
    n, stack = a.shape[-1], a.shape[:-2]
    vectors, info = job.copy(a), job.vectors(stack or (1,), np.int32)
    values = job.vectors((*stack, n), real_dtype(a.dtype))
    if stack and n <= JACOBI_ORDER:
        flat = flatten(vectors)
        count = flat.shape[0]
        job.run(
            "syevjBatched", jobz=mode, uplo=uplo, n=n, a=flat, w=values, info=info, batchsize=count
        )
    else:
        for matrix, row, status in each(stack, vectors, values, info):
            job.run("Xsyevd", jobz=mode, uplo=uplo, n=n, a=matrix, w=row, info=status)
    job.require(info, "Eigenvalues did not converge")
    return values, vectors


def eig(job: Job, a: ndarray) -> Result:
    """Find eigenvalues and eigenvectors of matrices that are not symmetric."""
    found = general_eigen(job, a, "V")
    if found is NotImplemented:
        return NotImplemented
    values, vectors, is_real = found
    return named("eig", _real_part(job, values) if is_real else values, vectors)


def eigvals(job: Job, a: ndarray) -> Result:
    """Find eigenvalues of matrices that are not symmetric."""
    found = general_eigen(job, a, "N")
    if found is NotImplemented:
        return NotImplemented
    values, _, is_real = found
    return _real_part(job, values) if is_real else values


def general_eigen(job: Job, a: ndarray, mode: str) -> Result:
    """Return complex eigenvalues, eigenvectors, and whether all are those of real numbers."""
    if not is_square(a) or not job.has("Xgeev") or not job.is_finite(a):
        return NotImplemented
    n, stack, is_complex = a.shape[-1], a.shape[:-2], a.dtype.kind == "c"
    work, info = job.copy(a), job.vectors(stack or (1,), np.int32)
    values = job.vectors((*stack, n), np.result_type(a.dtype, np.complex64))
    vectors = job.empty((*stack, n, n) if mode == "V" else (*stack, 1, 1), a.dtype)
    for matrix, row, right, status in each(stack, work, values, vectors, info):
        job.run(
            "Xgeev",
            jobvl="N",
            jobvr=mode,
            n=n,
            a=matrix,
            w=row,
            vl=None,
            vr=right,
            ldvl=n,
            ldvr=n,
            info=status,
        )
    job.require(info, "Eigenvalues did not converge")
    if is_complex:
        return values, vectors, False
    is_real = not job.read(values).imag.any()
    if mode == "V" and not is_real:
        packed, vectors = flatten(vectors), job.empty(a.shape, values.dtype)
        flat = flatten(vectors)
        job.visit(kernels.pair_vectors, flat, packed, values.reshape(-1, n), flat)
    return values, vectors, is_real


def _real_part(job: Job, values: ndarray) -> ndarray:
    """Return a copy of the real parts of complex numbers."""
    parts = values.view(real_dtype(values.dtype))
    made = job.vectors(values.shape, parts.dtype)
    job.put(made, parts[..., ::2])  # type: ignore[arg-type]
    return made


# ----------------------------------------------------------------------------- singular values


def svd(
    job: Job,
    a: ndarray,
    full_matrices: bool = True,
    compute_uv: bool = True,
    hermitian: bool = False,
) -> Result:
    """Factor a matrix, or the transpose of a wide one."""
    if not is_matrix(a) or hermitian:
        return NotImplemented
    if not compute_uv:
        return decompose(job, a, "N")[1]
    return named("svd", *decompose(job, a, "A" if full_matrices else "S"))


def svdvals(job: Job, x: ndarray) -> Result:
    """Find singular values."""
    return decompose(job, x, "N")[1] if is_matrix(x) else NotImplemented


def decompose(
    job: Job, a: ndarray, mode: str, message: str = "SVD did not converge"
) -> tuple[Any, ndarray, Any]:
    """Return U, the singular values and V^H: all of it ("A"), what is needed ("S"), or no U, V.

    The message is that of the error if there are none.
    """
    (m, n), stack = a.shape[-2:], a.shape[:-2]
    if stack and max(m, n) <= JACOBI_ORDER:
        return _decompose_at_once(job, a, mode, message)
    if m < n:  # the library wants tall ones
        u, s, vh = decompose(job, transpose(a), mode, message)
        return transpose(vh), s, transpose(u)
    columns = {"A": m, "S": n, "N": 1}[mode]
    work, info = job.copy(a), job.vectors(stack or (1,), np.int32)
    s = job.vectors((*stack, n), real_dtype(a.dtype))
    u, vh = job.empty((*stack, m, columns), a.dtype), job.empty((*stack, n, n), a.dtype)
    for matrix, row, left, right, status in each(stack, work, s, u, vh, info):
        job.run(
            "Xgesvd",
            jobu=mode,
            jobvt=mode,
            m=m,
            n=n,
            a=matrix,
            s=row,
            u=left,
            vt=right,
            info=status,
        )
    _require_values(job, info, s, message)
    return u, s, vh


def _require_values(job: Job, info: ndarray, s: ndarray, message: str) -> None:
    """Raise NumPy's error unless there are singular values, which there are only of numbers."""
    if job.read(info).any() or not np.isfinite(job.read(s)).all():
        raise np.linalg.LinAlgError(message)


def _decompose_at_once(
    job: Job, a: ndarray, mode: str, message: str
) -> tuple[ndarray, ndarray, ndarray]:
    """Decompose a stack of small matrices in one call."""
    (m, n), stack = a.shape[-2:], a.shape[:-2]
    k, work, info = min(m, n), flatten(job.copy(a)), job.vectors(stack, np.int32)
    s = job.vectors((*stack, k), real_dtype(a.dtype))
    u, v = job.empty((*stack, m, m), a.dtype), job.empty((*stack, n, n), a.dtype)
    job.run(
        "gesvdjBatched",
        jobz="N" if mode == "N" else "V",
        m=m,
        n=n,
        a=work,
        s=s,
        u=flatten(u),
        v=flatten(v),
        info=info,
        batchsize=work.shape[0],
    )
    _require_values(job, info, s, message)
    vh = transpose(job.conjugate(v)) if mode != "N" else v
    if mode == "S":
        u, vh = u[..., :k], vh[..., :k, :]  # type: ignore[assignment]
    return u, s, vh


NATIVE = with_name([cholesky, eig, eigh, eigvals, eigvalsh, qr, svd, svdvals])
"""NumPy's functions that are here, by name."""
