"""Exponential, circular and hyperbolic functions, and roots, of complex numbers.

All compute in double precision on the two parts, also for complex64, and round once at the end.
Infinities, nans and signed zeros come out as Annex G of the C standard says.
"""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.exp_log import exp, log, log1p
from pygpulib.jit.intrinsics.floating import copysign, fma, isfinite, sqrt
from pygpulib.jit.intrinsics.hyperbolic import cosh, sinh, tanh
from pygpulib.jit.intrinsics.like import round_like
from pygpulib.jit.intrinsics.roots import hypot, pow_
from pygpulib.jit.intrinsics.scalars import Complex, Double
from pygpulib.jit.intrinsics.trigonometry import atan2, sincos, tan

LN2 = 0.6931471805599453
LOG10_E = 0.4342944819032518
LOG2_E = 1.4426950408889634
STEEP = 700.0  # the exponential of twice this overflows
FLAT = 22.0
BIG, SMALL = 2.0**1000, 2.0**-900
DOWN, UP = 2.0**-10, 2.0**600
DOWN_EXPONENT, UP_EXPONENT = 10.0, -600.0
ROOT_UP, ROOT_DOWN = 2.0**5, 2.0**-300


def like(z: Complex, real: Double, imag: Double) -> Complex:
    """Return a complex number of the type of ``z``."""
    return complex(round_like(z.real, real), round_like(z.real, imag))


def exp_parts(x: Double, y: Double) -> tuple[Double, Double]:
    """Return the parts of ``exp(x + iy)``."""
    sine, cosine = sincos(y)
    vanishes = (x == -math.inf) & (not isfinite(y))
    sine = 0.0 if vanishes else sine
    cosine = 0.0 if vanishes else cosine
    half = exp(0.5 * x if x > STEEP else x)
    rest = half if x > STEEP else 1.0
    real = half * cosine * rest
    real = x if (x == math.inf) & (not isfinite(y)) else real
    return real, y if y == 0.0 else half * sine * rest


def sinh_parts(x: Double, y: Double) -> tuple[Double, Double]:
    """Return the parts of ``sinh(x + iy)``."""
    sine, cosine = sincos(y)
    large = abs(x) > STEEP
    half = exp(0.5 * abs(x)) if large else 1.0
    upper = copysign(0.5 * half, x) if large else sinh(x)
    lower = 0.5 * half if large else cosh(x)
    real = upper * cosine * half
    edge = (x == 0.0) | (abs(x) == math.inf)
    real = x if edge & (not isfinite(y)) else real
    return real, y if y == 0.0 else lower * sine * half


def cosh_parts(x: Double, y: Double) -> tuple[Double, Double]:
    """Return the parts of ``cosh(x + iy)``."""
    sine, cosine = sincos(y)
    large = abs(x) > STEEP
    half = exp(0.5 * abs(x)) if large else 1.0
    upper = 0.5 * half if large else cosh(x)
    lower = copysign(0.5 * half, x) if large else sinh(x)
    real = upper * cosine * half
    real = math.inf if (abs(x) == math.inf) & (not isfinite(y)) else real
    imag = lower * sine * half
    imag = copysign(1.0, x) * y if y == 0.0 else imag
    return real, 0.0 if (x == 0.0) & (not isfinite(y)) else imag


def tanh_parts(x: Double, y: Double) -> tuple[Double, Double]:
    """Return the parts of ``tanh(x + iy)``.

    The formula is W. Kahan's (*Branch cuts for complex elementary functions*, 1987).
    """
    sine, cosine = sincos(y)
    flat = abs(x) > FLAT
    near = 0.0 if flat else x
    t = tanh(near)
    u = tan(y)
    sech = 1.0 / cosh(near)
    bottom = 1.0 + (t * u) * (t * u)
    real = t * (1.0 + u * u) / bottom
    imag = u / bottom * sech * sech
    small = exp(-2.0 * abs(x))
    product = 4.0 * sine * cosine
    edge = copysign(0.0, y if not isfinite(y) else product) if small == 0.0 else product * small
    real = copysign(1.0, x) if flat else real
    imag = edge if flat else imag
    return x if x == 0.0 else real, y if y == 0.0 else imag


def log_parts(x: Double, y: Double) -> tuple[Double, Double]:
    """Return the parts of ``log(x + iy)``."""
    return log_absolute(x, y), atan2(y, x)


def log_absolute(x: Double, y: Double) -> Double:
    """Return ``log(abs(x + iy))``, accurate near the unit circle too."""
    a, b = abs(x), abs(y)
    big, little = (max(b, a)), (min(a, b))
    scale = DOWN if big > BIG else (UP if big < SMALL else 1.0)
    shift = DOWN_EXPONENT if big > BIG else (UP_EXPONENT if big < SMALL else 0.0)
    far = log(hypot(big * scale, little * scale)) + shift * LN2
    p = big * big
    q = little * little
    p_low, q_low = fma(big, big, -p), fma(little, little, -q)
    head = p - 1.0
    excess = head + q
    back = excess - head
    error = (head - (excess - back)) + (q - back)
    near = 0.5 * log1p(excess + (error + (p_low + q_low)))
    return near if (big > 0.7) & (big < 1.4) & (little < 1.4) else far


