"""The scaled error function, the normal distribution, and inverses, in double precision.

Inverses are found by Newton's method. It starts with the first terms of the series, or in the tails
with formula 26.2.23 of M. Abramowitz and I. A. Stegun, *Handbook of Mathematical Functions*; there
it runs on logarithms, which are neither large nor small.
"""

from __future__ import annotations

import math

from pygpulib.jit.intrinsics.composed.coefficients import ERFC_DOUBLE
from pygpulib.jit.intrinsics.composed.error_double import CENTER
from pygpulib.jit.intrinsics.composed.polynomial import horner, polynomial
from pygpulib.jit.intrinsics.composed.select import at_least, at_most
from pygpulib.jit.intrinsics.exp_log import exp, log
from pygpulib.jit.intrinsics.floating import copysign, fma, sqrt
from pygpulib.jit.intrinsics.scalars import Double
from pygpulib.jit.intrinsics.special import erf, erfc

_HALF_ROOT_PI = 0.886226925452758  # the derivative at 0 of the inverse
_ROOT_HALF = 0.7071067811865476
_ROOT_HALF_LOW = -4.833646656726457e-17
_ROOT_TWO = 1.4142135623730951
_PER_ROOT_PI = 0.5641895835477563

# erfcx(x) * x * sqrt(pi) in powers of 1 / (2 x**2), highest first: (-1)**n (2n - 1)!!.
_FAR = (-135135.0, 10395.0, -945.0, 105.0, -15.0, 3.0, -1.0, 1.0)
_FROM = 28.0

# The inverse of the error function: x**(2n + 1) * (sqrt(pi) / 2)**(2n + 1), highest first.
_SERIES = (34807.0 / 178200.0, 4369.0 / 22680.0, 127.0 / 630.0, 7.0 / 30.0, 1.0 / 3.0, 1.0)
_TAIL_TOP = (0.010328, 0.802853, 2.515517)
_TAIL_BOTTOM = (0.001308, 0.189269, 1.432788, 1.0)
_STEPS = 3


def _erfcx_positive(x: Double) -> Double:
    """Return ``exp(x**2) * erfc(x)`` for ``x >= 0.4``."""
    near = at_most(x, _FROM)
    q = (near - CENTER) / (near + CENTER)
    slope = horner(polynomial(q, ERFC_DOUBLE[:12]), q, ERFC_DOUBLE[12:-1])
    value = fma(q, slope, ERFC_DOUBLE[-1]) / fma(2.0, near, 1.0)
    inverse = 1.0 / x
    far = _PER_ROOT_PI * inverse * polynomial(0.5 * inverse * inverse, _FAR)
    return far if x > _FROM else value


def erfcx_double(x: Double) -> Double:
    """Return ``exp(x**2) * erfc(x)``."""
    square = x * x
    power = exp(square)
    value = power * erfc(x)
    value = fma(fma(x, x, -square), value, value) if value < math.inf else value
    return value if x < 0.5 else _erfcx_positive(x)


def normcdf_double(x: Double) -> Double:
    """Return how likely a normal variate is below ``x``."""
    far = x if abs(x) < 40.0 else copysign(40.0, x)
    z = -far * _ROOT_HALF
    low = fma(-far, _ROOT_HALF, -z) - far * _ROOT_HALF_LOW
    value = 0.5 * erfc(z)
    slope = 2.0 * _PER_ROOT_PI * low / _erfcx_positive(at_least(z, 0.5))
    corrected = value - value * slope if z > 0.5 else value
    return corrected if x == x else x


def _inverse_center(x: Double) -> Double:
    """Return the inverse of the error function for ``abs(x) <= 0.5``."""
    start = _HALF_ROOT_PI * x
    y = start * polynomial(start * start, _SERIES)
    for _ in range(_STEPS):
        y = y - (erf(y) - x) * (_HALF_ROOT_PI * exp(y * y))
    return y


def _inverse_tail(p: Double) -> Double:
    """Return the inverse of the complementary error function for ``0 < p <= 0.5``."""
    logarithm = log(p)
    t = sqrt(-2.0 * (logarithm - 0.6931471805599453))
    y = _ROOT_HALF * (t - polynomial(t, _TAIL_TOP) / polynomial(t, _TAIL_BOTTOM))
    for _ in range(_STEPS):
        scaled = _erfcx_positive(y)
        y = y + ((log(scaled) - logarithm) - y * y) * (_HALF_ROOT_PI * scaled)
    return y


def erfinv_double(x: Double) -> Double:
    """Return the inverse of the error function."""
    a = abs(x)
    tail = copysign(_inverse_tail(1.0 - a if (a > 0.5) & (a < 1.0) else 0.25), x)
    center = _inverse_center(x if a <= 0.5 else 0.0)
    inside = center if a <= 0.5 else tail
    edge = copysign(math.inf, x) if a == 1.0 else math.nan
    return inside if a < 1.0 else edge


def erfcinv_double(p: Double) -> Double:
    """Return the inverse of the complementary error function."""
    rest = p if p < 1.0 else 2.0 - p
    is_tail = (rest > 0.0) & (rest < 0.5)
    tail = _inverse_tail(rest if is_tail else 0.25)
    far = tail if p < 1.0 else -tail
    center = _inverse_center(1.0 - p if (p >= 0.5) & (p <= 1.5) else 0.0)
    inside = far if is_tail else center
    edge = copysign(math.inf, 1.0 - p) if rest == 0.0 else math.nan
    return inside if rest > 0.0 else edge


def normcdfinv_double(p: Double) -> Double:
    """Return what a normal variate is below as likely as ``p``."""
    return 0.0 - _ROOT_TWO * erfcinv_double(2.0 * p)
