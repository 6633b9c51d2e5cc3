"""Functions of CUDA's device library, under the names of numba's ``cuda.libdevice``.

A name with an ``f`` at the end is the function in single precision, the others are in double
precision; arguments are converted. Functions of unsigned integers give unsigned integers. What the
library writes through pointers is returned, after the result.

Names with ``fast_`` are the GPU's own approximations, and as exact as the others on CPUs. Bessel
functions are those of C's library on CPUs: within a few units in the last place for arguments
below 8, and an absolute error of 5e-12 (2e-6 in single precision) above.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from pygpulib.jit.intrinsics import (
    decomposition,
    device_catalogue,
    device_numbers,
    exp_log,
    floating,
    integer_math,
    roots,
    trigonometry,
)
from pygpulib.jit.intrinsics.composed import whole_powers
from pygpulib.jit.types import (
    ScalarType,
    float32,
    float64,
    int16,
    int32,
    int64,
    scalar_type,
    uint32,
    uint64,
)

Function = Callable[..., Any]

# The types of the kernel language are not written down: these are compiled for many.
Value = Any


def rcbrt(x: Value) -> Value:
    """Return one over the cube root."""
    return 1.0 / roots.cbrt(x)


def exp10(x: Value) -> Value:
    """Return a power of ten."""
    return exp_log.exp10(x)


def fdim(x: Value, y: Value) -> Value:
    """Return the positive difference, or zero."""
    return x - y if x > y else x - x


def nearbyint(x: Value) -> Value:
    """Return the nearest whole number, ties to the even one."""
    return np.rint(x)


def round_away(x: Value) -> Value:
    """Return the nearest whole number, ties away from zero."""
    return math.copysign(np.floor(abs(x)), x) if abs(x) % 1 < 0.5 else away_from_zero(x)


def away_from_zero(x: Value) -> Value:
    """Return the next whole number away from zero."""
    return math.copysign(np.ceil(abs(x)), x)


_UNARY: dict[str, Function] = {
    "acos": math.acos,
    "acosh": math.acosh,
    "asin": math.asin,
    "asinh": math.asinh,
    "atan": math.atan,
    "atanh": math.atanh,
    "cbrt": roots.cbrt,
    "ceil": np.ceil,
    "cos": math.cos,
    "cosh": math.cosh,
    "cospi": trigonometry.cospi,
    "erf": math.erf,
    "erfc": math.erfc,
    "exp": math.exp,
    "exp10": exp10,
    "exp2": np.exp2,
    "expm1": math.expm1,
    "fabs": math.fabs,
    "floor": np.floor,
    "lgamma": math.lgamma,
    "log": math.log,
    "log10": math.log10,
    "log1p": math.log1p,
    "log2": math.log2,
    "nearbyint": nearbyint,
    "rcbrt": rcbrt,
    "rint": np.rint,
    "round": round_away,
    "rsqrt": roots.rsqrt,
    "sin": math.sin,
    "sinh": math.sinh,
    "sinpi": trigonometry.sinpi,
    "sqrt": np.sqrt,
    "tan": math.tan,
    "tanh": math.tanh,
    "tgamma": math.gamma,
    "trunc": np.trunc,
}
_BINARY: dict[str, Function] = {
    "atan2": math.atan2,
    "copysign": math.copysign,
    "fdim": fdim,
    "fmax": np.fmax,
    "fmin": np.fmin,
    "fmod": math.fmod,
    "hypot": math.hypot,
    "nextafter": np.nextafter,
    "pow": np.float_power,
    "remainder": math.remainder,
}


def _make_unary(function: Function, type_: ScalarType) -> Function:
    def call(x: Value) -> Value:
        return type_(function(type_(x)))

    return call


def _make_binary(function: Function, type_: ScalarType) -> Function:
    def call(x: Value, y: Value) -> Value:
        return type_(function(type_(x), type_(y)))

    return call


def _make_ternary(type_: ScalarType) -> Function:
    def call(x: Value, y: Value, z: Value) -> Value:
        return floating.fma(type_(x), type_(y), type_(z))

    return call


def _make_sincos(type_: ScalarType) -> Function:
    def call(x: Value) -> Value:
        return trigonometry.sincos(type_(x))

    return call


def _make_sincospi(type_: ScalarType) -> Function:
    def call(x: Value) -> Value:
        return trigonometry.sinpi(type_(x)), trigonometry.cospi(type_(x))

    return call


def _make_fast_sincos() -> Function:
    sine, cosine = (device_catalogue.FUNCTIONS[f"fast_{name}f"][1] for name in ("sin", "cos"))

    def call(x: Value) -> Value:
        return sine(float32(x)), cosine(float32(x))

    return call


def _make_remquo(type_: ScalarType) -> Function:
    def call(x: Value, y: Value) -> Value:
        return whole_powers.remainder_and_quotient(type_(x), type_(y))

    return call


def half2float(bits: Value) -> Value:
    """Return the float16 with some bits."""
    return float32(device_numbers.bits_half(int16(bits)))


def float2half_rn(x: Value) -> Value:
    """Return the bits of a number as a float16."""
    return device_numbers.half_bits(float32(x))


def _make_parts(function: Function, type_: ScalarType) -> Function:
    def call(x: Value) -> Value:
        return function(type_(x))

    return call


def _make_ldexp(type_: ScalarType) -> Function:
    def call(x: Value, exponent: Value) -> Value:
        return math.ldexp(type_(x), int32(exponent))

    return call


def _make_absolute_differences(type_: ScalarType, result: ScalarType) -> Function:
    def call(x: Value, y: Value, z: Value) -> Value:
        left, right = int64(type_(x)), int64(type_(y))
        return result(abs(left - right) + int64(result(z)))

    return call


def _make_integer(function: Function, type_: ScalarType, result: ScalarType) -> Function:
    def call(x: Value) -> Value:
        return result(function(type_(x)))

    return call


def _make_extreme(function: Function, type_: ScalarType) -> Function:
    def call(x: Value, y: Value) -> Value:
        return type_(function(type_(x), type_(y)))

    return call


def _make_row(name: str) -> Function:
    """Return a function that converts its arguments and applies an intrinsic."""
    row, function = device_catalogue.FUNCTIONS[name]
    types = tuple(map(scalar_type, row.operands))
    first, second, third = (*types, *types, *types)[:3]

    def unary(x: Value) -> Value:
        return function(first(x))

    def binary(x: Value, y: Value) -> Value:
        return function(first(x), second(y))

    def ternary(x: Value, y: Value, z: Value) -> Value:
        return function(first(x), second(y), third(z))

    return (unary, binary, ternary)[len(types) - 1]


def _functions() -> dict[str, Function]:
    found: dict[str, Function] = {}
    for suffix, type_ in (("", float64), ("f", float32)):
        for name, function in _UNARY.items():
            found[f"{name}{suffix}"] = _make_unary(function, type_)
        for name, function in _BINARY.items():
            found[f"{name}{suffix}"] = _make_binary(function, type_)
        found[f"fma{suffix}"] = _make_ternary(type_)
        found[f"sincos{suffix}"] = _make_sincos(type_)
        found[f"sincospi{suffix}"] = _make_sincospi(type_)
        found[f"remquo{suffix}"] = _make_remquo(type_)
        found[f"frexp{suffix}"] = _make_parts(decomposition.frexp, type_)
        found[f"modf{suffix}"] = _make_parts(decomposition.modf, type_)
        found[f"ldexp{suffix}"] = _make_ldexp(type_)
    for suffix, type_ in (("", int32), ("ll", int64)):
        found[f"popc{suffix}"] = _make_integer(integer_math.popc, type_, int32)
        found[f"clz{suffix}"] = _make_integer(integer_math.clz, type_, int32)
        found[f"ffs{suffix}"] = _make_integer(integer_math.ffs, type_, int32)
        found[f"brev{suffix}"] = _make_integer(integer_math.brev, type_, type_)
    found |= {"abs": _make_integer(abs, int32, int32), "llabs": _make_integer(abs, int64, int64)}
    for name, type_ in (("", int32), ("ll", int64), ("u", uint32), ("ull", uint64)):
        found[f"{name}max"] = _make_extreme(max, type_)
        found[f"{name}min"] = _make_extreme(min, type_)
    found["sad"] = _make_absolute_differences(int32, uint32)
    found["usad"] = _make_absolute_differences(uint32, uint32)
    found |= {name: _make_row(name) for name in device_catalogue.FUNCTIONS}
    found |= {"fast_sincosf": _make_fast_sincos()}
    found |= {"half2float": half2float, "float2half_rn": float2half_rn}
    for name, function in found.items():
        function.__name__ = function.__qualname__ = name
        function.__doc__ = f"Return what CUDA's ``__nv_{name}`` does."
    return found


_FUNCTIONS = _functions()

__all__ = sorted(_FUNCTIONS)  # noqa: PLE0605


def __getattr__(name: str) -> Function:
    """Return a function; as variables of the module they would hide Python's ``abs``."""
    try:
        return _FUNCTIONS[name]
    except KeyError:
        raise AttributeError(f"libdevice has no function {name!r} here") from None


def __dir__() -> list[str]:
    return [*globals(), *_FUNCTIONS]
