"""Routines for packed vectors on the CPU, which need not be read and arranged like all others.

What SciPy makes of BLAS's functions takes NumPy's arrays as they are, where these are packed. Each
function here returns None where arguments are of any other kind than the simplest.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import blas as scipy_blas

from pygpulib.core.array import ndarray

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.core.driver import HostArray

    Functions = dict[int, Callable[..., Any]]

_DTYPES = [np.dtype(name) for name in ("float32", "float64", "complex64", "complex128")]
# SciPy's BLAS counts with 32 bits.
_LONGEST = 2**31 - 1
# So large integers do not fit into float64.
_LARGEST_NUMBER = 1e308


def _by_dtype(names: str) -> Functions:
    """Return SciPy's functions by the identity of dtypes, which is faster than by their value."""
    functions = [getattr(scipy_blas, name) for name in names.split()]
    return {id(dtype): function for dtype, function in zip(_DTYPES, functions, strict=True)}


_SCAL = _by_dtype("sscal dscal cscal zscal")
_AXPY = _by_dtype("saxpy daxpy caxpy zaxpy")


def _read_vector(array: Any) -> HostArray | None:  # noqa: ANN401
    if array.__class__ is ndarray:
        array = array.host_view
    if array.__class__ is not np.ndarray or array.ndim != 1 or not 0 < array.size <= _LONGEST:
        return None
    flags = array.flags
    return array if flags.carray or (flags.c_contiguous and flags.aligned) else None


def _multiplies(alpha: Any, dtype: np.dtype[Any]) -> bool:  # noqa: ANN401
    """Return whether a number multiplies vectors of a dtype and leaves them of that."""
    kind = alpha.__class__
    if kind is complex:
        return dtype.kind == "c"
    return (kind is float or kind is int) and -_LARGEST_NUMBER < alpha < _LARGEST_NUMBER


def _measure(functions: Functions, x: Any) -> Any:  # noqa: ANN401
    """Return one real number from one vector."""
    vector = _read_vector(x)
    function = None if vector is None else functions.get(id(vector.dtype))
    if vector is None or function is None:
        return None
    result = function(vector)
    return np.float32(result) if vector.dtype.char in "fF" else np.float64(result)


def _multiply(functions: Functions, x: Any, y: Any) -> Any:  # noqa: ANN401
    """Return one number from two vectors."""
    first, second = _read_vector(x), _read_vector(y)
    if first is None or second is None or first.size != second.size:
        return None
    dtype = first.dtype
    function = functions.get(id(dtype))
    if function is None or second.dtype is not dtype:
        return None
    return dtype.type(function(first, second))


def _scale(alpha: Any, x: Any) -> Any:  # noqa: ANN401
    vector = _read_vector(x)
    function = None if vector is None else _SCAL.get(id(vector.dtype))
    if vector is None or function is None or not vector.flags.writeable:
        return None
    if not _multiplies(alpha, vector.dtype):
        return None
    made = function(alpha, vector)
    assert made is vector
    return x


def _add(alpha: Any, x: Any, y: Any) -> Any:  # noqa: ANN401
    first, second = _read_vector(x), _read_vector(y)
    if first is None or second is None or first.size != second.size:
        return None
    function = _AXPY.get(id(second.dtype))
    if function is None or first.dtype is not second.dtype or not second.flags.writeable:
        return None
    if np.may_share_memory(first, second) or not _multiplies(alpha, second.dtype):
        return None
    made = function(first, second, first.size, alpha)
    assert made is second
    return y


SHORT_WAYS: dict[str, Callable[..., Any]] = {
    "dot": partial(_multiply, _by_dtype("sdot ddot cdotu zdotu")),
    "dotc": partial(_multiply, _by_dtype("sdot ddot cdotc zdotc")),
    "nrm2": partial(_measure, _by_dtype("snrm2 dnrm2 scnrm2 dznrm2")),
    "asum": partial(_measure, _by_dtype("sasum dasum scasum dzasum")),
    "scal": _scale,
    "axpy": _add,
}
"""By the names of routines; the arguments are those of the functions, without the stream."""
