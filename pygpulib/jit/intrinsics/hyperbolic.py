"""Hyperbolic functions and their inverses."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.core.dtypes import float32, float64
from pygpulib.jit.intrinsics import rules
from pygpulib.jit.intrinsics.lowerings import composed_in, evaluate, libdevice
from pygpulib.jit.intrinsics.scalars import Real
from pygpulib.jit.ir.intrinsic import intrinsic

_ULP = {float32: 2.0, float64: 2.0}


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("hyperbolic", "sinh"),
    cuda=libdevice("sinh"),
    ulp=_ULP,
    samples="exponent",
    spellings=(math.sinh, np.sinh),
)
def sinh(x: Real) -> Real:
    """Return the hyperbolic sine."""
    return evaluate(np.sinh, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("hyperbolic", "cosh"),
    cuda=libdevice("cosh"),
    ulp=_ULP,
    samples="exponent",
    spellings=(math.cosh, np.cosh),
)
def cosh(x: Real) -> Real:
    """Return the hyperbolic cosine."""
    return evaluate(np.cosh, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("hyperbolic", "tanh"),
    cuda=libdevice("tanh"),
    ulp=_ULP,
    samples="exponent",
    spellings=(math.tanh, np.tanh),
)
def tanh(x: Real) -> Real:
    """Return the hyperbolic tangent."""
    return evaluate(np.tanh, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("hyperbolic", "asinh"),
    cuda=libdevice("asinh"),
    ulp=_ULP,
    spellings=(math.asinh, np.arcsinh),
)
def asinh(x: Real) -> Real:
    """Return the number whose hyperbolic sine is ``x``."""
    return evaluate(np.arcsinh, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("hyperbolic", "acosh"),
    cuda=libdevice("acosh"),
    ulp=_ULP,
    samples="above_one",
    spellings=(math.acosh, np.arccosh),
)
def acosh(x: Real) -> Real:
    """Return the number >= 0 whose hyperbolic cosine is ``x``."""
    return evaluate(np.arccosh, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("hyperbolic", "atanh"),
    cuda=libdevice("atanh"),
    ulp=_ULP,
    samples="unit",
    spellings=(math.atanh, np.arctanh),
)
def atanh(x: Real) -> Real:
    """Return the number whose hyperbolic tangent is ``x``."""
    return evaluate(np.arctanh, x)
