"""Floating-point arithmetic with one rounding, in every rounding mode.

Narrow types are computed in float64 and rounded "to odd" there, which keeps the information that a
second rounding needs. For float64 itself, error-free transformations give the nearest result; the
directed modes and the extremes of the exponent range go through exact fractions, value by value.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np

F64 = np.dtype("f8")
# Outside of these, products or their errors may overflow or lose bits in the transformations.
_BIG, _SMALL = 2.0**480, 2.0**-400
_SPLITTER = 134217729.0


def two_sum(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded sum and its error."""
    total = a + b
    part = total - a
    return total, (a - (total - part)) + (b - part)


def two_product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rounded product and its error."""
    product = a * b
    scaled_a, scaled_b = _SPLITTER * a, _SPLITTER * b
    high_a, high_b = scaled_a - (scaled_a - a), scaled_b - (scaled_b - b)
    low_a, low_b = a - high_a, b - high_b
    error = low_a * low_b - (((product - high_a * high_b) - low_a * high_b) - high_a * low_b)
    return product, error


def to_odd(total: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return total + error rounded to odd: an inexact result has its last bit set."""
    bits = np.ascontiguousarray(total).view(np.int64)
    inexact = (error != 0) & ((bits & 1) == 0) & np.isfinite(total) & np.isfinite(error)
    away = (error > 0) == (bits >= 0)
    return np.where(inexact, bits + np.where(away, 1, -1), bits).view(np.float64)


def narrow(values: np.ndarray, dtype: np.dtype, mode: str) -> np.ndarray:
    """Round float64 values to a type in one of the modes rn, rz, rm (down) and rp (up)."""
    if dtype == F64:
        return values
    rounded = values.astype(dtype)
    return rounded if mode == "rn" else nudge(rounded, rounded.astype(F64), values, mode)


def nudge(rounded: np.ndarray, as_wide: np.ndarray, exact: np.ndarray, mode: str) -> np.ndarray:
    """Move nearest results to the neighbour that a directed mode wants."""
    kind = rounded.dtype.type
    match mode:
        case "rm":
            return np.where(as_wide > exact, np.nextafter(rounded, kind(-np.inf)), rounded)
        case "rp":
            return np.where(as_wide < exact, np.nextafter(rounded, kind(np.inf)), rounded)
        case "rz":
            too_big = np.abs(as_wide) > np.abs(exact)
            return np.where(too_big, np.nextafter(rounded, kind(0)), rounded)
    return rounded


# ------------------------------------------------------------------------ exact fractions


def _directed(nearest: float, exact: Fraction, mode: str) -> float:
    """Return the float64 that a mode chooses for an exact value."""
    if np.isfinite(nearest):
        difference = Fraction(nearest) - exact
    else:
        difference = Fraction(1 if nearest > 0 else -1)
    if difference == 0 or mode == "rn":
        return nearest
    down = mode == "rm" or (mode == "rz" and exact > 0)
    if down and difference > 0:
        return float(np.nextafter(nearest, -np.inf))
    if not down and difference < 0:
        return float(np.nextafter(nearest, np.inf))
    return nearest


