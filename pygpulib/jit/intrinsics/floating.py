"""Operations on floats that are one instruction, or nearly, on every machine."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.core.dtypes import float32, float64
from pygpulib.jit.intrinsics import rules
from pygpulib.jit.intrinsics.exact import multiply_add
from pygpulib.jit.intrinsics.lowerings import (
    composed,
    evaluate,
    generic,
    libdevice,
    python_spelling,
)
from pygpulib.jit.intrinsics.scalars import Real, Truth
from pygpulib.jit.ir.intrinsic import LLVM, intrinsic

_EXACT = {float32: 0.0, float64: 0.0}
_ROUNDED = {float32: 0.5, float64: 0.5}


@intrinsic(
    rule=rules.real_function(3),
    cpu=LLVM("fma"),
    cuda=LLVM("fma"),
    ulp=_ROUNDED,
    samples="triple",
    spellings=python_spelling("fma"),
)
def fma(x: Real, y: Real, z: Real) -> Real:
    """Return ``x * y + z``, rounded once."""
    return multiply_add(x, y, z)


@intrinsic(
    rule=rules.real_function(1),
    cpu=LLVM("sqrt"),
    cuda=LLVM("sqrt"),
    ulp=_ROUNDED,
    spellings=(math.sqrt, np.sqrt),
)
def sqrt(x: Real) -> Real:
    """Return the square root, correctly rounded; nan below zero."""
    return evaluate(np.sqrt, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=LLVM("fabs"),
    cuda=LLVM("fabs"),
    ulp=_EXACT,
    spellings=(math.fabs, np.fabs),
)
def fabs(x: Real) -> Real:
    """Return the absolute value as a float."""
    return evaluate(np.fabs, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=LLVM("floor"),
    cuda=LLVM("floor"),
    ulp=_EXACT,
    spellings=(math.floor, np.floor),
)
def floor(x: Real) -> Real:
    """Return the largest whole number that is not above, as a float."""
    return evaluate(np.floor, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=LLVM("ceil"),
    cuda=LLVM("ceil"),
    ulp=_EXACT,
    spellings=(math.ceil, np.ceil),
)
def ceil(x: Real) -> Real:
    """Return the smallest whole number that is not below, as a float."""
    return evaluate(np.ceil, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=LLVM("trunc"),
    cuda=LLVM("trunc"),
    ulp=_EXACT,
    spellings=(math.trunc, np.trunc, np.fix),
)
def trunc(x: Real) -> Real:
    """Return the number without its fraction, as a float."""
    return evaluate(np.trunc, x)


@intrinsic(
    rule=rules.real_function(1),
    cpu=LLVM("roundeven"),
    cuda=libdevice("rint"),
    ulp=_EXACT,
    spellings=(np.rint,),
)
def rint(x: Real) -> Real:
    """Return the nearest whole number as a float, the even one of two."""
    return evaluate(np.rint, x)


@intrinsic(
    rule=rules.real_function(2),
    cpu=LLVM("copysign"),
    cuda=LLVM("copysign"),
    ulp=_EXACT,
    samples="pair",
    spellings=(math.copysign, np.copysign),
)
def copysign(x: Real, y: Real) -> Real:
    """Return the magnitude of ``x`` with the sign of ``y``."""
    return evaluate(np.copysign, x, y)


@intrinsic(
    rule=rules.real_function(2),
    cpu=LLVM("minnum"),
    cuda=LLVM("minnum"),
    ulp=_EXACT,
    samples="pair",
    spellings=(np.fmin,),
)
def fmin(x: Real, y: Real) -> Real:
    """Return the smaller number; a nan counts only if both are."""
    return evaluate(np.fmin, x, y)


@intrinsic(
    rule=rules.real_function(2),
    cpu=LLVM("maxnum"),
    cuda=LLVM("maxnum"),
    ulp=_EXACT,
    samples="pair",
    spellings=(np.fmax,),
)
def fmax(x: Real, y: Real) -> Real:
    """Return the larger number; a nan counts only if both are."""
    return evaluate(np.fmax, x, y)


def _smaller_or_nan(x: Real, y: Real) -> Real:
    return x if x < y or x != x else y


def _larger_or_nan(x: Real, y: Real) -> Real:
    return x if x > y or x != x else y


@intrinsic(
    rule=rules.choice,
    cpu=generic(_smaller_or_nan),
    cuda=generic(_smaller_or_nan),
    ulp=_EXACT,
    samples="pair",
    spellings=(np.minimum,),
)
def minimum(x: Real, y: Real) -> Real:
    """Return the smaller number; nan if one of them is."""
    return _smaller_or_nan(x, y)


@intrinsic(
    rule=rules.choice,
    cpu=generic(_larger_or_nan),
    cuda=generic(_larger_or_nan),
    ulp=_EXACT,
    samples="pair",
    spellings=(np.maximum,),
)
def maximum(x: Real, y: Real) -> Real:
    """Return the larger number; nan if one of them is."""
    return _larger_or_nan(x, y)


def _is_nan(x: Real) -> Truth:
    return x != x


def _is_infinite(x: Real) -> Truth:
    return abs(x) == math.inf


def _is_finite(x: Real) -> Truth:
    return abs(x) < math.inf


@intrinsic(
    rule=rules.predicate,
    cpu=composed(_is_nan, _is_nan),
    cuda=composed(_is_nan, _is_nan),
    spellings=(math.isnan, np.isnan),
)
def isnan(x: Real) -> Truth:
    """Return whether the operand is nan."""
    return bool(np.isnan(x))


@intrinsic(
    rule=rules.predicate,
    cpu=composed(_is_infinite, _is_infinite),
    cuda=composed(_is_infinite, _is_infinite),
    spellings=(math.isinf, np.isinf),
)
def isinf(x: Real) -> Truth:
    """Return whether the operand is infinite."""
    return bool(np.isinf(x))


@intrinsic(
    rule=rules.predicate,
    cpu=composed(_is_finite, _is_finite),
    cuda=composed(_is_finite, _is_finite),
    spellings=(math.isfinite, np.isfinite),
)
def isfinite(x: Real) -> Truth:
    """Return whether the operand is neither infinite nor nan."""
    return bool(np.isfinite(x))
