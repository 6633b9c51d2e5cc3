"""Arithmetic in half precision, under the names of numba's ``cuda.fp16``.

Operators and the functions of ``math`` work on ``float16`` as well; arguments of other types are
rounded to it here.
"""

from __future__ import annotations

import math
from typing import Any, TypeAlias

import numpy as np

from pygpulib.jit.intrinsics.floating import fma
from pygpulib.jit.types import float16

Half: TypeAlias = Any
"""A number, which is rounded to half precision."""

__all__ = [
    "habs",
    "hadd",
    "hceil",
    "hcos",
    "hdiv",
    "heq",
    "hexp",
    "hexp2",
    "hexp10",
    "hfloor",
    "hfma",
    "hge",
    "hgt",
    "hle",
    "hlog",
    "hlog2",
    "hlog10",
    "hlt",
    "hmax",
    "hmin",
    "hmul",
    "hne",
    "hneg",
    "hrcp",
    "hrint",
    "hrsqrt",
    "hsin",
    "hsqrt",
    "hsub",
    "htrunc",
]


def hadd(a: Half, b: Half) -> Half:
    """Return the sum."""
    return float16(a) + float16(b)


def hsub(a: Half, b: Half) -> Half:
    """Return the difference."""
    return float16(a) - float16(b)


def hmul(a: Half, b: Half) -> Half:
    """Return the product."""
    return float16(a) * float16(b)


def hdiv(a: Half, b: Half) -> Half:
    """Return the quotient."""
    return float16(a) / float16(b)


def hfma(a: Half, b: Half, c: Half) -> Half:
    """Return ``a * b + c``, rounded once."""
    return fma(float16(a), float16(b), float16(c))


def hneg(a: Half) -> Half:
    """Return the negative."""
    return -float16(a)


def habs(a: Half) -> Half:
    """Return the absolute value."""
    return abs(float16(a))


def hmax(a: Half, b: Half) -> Half:
    """Return the greater number; the other one if one is NaN."""
    x, y = float16(a), float16(b)
    if x != x:
        return y
    return x if x > y or y != y else y


def hmin(a: Half, b: Half) -> Half:
    """Return the lesser number; the other one if one is NaN."""
    x, y = float16(a), float16(b)
    if x != x:
        return y
    return x if x < y or y != y else y


def heq(a: Half, b: Half) -> bool:
    """Return whether two numbers are equal."""
    return bool(float16(a) == float16(b))


def hne(a: Half, b: Half) -> bool:
    """Return whether two numbers are not equal."""
    return bool(float16(a) != float16(b))


def hge(a: Half, b: Half) -> bool:
    """Return whether the first number is at least the second."""
    return bool(float16(a) >= float16(b))


def hgt(a: Half, b: Half) -> bool:
    """Return whether the first number is greater."""
    return bool(float16(a) > float16(b))


def hle(a: Half, b: Half) -> bool:
    """Return whether the first number is at most the second."""
    return bool(float16(a) <= float16(b))


def hlt(a: Half, b: Half) -> bool:
    """Return whether the first number is less."""
    return bool(float16(a) < float16(b))


def hsin(a: Half) -> Half:
    """Return the sine."""
    return float16(math.sin(float16(a)))


def hcos(a: Half) -> Half:
    """Return the cosine."""
    return float16(math.cos(float16(a)))


def hexp(a: Half) -> Half:
    """Return the exponential."""
    return float16(math.exp(float16(a)))


def hexp2(a: Half) -> Half:
    """Return the power of two."""
    return float16(np.exp2(float16(a)))


def hexp10(a: Half) -> Half:
    """Return the power of ten."""
    return float16(10.0 ** float(float16(a)))


def hlog(a: Half) -> Half:
    """Return the natural logarithm."""
    return float16(math.log(float16(a)))


def hlog2(a: Half) -> Half:
    """Return the logarithm to base two."""
    return float16(math.log2(float16(a)))


def hlog10(a: Half) -> Half:
    """Return the logarithm to base ten."""
    return float16(math.log10(float16(a)))


def hsqrt(a: Half) -> Half:
    """Return the square root."""
    return float16(math.sqrt(float16(a)))


def hrsqrt(a: Half) -> Half:
    """Return one over the square root."""
    return float16(1.0 / math.sqrt(float(float16(a))))


def hrcp(a: Half) -> Half:
    """Return one over the number."""
    return float16(1) / float16(a)


def hceil(a: Half) -> Half:
    """Return the next whole number up."""
    return float16(np.ceil(float16(a)))


def hfloor(a: Half) -> Half:
    """Return the next whole number down."""
    return float16(np.floor(float16(a)))


def htrunc(a: Half) -> Half:
    """Return the next whole number towards zero."""
    return float16(np.trunc(float16(a)))


def hrint(a: Half) -> Half:
    """Return the nearest whole number, ties to the even one."""
    return float16(np.rint(float16(a)))
