"""Arithmetic and conversions with a direction of rounding."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from pygpulib.core.dtypes import DType, float32, float64, int32, int64, uint32, uint64
from pygpulib.jit.intrinsics import floating
from pygpulib.jit.intrinsics.composed import conversions, directed_double, directed_single
from pygpulib.jit.intrinsics.device_functions import DeviceFunction
from pygpulib.jit.intrinsics.exact_rounding import MODES, round_fraction, rounded
from pygpulib.jit.intrinsics.scalars import Real, Whole

Function = Callable[..., Any]

_ONE, _ONE_SINGLE = 1.0, np.float32(1.0)


def _root(x: Real) -> Real:
    return floating.sqrt(x)


def _multiply_add(x: Real, y: Real, z: Real) -> Real:
    return floating.fma(x, y, z)


# By operation: how many operands, and the function that rounds to nearest.
_NEAREST: dict[str, tuple[int, Function, Function]] = {
    "add": (2, lambda x, y: x + y, lambda x, y: x + y),
    "sub": (2, lambda x, y: x - y, lambda x, y: x - y),
    "mul": (2, lambda x, y: x * y, lambda x, y: x * y),
    "div": (2, lambda x, y: x / y, lambda x, y: x / y),
    "rcp": (1, lambda x: _ONE / x, lambda x: _ONE_SINGLE / x),
    "sqrt": (1, _root, _root),
    "fma": (3, _multiply_add, _multiply_add),
}

# By operation: the results to nearest with the signs of their errors.
_ERRORS: dict[str, tuple[Function, Function]] = {
    "add": (directed_double.two_sum, directed_single.add_single),
    "sub": (directed_double.subtract_double, directed_single.subtract_single),
    "mul": (directed_double.multiply_double, directed_single.multiply_single),
    "div": (directed_double.divide_double, directed_single.divide_single),
    "rcp": (directed_double.reciprocal_double, directed_single.reciprocal_single),
    "sqrt": (directed_double.sqrt_double, directed_single.sqrt_single),
    "fma": (directed_double.fma_double, directed_single.fma_single),
}

# Sums have a way of their own: what cancels is the negative zero.
_DOWN: dict[str, tuple[Function, Function]] = {
    "add": (directed_double.add_down_double, directed_single.add_down_single),
    "sub": (directed_double.subtract_down_double, directed_single.subtract_down_single),
    "fma": (directed_double.fma_down_double, directed_single.fma_down_single),
}

_CHOICES: dict[str, tuple[Function, Function]] = {
    "rz": (directed_double.toward_zero_double, directed_single.toward_zero_single),
    "ru": (directed_double.up_double, directed_single.up_single),
    "rd": (directed_double.down_double, directed_single.down_single),
}
_FLOATS = (float64, float32)
_PYTHON: dict[str, Callable[[float], int]] = {
    "rn": round,
    "rz": math.trunc,
    "ru": math.ceil,
    "rd": math.floor,
}
_WHOLE: dict[str, Function] = {
    "rn": np.rint,
    "rz": np.trunc,
    "ru": np.ceil,
    "rd": np.floor,
}


def rows() -> Iterator[DeviceFunction]:
    """Yield the functions."""
    yield from _arithmetic()
    yield from _floats_to_integers()
    yield from _integers_to_floats()


# ---------------------------------------------------------------------------------- arithmetic


def _arithmetic() -> Iterator[DeviceFunction]:
    for operation, (count, *nearest) in _NEAREST.items():
        for number, dtype in enumerate(_FLOATS):
            if (operation, dtype) == ("sub", float64):
                continue  # the library has none
            for mode in MODES:
                yield DeviceFunction(
                    _arithmetic_name(operation, dtype, mode),
                    (dtype,) * count,
                    dtype,
                    nearest[number] if mode == "rn" else _directed(operation, number, mode, count),
                    partial(rounded, operation, mode),
                )
    yield DeviceFunction(
        "frsqrt_rn", (float32,), float32, _reciprocal_root, partial(rounded, "rsqrt", "rn")
    )
    for mode in MODES:
        nearest_single = _single if mode == "rn" else None
        yield DeviceFunction(
            f"double2float_{mode}",
            (float64,),
            float32,
            nearest_single or _choose(directed_single.narrow_double, _CHOICES[mode][1], 1),
            partial(_narrowed, mode),
        )


def _arithmetic_name(operation: str, dtype: DType, mode: str) -> str:
    if operation == "fma":
        return f"fma{'' if dtype is float64 else 'f'}_{mode}"
    return f"{'d' if dtype is float64 else 'f'}{operation}_{mode}"


def _directed(operation: str, number: int, mode: str, count: int) -> Function:
    if mode == "rd" and operation in _DOWN:
        return _DOWN[operation][number]
    return _choose(_ERRORS[operation][number], _CHOICES[mode][number], count)


def _choose(operation: Function, choice: Function, count: int) -> Function:
    """Return a function of the kernel language that rounds by the sign of the error."""

    def unary(x: Real) -> Real:
        nearest, error = operation(x)
        return choice(nearest, error)

    def binary(x: Real, y: Real) -> Real:
        nearest, error = operation(x, y)
        return choice(nearest, error)

    def ternary(x: Real, y: Real, z: Real) -> Real:
        nearest, error = operation(x, y, z)
        return choice(nearest, error)

    return (unary, binary, ternary)[count - 1]


def _single(x: Real) -> Real:
    return np.float32(x)


def _reciprocal_root(x: Real) -> Real:
    # No single has a result so near to the middle of two singles that rounding twice is wrong.
    return np.float32(1.0 / floating.sqrt(np.float64(x)))


def _narrowed(mode: str, x: Real) -> Real:
    """Return a float64 as a float32."""
    if x == 0 or not np.isfinite(x):
        return np.float32(x)
    return round_fraction(Fraction(float(x)), mode, np.float32)


# --------------------------------------------------------------------------------- conversions


def _floats_to_integers() -> Iterator[DeviceFunction]:
    targets: dict[str, tuple[DType, Function]] = {
        "ll": (int64, conversions.to_int64),
        "ull": (uint64, conversions.to_uint64),
    }
    for source, dtype in (("double", float64), ("float", float32)):
        # What nan becomes; singles and integers of 32 bits have a rule of their own.
        no_number = -(2**31) if dtype is float64 else 0
        targets["int"] = (int32, _with_default(conversions.to_int32, no_number))
        targets["uint"] = (uint32, _with_default(conversions.to_uint32, -no_number))
        for target, (result, convert) in targets.items():
            for mode, to_whole in _WHOLE.items():
                yield DeviceFunction(
                    f"{source}2{target}_{mode}",
                    (dtype,),
                    result,
                    _chain(to_whole, convert),
                    partial(_saturated, mode, result),
                )


def _with_default(convert: Function, no_number: int) -> Function:
    def call(x: Real) -> Whole:
        return convert(x, no_number)

    return call


def _chain(first: Function, second: Function) -> Function:
    def call(x: Real) -> Whole:
        return second(first(x))

    return call


def _saturated(mode: str, result: DType, x: Real) -> Whole:
    """Return the nearest integer of a type; what is not a number is its first bit, or zero."""
    if np.isnan(x):
        is_zero = result.bits == 32 and isinstance(x, np.float32)
        return result.numpy.type(0) if is_zero else np.uint64(1 << (result.bits - 1))
    low = -(1 << (result.bits - 1)) if result.is_signed else 0
    high = low + (1 << result.bits) - 1
    if np.isinf(x):
        return high if x > 0 else low
    whole = _PYTHON[mode](float(x))
    return min(max(whole, low), high)


def _integers_to_floats() -> Iterator[DeviceFunction]:
    yield DeviceFunction("int2double_rn", (int32,), float64, _double, float)
    yield DeviceFunction("uint2double_rn", (uint32,), float64, _double, float)
    for source, dtype in (("int", int32), ("uint", uint32), ("ll", int64), ("ull", uint64)):
        for number, (target, result) in enumerate((("double", float64), ("float", float32))):
            if dtype.bits == 32 and result is float64:
                continue  # always exact
            for mode in MODES:
                yield DeviceFunction(
                    f"{source}2{target}_{mode}",
                    (dtype,),
                    result,
                    _from_integer(dtype, number, mode),
                    partial(_from_whole, mode, result),
                )


def _double(x: Whole) -> Real:
    return np.float64(x)


def _from_integer(dtype: DType, number: int, mode: str) -> Function:
    nearest = (_double, _single)[number]
    if mode == "rn":
        return nearest
    error = conversions.signed_error if dtype in (int32, int64) else conversions.unsigned_error
    wide = dtype.bits == 64
    if not wide:
        return _choose(_narrow_whole, _CHOICES[mode][number], 1)

    def operation(x: Whole) -> tuple[Real, Real]:
        near = nearest(x)
        return near, error(x, near)

    return _choose(operation, _CHOICES[mode][number], 1)


def _narrow_whole(x: Whole) -> tuple[Real, Real]:
    return directed_single.narrow_double(np.float64(x))


def _from_whole(mode: str, result: DType, x: Whole) -> Real:
    kind = result.numpy.type
    return round_fraction(Fraction(int(x)), mode, kind) if x else kind(0)
