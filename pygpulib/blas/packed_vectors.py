"""Routines for packed vectors on the CPU.

Each function returns None where arguments are of any other kind than the simplest.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.blas.packed import by_dtype, multiplies, read_vector

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.blas.packed import Functions
    from pygpulib.core.driver import HostArray

_SCAL = by_dtype("sscal dscal cscal zscal")
_AXPY = by_dtype("saxpy daxpy caxpy zaxpy")
_SWAP = by_dtype("sswap dswap cswap zswap")
# SciPy has no others.
_ROT = by_dtype("srot drot")


def _measure(functions: Functions, x: Any) -> Any:
    """Return one real number from one vector."""
    vector = read_vector(x)
    function = None if vector is None else functions.get(id(vector.dtype))
    if vector is None or function is None:
        return None
    result = function(vector)
    return np.float32(result) if vector.dtype.char in "fF" else np.float64(result)


def _find_largest(functions: Functions, x: Any) -> int | None:
    vector = read_vector(x)
    function = None if vector is None else functions.get(id(vector.dtype))
    return None if function is None else int(function(vector))


def _read_pair(x: Any, y: Any) -> tuple[HostArray, HostArray] | None:
    """Return two vectors of one dtype and length."""
    first, second = read_vector(x), read_vector(y)
    if first is None or second is None:
        return None
    is_alike = first.size == second.size and first.dtype is second.dtype
    return (first, second) if is_alike else None


def _multiply(functions: Functions, x: Any, y: Any) -> Any:
    """Return one number from two vectors."""
    pair = _read_pair(x, y)
    function = None if pair is None else functions.get(id(pair[0].dtype))
    if pair is None or function is None:
        return None
    return pair[0].dtype.type(function(*pair))


def _scale(alpha: Any, x: Any) -> Any:
    vector = read_vector(x)
    function = None if vector is None else _SCAL.get(id(vector.dtype))
    if vector is None or function is None or not vector.flags.writeable:
        return None
    if not multiplies(alpha, vector.dtype):
        return None
    made = function(alpha, vector)
    assert made is vector
    return x


def _add(alpha: Any, x: Any, y: Any) -> Any:
    pair = _read_pair(x, y)
    function = None if pair is None else _AXPY.get(id(pair[0].dtype))
    if pair is None or function is None or not multiplies(alpha, pair[0].dtype):
        return None
    if not pair[1].flags.writeable or np.may_share_memory(*pair):
        return None
    made = function(*pair, pair[0].size, alpha)
    assert made is pair[1]
    return y


def _copy(x: Any, y: Any) -> Any:
    pair = _read_pair(x, y)
    if pair is None or id(pair[0].dtype) not in _AXPY or not pair[1].flags.writeable:
        return None
    np.copyto(pair[1], pair[0])
    return y


def _read_outputs(functions: Functions, x: Any, y: Any) -> Any:
    """Return a function and two vectors that it may write to; None if there are none."""
    pair = _read_pair(x, y)
    function = None if pair is None else functions.get(id(pair[0].dtype))
    if pair is None or function is None or np.may_share_memory(*pair):
        return None
    is_writable = pair[0].flags.writeable and pair[1].flags.writeable
    return (function, *pair) if is_writable else None


def _swap(x: Any, y: Any) -> Any:
    found = _read_outputs(_SWAP, x, y)
    if found is None:
        return None
    swap, first, second = found
    made = swap(first, second)
    assert made[0] is first
    assert made[1] is second
    return x, y


def _rotate(x: Any, y: Any, c: Any, s: Any) -> Any:
    found = _read_outputs(_ROT, x, y)
    if found is None:
        return None
    rotate, first, second = found
    if not (multiplies(c, first.dtype) and multiplies(s, first.dtype)):
        return None
    made = rotate(first, second, c, s, overwrite_x=1, overwrite_y=1)
    assert made[0] is first
    assert made[1] is second
    return x, y


SHORT_WAYS: dict[str, Callable[..., Any]] = {
    "dot": partial(_multiply, by_dtype("sdot ddot cdotu zdotu")),
    "dotc": partial(_multiply, by_dtype("sdot ddot cdotc zdotc")),
    "nrm2": partial(_measure, by_dtype("snrm2 dnrm2 scnrm2 dznrm2")),
    "asum": partial(_measure, by_dtype("sasum dasum scasum dzasum")),
    "amax": partial(_find_largest, by_dtype("isamax idamax icamax izamax")),
    "scal": _scale,
    "axpy": _add,
    "copy": _copy,
    "swap": _swap,
    "rot": _rotate,
}
"""By the names of routines; the arguments are those of the functions, without the stream."""
