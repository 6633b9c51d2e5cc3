"""Functions of C's library: composed ones call them for rare arguments, others for their bits."""

from __future__ import annotations

import numpy as np

from pygpulib.core.dtypes import float32, float64
from pygpulib.jit.intrinsics import rules
from pygpulib.jit.intrinsics.lowerings import evaluate, libdevice, libm
from pygpulib.jit.intrinsics.scalars import Real
from pygpulib.jit.ir.intrinsic import intrinsic

_ULP = {float32: 1.0, float64: 1.0}


@intrinsic(
    rule=rules.real_function(1), cpu=libm("sin"), cuda=libdevice("sin"), ulp=_ULP, samples="angle"
)
def library_sin(x: Real) -> Real:
    """Return the sine."""
    return evaluate(np.sin, x)


@intrinsic(
    rule=rules.real_function(1), cpu=libm("cos"), cuda=libdevice("cos"), ulp=_ULP, samples="angle"
)
def library_cos(x: Real) -> Real:
    """Return the cosine."""
    return evaluate(np.cos, x)


@intrinsic(
    rule=rules.real_function(1), cpu=libm("tan"), cuda=libdevice("tan"), ulp=_ULP, samples="angle"
)
def library_tan(x: Real) -> Real:
    """Return the tangent."""
    return evaluate(np.tan, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=libm("log"),
    cuda=libdevice("log"),
    ulp=_ULP,
    samples="positive",
)
def library_log(x: Real) -> Real:
    """Return the natural logarithm."""
    return evaluate(np.log, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=libm("exp"),
    cuda=libdevice("exp"),
    ulp=_ULP,
    samples="exponent",
)
def library_exp(x: Real) -> Real:
    """Return e to the power x."""
    return evaluate(np.exp, x)
