"""Conversions to the floats that NumPy does not have, on NumPy arrays.

They round once, to nearest even, whatever they come from. Conversions to 8-bit floats are those of
CUDA's types: what is too large becomes the largest number, and a power of two (``e8m0``, which has
no sign) is rounded up.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType

Lanes = np.ndarray[Any, np.dtype[Any]]

_STICKY = 0x7FF
"""The bits of a 64-bit integer that a float64 has no place for."""


_FIRST_FOREIGN = 256
"""The least number that NumPy gives to types of other packages."""


def is_small(dtype: np.dtype[Any]) -> bool:
    """Return whether elements, which are numbers, are of one of these types."""
    return dtype.num >= _FIRST_FOREIGN


def to_single(x: Lanes) -> Lanes:
    """Return numbers as float32, such that rounding once more to a smaller type is right.

    Parameters
    ----------
    x : ndarray
        Real numbers of any type.
    """
    if x.dtype.itemsize == 8 and x.dtype.kind in "iu":
        x = _to_double(x)
    elif x.dtype.kind in "iu":
        x = x.astype(np.float64)
    return _round_to_odd(x) if x.dtype == np.float64 else x.astype(np.float32)


def _to_double(x: Lanes) -> Lanes:
    """Return integers as float64, the last bit telling of what was cut off."""
    is_long = np.where(x < 0, ~x, x) >> 53 != 0
    sticky = (x | ((x & _STICKY) + _STICKY)) & ~x.dtype.type(_STICKY)
    return np.where(is_long, sticky, x).astype(np.float64)


def _round_to_odd(x: Lanes) -> Lanes:
    near = x.astype(np.float32)
    back = near.astype(np.float64)
    pattern = near.view(np.int32)
    cut = np.where(np.abs(back) > np.abs(x), pattern - 1, pattern)
    is_inexact = (back != x) & ~np.isnan(x)
    return np.where(is_inexact, cut | 1, pattern).astype(np.int32).view(np.float32)


@np.errstate(all="ignore")
def narrow(x: Lanes, dtype: DType) -> Lanes:
    """Convert real numbers to a small float.

    Parameters
    ----------
    x : ndarray
        Real numbers of any type.
    dtype : DType
        The type of the result.
    """
    if x.dtype == dtype.numpy:
        return x
    single = to_single(x)
    if dtype == dtypes.float8_e8m0fnu:
        return _round_up_to_power(single).view(dtype.numpy)
    if dtype.is_storage:
        largest = np.float32(dtype.float_format.largest)
        single = np.clip(single, -largest, largest)
    return single.astype(dtype.numpy)


def _round_up_to_power(x: Lanes) -> Lanes:
    """Return the exponents of the powers of two that are not below ``abs(x)``."""
    pattern = np.ascontiguousarray(np.abs(x)).view(np.int32)
    exponent, rest = pattern >> 23, pattern & 0x7FFFFF
    # Without a leading one, half of what the next exponent stands for has a number itself.
    is_above = rest > np.where(exponent == 0, 0x400000, 0)
    code = np.minimum(exponent + is_above, 254)
    return np.where(np.isnan(x), 255, code).astype(np.uint8)
