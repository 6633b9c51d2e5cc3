"""Products of packed matrices on the CPU, which need not be read and arranged like all others.

What SciPy makes of BLAS's functions takes NumPy's arrays as they are, where these are packed. Each
function here returns None where arguments are of any other kind than the simplest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import blas as scipy_blas

from pygpulib.blas.threads import LARGEST, SMALLEST, one_thread
from pygpulib.core.array import ndarray

_DTYPES = [np.dtype(name) for name in ("float32", "float64", "complex64", "complex128")]
# By the identity of dtypes, which is faster than by their value.
_PRODUCTS = {
    id(dtype): getattr(scipy_blas, f"{letter}gemm")
    for dtype, letter in zip(_DTYPES, "sdcz", strict=True)
}
_PRODUCTS_WITH_VECTORS = {
    id(dtype): getattr(scipy_blas, f"{letter}gemv")
    for dtype, letter in zip(_DTYPES, "sdcz", strict=True)
}

# By letter and, after it, whether the matrix is stored by rows: how SciPy takes it.
_TRANSPOSES = {"N": 0, "T": 1, "C": 2}
_TRANSPOSES_OF_ROWS = {"N": 1, "T": 0}

_CONJUGATES = 2
_REAL = frozenset([int, float])

# SciPy's BLAS counts with 32 bits.
_LARGEST = 2**31 - 1
# So large integers do not fit into float64.
_LARGEST_NUMBER = 1e308


def multiply_matrices(
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
        Packed arrays of one dtype.
    C : array or None
        Another one, which is written to; None for a new array, of NumPy as the factors are.
    """
    a, b, c = (A, B, C) if A.__class__ is np.ndarray else _host_views(A, B, C)
    product = _find_product(_PRODUCTS, a, b, alpha, beta)
    # Factors of products times zero are not read, but some processors' functions do.
    if product is None or not alpha:
        return None
    first, a_columns = _as_columns(a, transa)
    second, b_columns = _as_columns(b, transb)
    if first is None or second is None:
        return None
    common = a_columns.shape[not first]
    if common != b_columns.shape[second != 0]:
        return None
    shape = a_columns.shape[first != 0], b_columns.shape[not second]
    work = shape[0] * shape[1] * common
    if c is None:
        if beta or A is not a:
            return None
        if work < SMALLEST:
            return product(alpha, a_columns, b_columns, 0.0, None, first, second)
        # SciPy would make one of zeros.
        C = c = np.empty(shape, a.dtype, "F")
    elif c.__class__ is not np.ndarray or c.shape != shape or not _can_be_written(c, a, b):
        return None
    if c.flags.f_contiguous:
        _run(work, product, alpha, a_columns, b_columns, beta, c, first, second, 1)
        return C
    if first == _CONJUGATES or second == _CONJUGATES or not c.flags.c_contiguous:
        return None
    # Of its transpose, the columns are contiguous.
    _run(work, product, alpha, b_columns, a_columns, beta, c.T, not second, not first, 1)
    return C


def multiply_vector(
    trans: Any,  # noqa: ANN401
    alpha: Any,  # noqa: ANN401
    A: Any,  # noqa: ANN401
    x: Any,  # noqa: ANN401
    beta: Any,  # noqa: ANN401
    y: Any,  # noqa: ANN401
) -> Any:  # noqa: ANN401
    """Return ``alpha op(A) x + beta y``, or None for all but the simplest arguments.

    Parameters
    ----------
    trans : str
        The letter of A.
    alpha, beta : number
        The factors.
    A, x : array
        Packed arrays of one dtype.
    y : array
        Another one, which is written to.
    """
    a, right, out = (A, x, y) if A.__class__ is np.ndarray else _host_views(A, x, y)
    product = _find_product(_PRODUCTS_WITH_VECTORS, a, right, alpha, beta)
    if product is None or out.__class__ is not np.ndarray or right.ndim != 1 or out.ndim != 1:
        return None
    letter, columns = _as_columns(a, trans)
    if letter is None or not _can_be_written(out, a, right):
        return None
    if columns.shape[not letter] != right.size or columns.shape[letter != 0] != out.size:
        return None
    if not (right.flags.c_contiguous and right.flags.aligned and out.flags.c_contiguous):
        return None
    product(alpha, columns, right, beta, out, 0, 1, 0, 1, letter, 1)
    return y


def _run(work: int, product: Any, *arguments: Any) -> None:  # noqa: ANN401
    """Do a product of so many multiplications, with one thread where more are not worth it."""
    control = one_thread() if SMALLEST <= work < LARGEST else None
    if control is None:
        product(*arguments)
        return
    with control:
        product(*arguments)


def _host_views(*arrays: Any) -> list[Any]:  # noqa: ANN401
    """Return what arrays in device memory are to NumPy; None instead of all others."""
    return [array.host_view if array.__class__ is ndarray else None for array in arrays]


def _find_product(products: dict[int, Any], a: Any, b: Any, alpha: Any, beta: Any) -> Any:  # noqa: ANN401
    """Return SciPy's product for two arrays of NumPy and two numbers, None if there is none."""
    if a.__class__ is not np.ndarray or b.__class__ is not np.ndarray or a.dtype is not b.dtype:
        return None
    if not {alpha.__class__, beta.__class__} <= _REAL:
        return None
    if not -_LARGEST_NUMBER < alpha < _LARGEST_NUMBER > abs(beta):
        return None
    return products.get(id(a.dtype))


def _can_be_written(c: Any, a: Any, b: Any) -> bool:  # noqa: ANN401
    """Return whether an output can be written to, and lies apart from the factors."""
    if c.dtype is not a.dtype or c is a or c is b:
        return False
    is_view = c.base is not None or a.base is not None or b.base is not None
    if is_view and (np.may_share_memory(a, c) or np.may_share_memory(b, c)):
        return False
    flags = c.flags
    return bool(flags.writeable and flags.aligned and 0 < c.size <= _LARGEST)


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
