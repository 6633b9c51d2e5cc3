"""Special functions, and fast ones that are less exact on GPUs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from pygpulib.core.dtypes import float32, float64, int32
from pygpulib.jit.intrinsics import bessel, exp_log, roots, trigonometry
from pygpulib.jit.intrinsics.composed import inverse_error
from pygpulib.jit.intrinsics.device_functions import DeviceFunction
from pygpulib.jit.intrinsics.scalars import Real, Whole

Function = Callable[..., Any]

_ULP = 4.0
_FAST_ULP = 2.0
_ANY = math.inf  # near their zeros, and as large orders are computed by recurrence

_SPECIAL: dict[str, Function] = {
    "erfcx": inverse_error.erfcx_double,
    "erfinv": inverse_error.erfinv_double,
    "erfcinv": inverse_error.erfcinv_double,
    "normcdf": inverse_error.normcdf_double,
    "normcdfinv": inverse_error.normcdfinv_double,
}
_BESSEL: dict[str, Function] = {
    "j0": bessel.library_j0,
    "j1": bessel.library_j1,
    "y0": bessel.library_y0,
    "y1": bessel.library_y1,
}
_BESSEL_OF_ORDER: dict[str, Function] = {"jn": bessel.library_jn, "yn": bessel.library_yn}
_FAST: dict[str, Function] = {
    "cos": trigonometry.cos,
    "exp": exp_log.exp,
    "exp10": exp_log.exp10,
    "log": exp_log.log,
    "log10": exp_log.log10,
    "log2": exp_log.log2,
    "sin": trigonometry.sin,
    "tan": trigonometry.tan,
}


def rows() -> Iterator[DeviceFunction]:
    """Yield the functions."""
    for name, double in _SPECIAL.items():
        single = _by_double(double)
        yield DeviceFunction(name, (float64,), float64, double, double, _ULP)
        yield DeviceFunction(f"{name}f", (float32,), float32, single, single, 1.0)
    for name, function in _FAST.items():
        cpu = _unary(function)
        yield DeviceFunction(f"fast_{name}f", (float32,), float32, cpu, function, _FAST_ULP)
    pair = (float32, float32)
    yield DeviceFunction("fast_powf", pair, float32, _power, roots.pow_, _FAST_ULP)
    yield DeviceFunction("fast_fdividef", pair, float32, _quotient, _quotient, 0.5)
    yield from _bessel_rows()


def _bessel_rows() -> Iterator[DeviceFunction]:
    for name, function in _BESSEL.items():
        single = _by_double(function)
        yield DeviceFunction(name, (float64,), float64, _unary(function), function, _ANY)
        yield DeviceFunction(f"{name}f", (float32,), float32, single, single, _ANY)
    for name, function in _BESSEL_OF_ORDER.items():
        double = _of_order(function)
        single = _by_double_of_order(double)
        yield DeviceFunction(name, (int32, float64), float64, double, double, _ANY)
        yield DeviceFunction(f"{name}f", (int32, float32), float32, single, single, _ANY)


def _of_order(function: Function) -> Function:
    """Return a function that is nan for negative orders, as on GPUs."""

    def call(order: Whole, x: Real) -> Real:
        value = function(max(order, 0), x)
        return value if order >= 0 else math.nan

    return call


def _by_double(function: Function) -> Function:
    def call(x: Real) -> Real:
        return np.float32(function(np.float64(x)))

    return call


def _by_double_of_order(function: Function) -> Function:
    def call(order: Whole, x: Real) -> Real:
        return np.float32(function(order, np.float64(x)))

    return call


def _unary(function: Function) -> Function:
    def call(x: Real) -> Real:
        return function(x)

    return call


def _power(x: Real, y: Real) -> Real:
    return roots.pow_(x, y)


def _quotient(x: Real, y: Real) -> Real:
    return x / y
