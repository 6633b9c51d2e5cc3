"""Products of matrices and vectors, and views of them, in terms of cuBLAS's products."""

from __future__ import annotations

import math
import operator
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from pygpulib.core.array import ndarray
from pygpulib.linalg import kernels
from pygpulib.linalg.cuda_equations import inv
from pygpulib.linalg.job import (
    Job,
    Result,
    common_stack,
    expand,
    is_square,
    transpose,
    with_name,
)
from pygpulib.linalg.solver import is_offered

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pygpulib.core.layout import Shape


def matmul(job: Job, x1: ndarray, x2: ndarray) -> Result:
    """Multiply matrices, stacks that fit each other, and vectors."""
    if not is_offered(x1, x2) or not x1.ndim or not x2.ndim:
        return NotImplemented
    left = job.reshape(x1, 1, -1) if x1.ndim == 1 else x1
    right = job.reshape(x2, -1, 1) if x2.ndim == 1 else x2
    stack = common_stack(left, right)
    if stack is None or left.shape[-1] != right.shape[-2]:
        return NotImplemented
    if left.ndim > 2 or right.ndim > 2:
        left, right = expand(left, stack), expand(right, stack)
    product = job.multiply(left, right)
    rows = product.shape[-2:-1] if x1.ndim > 1 else ()
    columns = product.shape[-1:] if x2.ndim > 1 else ()
    return job.settle(product.reshape((*stack, *rows, *columns)))


def matrix_power(job: Job, a: ndarray, n: object) -> Result:
    """Multiply squares of squares."""
    if not is_square(a) or not hasattr(n, "__index__"):
        return NotImplemented
    power = operator.index(n)
    if power < 0:
        a, power = inv(job, a), -power
    if not power:
        return job.identity(a.shape, a.dtype)
    result, square = None, a
    while True:
        if power & 1:
            result = square if result is None else job.multiply(result, square)
        power >>= 1
        if not power:
            return job.copy(a) if result is a else result
        square = job.multiply(square, square)


def multi_dot(job: Job, arrays: Sequence[ndarray], *, out: ndarray | None = None) -> Result:
    """Multiply in the order that takes the fewest operations."""
    if len(arrays) < 2 or not is_offered(*arrays):
        return NotImplemented
    first, *inner, last = arrays
    factors = [job.reshape(first, 1, -1) if first.ndim == 1 else first, *inner]
    factors.append(job.reshape(last, -1, 1) if last.ndim == 1 else last)
    sizes = _sizes(factors)
    if sizes is None:
        return NotImplemented
    shape = (*sizes[:1] * (first.ndim - 1), *sizes[-1:] * (last.ndim - 1))
    if out is not None and not _takes(out, shape, first):
        return NotImplemented
    splits = find_splits(sizes)

    def product(start: int, stop: int) -> ndarray:
        if start == stop:
            return factors[start]
        middle = splits[start, stop]
        return job.multiply(product(start, middle), product(middle + 1, stop))

    found = job.settle(product(0, len(factors) - 1).reshape(shape))
    if out is None:
        return found
    job.put(out, found)
    return out


def _sizes(factors: Sequence[ndarray]) -> list[int] | None:
    """Return the rows of matrices, and the columns of the last one; None if they do not fit."""
    if any(each.ndim != 2 for each in factors):
        return None
    for one, other in pairwise(factors):
        if one.shape[1] != other.shape[0]:
            return None
    return [each.shape[0] for each in factors] + [factors[-1].shape[1]]


def _takes(out: object, shape: Shape, like: ndarray) -> bool:
    """Return whether an array is what NumPy would return, as it has to be."""
    return (
        isinstance(out, ndarray)
        and out.dtype == like.dtype
        and out.shape == shape
        and bool(shape)
        and out.is_c_contiguous()
    )


