"""Gamma numbers, in the kernel language, by the method of Marsaglia and Tsang (2000)."""

from __future__ import annotations

import math

from pygpulib.rand.compiling import Value, device
from pygpulib.rand.substreams import radius_angle_extra, two_inside

_TWO_PI = 2.0 * math.pi
_THIRD = 1.0 / 3.0

# Logarithms of gamma numbers are infinite for shapes below 1e-306.
_TINY = 1e-300
_ENLARGED = 2.0**100


@device
def normal_and_uniform(stream: Value, number: Value) -> Value:
    """Return a standard normal and a number of (0, 1) from a block."""
    u, angle, extra = radius_angle_extra(stream, number)
    return math.sqrt(-2.0 * math.log(u)) * math.cos(_TWO_PI * angle), extra


@device
def _large_gamma(stream: Value, number: Value, shape: Value) -> Value:
    """Return a standard gamma number of a shape from 1 on, and the next block."""
    d = shape - _THIRD
    c = 1.0 / math.sqrt(9.0 * d)
    cube = 1.0
    # What is not a number, or not finite, must not keep anybody here.
    is_searching = d < math.inf
    while is_searching:
        x, u = normal_and_uniform(stream, number)
        number += 1
        root = 1.0 + c * x
        cube = root * root * root
        if root > 0.0:
            is_searching = math.log(u) >= 0.5 * x * x + d * (1.0 - cube + math.log(cube))
    return d * cube, number


@device
def gamma(stream: Value, number: Value, shape: Value) -> Value:
    """Return a standard gamma number, and the next block."""
    value, number = _large_gamma(stream, number, shape if shape >= 1.0 else shape + 1.0)
    if shape < 1.0:
        u, _ = two_inside(stream, number)
        number += 1
        value = value * math.exp(math.log(u) / shape) if shape > 0.0 else 0.0
    return value, number


@device
def log_gamma(stream: Value, number: Value, shape: Value) -> Value:
    """Return the logarithm of a standard gamma number, and the next block.

    Numbers of small shapes are too small to be told from zero; their logarithms are not.
    """
    value, number = _large_gamma(stream, number, shape if shape >= 1.0 else shape + 1.0)
    logarithm = math.log(value)
    if shape < 1.0:
        u, _ = two_inside(stream, number)
        number += 1
        logarithm += math.log(u) / shape
    return logarithm, number


@device
def enlargement(largest: Value) -> Value:
    """Return what shapes are to be multiplied by so that one of their logarithms is finite.

    Where all shapes are tiny, one gamma number is all of their sum. Which one it is depends on the
    quotients of the shapes only.
    """
    return _ENLARGED if largest < _TINY else 1.0


@device
def chi_square(stream: Value, number: Value, df: Value) -> Value:
    """Return a chi-squared number, and the next block."""
    value, number = gamma(stream, number, 0.5 * df)
    return 2.0 * value, number
