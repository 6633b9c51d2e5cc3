"""Arithmetic on bfloat16, under the names of numba's ``cuda.bf16``.

Operators and the functions of ``math`` work on ``bfloat16`` as well. Arguments of other types are
rounded to it here. What converts numbers has its names by CUDA's types (``int2bfloat16_rn``) and by
NumPy's (``int32_to_bfloat16_rn``); the last letters say how it rounds: to the nearest number, ties
to even (``rn``), towards zero (``rz``), down (``rd``) or up (``ru``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pygpulib.jit.intrinsics import exp_log, integer_math
from pygpulib.jit.types import (
    ScalarType,
    bfloat16,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
    uint8,
    uint16,
    uint32,
    uint64,
)

Function = Callable[..., Any]

# The types of the kernel language are not written down: a number of any real type.
Value = Any

nv_bfloat16 = bfloat16

# ------------------------------------------------------------------------------------- arithmetic


def hadd(a: Value, b: Value) -> Value:
    """Return the sum."""
    return bfloat16(a) + bfloat16(b)


def hsub(a: Value, b: Value) -> Value:
    """Return the difference."""
    return bfloat16(a) - bfloat16(b)


def hmul(a: Value, b: Value) -> Value:
    """Return the product."""
    return bfloat16(a) * bfloat16(b)


hadd_rn, hsub_rn, hmul_rn = hadd, hsub, hmul


def hdiv(a: Value, b: Value) -> Value:
    """Return the quotient."""
    return bfloat16(a) / bfloat16(b)


def hneg(a: Value) -> Value:
    """Return the negative."""
    return -bfloat16(a)


def habs(a: Value) -> Value:
    """Return the absolute value."""
    return abs(bfloat16(a))


def hfma(a: Value, b: Value, c: Value) -> Value:
    """Return ``a * b + c``, rounded once."""
    product, addend = float64(bfloat16(a)) * float64(bfloat16(b)), float64(bfloat16(c))
    total = product + addend
    part = total - product
    rest = (product - (total - part)) + (addend - part)
    bits = total.view(np.int64)
    if (rest < 0.0 or rest > 0.0) and bits & 1 == 0:
        # An odd last bit says that something was cut off, so that ties are none.
        bits += 1 if (rest > 0.0) == (total > 0.0) else -1
    return bfloat16(bits.view(np.float64))


def saturate(a: Value) -> Value:
    """Return the nearest number from 0 to 1; 0 for NaN."""
    x = bfloat16(a)
    return bfloat16(0.0) if not x > 0 else (x if x < 1 else bfloat16(1.0))


def hadd_sat(a: Value, b: Value) -> Value:
    """Return the sum, but at least 0 and at most 1."""
    return saturate(hadd(a, b))


def hsub_sat(a: Value, b: Value) -> Value:
    """Return the difference, but at least 0 and at most 1."""
    return saturate(hsub(a, b))


def hmul_sat(a: Value, b: Value) -> Value:
    """Return the product, but at least 0 and at most 1."""
    return saturate(hmul(a, b))


def hfma_sat(a: Value, b: Value, c: Value) -> Value:
    """Return ``a * b + c``, but at least 0 and at most 1."""
    return saturate(hfma(a, b, c))


def hfma_relu(a: Value, b: Value, c: Value) -> Value:
    """Return ``a * b + c``, but at least 0."""
    x = hfma(a, b, c)
    return bfloat16(0.0) if x < 0 else x


def hmax(a: Value, b: Value) -> Value:
    """Return the greater number; the other one if one is NaN."""
    x, y = bfloat16(a), bfloat16(b)
    if x != x:
        return y
    return x if x > y or y != y else y


def hmin(a: Value, b: Value) -> Value:
    """Return the lesser number; the other one if one is NaN."""
    x, y = bfloat16(a), bfloat16(b)
    if x != x:
        return y
    return x if x < y or y != y else y


def hmax_nan(a: Value, b: Value) -> Value:
    """Return the greater number; NaN if one is."""
    x, y = bfloat16(a), bfloat16(b)
    return x if x > y or x != x else y


def hmin_nan(a: Value, b: Value) -> Value:
    """Return the lesser number; NaN if one is."""
    x, y = bfloat16(a), bfloat16(b)
    return x if x < y or x != x else y


# ------------------------------------------------------------------------------------ comparisons


def heq(a: Value, b: Value) -> bool:
    """Return whether two numbers are equal."""
    return bool(bfloat16(a) == bfloat16(b))


def hne(a: Value, b: Value) -> bool:
    """Return whether two numbers are different and neither is NaN."""
    return bool(hlt(a, b) or hgt(a, b))


def hge(a: Value, b: Value) -> bool:
    """Return whether the first number is at least the second."""
    return bool(bfloat16(a) >= bfloat16(b))


def hgt(a: Value, b: Value) -> bool:
    """Return whether the first number is greater."""
    return bool(bfloat16(a) > bfloat16(b))


def hle(a: Value, b: Value) -> bool:
    """Return whether the first number is at most the second."""
    return bool(bfloat16(a) <= bfloat16(b))


def hlt(a: Value, b: Value) -> bool:
    """Return whether the first number is less."""
    return bool(bfloat16(a) < bfloat16(b))


def hequ(a: Value, b: Value) -> bool:
    """Return whether two numbers are equal, or one is NaN."""
    return not hne(a, b)


def hneu(a: Value, b: Value) -> bool:
    """Return whether two numbers are different, or one is NaN."""
    return not heq(a, b)


def hgeu(a: Value, b: Value) -> bool:
    """Return whether the first number is at least the second, or one is NaN."""
    return not hlt(a, b)


def hgtu(a: Value, b: Value) -> bool:
    """Return whether the first number is greater, or one is NaN."""
    return not hle(a, b)


def hleu(a: Value, b: Value) -> bool:
    """Return whether the first number is at most the second, or one is NaN."""
    return not hgt(a, b)


def hltu(a: Value, b: Value) -> bool:
    """Return whether the first number is less, or one is NaN."""
    return not hge(a, b)


def hisnan(a: Value) -> bool:
    """Return whether a number is NaN."""
    x = bfloat16(a)
    return bool(x != x)


def hisinf(a: Value) -> int:
    """Return 1 for infinity, -1 for negative infinity, else 0."""
    x = float32(bfloat16(a))
    return int(x == math.inf) - int(x == -math.inf)


# -------------------------------------------------------------------------------------- functions


def hrsqrt(a: Value) -> Value:
    """Return one over the square root."""
    return bfloat16(float32(1.0) / math.sqrt(float32(bfloat16(a))))


def hrcp(a: Value) -> Value:
    """Return one over the number."""
    return bfloat16(1.0) / bfloat16(a)


def _make_function(function: Function) -> Function:
    def call(a: Value) -> Value:
        return bfloat16(function(float32(bfloat16(a))))

    return call


_FUNCTIONS: dict[str, Function] = {
    "hceil": np.ceil,
    "hcos": math.cos,
    "hexp": math.exp,
    "hexp2": np.exp2,
    "hexp10": exp_log.exp10,
    "hfloor": np.floor,
    "hlog": math.log,
    "hlog2": math.log2,
    "hlog10": math.log10,
    "hrint": np.rint,
    "hsin": math.sin,
    "hsqrt": math.sqrt,
    "htanh": math.tanh,
    "htanh_approx": math.tanh,
    "htrunc": np.trunc,
}

# ------------------------------------------------------------------------------------ conversions


def _from_bits(bits: Value) -> Value:
    return uint16(bits).view(bfloat16)


def _cut_float(x: Value) -> Value:
    """Return the bits of the bfloat16 next to a float towards zero, and if something was cut."""
    bits = float32(x).view(np.uint32)
    is_nan = x != x
    return 0x7FC0 if is_nan else bits >> 16, not is_nan and bits & 0xFFFF != 0


def _cut_integer(x: Value) -> Value:
    """Return the bits of the bfloat16 next to an integer towards zero, and if something was cut."""
    size = uint64(-int64(x)) if x < 0 else uint64(x)
    drop = max(int64(56) - int64(integer_math.clz(size)), 0)
    kept = (size >> uint64(drop)) << uint64(drop)
    number = bfloat16(-float64(kept) if x < 0 else float64(kept))
    return int64(number.view(np.uint16)), kept != size


def _toward_zero(cut: Value, x: Value) -> Value:
    bits, _is_cut = cut(x)
    return _from_bits(bits)


def _down(cut: Value, x: Value) -> Value:
    bits, is_cut = cut(x)
    return _from_bits(bits + 1 if is_cut and x < 0 else bits)


def _up(cut: Value, x: Value) -> Value:
    bits, is_cut = cut(x)
    return _from_bits(bits + 1 if is_cut and x > 0 else bits)


_DIRECTED: dict[str, Function] = {"rz": _toward_zero, "rd": _down, "ru": _up}
_WHOLE: dict[str, Function] = {"rn": np.rint, "rz": np.trunc, "rd": np.floor, "ru": np.ceil}


def _make_nearest(source: ScalarType) -> Function:
    def call(x: Value) -> Value:
        return bfloat16(source(x))

    return call


def _make_directed(direction: Function, cut: Function, source: ScalarType) -> Function:
    def call(x: Value) -> Value:
        return direction(cut, source(x))

    return call


def _make_whole(whole: Function, target: ScalarType) -> Function:
    low = 0.0 if not target.dtype.is_signed else -(2.0 ** (target.bitwidth - 1))
    bits = target.bitwidth - target.dtype.is_signed
    # Beyond 53 bits the last float below the limit: what is larger saturates in the conversion.
    high = 2.0**bits - 1.0 if bits < 53 else 2.0**64

    def call(a: Value) -> Value:
        x = whole(float64(bfloat16(a)))
        if x != x:
            return target(0)
        return target(min(max(x, low), high))

    return call


def _make_bits(source: ScalarType, target: ScalarType) -> Function:
    def call(x: Value) -> Value:
        return source(x).view(target)

    return call


def _make_wider(target: ScalarType) -> Function:
    def call(a: Value) -> Value:
        return target(bfloat16(a))

    return call


_INTEGERS = {
    "short": int16,
    "ushort": uint16,
    "int": int32,
    "uint": uint32,
    "ll": int64,
    "ull": uint64,
}


def _conversions() -> dict[str, Function]:
    """Return the conversions by both of their names."""
    found: dict[str, Function] = {}

    def add(names: tuple[str, str], function: Function) -> None:
        function.__name__ = function.__qualname__ = names[0]
        function.__doc__ = f"Return what CUDA's ``__{names[0]}`` does."
        found.update(dict.fromkeys(names, function))

    for short, type_ in _INTEGERS.items():
        add((f"{short}2bfloat16_rn", f"{type_}_to_bfloat16_rn"), _make_nearest(type_))
        for mode, direction in _DIRECTED.items():
            names = (f"{short}2bfloat16_{mode}", f"{type_}_to_bfloat16_{mode}")
            add(names, _make_directed(direction, _cut_integer, type_))
        for mode, whole in _WHOLE.items():
            names = (f"bfloat162{short}_{mode}", f"bfloat16_to_{type_}_{mode}")
            add(names, _make_whole(whole, type_))
    for short, type_ in (("char", int8), ("uchar", uint8)):
        add((f"bfloat162{short}_rz", f"bfloat16_to_{type_}_rz"), _make_whole(np.trunc, type_))
    for short, type_ in (("short", int16), ("ushort", uint16)):
        add((f"bfloat16_as_{short}", f"bfloat16_as_{type_}"), _make_bits(bfloat16, type_))
        add((f"{short}_as_bfloat16", f"{type_}_as_bfloat16"), _make_bits(type_, bfloat16))
    add(("float2bfloat16", "float32_to_bfloat16"), _make_nearest(float32))
    add(("float2bfloat16_rn", "float32_to_bfloat16_rn"), _make_nearest(float32))
    add(("double2bfloat16", "float64_to_bfloat16"), _make_nearest(float64))
    add(("bfloat162float", "bfloat16_to_float32"), _make_wider(float32))
    for mode, direction in _DIRECTED.items():
        names = (f"float2bfloat16_{mode}", f"float32_to_bfloat16_{mode}")
        add(names, _make_directed(direction, _cut_float, float32))
    return found


def _functions() -> dict[str, Function]:
    found = {name: _make_function(function) for name, function in _FUNCTIONS.items()}
    for name, function in found.items():
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"Return what CUDA's ``{name}`` does."
    return found | _conversions()


_MADE = _functions()
globals().update(_MADE)

__all__ = [  # noqa: PLE0604
    "bfloat16",
    "habs",
    "hadd",
    "hadd_rn",
    "hadd_sat",
    "hdiv",
    "heq",
    "hequ",
    "hfma",
    "hfma_relu",
    "hfma_sat",
    "hge",
    "hgeu",
    "hgt",
    "hgtu",
    "hisinf",
    "hisnan",
    "hle",
    "hleu",
    "hlt",
    "hltu",
    "hmax",
    "hmax_nan",
    "hmin",
    "hmin_nan",
    "hmul",
    "hmul_rn",
    "hmul_sat",
    "hne",
    "hneg",
    "hneu",
    "hrcp",
    "hrsqrt",
    "hsub",
    "hsub_rn",
    "hsub_sat",
    "nv_bfloat16",
    *_MADE,
]
