"""Polynomials by Horner's rule."""

from __future__ import annotations

from pygpulib.jit.intrinsics.floating import fma
from pygpulib.jit.intrinsics.scalars import Real


def polynomial(x: Real, coefficients: tuple[Real, ...]) -> Real:
    """Return the polynomial with these coefficients, highest power first."""
    result = coefficients[0]
    for coefficient in coefficients[1:]:
        result = fma(result, x, coefficient)
    return result
