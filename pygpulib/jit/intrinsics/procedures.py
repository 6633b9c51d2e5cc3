"""Arithmetic that takes a loop or several steps, written in the kernel language."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from pygpulib.jit.intrinsics.scalars import Double, Whole

Vector: TypeAlias = Any
"""A one-dimensional array."""
Scalar: TypeAlias = Any
"""A number of any type."""


def integer_power(base: Whole, exponent: Whole) -> Whole:
    """Return ``base ** exponent`` in 64 bits; a negative exponent gives 1, -1 or else 0.

    Notes
    -----
    Repeated squaring: one turn of the loop per bit of the exponent.
    """
    if exponent < 0:
        if base == 1:
            return 1
        if base == -1:
            return 1 - 2 * (exponent & 1)
        return 0
    result = 1
    while exponent != 0:
        if exponent & 1:
            result = result * base
        base = base * base
        exponent = exponent >> 1
    return result


def round_to_digits(number: Double, digits: Whole) -> Double:
    """Round to a number of decimal digits, ties to the even one; negative digits go left.

    Notes
    -----
    The number is scaled, rounded and scaled back, so the decision between two neighbours is made
    on the scaled number, which has been rounded to double precision.
    """
    scale = 10.0 ** abs(digits)
    if digits < 0:
        return np.rint(number / scale) * scale
    scaled = number * scale
    if math.isinf(scaled):
        return number
    return np.rint(scaled) / scale


def total(array: Vector, start: Scalar) -> Scalar:
    """Return the sum of a one-dimensional array and a number to start from."""
    result = start
    for index in range(array.size):
        result = result + array[index]
    return result


def smallest(array: Vector) -> Scalar:
    """Return the least element of a one-dimensional array that is not empty."""
    best = array[0]
    for index in range(1, array.size):
        if array[index] < best:
            best = array[index]
    return best


def largest(array: Vector) -> Scalar:
    """Return the greatest element of a one-dimensional array that is not empty."""
    best = array[0]
    for index in range(1, array.size):
        if array[index] > best:
            best = array[index]
    return best
