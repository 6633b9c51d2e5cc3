"""Operands for the tests of intrinsics, by the name in their records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pygpulib.core.dtypes import DType

Column = np.ndarray[Any, Any]
Generator = np.random.Generator


def _edges(dtype: DType) -> Column:
    """Special values, powers of two, and the ends of the range, with both signs."""
    info = np.finfo(dtype.numpy)
    positive = [0.0, 1.0, 0.5, 2.0, 3.0, 0.1, 10.0, 1e-5, 100.0, np.inf, np.nan]
    ends = [info.tiny, info.smallest_subnormal, info.max, info.eps, 1.0 - info.epsneg]
    column = np.array([*positive, *ends]).astype(dtype.numpy)
    return np.concatenate([column, -column])


def _spread(rng: Generator, dtype: DType, count: int, decades: float = 10.0) -> Column:
    """Numbers of both signs, evenly distributed in their logarithm."""
    sizes = 10.0 ** rng.uniform(-decades, decades, count)
    return (sizes * rng.choice([-1.0, 1.0], count)).astype(dtype.numpy)


def _uniform(rng: Generator, dtype: DType, count: int, low: float, high: float) -> Column:
    return rng.uniform(low, high, count).astype(dtype.numpy)


def _with_edges(dtype: DType, *columns: Column) -> Column:
    return np.concatenate([_edges(dtype), *columns])


def _real(rng: Generator, dtype: DType, count: int) -> tuple[Column, ...]:
    near = _uniform(rng, dtype, count // 2, -3.0, 3.0)
    return (_with_edges(dtype, near, _spread(rng, dtype, count // 2)),)


def _positive(rng: Generator, dtype: DType, count: int) -> tuple[Column, ...]:
    near = _uniform(rng, dtype, count // 2, 0.5, 2.0)
    wide = np.abs(_spread(rng, dtype, count // 2, 37.0))
    return (_with_edges(dtype, near, wide),)


def _unit(rng: Generator, dtype: DType, count: int) -> tuple[Column, ...]:
    inside = _uniform(rng, dtype, count // 2, -1.0, 1.0)
    return (_with_edges(dtype, inside, _spread(rng, dtype, count // 2, 4.0)),)


def _above_one(rng: Generator, dtype: DType, count: int) -> tuple[Column, ...]:
    distance = np.abs(_spread(rng, dtype, count, 7.0))
    return (_with_edges(dtype, (1.0 + distance).astype(dtype.numpy)),)


def _above_minus_one(rng: Generator, dtype: DType, count: int) -> tuple[Column, ...]:
    low = _uniform(rng, dtype, count // 2, -1.0, 1.0)
    return (_with_edges(dtype, low, _spread(rng, dtype, count // 2)),)


def _exponent(rng: Generator, dtype: DType, count: int) -> tuple[Column, ...]:
    limit = 1100.0 if dtype.bits == 64 else 160.0
    whole = np.rint(_uniform(rng, dtype, count // 4, -limit, limit))
    wide = _uniform(rng, dtype, count // 4, -limit, limit)
    return (_with_edges(dtype, whole, wide, *_real(rng, dtype, count // 2)),)


def _angle(rng: Generator, dtype: DType, count: int) -> tuple[Column, ...]:
    multiples = (rng.integers(-5000, 5000, count // 4) * (np.pi / 4)).astype(dtype.numpy)
    halves = (rng.integers(-5000, 5000, count // 4) * 0.5).astype(dtype.numpy)
    return (_with_edges(dtype, multiples, halves, *_real(rng, dtype, count // 2)),)


def _gamma(rng: Generator, dtype: DType, count: int) -> tuple[Column, ...]:
    limit = 180.0 if dtype.bits == 64 else 38.0
    whole = np.arange(-5, 30).astype(dtype.numpy)
    return (_with_edges(dtype, whole, _uniform(rng, dtype, count, 0.05, limit)),)


def _pair(rng: Generator, dtype: DType, count: int) -> tuple[Column, ...]:
    first, second = np.meshgrid(_edges(dtype), _edges(dtype))
    a, b = _spread(rng, dtype, count, 3.0), _spread(rng, dtype, count, 3.0)
    return np.concatenate([first.ravel(), a]), np.concatenate([second.ravel(), b])


def _triple(rng: Generator, dtype: DType, count: int) -> tuple[Column, ...]:
    a, b = _pair(rng, dtype, count)
    c = rng.permutation(b)
    half = len(c) // 2
    with np.errstate(all="ignore"):
        c[-half:] = -a[-half:] * b[-half:]  # what remains is the rounding error
    return a, b, c


def _power(rng: Generator, dtype: DType, count: int) -> tuple[Column, ...]:
    base, exponent = _pair(rng, dtype, count)
    small = rng.integers(-20, 20, count).astype(dtype.numpy)
    near_one = (1.0 + _uniform(rng, dtype, count, -1e-2, 1e-2)).astype(dtype.numpy)
    return (
        np.concatenate([base, _spread(rng, dtype, count, 2.0), near_one]),
        np.concatenate([exponent, small, _spread(rng, dtype, count, 4.0)]),
    )


def _scale(rng: Generator, dtype: DType, count: int) -> tuple[Column, ...]:
    x = _with_edges(dtype, _spread(rng, dtype, count, 37.0))
    wide = rng.integers(-2200, 2200, len(x)).astype(np.int32)
    ends = np.array([-(2**31), 2**31 - 1, 0, -1074, 1023], np.int32)
    wide[-len(ends) :] = ends
    return x, wide


def _integer(rng: Generator, dtype: DType, count: int) -> tuple[Column, ...]:
    info = np.iinfo(dtype.numpy)
    draws = rng.integers(info.min, info.max, count, dtype.numpy, endpoint=True)
    powers = np.array([1 << k for k in range(dtype.bits - 1)], dtype.numpy)
    ends = np.array([0, info.min, info.max], dtype.numpy)
    return (np.concatenate([ends, powers, draws]),)


SAMPLES: dict[str, Callable[[Generator, DType, int], tuple[Column, ...]]] = {
    "real": _real,
    "positive": _positive,
    "unit": _unit,
    "above_one": _above_one,
    "above_minus_one": _above_minus_one,
    "exponent": _exponent,
    "angle": _angle,
    "gamma": _gamma,
    "pair": _pair,
    "triple": _triple,
    "power": _power,
    "scale": _scale,
    "integer": _integer,
    "float_bits": _integer,
}


def samples(name: str, dtype: DType, count: int) -> tuple[Column, ...]:
    """Return columns of operands; the same in every run."""
    rng = np.random.default_rng([*name.encode(), dtype.bits])
    return SAMPLES[name](rng, dtype, count)
