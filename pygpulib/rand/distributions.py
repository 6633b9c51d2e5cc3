"""From random bits to uniform, normal and log-normal numbers, in the kernel language.

Uniform numbers are cuRAND's to the last bit: they lie in (0, 1]. Normal ones come from the
transform of Box and Muller, and differ from cuRAND's by what two mathematics libraries differ: up
to four units in the last place.
"""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.bits import bits_float, float_bits
from pygpulib.jit.intrinsics.floating import fma
from pygpulib.jit.intrinsics.library import (
    library_cos,
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

_EXPONENT_SINGLE = np.int32(0x7F800000)
_EXPONENT_DOUBLE = np.int64(0x7FF0000000000000)
# At least a 25th of a unit in the last place of a float32, as a share of the number.
_BETWEEN_SINGLE = 1.28 * 2.0**-28


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


# -------------------------------------------------------------------------- log-normal numbers
#
# The exponential function turns a difference of its argument into one of so many units in the last
# place, and the arguments come with rounding errors: four units are two in the argument, where it
# lies between 1 and 2. A radius or a sine that is another by its last bit may therefore show.
# Where it may, the functions of C's library are called, which cuRAND calls on the host.


@device
def lognormals_single(polar: Value, mean: Value, sigma: Value) -> Value:
    """Return two log-normal float32 from a uniform number and an angle."""
    u, angle = polar
    logarithm = math.log(np.float64(u))
    radius = math.sqrt(MINUS_TWO_SINGLE * np.float32(logarithm))
    sine, cosine = sincos(np.float64(angle))
    first, second = radius * np.float32(sine), radius * np.float32(cosine)
    largest = max(abs(scale_single(first, mean, sigma)), abs(scale_single(second, mean, sigma)))
    if _shows_single(logarithm, radius, largest, mean, sigma):
        first, second = box_muller_library(u, angle, MINUS_TWO_SINGLE)
    return exponential_of_single(first, mean, sigma), exponential_of_single(second, mean, sigma)


@device
def _shows_single(
    logarithm: Value, radius: Value, largest: Value, mean: Value, sigma: Value
) -> Value:
    """Return whether the last bit of a logarithm or a sine may show in a log-normal number.

    Those at hand are rounded once, from float64. C's are nearly as good: the logarithm is known to
    a 25th of a unit before it is rounded, where the radius is at least 1, so that it is the same
    number unless it lies in between.
    """
    # What a last bit of the radius or the sine makes of the exponent, at most, in units of 2**-23.
    scale = np.float32(sigma) * bits_float(np.int32(float_bits(radius) & _EXPONENT_SINGLE))
    # The sum with another mean is rounded to multiples of 2**-22 from 2 on.
    limit = np.float32(4.0) if mean == 0.0 or scale <= np.float32(0.5) else np.float32(2.0)
    error = logarithm * _BETWEEN_SINGLE
    is_between = np.float32(logarithm - error) != np.float32(logarithm + error)
    is_doubtful = scale > np.float32(2.0) or radius < np.float32(1.0) or is_between
    return largest >= limit or (scale > np.float32(1.0) and is_doubtful)


@device
def lognormals_double(polar: Value, mean: Value, sigma: Value) -> Value:
    """Return two log-normal float64 from a uniform number and an angle."""
    u, angle = polar
    radius = math.sqrt(-2.0 * math.log(u))
    sine, cosine = sincos(angle)
    first, second = radius * sine, radius * cosine
    largest = max(abs(scale_double(first, mean, sigma)), abs(scale_double(second, mean, sigma)))
    # The functions at hand are not as good as C's, so that both may differ.
    scale = sigma * bits_float(float_bits(radius) & _EXPONENT_DOUBLE)
    if largest >= 2.0 or scale > 1.0:
        first, second = box_muller_library(u, angle, -2.0)
    return exponential_of_double(first, mean, sigma), exponential_of_double(second, mean, sigma)


@device
def exponential_of_single(normal: Value, mean: Value, sigma: Value) -> Value:
    """Return a log-normal float32, rounded once."""
    return np.float32(math.exp(np.float64(scale_single(normal, mean, sigma))))


@device
def exponential_of_double(normal: Value, mean: Value, sigma: Value) -> Value:
    """Return a log-normal float64."""
    return math.exp(scale_double(normal, mean, sigma))
