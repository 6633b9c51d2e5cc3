"""Givens rotations from two numbers, which are computed on the host on every back end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.blas.arguments import read_number
from pygpulib.blas.routines import LETTERS
from pygpulib.errors import DTypeError

if TYPE_CHECKING:
    from collections.abc import Iterable


def rotg(a: object, b: object) -> tuple[Any, Any, Any, Any]:
    """Return the rotation that makes the second of two numbers zero.

    Parameters
    ----------
    a, b : number
        The two numbers. Python's numbers count as float64 and complex128.

    Returns
    -------
    r : number
        What becomes of `a`.
    z : number
        One number from which real `c` and `s` can be found again; `b` for complex numbers.
    c : number
        Cosine of the rotation, real.
    s : number
        Sine of the rotation.

    Examples
    --------
    >>> [float(number) for number in rotg(3.0, 4.0)]
    [5.0, 1.6666666666666667, 0.6, 0.8]
    """
    dtype = _common_dtype("rotg", {"a": a, "b": b}, LETTERS)
    real = np.zeros(0, dtype).real.dtype
    r, z, s = np.array(a, dtype), np.array(b, dtype), np.zeros((), dtype)
    c = np.zeros((), real)
    from pygpulib.blas.fortran import find_function

    call = find_function(f"{LETTERS[dtype.name].lower()}rotg", 4)
    call(r.ctypes.data, z.ctypes.data, c.ctypes.data, s.ctypes.data)
    return r[()], z[()], c[()], s[()]


def rotmg(d1: object, d2: object, x1: object, y1: object) -> np.ndarray[Any, Any]:
    """Return the modified Givens rotation that makes the second of two scaled numbers zero.

    Parameters
    ----------
    d1, d2 : number
        Squares of the scales.
    x1, y1 : number
        The two numbers.

    Returns
    -------
    numpy.ndarray
        ``[flag, h11, h21, h12, h22]`` for `rotm`.
    """
    given = {"d1": d1, "d2": d2, "x1": x1, "y1": y1}
    dtype = _common_dtype("rotmg", given, ("float32", "float64"))
    numbers = [np.array(number, dtype) for number in given.values()]
    param = np.zeros(5, dtype)
    from pygpulib.blas.fortran import find_function

    call = find_function(f"{LETTERS[dtype.name].lower()}rotmg", 5)
    call(*[number.ctypes.data for number in numbers], param.ctypes.data)
    return param


def _common_dtype(name: str, numbers: dict[str, object], offered: Iterable[str]) -> np.dtype[Any]:
    dtypes = []
    for each, value in numbers.items():
        dtype = np.asarray(read_number(name, each, value)).dtype
        if dtype.kind in "biu":
            dtype = np.dtype(np.float64)
        if dtype.name not in offered:
            raise DTypeError(
                f"{name}: the argument {each} has the unsupported dtype {dtype}",
                detail=f"expected a number of dtype {', '.join(offered)}",
            )
        dtypes.append(dtype)
    common: np.dtype[Any] = np.result_type(*dtypes)
    return common
