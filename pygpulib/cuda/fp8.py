"""8-bit floats: kernels keep them and convert them, and compute with something wider.

``fp8_e4m3(x)`` and ``fp8_e5m2(x)`` round to nearest, ties to even, and what is too large becomes
the largest number; ``fp8_e8m0(x)`` is the next power of two that is not below ``abs(x)``. The
functions convert to and from the bits of such numbers, under the names of numba's bindings of
CUDA's.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from pygpulib.jit.types import (
    bfloat16,
    float8_e4m3fn,
    float8_e5m2,
    float8_e8m0fnu,
    float32,
    float64,
    int64,
    uint8,
    uint16,
)

# The types of the kernel language are not written down: a number of any real type.
Value = Any

__all__ = [
    "bfloat16_raw",
    "cvt_bfloat16raw_to_e8m0",
    "cvt_bfloat16raw_to_fp8",
    "cvt_double_to_e8m0",
    "cvt_double_to_fp8",
    "cvt_e8m0_to_bf16raw",
    "cvt_float_to_e8m0",
    "cvt_float_to_fp8",
    "fp8_e4m3",
    "fp8_e5m2",
    "fp8_e8m0",
    "fp8_interpretation_t",
    "saturation_t",
]

fp8_e4m3 = float8_e4m3fn
fp8_e5m2 = float8_e5m2
fp8_e8m0 = float8_e8m0fnu


class saturation_t(IntEnum):  # noqa: N801 - CUDA's name
    """What becomes of numbers that are too large: infinity or NaN, or the largest number."""

    NOSAT = 0
    SATFINITE = 1


class fp8_interpretation_t(IntEnum):  # noqa: N801 - CUDA's name
    """What the bits of an 8-bit float mean."""

    E4M3 = 0
    E5M2 = 1


class bfloat16_raw(NamedTuple):  # noqa: N801 - CUDA's name
    """The bits of a bfloat16."""

    x: int


_ROUND_DOWN = 1
"""CUDA's number of the rounding towards zero; ``e8m0`` has this one and that upwards only."""

_NAN_E8M0 = 255


def cvt_double_to_fp8(x: Value, saturate: Value, interpretation: Value) -> Value:
    """Return the bits of a float64 as an 8-bit float."""
    number = float64(x)
    if interpretation == fp8_interpretation_t.E5M2:
        bits = fp8_e5m2(number).view(np.uint8)
        # Half way to what would be the next number, a tie, which goes to the even one.
        is_beyond, beyond = abs(number) >= 61440.0, 0x7C
    else:
        bits = fp8_e4m3(number).view(np.uint8)
        is_beyond, beyond = abs(number) > 464.0, 0x7F
    if saturate == saturation_t.NOSAT and is_beyond:
        return uint8((bits & 0x80) | beyond)
    return uint8(bits)


def cvt_float_to_fp8(x: Value, saturate: Value, interpretation: Value) -> Value:
    """Return the bits of a float32 as an 8-bit float."""
    return cvt_double_to_fp8(float32(x), saturate, interpretation)


def cvt_bfloat16raw_to_fp8(x: Value, saturate: Value, interpretation: Value) -> Value:
    """Return the bits of a bfloat16, given by its own bits, as an 8-bit float."""
    return cvt_double_to_fp8(uint16(x.x).view(bfloat16), saturate, interpretation)


def cvt_double_to_e8m0(x: Value, saturate: Value, rounding: Value) -> Value:
    """Return the bits of the power of two next to a float64: below or, else, not below it."""
    number = float64(x)
    size = abs(number)
    if number != number:
        return uint8(_NAN_E8M0)
    if int(rounding) == _ROUND_DOWN:
        exponent = (size.view(np.int64) >> 52) - 896
        code, is_beyond = min(max(exponent, int64(0)), int64(254)), size >= 2.0**128
    else:
        code, is_beyond = int64(fp8_e8m0(number).view(np.uint8)), size > 2.0**127
    return uint8(_NAN_E8M0 if saturate == saturation_t.NOSAT and is_beyond else code)


def cvt_float_to_e8m0(x: Value, saturate: Value, rounding: Value) -> Value:
    """Return the bits of the power of two next to a float32: below or, else, not below it."""
    return cvt_double_to_e8m0(float32(x), saturate, rounding)


def cvt_bfloat16raw_to_e8m0(x: Value, saturate: Value, rounding: Value) -> Value:
    """Return the bits of the power of two next to a bfloat16, given by its own bits."""
    return cvt_double_to_e8m0(uint16(x.x).view(bfloat16), saturate, rounding)


def cvt_e8m0_to_bf16raw(x: Value) -> Value:
    """Return the bits of a power of two, given by its own bits, as a bfloat16."""
    return bfloat16_raw(bfloat16(uint8(x).view(fp8_e8m0)).view(np.uint16))
