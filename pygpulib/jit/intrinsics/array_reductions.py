"""NumPy's reductions of whole arrays, in the kernel language.

Each works on arrays of any number of axes by calling itself for the parts of an array. The thread
that calls it does all the work.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

# The types of the kernel language are not written down: these are compiled for many.
Value = Any


def fold(combine: Value, array: Value, start: Value) -> Value:
    """Combine a start value with all elements, one after the other."""
    result = start
    if array.ndim == 0:
        result = combine(result, array[()])
    elif array.ndim == 1:
        for value in array:
            result = combine(result, value)
    else:
        for part in array:
            result = fold(combine, part, result)
    return result


def first(array: Value) -> Value:
    """Return the first element."""
    if array.ndim == 0:
        return array[()]
    if array.ndim == 1:
        return array[0]
    return first(array[0])


def is_nan(value: Value) -> Value:
    """Return whether a number is not a number."""
    return value != value


def _add(total: Value, value: Value) -> Value:
    return total + value


def _multiply(total: Value, value: Value) -> Value:
    return total * value


def _add_number(total: Value, value: Value) -> Value:
    return total if is_nan(value) else total + value


def _multiply_number(total: Value, value: Value) -> Value:
    return total if is_nan(value) else total * value


def _lesser(best: Value, value: Value) -> Value:
    return best if is_nan(best) or best <= value else value


def _greater(best: Value, value: Value) -> Value:
    return best if is_nan(best) or best >= value else value


def _lesser_number(best: Value, value: Value) -> Value:
    return value if is_nan(best) or value < best else best


def _greater_number(best: Value, value: Value) -> Value:
    return value if is_nan(best) or value > best else best


def _both(result: Value, value: Value) -> Value:
    return result and value != 0


def _either(result: Value, value: Value) -> Value:
    return result or value != 0


def _count(total: Value, value: Value) -> Value:
    return total + 1 if value != 0 else total


def _count_numbers(total: Value, value: Value) -> Value:
    return total if is_nan(value) else total + 1


def _place_of_least(found: Value, value: Value) -> Value:
    best, place, here = found
    if is_nan(best) or not (value < best or is_nan(value)):
        return best, place, here + 1
    return value, here, here + 1


def _place_of_greatest(found: Value, value: Value) -> Value:
    best, place, here = found
    if is_nan(best) or not (value > best or is_nan(value)):
        return best, place, here + 1
    return value, here, here + 1


# Every function takes the array, and the type that NumPy computes the result in.


def sum_(array: Value, dtype: Value) -> Value:
    """Return the sum."""
    return fold(_add, array, dtype(0))


def prod(array: Value, dtype: Value) -> Value:
    """Return the product."""
    return fold(_multiply, array, dtype(1))


def nansum(array: Value, dtype: Value) -> Value:
    """Return the sum of what is a number."""
    return fold(_add_number, array, dtype(0))


def nanprod(array: Value, dtype: Value) -> Value:
    """Return the product of what is a number."""
    return fold(_multiply_number, array, dtype(1))


def mean(array: Value, dtype: Value) -> Value:
    """Return the arithmetic mean."""
    return dtype(sum_(array, dtype) / array.size)


def nanmean(array: Value, dtype: Value) -> Value:
    """Return the arithmetic mean of what is a number."""
    return dtype(nansum(array, dtype) / fold(_count_numbers, array, 0))


def var(array: Value, dtype: Value) -> Value:
    """Return the variance."""
    center = mean(array, dtype)

    def add_square(total: Value, value: Value) -> Value:
        return total + (value - center) * (value - center)

    return dtype(fold(add_square, array, dtype(0)) / array.size)


def nanvar(array: Value, dtype: Value) -> Value:
    """Return the variance of what is a number."""
    center = nanmean(array, dtype)

    def add_square(total: Value, value: Value) -> Value:
        return total if is_nan(value) else total + (value - center) * (value - center)

    return dtype(fold(add_square, array, dtype(0)) / fold(_count_numbers, array, 0))


def std(array: Value, dtype: Value) -> Value:
    """Return the standard deviation."""
    return dtype(math.sqrt(var(array, dtype)))


def nanstd(array: Value, dtype: Value) -> Value:
    """Return the standard deviation of what is a number."""
    return dtype(math.sqrt(nanvar(array, dtype)))


def min_(array: Value, dtype: Value) -> Value:
    """Return the least element; NaN if there is one."""
    return dtype(fold(_lesser, array, first(array)))


def max_(array: Value, dtype: Value) -> Value:
    """Return the greatest element; NaN if there is one."""
    return dtype(fold(_greater, array, first(array)))


def nanmin(array: Value, dtype: Value) -> Value:
    """Return the least number."""
    return dtype(fold(_lesser_number, array, first(array)))


def nanmax(array: Value, dtype: Value) -> Value:
    """Return the greatest number."""
    return dtype(fold(_greater_number, array, first(array)))


def all_(array: Value, dtype: Value) -> Value:
    """Return whether no element is zero."""
    return dtype(fold(_both, array, True))


def any_(array: Value, dtype: Value) -> Value:
    """Return whether any element is not zero."""
    return dtype(fold(_either, array, False))


def count_nonzero(array: Value, dtype: Value) -> Value:
    """Return how many elements are not zero."""
    return dtype(fold(_count, array, 0))


def argmin(array: Value, dtype: Value) -> Value:
    """Return the place of the least element among all, in C order; of the first NaN, if any."""
    return dtype(fold(_place_of_least, array, (first(array), 0, 0))[1])


def argmax(array: Value, dtype: Value) -> Value:
    """Return the place of the greatest element among all, in C order; of the first NaN, if any."""
    return dtype(fold(_place_of_greatest, array, (first(array), 0, 0))[1])


FUNCTIONS: dict[Callable[..., Any], Callable[..., Any]] = {
    np.sum: sum_,
    np.prod: prod,
    np.mean: mean,
    np.var: var,
    np.std: std,
    np.min: min_,
    np.max: max_,
    np.all: all_,
    np.any: any_,
    np.argmin: argmin,
    np.argmax: argmax,
    np.count_nonzero: count_nonzero,
    np.nansum: nansum,
    np.nanprod: nanprod,
    np.nanmean: nanmean,
    np.nanvar: nanvar,
    np.nanstd: nanstd,
    np.nanmin: nanmin,
    np.nanmax: nanmax,
}
"""What each function of NumPy means."""
