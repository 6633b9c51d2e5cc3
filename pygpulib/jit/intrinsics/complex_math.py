"""The functions of ``cmath`` and NumPy on complex numbers, in the kernel language."""

from __future__ import annotations

import cmath
from collections.abc import Callable, Mapping

import numpy as np

from pygpulib.jit.intrinsics import complex_exponential as exponential
from pygpulib.jit.intrinsics import complex_inverse as inverse
from pygpulib.jit.intrinsics import complex_order as order
from pygpulib.jit.intrinsics.floating import isfinite, isinf, isnan
from pygpulib.jit.intrinsics.roots import hypot
from pygpulib.jit.intrinsics.scalars import Complex, Real, Truth
from pygpulib.jit.intrinsics.trigonometry import atan2, sincos


def complex_phase(z: Complex) -> Real:
    """Return the angle of ``z`` in [-pi, pi]; the cut is the negative real axis."""
    return atan2(z.imag, z.real)


def complex_polar(z: Complex) -> tuple[Real, Real]:
    """Return absolute value and angle."""
    return hypot(z.real, z.imag), atan2(z.imag, z.real)


def complex_rect(r: Real, phi: Real) -> Complex:
    """Return the number with this absolute value and angle."""
    sine, cosine = sincos(phi)
    vanishes = (r == 0) & (not isfinite(phi))
    real = abs(r) if vanishes | (isinf(r) & (not isfinite(phi))) else r * cosine
    imag = r * sine
    edge = phi if r > 0 else -phi
    edge = r * phi if isfinite(r) else edge
    imag = edge if phi == 0 else imag
    return complex(real, abs(r) if vanishes else imag)


def complex_isnan(z: Complex) -> Truth:
    """Return whether a part is nan."""
    return isnan(z.real) | isnan(z.imag)


def complex_isinf(z: Complex) -> Truth:
    """Return whether a part is infinite."""
    return isinf(z.real) | isinf(z.imag)


def complex_isfinite(z: Complex) -> Truth:
    """Return whether both parts are finite."""
    return isfinite(z.real) & isfinite(z.imag)


def complex_conjugate(z: Complex) -> Complex:
    """Return the number with the sign of the imaginary part changed."""
    return complex(z.real, -z.imag)


def complex_real(z: Complex) -> Real:
    """Return the real part."""
    return z.real


def complex_imag(z: Complex) -> Real:
    """Return the imaginary part."""
    return z.imag


COMPLEX_FUNCTIONS: Mapping[object, Callable[..., object]] = {
    pow: exponential.complex_pow,
    cmath.exp: exponential.complex_exp,
    np.exp: exponential.complex_exp,
    np.exp2: exponential.complex_exp2,
    cmath.log: exponential.complex_log_in_base,
    np.log: exponential.complex_log,
    cmath.log10: exponential.complex_log10,
    np.log10: exponential.complex_log10,
    np.log2: exponential.complex_log2,
    cmath.sqrt: exponential.complex_sqrt,
    np.sqrt: exponential.complex_sqrt,
    cmath.sin: exponential.complex_sin,
    np.sin: exponential.complex_sin,
    cmath.cos: exponential.complex_cos,
    np.cos: exponential.complex_cos,
    cmath.tan: exponential.complex_tan,
    np.tan: exponential.complex_tan,
    cmath.sinh: exponential.complex_sinh,
    np.sinh: exponential.complex_sinh,
    cmath.cosh: exponential.complex_cosh,
    np.cosh: exponential.complex_cosh,
    cmath.tanh: exponential.complex_tanh,
    np.tanh: exponential.complex_tanh,
    cmath.acos: inverse.complex_acos,
    np.arccos: inverse.complex_acos,
    cmath.asin: inverse.complex_asin,
    np.arcsin: inverse.complex_asin,
    cmath.atan: inverse.complex_atan,
    np.arctan: inverse.complex_atan,
    cmath.acosh: inverse.complex_acosh,
    np.arccosh: inverse.complex_acosh,
    cmath.asinh: inverse.complex_asinh,
    np.arcsinh: inverse.complex_asinh,
    cmath.atanh: inverse.complex_atanh,
    np.arctanh: inverse.complex_atanh,
    cmath.phase: complex_phase,
    np.angle: complex_phase,
    cmath.polar: complex_polar,
    cmath.rect: complex_rect,
    cmath.isnan: complex_isnan,
    np.isnan: complex_isnan,
    cmath.isinf: complex_isinf,
    np.isinf: complex_isinf,
    cmath.isfinite: complex_isfinite,
    np.isfinite: complex_isfinite,
    np.conjugate: complex_conjugate,
    np.real: complex_real,
    np.imag: complex_imag,
    np.less: order.complex_less,
    np.less_equal: order.complex_less_equal,
    np.greater: order.complex_greater,
    np.greater_equal: order.complex_greater_equal,
    np.maximum: order.complex_maximum,
    np.minimum: order.complex_minimum,
    np.fmax: order.complex_fmax,
    np.fmin: order.complex_fmin,
}
"""From the Python object to the function that means it on complex operands."""
