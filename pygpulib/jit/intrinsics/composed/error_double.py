"""Error functions in double precision.

For x >= 0.4 the smooth function ``(1 + 2x) exp(x**2) erfc(x)`` is a polynomial in
``(x - 4) / (x + 4)`` (M. M. Shepherd and J. G. Laframboise, *Chebyshev approximation of
(1 + 2x) exp(x^2) erfc x in 0 <= x < infinity*, Mathematics of Computation 36, 1981).
"""

from __future__ import annotations

from pygpulib.jit.intrinsics.composed.coefficients import ERF_DOUBLE, ERFC_DOUBLE
from pygpulib.jit.intrinsics.composed.exp_double import exp_fraction_of_sum, scale_double
from pygpulib.jit.intrinsics.composed.polynomial import horner, polynomial
from pygpulib.jit.intrinsics.composed.select import at_most
from pygpulib.jit.intrinsics.floating import copysign, fma
from pygpulib.jit.intrinsics.scalars import Double

CENTER = 4.0


def erf_near_zero(x: Double) -> Double:
    """Return the error function for ``|x| <= 1``."""
    return fma(x, polynomial(x * x, ERF_DOUBLE), x)


def erfc_far(a: Double) -> Double:
    """Return the complementary error function for ``a >= 0.4``.

    Polynomial, quotient and exponential are sums of two numbers each until the last product.
    """
    x = at_most(a, 28.0)
    q = (x - CENTER) / (x + CENTER)
    slope = horner(polynomial(q, ERFC_DOUBLE[:12]), q, ERFC_DOUBLE[12:-1])
    top = fma(q, slope, ERFC_DOUBLE[-1])
    top_low = fma(q, slope, ERFC_DOUBLE[-1] - top)
    bottom = fma(2.0, x, 1.0)
    bottom_low = fma(2.0, x, 1.0 - bottom)
    ratio = top / bottom
    ratio_low = ((fma(-ratio, bottom, top) + top_low) - ratio * bottom_low) / bottom
    square = x * x
    fraction, exponent = exp_fraction_of_sum(-square, -fma(x, x, -square))
    factor = 1.0 + fraction
    factor_low = (1.0 - factor) + fraction
    product = fma(factor, ratio, fma(factor, ratio_low, factor_low * ratio))
    return scale_double(product, exponent)


def erf_double(x: Double) -> Double:
    """Return the error function."""
    a = abs(x)
    return copysign(1.0 - erfc_far(a) if a > 1.0 else erf_near_zero(a), x)


def erfc_double(x: Double) -> Double:
    """Return ``1 - erf(x)``."""
    far = erfc_far(abs(x))
    value = 2.0 - far if x < 0.0 else far
    below_half = (x - 0.5) + x * polynomial(x * x, ERF_DOUBLE)
    return 0.5 - below_half if abs(x) < 0.65625 else value
