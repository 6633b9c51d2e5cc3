"""Arithmetic with a direction of rounding, on exact fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.jit.intrinsics.scalars import Real

MODES = ("rn", "rz", "ru", "rd")
"""To nearest (ties to even), toward zero, up and down, as CUDA names them."""

_FORMATS = {np.float32: (24, -149, 128), np.float64: (53, -1074, 1024)}
_ROOT_BITS = 700


def _root(value: Fraction) -> Fraction:
    """Return the square root, with a little added where it has more digits than are computed."""
    scaled = value * Fraction(4) ** _ROOT_BITS
    digits = math.isqrt(scaled.numerator // scaled.denominator)
    is_exact = Fraction(digits) ** 2 == scaled
    extra = Fraction(0) if is_exact else Fraction(1, 2)
    return (digits + extra) / Fraction(2) ** _ROOT_BITS


_OPERATIONS: dict[str, Callable[..., Fraction]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "rcp": lambda x: 1 / x,
    "fma": lambda x, y, z: x * y + z,
    "sqrt": _root,
    "rsqrt": lambda x: _root(1 / x),
}
_PLAIN: dict[str, Callable[..., Real]] = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "rcp": lambda x: type(x)(1) / x,
    "fma": lambda x, y, z: x * y + z,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: type(x)(1) / np.sqrt(x),
}


def round_fraction(value: Fraction, mode: str, kind: type[Real]) -> Real:
    """Round a fraction.

    Parameters
    ----------
    value : Fraction
        Not zero.
    mode : str
        One of ``MODES``.
    kind : type
        ``numpy.float32`` or ``numpy.float64``.
    """
    digits, lowest, highest = _FORMATS[kind]
    size = abs(value)
    exponent = size.numerator.bit_length() - size.denominator.bit_length()
    if size < Fraction(2) ** exponent:
        exponent -= 1
    unit = max(exponent - digits + 1, lowest)
    count, rest = divmod(size / Fraction(2) ** unit, 1)
    count += _is_away(int(count), rest, mode, is_negative=value < 0)
    if count * Fraction(2) ** unit >= Fraction(2) ** highest:
        is_infinite = mode == "rn" or mode == ("rd" if value < 0 else "ru")
        result = kind(math.inf) if is_infinite else np.finfo(kind).max
    else:
        result = kind(math.ldexp(int(count), unit))
    return -result if value < 0 else result


def _is_away(count: int, rest: Fraction, mode: str, *, is_negative: bool) -> bool:
    """Return whether a fraction between two numbers goes to the one further from zero."""
    if mode == "rn":
        return rest > Fraction(1, 2) or (rest == Fraction(1, 2) and count % 2 == 1)
    return rest > 0 and mode == ("rd" if is_negative else "ru")


def rounded(operation: str, mode: str, *operands: Real) -> Real:
    """Apply an operation of arithmetic with a direction of rounding.

    Parameters
    ----------
    operation : str
        ``add``, ``sub``, ``mul``, ``div``, ``rcp``, ``fma``, ``sqrt`` or ``rsqrt``.
    mode : str
        One of ``MODES``.
    *operands : float32 or float64
        Numbers of one type, which the result has, too.
    """
    with np.errstate(all="ignore"):
        plain = _PLAIN[operation](*operands)
    if not all(map(np.isfinite, operands)):
        # A product that overflows is a number; not so where the sum is computed in steps.
        is_addend = operation == "fma" and all(map(np.isfinite, operands[:-1]))
        return operands[-1] if is_addend else plain
    try:
        value = _OPERATIONS[operation](*(Fraction(float(operand)) for operand in operands))
    except (ZeroDivisionError, ValueError):
        return plain
    if value:
        return round_fraction(value, mode, type(operands[0]))
    is_sum = operation in ("add", "sub", "fma")
    return _zero_sum(operation, mode, *operands) if is_sum else plain


def _zero_sum(operation: str, mode: str, *operands: Real) -> Real:
    """Return the zero that a sum of two numbers is: positive, unless both are negative zeros."""
    kind = type(operands[0])
    signs = [bool(np.signbit(operand)) for operand in operands]
    if operation == "sub":
        signs[-1] = not signs[-1]
    last = signs.pop()
    first = signs[0] ^ signs[-1] if operation == "fma" else signs[0]
    is_negative = first or last if mode == "rd" else first and last
    return kind(-0.0) if is_negative else kind(0.0)
