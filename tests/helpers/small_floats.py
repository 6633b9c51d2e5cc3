"""The numbers of bfloat16 and of 8-bit floats, by their definition, and rounding to them."""

from __future__ import annotations

from bisect import bisect_right
from fractions import Fraction
from functools import cache
from typing import NamedTuple

import numpy as np

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType


class Form(NamedTuple):
    """How a type with a sign is stored, and the code of its largest finite number."""

    exponent_bits: int
    mantissa_bits: int
    largest: int
    saturates: bool


FORMS = {
    dtypes.bfloat16: Form(8, 7, 0x7F7F, saturates=False),
    dtypes.float8_e5m2: Form(5, 2, 0x7B, saturates=True),
    dtypes.float8_e4m3fn: Form(4, 3, 0x7E, saturates=True),
}


@cache
def magnitudes(dtype: DType) -> list[float]:
    """Return the finite numbers that are not negative, in order: positions are codes."""
    form = FORMS[dtype]
    bias = (1 << (form.exponent_bits - 1)) - 1
    numbers = []
    for code in range(form.largest + 1):
        exponent, rest = divmod(code, 1 << form.mantissa_bits)
        leading = (1 << form.mantissa_bits) if exponent else 0
        numbers.append((leading + rest) * 2.0 ** (max(exponent, 1) - bias - form.mantissa_bits))
    return numbers


def nearest(number: float | Fraction, dtype: DType) -> float:
    """Return the number of the type that is nearest to a number, ties to even.

    Python compares integers, floats and fractions exactly, so that nothing is rounded on the way.
    """
    if number != number:
        return float(number)
    known = magnitudes(dtype)
    size, code = abs(number), bisect_right(known, abs(number)) - 1
    above = known[code] + (known[code] - known[code - 1]) if code == len(known) - 1 else 0.0
    following = known[code + 1] if code + 1 < len(known) else above
    middle = (known[code] + following) / 2
    found = following if size > middle or (size == middle and code % 2) else known[code]
    if found > known[-1]:
        found = known[-1] if FORMS[dtype].saturates else float("inf")
    return -found if number < 0 or np.signbit(float(number)) else found
