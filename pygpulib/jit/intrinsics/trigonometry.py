"""Trigonometric functions and their inverses."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.core.dtypes import float32, float64
from pygpulib.jit.intrinsics import rules
from pygpulib.jit.intrinsics.composed import (
    inverse_double,
    inverse_single,
    trig_double,
    trig_single,
)
from pygpulib.jit.intrinsics.lowerings import composed, evaluate, libdevice
from pygpulib.jit.intrinsics.scalars import Real
from pygpulib.jit.ir.intrinsic import intrinsic

_ULP = {float32: 2.0, float64: 2.0}


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed(trig_single.sin_single, trig_double.sin_double),
    cuda=libdevice("sin"),
    ulp=_ULP,
    samples="angle",
    spellings=(math.sin, np.sin),
)
def sin(x: Real) -> Real:
    """Return the sine of an angle in radians."""
    return evaluate(np.sin, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed(trig_single.cos_single, trig_double.cos_double),
    cuda=libdevice("cos"),
    ulp=_ULP,
    samples="angle",
    spellings=(math.cos, np.cos),
)
def cos(x: Real) -> Real:
    """Return the cosine of an angle in radians."""
    return evaluate(np.cos, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed(trig_single.tan_single, trig_double.tan_double),
    cuda=libdevice("tan"),
    ulp=_ULP,
    samples="angle",
    spellings=(math.tan, np.tan),
)
def tan(x: Real) -> Real:
    """Return the tangent of an angle in radians."""
    return evaluate(np.tan, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed(inverse_single.asin_single, inverse_double.asin_double),
    cuda=libdevice("asin"),
    ulp=_ULP,
    samples="unit",
    spellings=(math.asin, np.arcsin),
)
def asin(x: Real) -> Real:
    """Return the angle in [-pi/2, pi/2] whose sine is ``x``."""
    return evaluate(np.arcsin, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed(inverse_single.acos_single, inverse_double.acos_double),
    cuda=libdevice("acos"),
    ulp=_ULP,
    samples="unit",
    spellings=(math.acos, np.arccos),
)
def acos(x: Real) -> Real:
    """Return the angle in [0, pi] whose cosine is ``x``."""
    return evaluate(np.arccos, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed(inverse_single.atan_single, inverse_double.atan_double),
    cuda=libdevice("atan"),
    ulp=_ULP,
    spellings=(math.atan, np.arctan),
)
def atan(x: Real) -> Real:
    """Return the angle in [-pi/2, pi/2] whose tangent is ``x``."""
    return evaluate(np.arctan, x)


@intrinsic(
    rule=rules.real_function(2),
    cpu=composed(inverse_single.atan2_single, inverse_double.atan2_double),
    cuda=libdevice("atan2"),
    ulp=_ULP,
    samples="pair",
    spellings=(math.atan2, np.arctan2),
)
def atan2(y: Real, x: Real) -> Real:
    """Return the angle of the point (``y``, ``x``), in [-pi, pi]."""
    return evaluate(np.arctan2, y, x)


def _sine_and_cosine(x: Real) -> tuple[Real, Real]:
    return sin(x), cos(x)


@intrinsic(
    rule=rules.real_function(1, results=2),
    cpu=composed(trig_single.sincos_single, trig_double.sincos_double),
    cuda=composed(_sine_and_cosine, _sine_and_cosine),
    ulp=_ULP,
    samples="angle",
)
def sincos(x: Real) -> tuple[Real, Real]:
    """Return sine and cosine of an angle in radians."""
    return evaluate(np.sin, x), evaluate(np.cos, x)


def _sine_of_turns(x: float) -> float:
    rest = math.remainder(x, 2.0) if math.isfinite(x) else math.nan
    if rest in (-1.0, 0.0, 1.0):
        return math.copysign(0.0, x)
    near = rest if abs(rest) <= 0.5 else math.copysign(1.0, rest) - rest  # exact
    return math.sin(math.pi * near)


def _cosine_of_turns(x: float) -> float:
    rest = abs(math.remainder(x, 2.0)) if math.isfinite(x) else math.nan
    return math.sin(math.pi * (0.5 - rest))


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed(trig_single.sinpi_single, trig_double.sinpi_double),
    cuda=libdevice("sinpi"),
    ulp=_ULP,
    samples="angle",
)
def sinpi(x: Real) -> Real:
    """Return ``sin(pi * x)``; a zero has the sign of ``x``."""
    return evaluate(_sine_of_turns, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed(trig_single.cospi_single, trig_double.cospi_double),
    cuda=libdevice("cospi"),
    ulp=_ULP,
    samples="angle",
)
def cospi(x: Real) -> Real:
    """Return ``cos(pi * x)``; a zero is positive."""
    return evaluate(_cosine_of_turns, x)
