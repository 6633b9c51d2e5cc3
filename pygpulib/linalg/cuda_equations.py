"""Equations, inverses and determinants in terms of the vendor's routines.

As all modules whose names begin with ``cuda_``: a function takes its `Job` and the arguments of
NumPy's function whose name it has, and returns `NotImplemented` for arguments that the host has to
deal with, wrong ones among them.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from pygpulib import blas
from pygpulib.core.array import ndarray
from pygpulib.linalg.job import (
    Job,
    Result,
    common_stack,
    each,
    expand,
    flatten,
    is_square,
    named,
    unflatten,
    with_name,
)
from pygpulib.linalg.solver import is_offered

if TYPE_CHECKING:
    from pygpulib.core.layout import Shape

SMALL_ORDER = 64
"""Stacks of matrices up to this order go to routines that do them all at once."""


def solve(job: Job, a: ndarray, b: ndarray) -> Result:
    """Factor into triangles, and solve with them."""
    if not is_square(a) or not is_offered(a, b):
        return NotImplemented
    is_vector = b.ndim == 1
    if is_vector:
        b = job.reshape(b, -1, 1)
    stack = common_stack(a, b)
    if stack is None or b.ndim < 2 or b.shape[-2] != a.shape[-1]:
        return NotImplemented
    x = solve_in_place(job, expand(a, stack), job.copy(expand(b, stack)))
    return x.reshape(*x.shape[:-1]) if is_vector else x


def inv(job: Job, a: ndarray) -> Result:
    """Solve for the columns of the unit matrix."""
    if not is_square(a):
        return NotImplemented
    if is_small_stack(a):
        factors, pivots, info = factor_at_once(job, a)
        job.require(info, "Singular matrix")
        found, _ = blas.getri_batched(factors, pivots, stream=job.stream)
        return unflatten(found, a.shape[:-2])
    return solve_in_place(job, a, job.identity(a.shape, a.dtype))


def solve_in_place(job: Job, a: ndarray, x: ndarray) -> ndarray:
    """Solve for right sides, which are lost."""
    if is_small_stack(a):
        factors, pivots, info = factor_at_once(job, a)
        job.require(info, "Singular matrix")
        found = blas.getrs_batched("N", factors, pivots, flatten(x), stream=job.stream)
        return unflatten(found, x.shape[:-2])
    factors, pivots, info = factor_each(job, a)
    job.require(info, "Singular matrix")
    substitute(job, factors, pivots, x)
    return x


def substitute(job: Job, factors: ndarray, pivots: ndarray, x: ndarray, trans: str = "N") -> None:
    """Solve with factors, in place of the right sides."""
    n, info = factors.shape[-1], job.vectors((1,), np.int32)
    for lu, rows, right in each(factors.shape[:-2], factors, pivots, x):
        job.run(
            "Xgetrs", trans=trans, n=n, nrhs=right.shape[1], a=lu, ipiv=rows, b=right, info=info
        )


def is_small_stack(a: ndarray) -> bool:
    """Return whether an array is a stack of small square matrices."""
    return a.ndim > 2 and a.shape[-1] <= SMALL_ORDER


def factor_at_once(job: Job, a: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Return the factors, pivots and failures of a stack of small matrices, with one axis."""
    stack = a if a.ndim == 3 else flatten(job.copy(a))
    factors, pivots, info = blas.getrf_batched(stack, stream=job.stream)
    return factors, pivots, info


def factor_each(job: Job, a: ndarray) -> tuple[ndarray, ndarray, ndarray]:
    """Return the factors, pivots and failures of matrices of any size and shape."""
    (m, n), stack = a.shape[-2:], a.shape[:-2]
    factors, pivots = job.copy(a), job.vectors((*stack, min(m, n)), np.int64)
    info = job.vectors(stack or (1,), np.int32)
    for lu, rows, status in each(stack, factors, pivots, info):
        job.run("Xgetrf", m=m, n=n, a=lu, ipiv=rows, info=status)
    return factors, pivots, info


def det(job: Job, a: ndarray) -> Result:
    """Multiply the diagonal of a triangle."""
    if not is_square(a):
        return NotImplemented
    return job.settle(_determinants(job, a, as_one=True)[0])


def slogdet(job: Job, a: ndarray) -> Result:
    """Multiply the signs and add the logarithms of the diagonal of a triangle."""
    if not is_square(a):
        return NotImplemented
    return named("slogdet", *map(job.settle, _determinants(job, a, as_one=False)))


def _determinants(job: Job, a: ndarray, as_one: bool) -> tuple[ndarray, ndarray]:
    if not is_small_stack(a):
        factors, pivots, _ = factor_each(job, a)
        return job.determinants(factors, pivots, as_one)
    factors, pivots, _ = factor_at_once(job, a)
    stack = a.shape[:-2]
    signs, logarithms = job.determinants(factors, pivots, as_one)
    return signs.reshape(stack), logarithms.reshape(stack)


def tensorsolve(job: Job, a: ndarray, b: ndarray, axes: object = None) -> Result:
    """Solve with a matrix whose columns are the last axes."""
    if axes is not None or not is_offered(a, b) or not 0 < b.ndim <= a.ndim:
        return NotImplemented
    shape = a.shape[b.ndim :]
    found = _solve_as_matrix(job, a, b, shape)
    return found if found is NotImplemented else found.reshape(*shape)


def _solve_as_matrix(job: Job, a: ndarray, b: ndarray, shape: Shape) -> Result:
    columns = math.prod(shape)
    if columns != b.size or a.size != columns * columns:
        return NotImplemented
    return solve(job, job.reshape(a, columns, columns), job.reshape(b, columns))


def tensorinv(job: Job, a: ndarray, ind: int = 2) -> Result:
    """Invert the matrix whose rows are the first axes."""
    if not is_offered(a) or type(ind) is not int or ind <= 0:
        return NotImplemented
    rows = math.prod(a.shape[:ind])
    if a.size != rows * rows:
        return NotImplemented
    found = inv(job, job.reshape(a, rows, rows))
    return job.reshape(found, *a.shape[ind:], *a.shape[:ind])


NATIVE = with_name([det, inv, slogdet, solve, tensorinv, tensorsolve])
"""NumPy's functions that are here, by name."""
