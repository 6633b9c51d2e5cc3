"""Error and gamma functions."""

from __future__ import annotations

import math

from pygpulib.core.dtypes import float32, float64
from pygpulib.jit.intrinsics import rules
from pygpulib.jit.intrinsics.lowerings import composed_in, evaluate, libdevice, libm
from pygpulib.jit.intrinsics.scalars import Real
from pygpulib.jit.ir.intrinsic import intrinsic

_ULP = {float32: 2.0, float64: 2.0}
_GAMMA_ULP = {float32: 6.0, float64: 10.0}  # C libraries differ


def _gamma(x: Real) -> Real:
    """As ``math.gamma``, with C's results where Python raises."""
    if x == 0:
        return math.copysign(math.inf, x)
    if x == -math.inf or (x < 0 and x == math.floor(x)):
        return math.nan
    try:
        return math.gamma(x)
    except OverflowError:
        return math.inf


def _log_gamma(x: Real) -> Real:
    """As ``math.lgamma``, with C's results where Python raises."""
    if x <= 0 and (math.isinf(x) or x == math.floor(x)):
        return math.inf
    try:
        return math.lgamma(x)
    except OverflowError:
        return math.inf


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("error", "erf"),
    cuda=libdevice("erf"),
    ulp=_ULP,
    spellings=(math.erf,),
)
def erf(x: Real) -> Real:
    """Return the error function."""
    return evaluate(math.erf, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=composed_in("error", "erfc"),
    cuda=libdevice("erfc"),
    ulp=_ULP,
    spellings=(math.erfc,),
)
def erfc(x: Real) -> Real:
    """Return ``1 - erf(x)``, accurate where that is small too."""
    return evaluate(math.erfc, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=libm("tgamma"),
    cuda=libdevice("tgamma"),
    ulp=_GAMMA_ULP,
    samples="gamma",
    spellings=(math.gamma,),
)
def gamma(x: Real) -> Real:
    """Return the gamma function."""
    return evaluate(_gamma, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=libm("lgamma"),
    cuda=libdevice("lgamma"),
    ulp=_GAMMA_ULP,
    samples="gamma",
    spellings=(math.lgamma,),
)
def lgamma(x: Real) -> Real:
    """Return the logarithm of the absolute value of the gamma function."""
    return evaluate(_log_gamma, x)
