"""Functions of NumPy and ``math`` that are a short formula."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.core.dtypes import float32, float64
from pygpulib.jit.intrinsics import rules
from pygpulib.jit.intrinsics.lowerings import composed, evaluate
from pygpulib.jit.intrinsics.scalars import Double, Real, Single
from pygpulib.jit.intrinsics.trigonometry import sinpi
from pygpulib.jit.ir.intrinsic import intrinsic

_ULP = {float32: 2.0, float64: 2.0}
_TO_RADIANS = math.pi / 180.0
_TO_DEGREES = 180.0 / math.pi
_TO_RADIANS_SINGLE = np.float32(_TO_RADIANS)
_TO_DEGREES_SINGLE = np.float32(_TO_DEGREES)
_PI_SINGLE = np.float32(math.pi)
_ZERO, _ONE = np.float32(0), np.float32(1)


def _radians_single(x: Single) -> Single:
    return x * _TO_RADIANS_SINGLE


def _radians_double(x: Double) -> Double:
    return x * _TO_RADIANS


def _degrees_single(x: Single) -> Single:
    return x * _TO_DEGREES_SINGLE


def _degrees_double(x: Double) -> Double:
    return x * _TO_DEGREES


def _sinc_single(x: Single) -> Single:
    return _ONE if x == _ZERO else sinpi(x) / (_PI_SINGLE * x)


def _sinc_double(x: Double) -> Double:
    return 1.0 if x == 0.0 else sinpi(x) / (math.pi * x)


_RADIANS = composed(_radians_single, _radians_double)
_DEGREES = composed(_degrees_single, _degrees_double)
_SINC = composed(_sinc_single, _sinc_double)


@intrinsic(
    rule=rules.real_function(1),
    cpu=_RADIANS,
    cuda=_RADIANS,
    ulp=_ULP,
    spellings=(math.radians, np.radians, np.deg2rad),
)
def radians(x: Real) -> Real:
    """Return an angle in radians, given degrees."""
    return evaluate(np.radians, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=_DEGREES,
    cuda=_DEGREES,
    ulp=_ULP,
    spellings=(math.degrees, np.degrees, np.rad2deg),
)
def degrees(x: Real) -> Real:
    """Return an angle in degrees, given radians."""
    return evaluate(np.degrees, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=_SINC,
    cuda=_SINC,
    ulp={float32: 3.0, float64: 3.0},
    samples="angle",
    spellings=(np.sinc,),
)
def sinc(x: Real) -> Real:
    """Return ``sin(pi * x) / (pi * x)``, and 1 at zero."""
    return evaluate(_sinc_double, x)
