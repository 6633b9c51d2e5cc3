"""Bits of floats, functions of integers, questions about floats, and whole exponents."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

import numpy as np

from pygpulib.core.dtypes import (
    DType,
    float16,
    float32,
    float64,
    int16,
    int32,
    int64,
    uint32,
    uint64,
)
from pygpulib.jit.intrinsics import bits, decomposition, floating, rules
from pygpulib.jit.intrinsics.composed import conversions, whole_powers, words
from pygpulib.jit.intrinsics.device_functions import DeviceFunction
from pygpulib.jit.intrinsics.scalars import Real, Whole
from pygpulib.jit.ir.intrinsic import Emit, intrinsic

Function = Callable[..., Any]

_BITCAST = Emit("bitcast")
_ONE_SINGLE = np.float32(1.0)


@intrinsic(rule=rules.fixed((float16,), (int16,)), cpu=_BITCAST, cuda=_BITCAST, samples="library")
def half_bits(x: Real) -> Whole:
    """Return the bits of a float16."""
    return np.float16(x).view(np.int16)


@intrinsic(rule=rules.fixed((int16,), (float16,)), cpu=_BITCAST, cuda=_BITCAST, samples="library")
def bits_half(i: Whole) -> Real:
    """Return the float16 that has these bits."""
    return np.int16(i).view(np.float16)


def rows() -> Iterator[DeviceFunction]:
    """Yield the functions."""
    for name, operands, result, cpu, reference in (*_BITS, *_INTEGERS):
        yield DeviceFunction(name, operands, result, cpu, reference)
    for suffix, dtype in (("", float64), ("f", float32)):
        for name, operands, result, cpu, reference in _parts(dtype):
            yield DeviceFunction(f"{name}{suffix}", operands, result, cpu, reference)
    for name, dtype, question in (
        ("isnand", float64, floating.isnan),
        ("isnanf", float32, floating.isnan),
        ("isinfd", float64, floating.isinf),
        ("isinff", float32, floating.isinf),
        ("isfinited", float64, floating.isfinite),
        ("finitef", float32, floating.isfinite),
        ("signbitd", float64, decomposition.signbit),
        ("signbitf", float32, decomposition.signbit),
    ):
        yield DeviceFunction(name, (dtype,), int32, _asked(question), question)


def _asked(question: Function) -> Function:
    def call(x: Real) -> Whole:
        return np.int32(question(x))

    return call


def _bits_of_float(x: Real) -> Whole:
    return bits.float_bits(x)


def _float_of_bits(i: Whole) -> Real:
    return bits.bits_float(i)


def _wrapped(dtype: DType, value: int) -> Whole:
    """Return the integer of a type with the last bits of another one."""
    return np.array(value & ((1 << dtype.bits) - 1), np.uint64).astype(dtype.numpy)[()]


def _of_integers(dtype: DType, function: Callable[..., int]) -> Function:
    """Return the meaning of a function of integers, from a function of Python's."""

    def call(*operands: Whole) -> Whole:
        return _wrapped(dtype, function(*map(int, operands)))

    return call


def _low_24(x: int) -> int:
    """Return the lower 24 bits as a signed number."""
    return ((x & 0xFFFFFF) ^ 0x800000) - 0x800000


def _permuted(x: int, y: int, selector: int) -> int:
    source = (x | y << 32).to_bytes(8, "little")
    return int.from_bytes(bytes(source[selector >> 4 * k & 7] for k in range(4)), "little")


_Row = tuple[str, tuple[DType, ...], DType, Function, Function]

_BITS: tuple[_Row, ...] = (
    ("double_as_longlong", (float64,), int64, _bits_of_float, bits.float_bits),
    ("longlong_as_double", (int64,), float64, _float_of_bits, bits.bits_float),
    ("float_as_int", (float32,), int32, _bits_of_float, bits.float_bits),
    ("int_as_float", (int32,), float32, _float_of_bits, bits.bits_float),
    ("double2hiint", (float64,), int32, conversions.high_word, lambda x: x.view(np.int64) >> 32),
    (
        "double2loint",
        (float64,),
        int32,
        conversions.low_word,
        lambda x: _wrapped(int32, int(x.view(np.int64))),
    ),
    (
        "hiloint2double",
        (int32, int32),
        float64,
        conversions.from_words,
        lambda high, low: np.array([low, high], np.int32).view(np.float64)[0],
    ),
)


