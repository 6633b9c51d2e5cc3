"""Arguments for the functions of the device library, and the comparison of their results."""

from __future__ import annotations

from typing import Any

import numpy as np

from pygpulib.core.dtypes import DType, int32
from pygpulib.jit.intrinsics.device_functions import DeviceFunction

Column = np.ndarray[Any, Any]

_OF_ORDERS = ("jn", "yn", "jnf", "ynf")
_SCALED = ("powi", "powif", "scalbn", "scalbnf")
_ENDS = [0.0, 1.0, 0.5, 1 / 3, 2.5, 0.49999997, 4503599627370497.5, 2.0**53 + 1, np.inf, np.nan]
_LIMITS = [2.0**31, 2.0**31 - 1, 2.0**31 - 0.5, 2.0**32 - 0.5, 2.0**32, 2.0**63, 2.0**64]


def columns(row: DeviceFunction, count: int, seed: int = 0) -> tuple[Column, ...]:
    """Return columns of arguments: edges, numbers of all sizes, and numbers near one.

    Sums of some of them cancel.
    """
    rng = np.random.default_rng([seed, *row.name.encode()])
    found = [_column(rng, dtype, count) for dtype in row.operands]
    if row.name in _OF_ORDERS + _SCALED:
        place = row.operands.index(int32)
        lowest = 0 if row.name in _OF_ORDERS else -40
        found[place] = rng.integers(lowest, 40, count).astype(np.int32)
    elif len(found) > 1 and row.operands[0].is_float:
        half = count // 2
        with np.errstate(all="ignore"):
            found[-1][-half:] = -(found[0] * found[1] if len(found) == 3 else found[0])[-half:]
            found[-1][: half // 4] *= found[0].dtype.type(3)
    return tuple(found)


def _column(rng: np.random.Generator, dtype: DType, count: int) -> Column:
    if not dtype.is_float:
        info = np.iinfo(dtype.numpy)
        numbers = rng.integers(info.min, info.max, count, dtype.numpy, endpoint=True)
        numbers >>= rng.integers(0, dtype.bits - 1, count).astype(dtype.numpy)
        ends = np.array([0, 1, info.min, info.max, info.max - 1], dtype.numpy)
        numbers[: len(ends)] = ends
        return rng.permutation(numbers)
    info = np.finfo(dtype.numpy)
    smallest = float(info.smallest_subnormal)
    own = [smallest, 3 * smallest, info.tiny, 1.5 * float(info.tiny), info.max, 1 + float(info.eps)]
    ends = np.array([*_ENDS, *_LIMITS, *own]).astype(dtype.numpy)
    highest = np.log2(float(info.max)) - 1e-9
    third = count // 3
    numbers = np.concatenate(
        [
            rng.choice(np.concatenate([ends, -ends]), third),
            (2.0 ** rng.uniform(np.log2(smallest), highest, third)).astype(dtype.numpy),
            rng.normal(0.0, 3.0, count - 2 * third).astype(dtype.numpy),
        ]
    )
    return rng.permutation(numbers) * rng.choice(np.array([-1, 1], dtype.numpy), count)


def is_same(first: Any, second: Any) -> bool:
    """Return whether two numbers are equal, signs of zeros included; any nan equals any nan."""
    if first != first or second != second:
        return bool(first != first and second != second)
    return bool(first == second and np.signbit(first) == np.signbit(second))
