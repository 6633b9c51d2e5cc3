"""Routines for packed matrices on the CPU.

Each function returns None where arguments are of any other kind than the simplest.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.blas.packed import (
    LARGEST_NUMBER,
    LARGEST_SIZE,
    by_dtype,
    multiplies,
    read_vector,
)
from pygpulib.blas.threads import LARGEST, SMALLEST, one_thread
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.blas.packed import Functions

_GEMM = by_dtype("sgemm dgemm cgemm zgemm")
_GEMV = by_dtype("sgemv dgemv cgemv zgemv")
_GER = by_dtype("sger dger cgeru zgeru")

# By letter and, after it, whether the matrix is stored by rows: how SciPy takes it.
_TRANSPOSES = {"N": 0, "T": 1, "C": 2}
_TRANSPOSES_OF_ROWS = {"N": 1, "T": 0}

_FLAGS = frozenset([bool, str])
_CONJUGATES = 2
_REAL = frozenset([int, float])
_TRIANGLES = {"L": 1, "U": 0}
_UNIT_DIAGONALS = {False: 0, True: 1, "N": 0, "U": 1}


def _multiply_matrices(
    transa: Any,
    transb: Any,
    alpha: Any,
    A: Any,
    B: Any,
    beta: Any,
    C: Any,
) -> Any:
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
        Another one, which is written to; None for a new array of the kind of the factors.
    """
    a, b, c = (A, B, C) if A.__class__ is np.ndarray else _host_views(A, B, C)
    product = _find_product(_GEMM, a, b, alpha, beta)
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
        if beta or C is not None:
            return None
        if A is a and work < SMALLEST:
            return product(alpha, a_columns, b_columns, 0.0, None, first, second)
        # SciPy would make one of zeros.
        C = _new_like(A, shape, a.dtype)
        c = C if A is a else C.host_view
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


def _new_like(array: Any, shape: tuple[int, int], dtype: np.dtype[Any]) -> Any:
    if array.__class__ is ndarray:
        return device_array(shape, dtype, order="F")
    return np.empty(shape, dtype, "F")


def _multiply_vector(
    trans: Any,
    alpha: Any,
    A: Any,
    x: Any,
    beta: Any,
    y: Any,
) -> Any:
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
    product = _find_product(_GEMV, a, right, alpha, beta)
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


def _add_outer_product(alpha: Any, x: Any, y: Any, A: Any) -> Any:
    """Add ``alpha x y^T`` to A."""
    rows, columns, a = read_vector(x), read_vector(y), _read_matrix(A)
    if rows is None or columns is None or a is None or not multiplies(alpha, a.dtype):
        return None
    if a.shape != (rows.size, columns.size) or rows.dtype is not columns.dtype:
        return None
    function = _GER.get(id(a.dtype))
    if function is None or not _can_be_written(a, rows, columns):
        return None
    if not a.flags.f_contiguous:
        a, rows, columns = a.T, columns, rows
    made = function(alpha, rows, columns, a=a, overwrite_a=1)
    assert made is a
    return A


def _apply_triangle(
    functions: Functions,
    uplo: Any,
    trans: Any,
    diag: Any,
    A: Any,
    x: Any,
) -> Any:
    """Multiply a vector in place with a triangular matrix, or with its inverse."""
    a, vector = _read_matrix(A), read_vector(x)
    if a is None or vector is None or a.shape != (vector.size, vector.size):
        return None
    function = functions.get(id(a.dtype))
    letter, columns = _as_columns(a, trans)
    if function is None or letter is None or not _can_be_written(vector, a, a):
        return None
    if uplo.__class__ is not str or diag.__class__ not in _FLAGS:
        return None
    lower, unit = _TRIANGLES.get(uplo), _UNIT_DIAGONALS.get(diag)
    if lower is None or unit is None:
        return None
    lower = lower if columns is a else 1 - lower
    made = function(columns, vector, lower=lower, trans=letter, diag=unit, overwrite_x=1)
    assert made is vector
    return x


SHORT_WAYS: dict[str, Callable[..., Any]] = {
    "gemm": _multiply_matrices,
    "gemv": _multiply_vector,
    "ger": _add_outer_product,
    "trmv": partial(_apply_triangle, by_dtype("strmv dtrmv ctrmv ztrmv")),
    "trsv": partial(_apply_triangle, by_dtype("strsv dtrsv ctrsv ztrsv")),
}
"""By the names of routines; the arguments are those of the functions, without the stream."""


def _run(work: int, product: Any, *arguments: Any) -> None:
    """Do a product of so many multiplications, with one thread where more are not worth it."""
    control = one_thread() if SMALLEST <= work < LARGEST else None
    if control is None:
        product(*arguments)
        return
    with control:
        product(*arguments)


def _read_matrix(array: Any) -> Any:
    """Return a packed matrix as an array of NumPy, None if it is none."""
    if array.__class__ is ndarray:
        array = array.host_view
    if array.__class__ is not np.ndarray or array.ndim != 2 or not 0 < array.size <= LARGEST_SIZE:
        return None
    flags = array.flags
    return array if flags.aligned and (flags.f_contiguous or flags.c_contiguous) else None


def _host_views(*arrays: Any) -> list[Any]:
    """Return what arrays in device memory are to NumPy; None instead of all others."""
    return [array.host_view if array.__class__ is ndarray else None for array in arrays]


def _find_product(products: Functions, a: Any, b: Any, alpha: Any, beta: Any) -> Any:
    """Return SciPy's product for two arrays of NumPy and two numbers, None if there is none."""
    if a.__class__ is not np.ndarray or b.__class__ is not np.ndarray or a.dtype is not b.dtype:
        return None
    if not {alpha.__class__, beta.__class__} <= _REAL:
        return None
    if not -LARGEST_NUMBER < alpha < LARGEST_NUMBER > abs(beta):
        return None
    return products.get(id(a.dtype))


def _can_be_written(c: Any, a: Any, b: Any) -> bool:
    """Return whether an output can be written to, and lies apart from the factors."""
    if c.dtype is not a.dtype or c is a or c is b:
        return False
    is_view = c.base is not None or a.base is not None or b.base is not None
    if is_view and (np.may_share_memory(a, c) or np.may_share_memory(b, c)):
        return False
    flags = c.flags
    return bool(flags.writeable and flags.aligned and 0 < c.size <= LARGEST_SIZE)


def _as_columns(array: Any, letter: Any) -> tuple[int | None, Any]:
    """Return SciPy's number of a letter and a matrix whose columns are packed; None if not."""
    if letter.__class__ is not str or array.ndim != 2 or not 0 < array.size <= LARGEST_SIZE:
        return None, array
    flags = array.flags
    if not flags.aligned:
        return None, array
    if flags.f_contiguous:
        return _TRANSPOSES.get(letter), array
    if flags.c_contiguous:
        return _TRANSPOSES_OF_ROWS.get(letter), array.T
    return None, array
