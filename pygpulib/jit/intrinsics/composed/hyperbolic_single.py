"""Hyperbolic functions in single precision; the inverse ones pass through double precision."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.composed.coefficients import SINH_SINGLE, TANH_SINGLE
from pygpulib.jit.intrinsics.composed.exp_single import exp_mantissa, exp_single, scale_single
from pygpulib.jit.intrinsics.composed.log_double import log_medium
from pygpulib.jit.intrinsics.composed.polynomial import polynomial
from pygpulib.jit.intrinsics.composed.select import at_most
from pygpulib.jit.intrinsics.floating import copysign, fma, sqrt
from pygpulib.jit.intrinsics.scalars import Single

ZERO = np.float32(0)
QUARTER = np.float32(0.25)
ONE = np.float32(1)
TWO = np.float32(2)
INFINITY = np.float32(math.inf)
NAN = np.float32(math.nan)
EXP_LIMIT = np.float32(90)
TANH_LIMIT = np.float32(15)
TANH_SMALL = np.float32(0.625)
TINY = np.float32(2.0**-14)


def half_exp(a: Single) -> Single:
    """Return ``exp(a) / 2`` for a >= 0."""
    mantissa, exponent = exp_mantissa(at_most(a, EXP_LIMIT))
    return scale_single(mantissa, np.int32(exponent - 1))


def sinh_single(x: Single) -> Single:
    """Return the hyperbolic sine."""
    a = abs(x)
    z = a * a
    small = fma(a * z, polynomial(z, SINH_SINGLE), a)
    half = half_exp(a)
    return copysign(small if a < ONE else half - QUARTER / half, x)


def cosh_single(x: Single) -> Single:
    """Return the hyperbolic cosine."""
    half = half_exp(abs(x))
    return half + QUARTER / half


def tanh_single(x: Single) -> Single:
    """Return the hyperbolic tangent."""
    a = at_most(abs(x), TANH_LIMIT)
    z = a * a
    small = fma(a * z, polynomial(z, TANH_SINGLE), a)
    large = ONE - TWO / (exp_single(TWO * a) + ONE)
    return copysign(small if a < TANH_SMALL else large, x)


def asinh_single(x: Single) -> Single:
    """Return the number whose hyperbolic sine is ``x``."""
    a = abs(x)
    wide = np.float64(a)
    value = np.float32(log_medium(wide + sqrt(wide * wide + 1.0)))
    regular = (a > TINY) & (a < INFINITY)
    return copysign(value if regular else a, x)


def acosh_single(x: Single) -> Single:
    """Return the number >= 0 whose hyperbolic cosine is ``x``."""
    wide = np.float64(x)
    value = np.float32(log_medium(wide + sqrt(wide * wide - 1.0)))
    return NAN if x < ONE else (value if x < INFINITY else x)


def atanh_single(x: Single) -> Single:
    """Return the number whose hyperbolic tangent is ``x``."""
    a = abs(x)
    wide = np.float64(a)
    value = np.float32(0.5 * log_medium((1.0 + wide) / (1.0 - wide)))
    edge = INFINITY if a == ONE else NAN
    regular = value if a < ONE else edge
    return copysign(regular if a > TINY else a, x)
