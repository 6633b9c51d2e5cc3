"""From random bits to uniform, normal and log-normal numbers, in the kernel language.

Uniform numbers are cuRAND's to the last bit: they lie in (0, 1]. Normal ones come from the
transform of Box and Muller, and differ from cuRAND's by what two mathematics libraries differ: up
to four units in the last place.
"""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.floating import fma
from pygpulib.jit.intrinsics.library import (
    library_cos,
    library_exp,
    library_log,
    library_sin,
)
from pygpulib.jit.intrinsics.trigonometry import sincos
from pygpulib.rand.compiling import Value, device

_TWO_PI = 6.283185307179586
_TWO_PI_SINGLE = np.float32(6.2831855)

_UNIT_32 = 2.0**-32
_UNIT_53 = 2.0**-53
_HALF_UNIT_53 = 2.0**-54
_UNIT_32_SINGLE = np.float32(2.0**-32)
_HALF_UNIT_32_SINGLE = np.float32(2.0**-33)
_ANGLE_32_SINGLE = np.float32(2.0**-32 * 6.2831855)
_HALF_ANGLE_32_SINGLE = np.float32(2.0**-33 * 6.2831855)
MINUS_TWO_SINGLE = np.float32(-2.0)

# Up to this exponent the normal numbers of this module are good enough for log-normal ones.
_MAX_EXPONENT = np.float32(1.0)


@device
def uniform_single(x: Value) -> Value:
    """Return a float32 from 32 bits: they are rounded once, and the sum once more."""
    # Products with powers of two are exact, so one operation gives the bits of two; so below.
    return fma(np.float32(x), _UNIT_32_SINGLE, _HALF_UNIT_32_SINGLE)


@device
def uniform_double(low: Value, high: Value) -> Value:
    """Return a float64 from two times 32 bits, of which 53 count."""
    bits = np.uint64(low) ^ (np.uint64(high) << np.uint64(21))
    return fma(np.float64(bits), _UNIT_53, _HALF_UNIT_53)


@device
def uniform_upper(x: Value) -> Value:
    """Return a float64 from 32 bits, as the Poisson distribution takes them: a multiple of 2**-32.

    It is 1 where all bits are set.
    """
    return fma(np.float64(x), _UNIT_32, _UNIT_32)


@device
def box_muller_single(u: Value, angle: Value) -> Value:
    """Return two independent standard normals from a float32 in (0, 1] and an angle."""
    radius = math.sqrt(MINUS_TWO_SINGLE * math.log(u))
    sine, cosine = sincos(angle)
    return radius * sine, radius * cosine


@device
def box_muller_double(u: Value, angle: Value) -> Value:
    """Return two independent standard normals from a float64 in (0, 1] and an angle."""
    radius = math.sqrt(-2.0 * math.log(u))
    sine, cosine = sincos(angle)
    return radius * sine, radius * cosine


@device
def box_muller_library(u: Value, angle: Value, minus_two: Value) -> Value:
    """Return two standard normals with the functions of C's library, as cuRAND does on the host.

    For numbers that rounding or the exponential function makes of them: these would magnify a
    difference in the last bit. The functions work on one lane after the other.
    """
    radius = math.sqrt(minus_two * library_log(u))
    return radius * library_sin(angle), radius * library_cos(angle)


@device
def polar_single(x: Value, y: Value) -> Value:
    """Return a float32 in (0, 1] and an angle from two times 32 bits."""
    return uniform_single(x), np.float32(y) * _ANGLE_32_SINGLE + _HALF_ANGLE_32_SINGLE


@device
def polar_double(x: Value, y: Value, z: Value, w: Value) -> Value:
    """Return a float64 in (0, 1] and an angle from four times 32 bits."""
    return uniform_double(x, y), uniform_double(z, w) * _TWO_PI


@device
def normals_single(x: Value, y: Value) -> Value:
    """Return two standard normals of type float32 from two times 32 bits."""
    return box_muller_single(*polar_single(x, y))


@device
def normals_double(x: Value, y: Value, z: Value, w: Value) -> Value:
    """Return two standard normals of type float64 from four times 32 bits."""
    return box_muller_double(*polar_double(x, y, z, w))


@device
def angle_single(u: Value) -> Value:
    """Return the angle for a uniform float32."""
    return u * _TWO_PI_SINGLE


@device
def angle_double(u: Value) -> Value:
    """Return the angle for a uniform float64."""
    return u * _TWO_PI


@device
def scale_single(normal: Value, mean: Value, sigma: Value) -> Value:
    """Give a standard normal of type float32 a mean and a standard deviation."""
    return normal * np.float32(sigma) + np.float32(mean)


@device
def scale_double(normal: Value, mean: Value, sigma: Value) -> Value:
    """Give a standard normal of type float64 a mean and a standard deviation."""
    return normal * sigma + mean


@device
def _is_sensitive(normal: Value, mean: Value, sigma: Value) -> Value:
    """Return whether the exponential function makes much of the last bits of a normal number."""
    deviation = abs(normal * np.float32(sigma))
    return max(deviation, abs(scale_single(normal, mean, sigma))) >= _MAX_EXPONENT


@device
def lognormals_single(polar: Value, mean: Value, sigma: Value) -> Value:
    """Return two log-normal float32 from a uniform number and an angle."""
    u, angle = polar
    first, second = box_muller_single(u, angle)
    is_sensitive = _is_sensitive(first, mean, sigma) or _is_sensitive(second, mean, sigma)
    if sigma > 1.0 or is_sensitive:
        first, second = box_muller_library(u, angle, MINUS_TWO_SINGLE)
    return exponential_of_single(first, mean, sigma), exponential_of_single(second, mean, sigma)


@device
def lognormals_double(polar: Value, mean: Value, sigma: Value) -> Value:
    """Return two log-normal float64 from a uniform number and an angle."""
    first, second = box_muller_library(*polar, -2.0)
    return exponential_of_double(first, mean, sigma), exponential_of_double(second, mean, sigma)


@device
def exponential_of_single(normal: Value, mean: Value, sigma: Value) -> Value:
    """Return a log-normal float32, rounded once."""
    return np.float32(math.exp(np.float64(scale_single(normal, mean, sigma))))


@device
def exponential_of_double(normal: Value, mean: Value, sigma: Value) -> Value:
    """Return a log-normal float64."""
    return library_exp(scale_double(normal, mean, sigma))
