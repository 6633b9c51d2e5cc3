"""Parts of floats, remainders, and conversions between degrees and radians."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.core.dtypes import float32, float64
from pygpulib.jit.intrinsics import rules
from pygpulib.jit.intrinsics.lowerings import composed_in, evaluate, libdevice, libm
from pygpulib.jit.intrinsics.scalars import Real, Truth, Whole
from pygpulib.jit.ir.intrinsic import intrinsic

_EXACT = {float32: 0.0, float64: 0.0}
_FREXP = composed_in("parts", "frexp")
_MODF = composed_in("parts", "modf")
_SIGNBIT = composed_in("parts", "signbit")


@intrinsic(
    rule=rules.split_exponent,
    cpu=_FREXP,
    cuda=_FREXP,
    ulp=_EXACT,
    spellings=(math.frexp, np.frexp),
)
def frexp(x: Real) -> tuple[Real, Whole]:
    """Return mantissa in [0.5, 1) and exponent; zero, infinities and nan as they are."""
    mantissa = evaluate(lambda value: np.frexp(value)[0], x)
    return mantissa, np.int32(np.frexp(np.float64(x))[1])


@intrinsic(
    rule=rules.real_function(1, results=2),
    cpu=_MODF,
    cuda=_MODF,
    ulp=_EXACT,
    spellings=(math.modf, np.modf),
)
def modf(x: Real) -> tuple[Real, Real]:
    """Return fraction and whole part, both with the sign of the operand."""
    return (
        evaluate(lambda value: np.modf(value)[0], x),
        evaluate(lambda value: np.modf(value)[1], x),
    )


@intrinsic(
    rule=rules.scale_by_power,
    cpu=composed_in("parts", "ldexp"),
    cuda=libdevice("ldexp"),
    ulp={float32: 0.5, float64: 0.5},
    samples="scale",
    spellings=(math.ldexp, np.ldexp),
)
def ldexp(x: Real, exponent: Whole) -> Real:
    """Return ``x * 2**exponent``, rounded once."""
    count = min(max(int(exponent), -5000), 5000)
    if isinstance(x, np.float32):
        with np.errstate(all="ignore"):
            return np.ldexp(x, count)
    return evaluate(lambda value: np.ldexp(value, count), x)


@intrinsic(rule=rules.predicate, cpu=_SIGNBIT, cuda=_SIGNBIT, spellings=(np.signbit,))
def signbit(x: Real) -> Truth:
    """Return whether the sign is set, of zero and nan too."""
    return bool(np.signbit(x))


@intrinsic(
    rule=rules.real_function(2),
    cpu=libm("nextafter"),
    cuda=libdevice("nextafter"),
    ulp=_EXACT,
    samples="pair",
    spellings=(math.nextafter, np.nextafter),
)
def nextafter(x: Real, y: Real) -> Real:
    """Return the next float of this type after ``x`` towards ``y``."""
    if isinstance(x, np.float32):
        with np.errstate(all="ignore"):
            return np.nextafter(x, np.float32(y))
    return evaluate(np.nextafter, x, y)


@intrinsic(
    rule=rules.real_function(2),
    cpu=libm("fmod"),
    cuda=libdevice("fmod"),
    ulp=_EXACT,
    samples="pair",
    spellings=(math.fmod, np.fmod),
)
def fmod(x: Real, y: Real) -> Real:
    """Return the exact remainder of the truncated quotient; it has the sign of ``x``."""
    return evaluate(np.fmod, x, y)


def _ieee_remainder(x: Real, y: Real) -> Real:
    return math.nan if math.isinf(x) or y == 0 else math.remainder(x, y)


@intrinsic(
    rule=rules.real_function(2),
    cpu=libm("remainder"),
    cuda=libdevice("remainder"),
    ulp=_EXACT,
    samples="pair",
    spellings=(math.remainder,),
)
def remainder(x: Real, y: Real) -> Real:
    """Return the exact remainder of the quotient rounded to nearest even."""
    return evaluate(_ieee_remainder, x, y)