def _nearest(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator  # rounds correctly
    except OverflowError:
        return np.inf if exact > 0 else -np.inf


def _one_by_one(
    exact: Callable[..., Fraction], mode: str, fallback: np.ndarray, *operands: np.ndarray
) -> np.ndarray:
    """Round exact results of finite operands; others keep `fallback`."""
    wide = np.broadcast_arrays(fallback, *operands)
    result = wide[0].copy()
    finite = np.logical_and.reduce([np.isfinite(one) for one in wide[1:]])
    for place in np.nonzero(finite)[0]:
        value = exact(*[Fraction(float(one[place])) for one in wide[1:]])
        if value != 0:
            result[place] = _directed(_nearest(value), value, mode)
    return result


def _signed_zeros(total: np.ndarray, a: np.ndarray, b: np.ndarray, mode: str) -> np.ndarray:
    """Give zeros among the sums a + b their sign: rounding down, only +0 + +0 is +0."""
    if mode != "rm":
        return total
    plus = (a == 0) & (b == 0) & ~np.signbit(a) & ~np.signbit(b)
    return np.where((total == 0) & ~plus, total.dtype.type(-0.0), total)


# ------------------------------------------------------------------------------ operations


def fma(a: np.ndarray, b: np.ndarray, c: np.ndarray, mode: str = "rn") -> np.ndarray:
    """Return a * b + c, rounded once."""
    dtype = a.dtype
    if dtype != F64:
        wide = [x.astype(F64) for x in (a, b, c)]
        product = wide[0] * wide[1]
        total, error = two_sum(product, wide[2])
        total = np.where(error == 0, _signed_zeros(total, product, wide[2], mode), total)
        return narrow(to_odd(total, error), dtype, mode)
    naive = _signed_zeros(a * b + c, a * b, c, mode)
    # A product that only overflows is finite next to an infinity.
    naive = np.where(np.isinf(c) & np.isfinite(a) & np.isfinite(b), c, naive)
    if mode != "rn":
        return _one_by_one(_exact_fma, mode, naive, a, b, c)
    product, low = two_product(a, b)
    upper, upper_low = two_sum(c, low)
    total, total_low = two_sum(product, upper)
    result = total + to_odd(*two_sum(total_low, upper_low))
    size_a, size_b, size_c = np.abs(a), np.abs(b), np.abs(c)
    size = np.abs(product)
    # Zeros of the product and non-finite values are right as they come.
    plain = (a == 0) | (b == 0) | ~np.isfinite(a) | ~np.isfinite(b) | ~np.isfinite(c)
    safe = (size > _SMALL) & (size < _BIG) & (size_a < _BIG) & (size_b < _BIG) & (size_c < _BIG)
    safe &= (size_c > _SMALL) | (c == 0)
    # The sign of an exact zero is that of the naive sum.
    result = np.where(plain | (c == 0), naive, result)
    result = np.where((result == 0) & safe, naive, result)
    rest = ~(plain | safe)
    if rest.any():
        rest, a, b, c, naive = np.broadcast_arrays(rest, a, b, c, naive)
        result[rest] = _one_by_one(_exact_fma, mode, naive[rest], a[rest], b[rest], c[rest])
    return result


def _exact_fma(a: Fraction, b: Fraction, c: Fraction) -> Fraction:
    return a * b + c


def add(a: np.ndarray, b: np.ndarray, mode: str = "rn") -> np.ndarray:
    """Return a + b."""
    if mode == "rn":
        return a + b
    if a.dtype == F64:
        nearest = _signed_zeros(a + b, a, b, mode)
        return _one_by_one(lambda x, y: x + y, mode, nearest, a, b)
    wide = a.astype(F64), b.astype(F64)
    total, error = two_sum(*wide)
    return narrow(to_odd(_signed_zeros(total, *wide, mode), error), a.dtype, mode)


def multiply(a: np.ndarray, b: np.ndarray, mode: str = "rn") -> np.ndarray:
    """Return a * b."""
    if mode == "rn":
        return a * b
    if a.dtype == F64:
        exact = _one_by_one(lambda x, y: x * y, mode, a * b, a, b)
        return np.where((a == 0) | (b == 0), a * b, exact)
    return narrow(a.astype(F64) * b.astype(F64), a.dtype, mode)


def divide(a: np.ndarray, b: np.ndarray, mode: str = "rn") -> np.ndarray:
    """Return a / b."""
    if mode == "rn":
        return a / b
    if a.dtype == F64:
        divisor = np.where(b == 0, 1.0, b)
        exact = _one_by_one(lambda x, y: x / y, mode, a / divisor, a, divisor)
        return np.where((a == 0) | (b == 0), a / b, exact)
    # A quotient of narrow values that is not narrow itself never rounds to a narrow one here.
    return narrow(a.astype(F64) / b.astype(F64), a.dtype, mode)


def square_root(a: np.ndarray, mode: str = "rn") -> np.ndarray:
    """Return the square root."""
    if mode == "rn":
        return np.sqrt(a)
    if a.dtype != F64:
        return narrow(np.sqrt(a.astype(F64)), a.dtype, mode)
    nearest = np.sqrt(a)
    result = nearest.copy()
    for place in np.nonzero(np.isfinite(nearest) & (nearest > 0))[0]:
        root, square = float(nearest[place]), Fraction(float(a[place]))
        if Fraction(root) ** 2 > square and mode in ("rz", "rm"):
            result[place] = np.nextafter(root, 0)
        elif Fraction(root) ** 2 < square and mode == "rp":
            result[place] = np.nextafter(root, np.inf)
    return result


# ------------------------------------------------------------------------- modifiers


def flush(values: np.ndarray) -> np.ndarray:
    """Replace subnormal values by zeros of their sign (`.ftz`)."""
    tiny = np.finfo(values.dtype).smallest_normal
    return np.where(np.abs(values) < tiny, np.copysign(values.dtype.type(0), values), values)


def saturate(values: np.ndarray) -> np.ndarray:
    """Clamp to [0, 1]; NaN becomes 0 (`.sat`)."""
    kind = values.dtype.type
    return np.where(values > 0, np.minimum(values, kind(1)), kind(0))
