"""Quantiles of the normal distribution, in the kernel language.

They come from the inverse of the complementary error function, as cuRAND's do. Arguments lie in
(0, 1]: generators mirror the upper half of their numbers.
"""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.floating import fma
from pygpulib.rand import distributions as dist
from pygpulib.rand.compiling import Value, device
from pygpulib.rand.quantile_coefficients import BOTTOM, CENTERS, TAIL, TOP

_ROOT_TWO = 1.4142135623730951
_ROOT_TWO_SINGLE = np.float32(1.4142135)
_MIDDLE_32 = np.uint32(1 << 31)
_MIDDLE_64 = np.uint64(1 << 63)
_POWERS = tuple(range(1, len(TOP)))


@device
def inverse_erfc(a: Value) -> Value:
    """Return the number beyond which the error function has a share from 2**-53 to 1 left.

    In the tail the number is a function of ``t = 1 / sqrt(-log(a))``, which cuRAND computes first,
    too. Its rounding error shows: the inverse of the rounded number is as far off in both.

    The rational functions for the middle and the tail have the same degrees, so that only their
    coefficients are chosen. They correct a base by a small part, so that their errors are small.
    """
    middle = a > TAIL
    z = 1.0 - a
    root = math.sqrt(-math.log(a))
    t = 1.0 / root
    w = z * z - CENTERS[0] if middle else t - CENTERS[1]
    top, bottom = TOP[0][0] if middle else TOP[0][1], BOTTOM[0][0] if middle else BOTTOM[0][1]
    for k in _POWERS:
        top = fma(top, w, TOP[k][0] if middle else TOP[k][1])
        bottom = fma(bottom, w, BOTTOM[k][0] if middle else BOTTOM[k][1])
    base = z if middle else root
    # What 1 / t is more than the root.
    rest = 0.0 if middle else root * fma(-t, root, 1.0)
    return base + fma(base, top / bottom, rest)


@device
def normal_single(x: Value) -> Value:
    """Return a standard normal of type float32 from 32 bits, rounded where cuRAND rounds."""
    is_upper = x > _MIDDLE_32
    p = dist.uniform_single(np.uint32(~x) if is_upper else x)
    normal = -np.float32(inverse_erfc(2.0 * np.float64(p))) * _ROOT_TWO_SINGLE
    return -normal if is_upper else normal


@device
def normal_double(x: Value) -> Value:
    """Return a standard normal of type float64 from 32 bits."""
    is_upper = x > _MIDDLE_32
    mirrored = np.uint32(~x) if is_upper else x
    normal = -_ROOT_TWO * inverse_erfc(np.float64(mirrored) * 2.0**-31 + 2.0**-32)
    return -normal if is_upper else normal


@device
def normal_double_of_64(x: Value) -> Value:
    """Return a standard normal of type float64 from 64 bits."""
    is_upper = x > _MIDDLE_64
    mirrored = np.uint64(~x) if is_upper else x
    normal = -_ROOT_TWO * inverse_erfc(np.float64(mirrored >> np.uint64(11)) * 2.0**-52 + 2.0**-53)
    return -normal if is_upper else normal
