"""Trigonometric functions and their inverses."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.core.dtypes import float32, float64
from pygpulib.jit.intrinsics import rules
from pygpulib.jit.intrinsics.lowerings import composed, composed_in, evaluate, libdevice
from pygpulib.jit.intrinsics.scalars import Real
from pygpulib.jit.ir.intrinsic import intrinsic

_ULP = {float32: 2.0, float64: 2.0}


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("trig", "sin"),
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
    cpu=composed_in("trig", "cos"),
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
    cpu=composed_in("trig", "tan"),
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
    cpu=composed_in("inverse", "asin"),
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
    cpu=composed_in("inverse", "acos"),
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
    cpu=composed_in("inverse", "atan"),
    cuda=libdevice("atan"),
    ulp=_ULP,
    spellings=(math.atan, np.arctan),
)
def atan(x: Real) -> Real:
    """Return the angle in [-pi/2, pi/2] whose tangent is ``x``."""
    return evaluate(np.arctan, x)


@intrinsic(
    rule=rules.real_function(2),
    cpu=composed_in("inverse", "atan2"),
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
    cpu=composed_in("trig", "sincos"),
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
    cpu=composed_in("trig", "sinpi"),
    cuda=libdevice("sinpi"),
    ulp=_ULP,
    samples="angle",
)
def sinpi(x: Real) -> Real:
    """Return ``sin(pi * x)``; a zero has the sign of ``x``."""
    return evaluate(_sine_of_turns, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("trig", "cospi"),
    cuda=libdevice("cospi"),
    ulp=_ULP,
    samples="angle",
)
def cospi(x: Real) -> Real:
    """Return ``cos(pi * x)``; a zero is positive."""
    return evaluate(_cosine_of_turns, x)