def sqrt_parts(x: Double, y: Double) -> tuple[Double, Double]:
    """Return the parts of the square root with real part >= 0."""
    a, b = abs(x), abs(y)
    big = max(b, a)
    scale = DOWN if big > BIG else (UP if big < SMALL else 1.0)
    back = ROOT_UP if big > BIG else (ROOT_DOWN if big < SMALL else 1.0)
    p, q = a * scale, b * scale
    larger = sqrt(0.5 * (p + hypot(p, q)))
    smaller = q / (2.0 * larger)
    larger, smaller = larger * back, smaller * back
    real = smaller if x < 0.0 else larger
    imag = larger if x < 0.0 else smaller
    zero = (a == 0.0) & (b == 0.0)
    real = 0.0 if zero | ((x == -math.inf) & (b < math.inf)) else real
    imag = 0.0 if zero | ((x == math.inf) & (b < math.inf)) else imag
    real = math.inf if (b == math.inf) | (x == math.inf) else real
    imag = math.inf if (b == math.inf) | (x == -math.inf) else imag
    return real, copysign(imag, y)


def complex_exp(z: Complex) -> Complex:
    """Return e to the power ``z``."""
    real, imag = exp_parts(np.float64(z.real), np.float64(z.imag))
    return like(z, real, imag)


def complex_exp2(z: Complex) -> Complex:
    """Return 2 to the power ``z``."""
    real, imag = exp_parts(np.float64(z.real) * LN2, np.float64(z.imag) * LN2)
    return like(z, real, imag)


def complex_log(z: Complex) -> Complex:
    """Return the natural logarithm; the branch cut is the negative real axis."""
    real, imag = log_parts(np.float64(z.real), np.float64(z.imag))
    return like(z, real, imag)


def complex_log_in_base(z: Complex, *base: Complex) -> Complex:
    """Return the logarithm to a base, or the natural one."""
    return complex_log(z) / complex_log(base[0]) if base else complex_log(z)


def complex_log10(z: Complex) -> Complex:
    """Return the logarithm to base 10."""
    real, imag = log_parts(np.float64(z.real), np.float64(z.imag))
    return like(z, real * LOG10_E, imag * LOG10_E)


def complex_log2(z: Complex) -> Complex:
    """Return the logarithm to base 2."""
    real, imag = log_parts(np.float64(z.real), np.float64(z.imag))
    return like(z, real * LOG2_E, imag * LOG2_E)


def complex_sqrt(z: Complex) -> Complex:
    """Return the square root with real part >= 0."""
    real, imag = sqrt_parts(np.float64(z.real), np.float64(z.imag))
    return like(z, real, imag)


def complex_sinh(z: Complex) -> Complex:
    """Return the hyperbolic sine."""
    real, imag = sinh_parts(np.float64(z.real), np.float64(z.imag))
    return like(z, real, imag)


def complex_cosh(z: Complex) -> Complex:
    """Return the hyperbolic cosine."""
    real, imag = cosh_parts(np.float64(z.real), np.float64(z.imag))
    return like(z, real, imag)


def complex_tanh(z: Complex) -> Complex:
    """Return the hyperbolic tangent."""
    real, imag = tanh_parts(np.float64(z.real), np.float64(z.imag))
    return like(z, real, imag)


def complex_sin(z: Complex) -> Complex:
    """Return the sine, which is ``-i sinh(iz)``."""
    imag, real = sinh_parts(-np.float64(z.imag), np.float64(z.real))
    return like(z, real, -imag)


def complex_cos(z: Complex) -> Complex:
    """Return the cosine, which is ``cosh(iz)``."""
    real, imag = cosh_parts(-np.float64(z.imag), np.float64(z.real))
    return like(z, real, imag)


def complex_tan(z: Complex) -> Complex:
    """Return the tangent, which is ``-i tanh(iz)``."""
    imag, real = tanh_parts(-np.float64(z.imag), np.float64(z.real))
    return like(z, real, -imag)


def complex_pow(z: Complex, w: Complex) -> Complex:
    """Return ``z`` to the power ``w``."""
    x, y = np.float64(z.real), np.float64(z.imag)
    u, v = np.float64(w.real), np.float64(w.imag)
    length = hypot(x, y)
    angle = atan2(y, x)
    turn = angle * u + (0.0 if v == 0.0 else v * log_absolute(x, y))
    size = pow_(length, u) * (1.0 if v == 0.0 else exp(-(angle * v)))
    sine, cosine = sincos(turn)
    zero = (length == 0.0) & (u > 0.0)
    one = (u == 0.0) & (v == 0.0)
    real = 1.0 if one else (0.0 if zero else size * cosine)
    return like(z, real, 0.0 if one | zero else size * sine)
