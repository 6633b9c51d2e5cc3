"""How well a matrix is conditioned: Hager's estimate of the norm of its inverse, by Higham."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib import blas
from pygpulib.linalg import cuda_norms, kernels
from pygpulib.linalg.solver import eps_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.core.array import ndarray
    from pygpulib.linalg.job import Job

_MOST_STEPS = 5


def is_well_conditioned(job: Job, a: ndarray, solve: Callable[[ndarray, str], None]) -> bool:
    """Return whether solutions have any digits; the host waits for each step of the estimate.

    Parameters
    ----------
    job : Job
        The call.
    a : ndarray
        A square matrix.
    solve : callable
        Solves in place of a column, with the matrix if the letter is ``"N"``, and with its
        conjugate transpose if it is ``"C"``.
    """
    with np.errstate(all="ignore"):
        size = cuda_norms.norm(job, a, 1) * _estimate(job, a.shape[0], a.dtype, solve)
    return bool(size <= 1 / eps_of(a))


def _estimate(
    job: Job, n: int, dtype: np.dtype[Any], solve: Callable[[ndarray, str], None]
) -> float:
    """Return a lower bound of the 1-norm of the inverse, which is rarely far below it."""
    x = job.empty((n, 1), dtype)
    vector = x.reshape(-1)
    start: Any = np.full(n, 1 / n, dtype)
    found, place = 0.0, -1
    for _ in range(_MOST_STEPS):
        vector.copy_to_device(start, job.stream)
        solve(x, "N")
        length = float(blas.asum(vector, stream=job.stream))
        if not length > found:
            break
        found = length
        job.visit(kernels.put_signs, vector, vector)
        solve(x, "C")
        largest = int(blas.amax(vector, stream=job.stream))
        if largest == place:
            break
        place, start = largest, np.zeros(n, dtype)
        start[place] = 1
    if n > 1:
        # A vector that finds what the steps above can miss.
        steps = np.arange(n)
        alternating = (-1.0) ** steps * (1 + steps / (n - 1))
        vector.copy_to_device(alternating.astype(dtype), job.stream)
        solve(x, "N")
        found = max(found, 2 * float(blas.asum(vector, stream=job.stream)) / (3 * n))
    return found
