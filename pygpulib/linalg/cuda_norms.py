"""Norms, as reductions by kernels."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from pygpulib.core.array import ndarray
from pygpulib.linalg.cuda_factors import decompose
from pygpulib.linalg.job import Job, Result, diagonal_of, is_matrix, with_name
from pygpulib.linalg.solver import is_offered

if TYPE_CHECKING:
    from pygpulib.core.layout import Shape

_BY_SINGULAR_VALUES = {2: "largest", -2: "smallest", "nuc": "sum"}
# How sums of absolute values along one axis are combined, and which axis of the two.
_BY_SUMS = {
    1: ("largest", 0),
    -1: ("smallest", 0),
    math.inf: ("largest", 1),
    -math.inf: ("smallest", 1),
}
_BY_ELEMENTS = {math.inf: "largest", -math.inf: "smallest", 0: "count", 1: "absolute sum"}
_EUCLIDEAN = (None, "fro", "f")


def norm(
    job: Job,
    x: ndarray,
    ord: Any = None,  # noqa: A002
    axis: object = None,
    keepdims: bool = False,
) -> Result:
    """Combine the elements of vectors or matrices."""
    if not is_offered(x) or not x.ndim:
        return NotImplemented
    if axis is None and ord is None:
        all_axes = tuple(range(x.ndim))
        return _finish(job, x, all_axes, _euclidean(job, x, all_axes), keepdims)
    axes = find_axes(x, tuple(range(x.ndim)) if axis is None else axis)
    if axes is None or len(axes) > 2:
        return NotImplemented
    measure = _of_vectors if len(axes) == 1 else _of_matrices
    found = measure(job, x, axes, ord)
    return found if found is NotImplemented else _finish(job, x, axes, found, keepdims)


def vector_norm(
    job: Job,
    x: ndarray,
    *,
    axis: object = None,
    keepdims: bool = False,
    ord: Any = 2,  # noqa: A002
) -> Result:
    """Combine elements along any number of axes."""
    if not is_offered(x) or not x.ndim:
        return NotImplemented
    axes = find_axes(x, tuple(range(x.ndim)) if axis is None else axis)
    if not axes:
        return NotImplemented
    found = _of_vectors(job, x, axes, ord)
    return found if found is NotImplemented else _finish(job, x, axes, found, keepdims)


def matrix_norm(
    job: Job,
    x: ndarray,
    *,
    keepdims: bool = False,
    ord: Any = "fro",  # noqa: A002
) -> Result:
    """Combine the elements of matrices."""
    return norm(job, x, ord, (-2, -1), keepdims)


def find_axes(x: ndarray, axis: object) -> Shape | None:
    """Return different axes counted from 0, or None."""
    try:
        asked = [operator.index(each) for each in (axis if isinstance(axis, tuple) else (axis,))]
    except TypeError:
        return None
    axes = tuple([each + x.ndim if each < 0 else each for each in asked])
    is_valid = all(0 <= each < x.ndim for each in axes) and len({*axes}) == len(axes)
    return axes if is_valid else None


def as_rows(job: Job, x: ndarray, axes: Shape) -> ndarray:
    """Return a matrix whose rows hold what lies along some axes, in their order."""
    kept = [each for each in range(x.ndim) if each not in axes]
    inner = math.prod(x.shape[each] for each in axes)
    if not kept and x.is_f_contiguous():
        return x.T.reshape(1, inner)  # in any order
    return job.reshape(x.transpose(*kept, *axes), x.size // inner, inner)


def _finish(job: Job, x: ndarray, axes: Shape, found: ndarray, keepdims: bool) -> Result:
    """Give numbers of rows the shape of the array without its axes."""
    if keepdims:
        return found.reshape(*[1 if at in axes else n for at, n in enumerate(x.shape)])
    shape = [n for at, n in enumerate(x.shape) if at not in axes]
    return job.settle(found.reshape(tuple(shape)))


def _of_vectors(job: Job, x: ndarray, axes: Shape, ord: Any) -> Result:  # noqa: A002
    if ord is None or ord == 2:
        return _euclidean(job, x, axes)
    if isinstance(ord, str):
        return NotImplemented
    rows = as_rows(job, x, axes)
    if ord in _BY_ELEMENTS:
        return job.reduce(_BY_ELEMENTS[ord], rows)
    try:
        power = float(ord)
    except TypeError:
        return NotImplemented
    return job.power(job.reduce("power sum", rows, power), 1 / power)


def _euclidean(job: Job, x: ndarray, axes: Shape) -> ndarray:
    return job.power(job.reduce("square sum", as_rows(job, x, axes)), 0.5)


def _of_matrices(job: Job, x: ndarray, axes: Shape, ord: Any) -> Result:  # noqa: A002
    if ord in _EUCLIDEAN:
        return _euclidean(job, x, axes)
    kept = [each for each in range(x.ndim) if each not in axes]
    matrices = x.transpose(*kept, *axes)
    if ord in _BY_SINGULAR_VALUES:
        s = decompose(job, matrices, "N")[1]
        return job.reduce(_BY_SINGULAR_VALUES[ord], s.reshape(-1, s.shape[-1]))
    if ord not in _BY_SUMS:
        return NotImplemented
    kind, along = _BY_SUMS[ord]
    sums = job.reduce("absolute sum", as_rows(job, matrices, (x.ndim - 2 + along,)))
    return job.reduce(kind, sums.reshape(-1, matrices.shape[-1 - along]))


def trace(
    job: Job,
    x: ndarray,
    *,
    offset: int = 0,
    dtype: object = None,
) -> Result:
    """Add the elements of diagonals."""
    found = diagonal(job, x, offset=offset)
    if found is NotImplemented or dtype is not None or not is_offered(found):
        return NotImplemented
    rows = job.reshape(found, -1, found.shape[-1])
    return job.settle(job.reduce("sum", rows).reshape(x.shape[:-2]))


def diagonal(job: Job, x: ndarray, *, offset: int = 0) -> Result:  # noqa: ARG001
    """Return a view."""
    if not is_matrix(x) or type(offset) is not int:
        return NotImplemented
    below, right = max(-offset, 0), max(offset, 0)
    rows, columns = x.shape[-2:]
    if below >= rows or right >= columns:
        return NotImplemented
    corner: Any = x[..., below:, right:]
    return diagonal_of(corner)


NATIVE = with_name([diagonal, matrix_norm, norm, trace, vector_norm])
"""NumPy's functions that are here, by name."""
