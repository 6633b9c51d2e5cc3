"""Functions of NumPy and ``math`` that choose or count, written in the kernel language.

Their arguments come in one type; ``one`` and its kind are constants of this type.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from pygpulib.jit.intrinsics.scalars import Whole

Scalar: TypeAlias = Any
"""A number of any type."""


def logaddexp(x: Scalar, y: Scalar) -> Scalar:
    """Return ``log(exp(x) + exp(y))`` without overflow."""
    if math.isinf(x) and x == y:
        return x
    return np.maximum(x, y) + np.log1p(np.exp(-np.abs(x - y)))


def logaddexp2(x: Scalar, y: Scalar, log2_of_e: Scalar) -> Scalar:
    """Return ``log2(2**x + 2**y)`` without overflow."""
    if math.isinf(x) and x == y:
        return x
    return np.maximum(x, y) + log2_of_e * np.log1p(np.exp2(-np.abs(x - y)))


def heaviside(x: Scalar, at_zero: Scalar, one: Scalar) -> Scalar:
    """Return 0 below zero, 1 above, and what is given at zero; NaN stays."""
    if x < 0:
        return one - one
    if x > 0:
        return one
    return at_zero if x == 0 else x


def spacing(x: Scalar, infinity: Scalar) -> Scalar:
    """Return how far the next number away from zero is, with the sign of ``x``."""
    return np.nextafter(x, np.copysign(infinity, x) if x != 0 else infinity) - x


def ulp(x: Scalar, infinity: Scalar) -> Scalar:
    """Return how far the next greater number than ``abs(x)`` is."""
    x = abs(x)
    if x == infinity:
        return x
    above = np.nextafter(x, infinity)
    return x - np.nextafter(x, -x) if above == infinity else above - x


def gcd(x: Whole, y: Whole) -> Whole:
    """Return the greatest integer that divides both numbers (Euclid)."""
    x, y = abs(x), abs(y)
    while y != 0:
        x, y = y, x % y
    return x


def lcm(x: Whole, y: Whole) -> Whole:
    """Return the least positive integer that both numbers divide; 0 if one of them is 0."""
    divisor = gcd(x, y)
    return abs(x // divisor * y) if divisor != 0 else divisor
