"""Error functions in single precision; see ``error_double`` for the method."""

from __future__ import annotations

import numpy as np

from pygpulib.jit.intrinsics.composed.coefficients import ERF_SINGLE, ERFC_MEDIUM, ERFC_SINGLE
from pygpulib.jit.intrinsics.composed.exp_double import exp_medium
from pygpulib.jit.intrinsics.composed.exp_single import exp_single
from pygpulib.jit.intrinsics.composed.polynomial import polynomial
from pygpulib.jit.intrinsics.composed.select import at_most
from pygpulib.jit.intrinsics.floating import copysign, fma
from pygpulib.jit.intrinsics.scalars import Single

ZERO = np.float32(0)
ONE = np.float32(1)
TWO = np.float32(2)
CENTER = np.float32(4)
ERF_LIMIT = np.float32(4)
ERFC_LIMIT = np.float32(10.5)
SMALL = np.float32(0.4375)


def erf_near_zero(x: Single) -> Single:
    """Return the error function for ``|x| <= 1``."""
    return fma(x, polynomial(x * x, ERF_SINGLE), x)


def erf_single(x: Single) -> Single:
    """Return the error function; beyond 1 an approximate complement is enough."""
    a = abs(x)
    far = at_most(a, ERF_LIMIT)
    ratio = polynomial((far - CENTER) / (far + CENTER), ERFC_SINGLE) / fma(TWO, far, ONE)
    return copysign(ONE - ratio * exp_single(-(far * far)) if a > ONE else erf_near_zero(a), x)


def erfc_single(x: Single) -> Single:
    """Return ``1 - erf(x)``, through double precision."""
    a = np.float64(at_most(abs(x), ERFC_LIMIT))
    ratio = polynomial((a - 4.0) / (a + 4.0), ERFC_MEDIUM) / fma(2.0, a, 1.0)
    far = ratio * exp_medium(-(a * a))
    value = np.float32(2.0 - far if x < ZERO else far)
    return ONE - erf_near_zero(x) if abs(x) < SMALL else value