def find_splits(sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return after which factor to divide a chain of products, for every part of it.

    Parameters
    ----------
    sizes : sequence of int
        The rows of each factor, and the columns of the last one.

    Returns
    -------
    dict
        By the numbers of the first and the last factor, that of the last one of the left part.

    Examples
    --------
    >>> find_splits([10, 100, 5, 50])[0, 2]
    1
    """
    count = len(sizes) - 1
    costs = {(place, place): 0 for place in range(count)}
    splits = {}
    for length in range(1, count):
        for start in range(count - length):
            stop = start + length
            choices = [
                costs[start, middle]
                + costs[middle + 1, stop]
                + sizes[start] * sizes[middle + 1] * sizes[stop + 1]
                for middle in range(start, stop)
            ]
            costs[start, stop] = min(choices)
            splits[start, stop] = start + choices.index(costs[start, stop])
    return splits


def tensordot(job: Job, x1: ndarray, x2: ndarray, *, axes: Any = 2) -> Result:
    """Multiply matrices whose inner dimension is that of the axes."""
    if not is_offered(x1, x2):
        return NotImplemented
    pairs = _pair_axes(x1, x2, axes)
    if pairs is None:
        return NotImplemented
    one, other = pairs
    kept = [each for each in range(x1.ndim) if each not in one]
    rest = [each for each in range(x2.ndim) if each not in other]
    inner = math.prod(x1.shape[each] for each in one)
    left = job.reshape(x1.transpose(*kept, *one), -1, inner)
    right = job.reshape(x2.transpose(*other, *rest), inner, -1)
    shape = [x1.shape[each] for each in kept] + [x2.shape[each] for each in rest]
    # NumPy returns an array even without axes.
    return job.multiply(left, right).reshape(tuple(shape))


def _pair_axes(x1: ndarray, x2: ndarray, axes: Any) -> tuple[Shape, Shape] | None:
    """Return the axes of each array that are summed over, None if they do not fit."""
    if type(axes) is int:
        axes = range(x1.ndim - axes, x1.ndim), range(axes)
    try:
        one, other = (tuple([operator.index(i) for i in each]) for each in axes)
    except (TypeError, ValueError):
        return None
    if not _are_axes(one, x1.ndim) or not _are_axes(other, x2.ndim):
        return None
    one = tuple([i % x1.ndim for i in one])
    other = tuple([i % x2.ndim for i in other])
    lengths = [[each.shape[i] for i in at] for each, at in ((x1, one), (x2, other))]
    return (one, other) if lengths[0] == lengths[1] else None


def _are_axes(axes: Shape, ndim: int) -> bool:
    return all(-ndim <= i < ndim for i in axes) and len({i % ndim for i in axes}) == len(axes)


def outer(job: Job, x1: ndarray, x2: ndarray) -> Result:
    """Multiply a column with a row."""
    if not is_offered(x1, x2) or x1.ndim != 1 or x2.ndim != 1:
        return NotImplemented
    return job.multiply(job.reshape(x1, -1, 1), job.reshape(x2, 1, -1))


def vecdot(job: Job, x1: ndarray, x2: ndarray, *, axis: object = -1) -> Result:
    """Multiply rows, which are conjugated, with columns."""
    if axis != -1 or not is_offered(x1, x2) or not x1.ndim or x1.shape != x2.shape:
        return NotImplemented
    length = x1.shape[-1]
    left, right = (job.reshape(each, -1, length, 1) for each in (x1, x2))
    return job.settle(job.multiply(left, right, "CN").reshape(x1.shape[:-1]))


def cross(job: Job, x1: ndarray, x2: ndarray, *, axis: object = -1) -> Result:
    """Multiply vectors of three elements."""
    if axis != -1 or not is_offered(x1, x2) or not x1.ndim or x1.shape != x2.shape:
        return NotImplemented
    if x1.shape[-1] != 3:
        return NotImplemented
    rows = [job.reshape(each, -1, 3) for each in (x1, x2)]
    found = job.vectors(rows[0].shape, x1.dtype)
    job.launch(kernels.cross, found.shape[0], *rows, found)
    return found.reshape(x1.shape)


def kron(job: Job, a: ndarray, b: ndarray) -> Result:
    """Multiply all elements with all, and put the axes of one array between those of the other."""
    if not is_offered(a, b) or a.ndim != b.ndim or not a.ndim:
        return NotImplemented
    products = job.multiply(job.reshape(a, -1, 1), job.reshape(b, 1, -1))
    ndim = a.ndim
    order = [axis for each in range(ndim) for axis in (each, each + ndim)]
    turned = products.reshape(*a.shape, *b.shape).transpose(*order)
    return job.reshape(turned, *[one * other for one, other in zip(a.shape, b.shape, strict=True)])


def matrix_transpose(job: Job, x: ndarray) -> Result:  # noqa: ARG001
    """Return a view."""
    return transpose(x) if x.ndim >= 2 else NotImplemented


NATIVE = with_name(
    [
        cross,
        kron,
        matmul,
        matrix_power,
        matrix_transpose,
        multi_dot,
        outer,
        tensordot,
        vecdot,
    ]
)
"""NumPy's functions that are here, by name."""