def _integers(name: str, dtype: DType, cpu: Function, function: Callable[..., int]) -> _Row:
    return name, (dtype, dtype), dtype, cpu, _of_integers(dtype, function)


_INTEGERS: tuple[_Row, ...] = (
    _integers("mulhi", int32, words.high_product, lambda x, y: x * y >> 32),
    _integers("umulhi", uint32, words.high_product_unsigned, lambda x, y: x * y >> 32),
    _integers("mul64hi", int64, words.high_product_long, lambda x, y: x * y >> 64),
    _integers("umul64hi", uint64, words.high_product_unsigned_long, lambda x, y: x * y >> 64),
    _integers("mul24", int32, words.product_24, lambda x, y: _low_24(x) * _low_24(y)),
    _integers(
        "umul24",
        uint32,
        words.product_24_unsigned,
        lambda x, y: (x & 0xFFFFFF) * (y & 0xFFFFFF),
    ),
    _integers("hadd", int32, words.mean_down, lambda x, y: x + y >> 1),
    _integers("uhadd", uint32, words.mean_down, lambda x, y: x + y >> 1),
    _integers("rhadd", int32, words.mean_up, lambda x, y: x + y + 1 >> 1),
    _integers("urhadd", uint32, words.mean_up, lambda x, y: x + y + 1 >> 1),
    ("byte_perm", (uint32,) * 3, uint32, words.choose_bytes, _of_integers(uint32, _permuted)),
)


# ------------------------------------------------------------------------------ parts of floats


def _parts(dtype: DType) -> Iterator[_Row]:
    power = _power_double if dtype is float64 else _power_single
    yield "powi", (dtype, int32), dtype, power, power
    yield "scalbn", (dtype, int32), dtype, _scaled, decomposition.ldexp
    yield "ilogb", (dtype,), int32, whole_powers.exponent_of, _exponent
    yield "logb", (dtype,), dtype, whole_powers.float_exponent_of, _float_exponent
    yield "llrint", (dtype,), int64, conversions.nearest_int64, _to_nearest
    yield "llround", (dtype,), int64, conversions.nearest_int64_away, _away_from_zero
    if dtype is float32:
        yield "saturate", (dtype,), dtype, conversions.saturate, _between_0_and_1


def _power_double(x: Real, exponent: Whole) -> Real:
    return whole_powers.whole_power(x, exponent, 1.0)


def _power_single(x: Real, exponent: Whole) -> Real:
    return whole_powers.whole_power(x, exponent, _ONE_SINGLE)


def _scaled(x: Real, exponent: Whole) -> Real:
    return decomposition.ldexp(x, exponent)


def _exponent(x: Real) -> int:
    if np.isinf(x):
        return 2**31 - 1
    return -(2**31) if np.isnan(x) or x == 0 else math.frexp(float(x))[1] - 1


def _float_exponent(x: Real) -> float:
    if x == 0:
        return -math.inf
    return float(abs(x)) if not np.isfinite(x) else float(_exponent(x))


def _integer_between(x: Real, whole: Callable[[Fraction], int]) -> int:
    """Return a number made an integer, or the int64 next to it."""
    if np.isnan(x):
        return -(2**63)
    if np.isinf(x):
        return 2**63 - 1 if x > 0 else -(2**63)
    return min(max(whole(Fraction(float(x))), -(2**63)), 2**63 - 1)


def _to_nearest(x: Real) -> int:
    return _integer_between(x, round)


def _away_from_zero(x: Real) -> int:
    half = Fraction(1, 2)
    return _integer_between(x, lambda v: math.floor(v + half) if v > 0 else math.ceil(v - half))


def _between_0_and_1(x: Real) -> Real:
    return 0.0 if np.isnan(x) or x <= 0 else min(float(x), 1.0)
