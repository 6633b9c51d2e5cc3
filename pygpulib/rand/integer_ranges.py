"""The bounds of random integers: any range of any integer type."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from pygpulib._record import record
from pygpulib.core.dtypes import numpy_dtype
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError
from pygpulib.rand import discrete
from pygpulib.rand.operands import Operand, broadcast_shape, to_host
from pygpulib.rand.samplers import Sampler

_WORDS = 1 << 32


@record
class IntegerRange:
    """How integers of a range are drawn.

    Attributes
    ----------
    sampler : Sampler
        What draws them.
    dtype : numpy.dtype
        Their type.
    operands : tuple of ndarray
        What it takes, as uint64: the lowest number and how many there are, modulo 2**64, and more.
    """

    sampler: Sampler
    dtype: np.dtype[Any]
    operands: tuple[Operand, ...]


def read_integer_dtype(dtype: object) -> np.dtype[Any]:
    """Return the type of random integers.

    Raises
    ------
    DTypeError
        If it is not a type of integers, or bool.
    """
    found = numpy_dtype(dtype)  # type: ignore[arg-type]
    if found.kind not in "iub" or not found.isnative:
        raise DTypeError(
            f"integers were asked for as {found}",
            detail="expected bool, or an integer type such as int64 or uint8",
        )
    return found


def read_range(low: object, high: object, dtype: np.dtype[Any], endpoint: bool) -> IntegerRange:
    """Return how integers from `low` to `high` are drawn.

    Parameters
    ----------
    low, high : int or array_like of int
        The bounds; from 0 to `low` if `high` is None.
    dtype : numpy.dtype
        Type of the numbers.
    endpoint : bool
        Whether `high` is one of them.

    Raises
    ------
    ArgumentTypeError
        If the bounds are not integers.
    ArgumentError
        If the type does not have the bounds, or there is no number between them.
    """
    if type(low) is int and (high is None or type(high) is int):
        return _range_of_numbers(low, high, dtype, endpoint)
    return _find_range(low, high, dtype, endpoint)


def _find_range(low: object, high: object, dtype: np.dtype[Any], endpoint: bool) -> IntegerRange:
    if high is None:
        first, end = np.array(0), _read_bound("low", low)
    else:
        first, end = _read_bound("low", low), _read_bound("high", high)
    broadcast_shape((first, end))
    _check_bounds(first, end, dtype, endpoint)
    lowest = _modulo(first)
    if first.ndim == 0 and end.ndim == 0:
        count = int(end) - int(first) + endpoint
        if count < _WORDS:
            given = lowest, np.array(count, np.uint64), np.array(_WORDS % count, np.uint64)
            return IntegerRange(discrete.INTEGERS, dtype, given)
        if count == _WORDS:
            return IntegerRange(discrete.WORDS, dtype, (lowest,))
    with np.errstate(over="ignore"):
        counts = np.asarray(_modulo(end) - lowest)
        counts += np.uint64(endpoint)
    return IntegerRange(discrete.LONG_INTEGERS, dtype, (lowest, counts))


_range_of_numbers = lru_cache(maxsize=256)(_find_range)


def _read_bound(name: str, value: object) -> Operand:
    array = to_host(value)
    if array.dtype.kind == "f" and not hasattr(value, "dtype") and np.any(abs(array) >= 2.0**53):
        # A list of integers so large that NumPy makes floats of them.
        array = np.asarray(value, object)
    kind = array.dtype.kind
    if kind == "f" and np.all(array == np.floor(array)) and np.all(abs(array) < 2.0**63):
        return array.astype(np.int64)
    is_whole = kind in "biu" or (kind == "O" and all(isinstance(x, int) for x in array.flat))
    if not is_whole:
        raise ArgumentTypeError(
            f"the argument {name} is {value!r}", detail="expected an integer, or an array of them"
        )
    return array.astype(np.int64) if kind == "b" else array


def _check_bounds(first: Operand, end: Operand, dtype: np.dtype[Any], endpoint: bool) -> None:
    smallest, largest = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    outside = None
    if first.size and int(first.min()) < smallest:
        outside = "low"
    elif end.size and int(end.max()) > largest + (not endpoint):
        outside = "high"
    if outside:
        raise ArgumentError(
            f"the argument {outside} is outside of what {dtype} holds",
            detail=f"expected integers from {smallest} to {largest}",
        )
    if np.any(first > end if endpoint else first >= end):
        raise ArgumentError(
            "there are no integers between the bounds",
            detail="expected low < high, or low <= high with endpoint=True",
        )


def _modulo(numbers: Operand) -> Operand:
    """Return integers modulo 2**64."""
    if numbers.dtype.kind == "O":
        return np.array(numbers % 2**64, np.uint64)
    return numbers.view(np.uint64) if numbers.dtype == np.int64 else numbers.astype(np.uint64)
