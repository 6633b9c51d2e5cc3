"""Exponential functions and logarithms."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.core.dtypes import float32, float64
from pygpulib.jit.intrinsics import rules
from pygpulib.jit.intrinsics.lowerings import composed_in, evaluate, libdevice, python_spelling
from pygpulib.jit.intrinsics.scalars import Real
from pygpulib.jit.ir.intrinsic import intrinsic

_ULP = {float32: 2.0, float64: 2.0}


def _power_of_ten(x: Real) -> Real:
    return np.power(10.0, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("exp", "exp"),
    cuda=libdevice("exp"),
    ulp=_ULP,
    samples="exponent",
    spellings=(math.exp, np.exp),
)
def exp(x: Real) -> Real:
    """Return e to the power ``x``."""
    return evaluate(np.exp, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("exp", "exp2"),
    cuda=libdevice("exp2"),
    ulp=_ULP,
    samples="exponent",
    spellings=(*python_spelling("exp2"), np.exp2),
)
def exp2(x: Real) -> Real:
    """Return 2 to the power ``x``."""
    return evaluate(np.exp2, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("exp", "exp10"),
    cuda=libdevice("exp10"),
    ulp=_ULP,
    samples="exponent",
)
def exp10(x: Real) -> Real:
    """Return 10 to the power ``x``."""
    return evaluate(_power_of_ten, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("exp", "expm1"),
    cuda=libdevice("expm1"),
    ulp=_ULP,
    samples="exponent",
    spellings=(math.expm1, np.expm1),
)
def expm1(x: Real) -> Real:
    """Return ``exp(x) - 1``, accurate near zero too."""
    return evaluate(np.expm1, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("log", "log"),
    cuda=libdevice("log"),
    ulp=_ULP,
    samples="positive",
    spellings=(math.log, np.log),
)
def log(x: Real) -> Real:
    """Return the natural logarithm."""
    return evaluate(np.log, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("log", "log2"),
    cuda=libdevice("log2"),
    ulp=_ULP,
    samples="positive",
    spellings=(math.log2, np.log2),
)
def log2(x: Real) -> Real:
    """Return the logarithm to base 2."""
    return evaluate(np.log2, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("log", "log10"),
    cuda=libdevice("log10"),
    ulp=_ULP,
    samples="positive",
    spellings=(math.log10, np.log10),
)
def log10(x: Real) -> Real:
    """Return the logarithm to base 10."""
    return evaluate(np.log10, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("log", "log1p"),
    cuda=libdevice("log1p"),
    ulp=_ULP,
    samples="above_minus_one",
    spellings=(math.log1p, np.log1p),
)
def log1p(x: Real) -> Real:
    """Return ``log(1 + x)``, accurate near zero too."""
    return evaluate(np.log1p, x)
