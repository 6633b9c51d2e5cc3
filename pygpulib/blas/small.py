"""Products of small matrices on the CPU, for which reading the arguments takes the longest."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas as scipy_blas

from pygpulib.core.array import ndarray

_F4, _F8 = np.dtype(np.float32), np.dtype(np.float64)
_C8, _C16 = np.dtype(np.complex64), np.dtype(np.complex128)
# Those with an entry are known by identity, which is faster than by value.
_PRODUCTS = {
    id(_F4): scipy_blas.sgemm,
    id(_F8): scipy_blas.dgemm,
    id(_C8): scipy_blas.cgemm,
    id(_C16): scipy_blas.zgemm,
}

# By letter and, after it, whether the matrix is stored by rows: how SciPy takes it.
_TRANSPOSES = {"N": 0, "T": 1, "C": 2}
_TRANSPOSES_OF_ROWS = {"N": 1, "T": 0}

_CONJUGATES = 2
_REAL = frozenset([int, float])

_LARGEST = 64 * 64
# So large integers do not fit into float64.
_LARGEST_NUMBER = 1e308


def multiply_small(
    transa: Any,  # noqa: ANN401
    transb: Any,  # noqa: ANN401
    alpha: Any,  # noqa: ANN401
    A: Any,  # noqa: ANN401
    B: Any,  # noqa: ANN401
    beta: Any,  # noqa: ANN401
    C: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Return ``alpha op(A) op(B) + beta C``, or None for all but the simplest arguments.

    Parameters
    ----------
    transa, transb : str
        The letters of A and B.
    alpha, beta : number
        The factors.
    A, B : array
        Small packed arrays of one dtype.
    C : array or None
        Another one, which is written to; None for a new array, of NumPy as the factors are.
    """
    a, b, c = (A, B, C) if A.__class__ is np.ndarray else _host_views(A, B, C)
    product = _find_product(a, b)
    if product is None or not {alpha.__class__, beta.__class__} <= _REAL:
        return None
    if not -_LARGEST_NUMBER < alpha < _LARGEST_NUMBER > abs(beta):
        return None
    first, a_columns = _as_columns(a, transa)
    second, b_columns = _as_columns(b, transb)
    if first is None or second is None:
        return None
    if a_columns.shape[not first] != b_columns.shape[second != 0]:
        return None
    if c is None:
        if beta or A is not a:
            return None
        return product(alpha, a_columns, b_columns, 0.0, None, first, second)
    shape = a_columns.shape[first != 0], b_columns.shape[not second]
    if not _can_be_written(c, a, b) or c.shape != shape:
        return None
    if c.flags.f_contiguous:
        product(alpha, a_columns, b_columns, beta, c, first, second, 1)
        return C
    if first == _CONJUGATES or second == _CONJUGATES or not c.flags.c_contiguous:
        return None
    # Of its transpose, the columns are contiguous.
    product(alpha, b_columns, a_columns, beta, c.T, not second, not first, 1)
    return C


def _host_views(*arrays: Any) -> list[Any]:  # noqa: ANN401
    """Return what arrays in device memory are to NumPy; None instead of all others."""
    return [array.host_view if array.__class__ is ndarray else None for array in arrays]


def _find_product(a: Any, b: Any) -> Any:  # noqa: ANN401
    """Return SciPy's product for the dtype of two arrays of NumPy, None if there is none."""
    if a.__class__ is not np.ndarray or b.__class__ is not np.ndarray or a.dtype is not b.dtype:
        return None
    return _PRODUCTS.get(id(a.dtype))


def _can_be_written(c: Any, a: Any, b: Any) -> bool:  # noqa: ANN401
    """Return whether an output can be written to, and lies apart from the factors."""
    if c.__class__ is not np.ndarray or c.dtype is not a.dtype or c is a or c is b:
        return False
    is_view = c.base is not None or a.base is not None or b.base is not None
    if is_view and (np.may_share_memory(a, c) or np.may_share_memory(b, c)):
        return False
    flags = c.flags
    return bool(flags.writeable and flags.aligned and c.ndim == 2 and 0 < c.size <= _LARGEST)


def _as_columns(array: Any, letter: Any) -> tuple[int | None, Any]:  # noqa: ANN401
    """Return SciPy's number of a letter and a matrix whose columns are packed; None if not."""
    if letter.__class__ is not str or array.ndim != 2 or not 0 < array.size <= _LARGEST:
        return None, array
    flags = array.flags
    if not flags.aligned:
        return None, array
    if flags.f_contiguous:
        return _TRANSPOSES.get(letter), array
    if flags.c_contiguous:
        return _TRANSPOSES_OF_ROWS.get(letter), array.T
    return None, array
