"""Functions of SciPy in terms of cuSOLVER's routines, for single matrices.

As in `pygpulib.linalg.cuda_functions`; options that are not named here are the host's business, and
so are matrices for which a routine fails: SciPy says in its own words what is wrong with them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib import blas
from pygpulib.core.array import ndarray
from pygpulib.linalg import cuda_functions as of_numpy
from pygpulib.linalg.cuda_functions import Job, Result, is_square, transpose
from pygpulib.linalg.solver import is_offered

if TYPE_CHECKING:
    from collections.abc import Callable

_TRANSPOSES = ("N", "T", "C")


def _is_matrix(array: object) -> bool:
    return isinstance(array, ndarray) and is_offered(array) and array.ndim == 2


def _copy_finite(job: Job, array: ndarray, check_finite: object) -> ndarray | None:
    """Return a copy, or None if elements may be infinite or no numbers: their sum tells."""
    made = job.copy(array)
    if check_finite:
        elements = transpose(made).reshape(-1)
        if not np.isfinite(blas.asum(elements, stream=job.stream)):
            return None
    return made


def lu_factor(
    job: Job,
    a: ndarray,
    overwrite_a: object = False,  # noqa: ARG001
    check_finite: object = True,
) -> Result:
    """Factor into triangles."""
    factors = _copy_finite(job, a, check_finite) if _is_matrix(a) else None
    if factors is None:
        return NotImplemented
    m, n = a.shape
    pivots, info = job.vectors((min(m, n),), np.int32), job.vectors((1,), np.int32)
    job.run("getrf", m=m, n=n, a=factors, lda=m, ipiv=pivots, info=info)
    if job.read(info).any():
        return NotImplemented
    # LAPACK's rows count from 1, SciPy's from 0.
    pivots.copy_to_device(job.read(pivots) - np.int32(1), job.stream)
    return factors, pivots


def lu_solve(
    job: Job,
    lu_and_piv: tuple[ndarray, ndarray],
    b: ndarray,
    trans: object = 0,
    overwrite_b: object = False,  # noqa: ARG001
    check_finite: object = True,
) -> Result:
    """Solve with triangles."""
    factors, pivots = lu_and_piv
    if not isinstance(pivots, ndarray) or pivots.dtype.kind != "i" or trans not in (0, 1, 2):
        return NotImplemented
    x = _right_sides(job, factors, b, check_finite)
    if x is None or pivots.shape != factors.shape[:1]:
        return NotImplemented
    n = factors.shape[0]
    rows, info = job.vectors((n,), np.int32), job.vectors((1,), np.int32)
    rows.copy_to_device(job.read(pivots).astype(np.int32) + np.int32(1), job.stream)
    job.run(
        "getrs",
        trans=_TRANSPOSES[int(trans)],
        n=n,
        nrhs=x.shape[1],
        a=job.copy(factors),
        lda=n,
        ipiv=rows,
        b=x,
        ldb=n,
        info=info,
    )
    return x.reshape(-1) if b.ndim == 1 else x


def cho_factor(
    job: Job,
    a: ndarray,
    lower: object = False,
    overwrite_a: object = False,  # noqa: ARG001
    check_finite: object = True,
) -> Result:
    """Factor a positive definite matrix; the other triangle keeps what it held."""
    factor = _factor(job, a, "L" if lower else "U", check_finite)
    return NotImplemented if factor is None else (factor, lower)


def cholesky(
    job: Job,
    a: ndarray,
    lower: object = False,
    overwrite_a: object = False,  # noqa: ARG001
    check_finite: object = True,
) -> Result:
    """Factor a positive definite matrix, with zeros in the other triangle."""
    uplo = "L" if lower else "U"
    factor = _factor(job, a, uplo, check_finite)
    if factor is None:
        return NotImplemented
    result = job.zeros(a.shape, a.dtype)
    job.put_triangle(uplo, result, factor)
    return result


def _factor(job: Job, a: ndarray, uplo: str, check_finite: object) -> ndarray | None:
    factor = _copy_finite(job, a, check_finite) if _is_matrix(a) and is_square(a) else None
    if factor is None:
        return None
    n, info = a.shape[0], job.vectors((1,), np.int32)
    job.run("potrf", uplo=uplo, n=n, a=factor, lda=n, info=info)
    return None if job.read(info).any() else factor


def cho_solve(
    job: Job,
    c_and_lower: tuple[ndarray, object],
    b: ndarray,
    overwrite_b: object = False,  # noqa: ARG001
    check_finite: object = True,
) -> Result:
    """Solve with a triangle."""
    factor, lower = c_and_lower
    x = _right_sides(job, factor, b, check_finite)
    if x is None:
        return NotImplemented
    n, info = factor.shape[0], job.vectors((1,), np.int32)
    job.run(
        "potrs",
        uplo="L" if lower else "U",
        n=n,
        nrhs=x.shape[1],
        a=job.copy(factor),
        lda=n,
        b=x,
        ldb=n,
        info=info,
    )
    return x.reshape(-1) if b.ndim == 1 else x


def _right_sides(job: Job, factor: ndarray, b: ndarray, check_finite: object) -> ndarray | None:
    """Return a copy of right sides as columns, None if they do not fit a factored matrix."""
    if not _is_matrix(factor) or not is_square(factor) or not is_offered(factor, b):
        return None
    columns = b.reshape(-1, 1) if b.ndim == 1 else b
    if columns.ndim != 2 or columns.shape[0] != factor.shape[0]:
        return None
    return _copy_finite(job, columns, check_finite)


def svd(
    job: Job,
    a: ndarray,
    full_matrices: bool = True,
    compute_uv: bool = True,
    overwrite_a: object = False,  # noqa: ARG001
    check_finite: object = True,
    **others: object,
) -> Result:
    """Factor into singular values and vectors."""
    if others or not _is_matrix(a) or _copy_finite(job, a, check_finite) is None:
        return NotImplemented
    found = of_numpy.svd(job, a, full_matrices, compute_uv)
    return tuple(found) if compute_uv else found


def svdvals(
    job: Job,
    a: ndarray,
    overwrite_a: object = False,
    check_finite: object = True,
) -> Result:
    """Find singular values."""
    return svd(job, a, False, False, overwrite_a, check_finite)


def eigh(
    job: Job,
    a: ndarray,
    b: object = None,
    *,
    lower: object = True,
    eigvals_only: object = False,
    overwrite_a: object = False,  # noqa: ARG001
    check_finite: object = True,
    **others: object,
) -> Result:
    """Find eigenvalues and, if asked for, eigenvectors of one matrix."""
    if b is not None or others or not _is_matrix(a):
        return NotImplemented
    if _copy_finite(job, a, check_finite) is None:
        return NotImplemented
    uplo = "L" if lower else "U"
    if eigvals_only:
        return of_numpy.eigvalsh(job, a, uplo)
    found = of_numpy.eigh(job, a, uplo)
    return found if found is NotImplemented else tuple(found)


def eigvalsh(job: Job, a: ndarray, b: object = None, **options: Any) -> Result:  # noqa: ANN401
    """Find eigenvalues of one matrix."""
    return eigh(job, a, b, eigvals_only=True, **options)


NATIVE: dict[tuple[str, str], Callable[..., Any]] = {
    ("scipy.linalg", function.__name__): function
    for function in (
        cho_factor,
        cho_solve,
        cholesky,
        eigh,
        eigvalsh,
        lu_factor,
        lu_solve,
        svd,
        svdvals,
    )
}
"""What there is, by the module and the name of the function."""
