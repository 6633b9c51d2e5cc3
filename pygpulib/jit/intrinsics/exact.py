"""Exact multiply-add on Python numbers."""

from __future__ import annotations

import math

import numpy as np

from pygpulib.jit.intrinsics.scalars import Real, Whole


def multiply_add(x: Real, y: Real, z: Real) -> Real:
    """Return ``x * y + z`` rounded once, to the type of ``x``.

    The exact value is a quotient of integers. Python divides integers with one rounding to
    float64; for float32 the quotient is rounded to odd first, so that rounding again is harmless.
    """
    kind = type(x) if isinstance(x, np.floating) else float
    a, b, c = float(x), float(y), float(z)
    if not (math.isfinite(a) and math.isfinite(b)):
        return kind(a * b + c)
    if not math.isfinite(c):
        return kind(c)
    (a_top, a_bottom), (b_top, b_bottom) = a.as_integer_ratio(), b.as_integer_ratio()
    c_top, c_bottom = c.as_integer_ratio()
    top = a_top * b_top * c_bottom + c_top * a_bottom * b_bottom
    bottom = a_bottom * b_bottom * c_bottom
    if top == 0:
        return kind(a * b + c)
    try:
        quotient = top / bottom
    except OverflowError:
        return kind(math.inf if top > 0 else -math.inf)
    if kind is np.float32:
        quotient = _to_odd(quotient, top, bottom)
    with np.errstate(all="ignore"):
        return kind(quotient)


def _to_odd(quotient: Real, top: Whole, bottom: int) -> Real:
    """Return ``top / bottom`` rounded to odd, given it rounded to nearest."""
    near_top, near_bottom = quotient.as_integer_ratio()
    error = top * near_bottom - near_top * bottom
    if error == 0 or np.float64(quotient).view(np.int64) & 1:
        return quotient
    return math.nextafter(quotient, math.inf if error > 0 else -math.inf)
