"""Inverse circular and hyperbolic functions of complex numbers.

The formulas and branch cuts are those of W. Kahan, *Branch cuts for complex elementary functions,
or much ado about nothing's sign bit* (1987). All compute in double precision and round at the end.
"""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.complex_exponential import LN2, like, log_absolute, sqrt_parts
from pygpulib.jit.intrinsics.exp_log import log, log1p
from pygpulib.jit.intrinsics.floating import copysign, isnan, sqrt
from pygpulib.jit.intrinsics.hyperbolic import asinh
from pygpulib.jit.intrinsics.roots import hypot
from pygpulib.jit.intrinsics.scalars import Complex, Double, Truth
from pygpulib.jit.intrinsics.trigonometry import atan2

HALF_PI = 1.5707963267948966
LARGE = 2.0**500  # beyond, one is lost beside z
TINY = 2.0**-500


def is_large(x: Double, y: Double) -> Truth:
    """Return whether a part is so large that the asymptotic formulas hold."""
    return (abs(x) > LARGE) | (abs(y) > LARGE)


def acos_parts(x: Double, y: Double) -> tuple[Double, Double]:
    """Return the parts of ``acos(x + iy)``."""
    large = is_large(x, y)
    a, b = sqrt_parts(1.0 - x, -y)
    c, d = sqrt_parts(1.0 + x, y)
    real = 2.0 * atan2(a, c)
    imag = asinh(c * b - d * a)
    real = HALF_PI if (x == 0.0) & isnan(y) else real
    far = log_absolute(x, y) + LN2
    return (atan2(abs(y), x) if large else real), (copysign(far, -y) if large else imag)


def acosh_parts(x: Double, y: Double) -> tuple[Double, Double]:
    """Return the parts of ``acosh(x + iy)``."""
    large = is_large(x, y)
    a, b = sqrt_parts(x - 1.0, y)
    c, d = sqrt_parts(x + 1.0, y)
    real = asinh(a * c + b * d)
    imag = 2.0 * atan2(b, c)
    imag = HALF_PI if (x == 0.0) & isnan(y) else imag
    far = log_absolute(x, y) + LN2
    return (far if large else real), (copysign(atan2(abs(y), x), y) if large else imag)


def asinh_parts(x: Double, y: Double) -> tuple[Double, Double]:
    """Return the parts of ``asinh(x + iy)``."""
    large = is_large(x, y)
    a, b = sqrt_parts(1.0 + y, -x)
    c, d = sqrt_parts(1.0 - y, x)
    real = asinh(a * d - c * b)
    imag = atan2(y, a * c - b * d)
    imag = y if y == 0.0 else imag
    far = log_absolute(x, y) + LN2
    return (copysign(far, x) if large else real), (atan2(y, abs(x)) if large else imag)


def atanh_parts(x: Double, y: Double) -> tuple[Double, Double]:
    """Return the parts of ``atanh(x + iy)``."""
    a, b = abs(x), abs(y)
    large = is_large(x, y)
    pole = (a == 1.0) & (b < TINY)
    real = 0.25 * log1p(4.0 * a / ((1.0 - a) * (1.0 - a) + b * b))
    imag = 0.5 * atan2(2.0 * b, (1.0 - a) * (1.0 + a) - b * b)
    real = -log(sqrt(b) / sqrt(hypot(b, 2.0))) if pole else real
    imag = (0.0 if b == 0.0 else 0.5 * atan2(2.0, -b)) if pole else imag
    half = hypot(0.5 * a, 0.5 * b)
    far = 0.0 if half == math.inf else 0.25 * a / half / half
    real = far if large else real
    imag = (b if isnan(b) else HALF_PI) if large else imag
    real = a if (a == 0.0) & isnan(b) else real
    return copysign(real, x), copysign(imag, y)


def complex_acos(z: Complex) -> Complex:
    """Return the inverse cosine; cut along the real axis beyond -1 and 1."""
    real, imag = acos_parts(np.float64(z.real), np.float64(z.imag))
    return like(z, real, imag)


def complex_acosh(z: Complex) -> Complex:
    """Return the inverse hyperbolic cosine; cut along the real axis below 1."""
    real, imag = acosh_parts(np.float64(z.real), np.float64(z.imag))
    return like(z, real, imag)


def complex_asinh(z: Complex) -> Complex:
    """Return the inverse hyperbolic sine; cut along the imaginary axis beyond -i and i."""
    real, imag = asinh_parts(np.float64(z.real), np.float64(z.imag))
    return like(z, real, imag)


def complex_atanh(z: Complex) -> Complex:
    """Return the inverse hyperbolic tangent; cut along the real axis beyond -1 and 1."""
    real, imag = atanh_parts(np.float64(z.real), np.float64(z.imag))
    return like(z, real, imag)


def complex_asin(z: Complex) -> Complex:
    """Return the inverse sine, which is ``-i asinh(iz)``."""
    imag, real = asinh_parts(-np.float64(z.imag), np.float64(z.real))
    return like(z, real, -imag)


def complex_atan(z: Complex) -> Complex:
    """Return the inverse tangent, which is ``-i atanh(iz)``."""
    imag, real = atanh_parts(-np.float64(z.imag), np.float64(z.real))
    return like(z, real, -imag)
