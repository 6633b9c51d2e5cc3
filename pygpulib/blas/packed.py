"""What the short ways for packed arrays on the CPU have in common.

What SciPy makes of BLAS's functions takes NumPy's arrays as they are, where these are packed. Such
arrays need not be read and arranged like all others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.linalg import blas as scipy_blas

from pygpulib.core.array import ndarray

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.core.driver import HostArray

    Functions = dict[int, Callable[..., Any]]

DTYPES = [np.dtype(name) for name in ("float32", "float64", "complex64", "complex128")]
LARGEST_SIZE = 2**31 - 1
"""To which SciPy's BLAS counts, with 32 bits."""

LARGEST_NUMBER = 1e308
"""Larger integers do not fit into float64."""


def by_dtype(names: str) -> Functions:
    """Return SciPy's functions by the identity of dtypes, which is faster than by their value."""
    functions = [getattr(scipy_blas, name) for name in names.split()]
    return {id(dtype): function for dtype, function in zip(DTYPES, functions, strict=False)}


def read_vector(array: Any) -> HostArray | None:
    """Return a packed vector as an array of NumPy, None if it is none."""
    if array.__class__ is ndarray:
        array = array.host_view
    if array.__class__ is not np.ndarray or array.ndim != 1 or not 0 < array.size <= LARGEST_SIZE:
        return None
    flags = array.flags
    return array if flags.carray or (flags.c_contiguous and flags.aligned) else None


def multiplies(number: Any, dtype: np.dtype[Any]) -> bool:
    """Return whether a number multiplies arrays of a dtype and leaves them of that."""
    kind = number.__class__
    if kind is complex:
        return dtype.kind == "c"
    return (kind is float or kind is int) and -LARGEST_NUMBER < number < LARGEST_NUMBER
