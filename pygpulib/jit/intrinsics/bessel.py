"""Bessel functions of C's library, in double precision."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache

from pygpulib.core.dtypes import float64, int32
from pygpulib.jit.intrinsics import rules
from pygpulib.jit.intrinsics.scalars import Real, Whole
from pygpulib.jit.ir.intrinsic import Extern, F, intrinsic


def _of_library(name: str) -> Callable[[F], F]:
    operands = (int32, float64) if name.endswith("n") else (float64,)
    return intrinsic(
        rule=rules.fixed(operands, (float64,)),
        cpu=Extern({operands[0]: name}),
        cuda=Extern({operands[0]: f"__nv_{name}"}),
        samples="library",
    )


@cache
def _library() -> ctypes.CDLL:
    """Return what Python itself is linked to, C's mathematical library with it."""
    return ctypes.CDLL(None)


def _evaluate(name: str, x: Real) -> float:
    function = _library()[name]
    function.restype = ctypes.c_double
    return float(function(ctypes.c_double(x)))


def _evaluate_order(name: str, order: Whole, x: Real) -> float:
    function = _library()[name]
    function.restype = ctypes.c_double
    return float(function(ctypes.c_int(order), ctypes.c_double(x)))


@_of_library("j0")
def library_j0(x: Real) -> Real:
    """Return the Bessel function of the first kind of order 0."""
    return _evaluate("j0", x)


@_of_library("j1")
def library_j1(x: Real) -> Real:
    """Return the Bessel function of the first kind of order 1."""
    return _evaluate("j1", x)


@_of_library("jn")
def library_jn(order: Whole, x: Real) -> Real:
    """Return the Bessel function of the first kind of an order that is not negative."""
    return _evaluate_order("jn", order, x)


@_of_library("y0")
def library_y0(x: Real) -> Real:
    """Return the Bessel function of the second kind of order 0."""
    return _evaluate("y0", x)


@_of_library("y1")
def library_y1(x: Real) -> Real:
    """Return the Bessel function of the second kind of order 1."""
    return _evaluate("y1", x)


@_of_library("yn")
def library_yn(order: Whole, x: Real) -> Real:
    """Return the Bessel function of the second kind of an order that is not negative."""
    return _evaluate_order("yn", order, x)
