"""The order of complex numbers as NumPy's functions have it: by real part, then by imaginary part.

Python's operators have none.
"""

from __future__ import annotations

from math import isnan
from typing import Any, TypeAlias

Complex: TypeAlias = Any
Truth: TypeAlias = Any


def _is_nan(z: Complex) -> Truth:
    return isnan(z.real) | isnan(z.imag)


def _decides(z: Complex, w: Complex) -> Truth:
    """Return whether the real parts decide, unless they are equal."""
    return (not isnan(z.imag)) & (not isnan(w.imag))


def complex_less(z: Complex, w: Complex) -> Truth:
    """Return whether a number comes before another one."""
    return ((z.real < w.real) & _decides(z, w)) | ((z.real == w.real) & (z.imag < w.imag))


def complex_less_equal(z: Complex, w: Complex) -> Truth:
    """Return whether a number does not come after another one."""
    return ((z.real < w.real) & _decides(z, w)) | ((z.real == w.real) & (z.imag <= w.imag))


def complex_greater(z: Complex, w: Complex) -> Truth:
    """Return whether a number comes after another one."""
    return complex_less(w, z)


def complex_greater_equal(z: Complex, w: Complex) -> Truth:
    """Return whether a number does not come before another one."""
    return complex_less_equal(w, z)


def complex_maximum(z: Complex, w: Complex) -> Complex:
    """Return the later number; the first NaN, if there is one."""
    return z if _is_nan(z) | complex_less_equal(w, z) else w


def complex_minimum(z: Complex, w: Complex) -> Complex:
    """Return the earlier number; the first NaN, if there is one."""
    return z if _is_nan(z) | complex_less_equal(z, w) else w


def complex_fmax(z: Complex, w: Complex) -> Complex:
    """Return the later number; the other one if one is NaN."""
    return z if _is_nan(w) | complex_less_equal(w, z) else w


def complex_fmin(z: Complex, w: Complex) -> Complex:
    """Return the earlier number; the other one if one is NaN."""
    return z if _is_nan(w) | complex_less_equal(z, w) else w
