"""Polynomials by Horner's rule."""

from __future__ import annotations

from pygpulib.jit.intrinsics.floating import fma
from pygpulib.jit.intrinsics.scalars import Real


def polynomial(x: Real, coefficients: tuple[Real, ...]) -> Real:
    """Return the polynomial with these coefficients, highest power first."""
    return horner(coefficients[0], x, coefficients[1:])


def horner(start: Real, x: Real, coefficients: tuple[Real, ...]) -> Real:
    """Return the polynomial whose upper part is already evaluated, in ``start``."""
    result = start
    for coefficient in coefficients:
        result = fma(result, x, coefficient)
    return result
