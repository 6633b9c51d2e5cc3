"""Rounding a wide result to the type of an operand."""

from __future__ import annotations

import numpy as np

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.intrinsics.lowerings import composed
from pygpulib.jit.intrinsics.scalars import Double, Real, Single
from pygpulib.jit.ir.intrinsic import Signature, intrinsic


def _rule(operands: tuple[DType, ...]) -> Signature | None:
    if len(operands) != 2 or operands[0] not in (dtypes.float32, dtypes.float64):
        return None
    return Signature((operands[0], dtypes.float64), operands[:1])


def _to_single(_model: Single, value: Double) -> Single:
    return np.float32(value)


def _to_double(_model: Double, value: Double) -> Double:
    return value


_LIKE = composed(_to_single, _to_double)


@intrinsic(rule=_rule, cpu=_LIKE, cuda=_LIKE, samples="pair")
def round_like(model: Real, value: Double) -> Real:
    """Return ``value`` in the type of ``model``, float32 or float64."""
    kind = np.float32 if isinstance(model, np.float32) else np.float64
    with np.errstate(all="ignore"):
        return kind(value)
