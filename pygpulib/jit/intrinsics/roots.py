"""Powers and roots."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.core.dtypes import float32, float64
from pygpulib.jit.intrinsics import rules
from pygpulib.jit.intrinsics.lowerings import composed_in, evaluate, libdevice, python_spelling
from pygpulib.jit.intrinsics.scalars import Real
from pygpulib.jit.ir.intrinsic import intrinsic

_ULP = {float32: 2.0, float64: 2.0}


def _power(x: float, y: float) -> float:
    """As ``math.pow``, with C's results where Python raises."""
    try:
        return math.pow(x, y)
    except ValueError:
        if x != 0:
            return math.nan
        size = math.inf
    except OverflowError:
        size = math.inf
    odd = math.floor(y) == y and math.fmod(y, 2.0) != 0
    return math.copysign(size, x) if odd else size


@intrinsic(
    rule=rules.real_function(2),
    cpu=composed_in("power", "pow"),
    cuda=libdevice("pow"),
    ulp=_ULP,
    samples="power",
    spellings=(math.pow, np.float_power),
)
def pow_(x: Real, y: Real) -> Real:
    """Return ``x`` to the power ``y``, with the special values of C."""
    return evaluate(_power, x, y)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("power", "cbrt"),
    cuda=libdevice("cbrt"),
    ulp=_ULP,
    spellings=(*python_spelling("cbrt"), np.cbrt),
)
def cbrt(x: Real) -> Real:
    """Return the cube root."""
    return evaluate(np.cbrt, x)


@intrinsic(
    rule=rules.real_function(2),
    cpu=composed_in("power", "hypot"),
    cuda=libdevice("hypot"),
    ulp=_ULP,
    samples="pair",
    spellings=(math.hypot, np.hypot),
)
def hypot(x: Real, y: Real) -> Real:
    """Return the length of the vector (``x``, ``y``), without overflow on the way."""
    return evaluate(np.hypot, x, y)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("power", "rsqrt"),
    cuda=libdevice("rsqrt"),
    ulp=_ULP,
    samples="positive",
)
def rsqrt(x: Real) -> Real:
    """Return the reciprocal of the square root."""
    return evaluate(lambda value: 1.0 / np.sqrt(value), x)
