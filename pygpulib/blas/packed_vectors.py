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
_SWAP = _by_dtype("sswap dswap cswap zswap")


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


def _find_largest(functions: Functions, x: Any) -> int | None:  # noqa: ANN401
    vector = _read_vector(x)
    function = None if vector is None else functions.get(id(vector.dtype))
    return None if function is None else int(function(vector))


def _read_pair(x: Any, y: Any) -> tuple[HostArray, HostArray] | None:  # noqa: ANN401
    """Return two vectors of one dtype and length."""
    first, second = _read_vector(x), _read_vector(y)
    if first is None or second is None:
        return None
    is_alike = first.size == second.size and first.dtype is second.dtype
    return (first, second) if is_alike else None


def _multiply(functions: Functions, x: Any, y: Any) -> Any:  # noqa: ANN401
    """Return one number from two vectors."""
    pair = _read_pair(x, y)
    function = None if pair is None else functions.get(id(pair[0].dtype))
    if pair is None or function is None:
        return None
    return pair[0].dtype.type(function(*pair))


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
    pair = _read_pair(x, y)
    function = None if pair is None else _AXPY.get(id(pair[0].dtype))
    if pair is None or function is None or not _multiplies(alpha, pair[0].dtype):
        return None
    if not pair[1].flags.writeable or np.may_share_memory(*pair):
        return None
    made = function(*pair, pair[0].size, alpha)
    assert made is pair[1]
    return y


def _copy(x: Any, y: Any) -> Any:  # noqa: ANN401
    pair = _read_pair(x, y)
    if pair is None or id(pair[0].dtype) not in _AXPY or not pair[1].flags.writeable:
        return None
    np.copyto(pair[1], pair[0])
    return y


def _swap(x: Any, y: Any) -> Any:  # noqa: ANN401
    pair = _read_pair(x, y)
    function = None if pair is None else _SWAP.get(id(pair[0].dtype))
    if pair is None or function is None or np.may_share_memory(*pair):
        return None
    if not (pair[0].flags.writeable and pair[1].flags.writeable):
        return None
    first, second = function(*pair)
    assert first is pair[0]
    assert second is pair[1]
    return x, y


SHORT_WAYS: dict[str, Callable[..., Any]] = {
    "dot": partial(_multiply, _by_dtype("sdot ddot cdotu zdotu")),
    "dotc": partial(_multiply, _by_dtype("sdot ddot cdotc zdotc")),
    "nrm2": partial(_measure, _by_dtype("snrm2 dnrm2 scnrm2 dznrm2")),
    "asum": partial(_measure, _by_dtype("sasum dasum scasum dzasum")),
    "amax": partial(_find_largest, _by_dtype("isamax idamax icamax izamax")),
    "scal": _scale,
    "axpy": _add,
    "copy": _copy,
    "swap": _swap,
}
"""By the names of routines; the arguments are those of the functions, without the stream."""
