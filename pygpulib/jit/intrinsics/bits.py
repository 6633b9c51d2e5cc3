"""Floats as their bits, and back."""

from __future__ import annotations

import numpy as np

from pygpulib.jit.intrinsics import rules
from pygpulib.jit.intrinsics.scalars import Real, Whole
from pygpulib.jit.ir.intrinsic import Emit, intrinsic


@intrinsic(rule=rules.float_to_bits, cpu=Emit("bitcast"), cuda=Emit("bitcast"))
def float_bits(x: Real) -> Whole:
    """Return the bits of a float32 or float64 as a signed integer of the same width."""
    return x.view(np.int32) if isinstance(x, np.float32) else np.float64(x).view(np.int64)


@intrinsic(
    rule=rules.bits_to_float, cpu=Emit("bitcast"), cuda=Emit("bitcast"), samples="float_bits"
)
def bits_float(i: Whole) -> Real:
    """Return the float32 or float64 that has these bits."""
    bits = i if isinstance(i, np.integer) else np.int64(i)
    return bits.view(np.float32 if bits.dtype.itemsize == 4 else np.float64)
