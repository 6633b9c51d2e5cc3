"""Arithmetic that takes a loop or several steps, written in the kernel language."""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from pygpulib.jit.intrinsics.floating import fma
from pygpulib.jit.intrinsics.scalars import Double, Whole

Vector: TypeAlias = Any
"""A one-dimensional array."""
Scalar: TypeAlias = Any
"""A number of any type."""
Items: TypeAlias = Any
"""A tuple."""


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


def power_of_half(base: Double) -> Double:
    """Return ``base ** 0.5``: the square root, but for the two values of C's ``pow``."""
    # -0.0 counts as zero, and minus infinity as infinity.
    root = math.sqrt(base + 0.0)
    return math.inf if base == -math.inf else root


def round_to_digits(number: Double, digits: Whole) -> Double:
    """Round to a number of decimal digits, ties to the even one; negative digits go left.

    Notes
    -----
    The scaled number decides, except where it lies halfway between two whole numbers: then its
    own rounding error says on which side the exact product is.
    """
    scale = 10.0 ** abs(digits)
    if digits < 0:
        if math.isinf(scale):
            return number if math.isinf(number) else 0.0 * number
        scaled = number / scale
        error = fma(-scaled, scale, number)
    else:
        scaled = number * scale
        if not math.isfinite(scaled):
            return number
        error = fma(number, scale, -scaled)
    below = np.floor(scaled)
    whole = np.rint(scaled)
    if below + 0.5 == scaled and error != 0.0:
        whole = below + 1.0 if error > 0.0 else below
    return whole * scale if digits < 0 else whole / scale


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


def literal_unroll(container: Items) -> Items:
    """Return a tuple, as what a ``for`` statement in a kernel goes through.

    Such statements are repeated for every item of a tuple anyway: this is numba's way to ask.

    Parameters
    ----------
    container : tuple
        Items of any types.
    """
    return container
