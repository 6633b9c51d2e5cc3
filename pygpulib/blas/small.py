"""Products of small matrices of NumPy, for which reading the arguments takes the longest."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas as scipy_blas

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

_LARGEST = 64 * 64


def multiply_small(transa: object, transb: object, alpha: object, a: Any, b: Any) -> Any:  # noqa: ANN401
    """Return ``alpha op(A) op(B)`` as a new array, or None for all but the simplest arguments.

    Parameters
    ----------
    transa, transb : str
        The letters.
    alpha : number
        The factor.
    a, b : array
        Small packed arrays of NumPy of one dtype.
    """
    if a.__class__ is not np.ndarray or b.__class__ is not np.ndarray:
        return None
    dtype = a.dtype
    product = _PRODUCTS.get(id(dtype))
    if product is None or b.dtype is not dtype or alpha.__class__ not in (float, int):
        return None
    first, a = _as_columns(a, transa)
    second, b = _as_columns(b, transb)
    if first is None or second is None or a.shape[not first] != b.shape[second != 0]:
        return None
    return product(alpha, a, b, 0.0, None, first, second)


def _as_columns(array: Any, letter: Any) -> tuple[int | None, Any]:  # noqa: ANN401
    """Return SciPy's number of a letter and a matrix whose columns are packed; None if not."""
    if array.ndim != 2 or not 0 < array.size <= _LARGEST:
        return None, array
    flags = array.flags
    if not flags.aligned:
        return None, array
    if flags.f_contiguous:
        return _TRANSPOSES.get(letter), array
    if flags.c_contiguous:
        return _TRANSPOSES_OF_ROWS.get(letter), array.T
    return None, array
