"""cvt: between all integers and floats, with rounding, saturation and bf16."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fakecuda.ptx import rounding
from tests.fakecuda.ptx.faults import UnsupportedPtx
from tests.fakecuda.ptx.opcodes.floating import canonical, rounding_mode
from tests.fakecuda.ptx.opcodes.integer import clamped
from tests.fakecuda.ptx.opcodes.table import Pure, pure
from tests.fakecuda.ptx.syntax import Instruction
from tests.fakecuda.ptx.types import TYPES, PtxType

Function = Callable[[np.ndarray], np.ndarray]

TO_INTEGER = {"rni": np.rint, "rzi": np.trunc, "rmi": np.floor, "rpi": np.ceil}
_F32 = TYPES["f32"]


def float_to_integer(values: np.ndarray, kind: PtxType, round_values: Function) -> np.ndarray:
    """Convert, clamping to the range; NaN becomes 0 or, where 64 bits are involved, the top bit."""
    limits = np.iinfo(kind.dtype)
    wide = values.dtype.itemsize == 8 or kind.size == 8
    whole = round_values(values).astype(np.float64)
    low, high = whole <= float(limits.min), whole >= float(limits.max)
    unordered = np.isnan(whole)
    inside = np.where(low | high | unordered, 0.0, whole)
    result = inside.astype(np.int64 if kind.is_signed else np.uint64).astype(kind.dtype)
    result = np.where(low, kind.dtype.type(limits.min), result)
    result = np.where(high, kind.dtype.type(limits.max), result)
    top = np.array([1 << (kind.bits - 1) if wide else 0], kind.raw).view(kind.dtype)
    return np.where(unordered, top, result)


def integer_to_float(values: np.ndarray, kind: PtxType, mode: str) -> np.ndarray:
    """Convert with one rounding in any mode."""
    if kind.dtype == np.float16:
        # Beyond the largest f16 all is infinite; below, float64 is exact.
        return rounding.narrow(values.astype(np.float64), kind.dtype, mode)
    nearest = values.astype(kind.dtype)
    if mode == "rn":
        return nearest
    # 64-bit integers are exact in the long double of every platform with more than 64 bits.
    exact = values.astype(np.longdouble)
    return rounding.nudge(nearest, nearest.astype(np.longdouble), exact, mode)


def float_to_float(values: np.ndarray, kind: PtxType, mode: str) -> np.ndarray:
    if values.dtype == kind.dtype:
        return values
    if kind.dtype.itemsize > values.dtype.itemsize:
        return values.astype(kind.dtype)
    return rounding.narrow(values.astype(np.float64), kind.dtype, mode)


# ------------------------------------------------------------------------------------ bf16


def from_bf16(values: np.ndarray) -> np.ndarray:
    return (values.astype(np.uint32) << np.uint32(16)).view(np.float32)


def to_bf16(values: np.ndarray, mode: str) -> np.ndarray:
    """Round f32 to bf16, to the nearest even or towards zero."""
    bits = np.ascontiguousarray(values).view(np.uint32)
    if mode == "rn":
        half = np.uint32(0x7FFF) + (bits >> np.uint32(16) & np.uint32(1))
        rounded = bits + half
    else:
        rounded = bits
    result = (rounded >> np.uint32(16)).astype(np.uint16)
    return np.where(np.isnan(values), np.uint16(0x7FFF), result)


# ------------------------------------------------------------------------------------- cvt


@pure("cvt")
def convert(instruction: Instruction) -> Pure:
    if len(instruction.types) < 2:
        raise UnsupportedPtx(f"line {instruction.line}: {instruction.text}")
    target, source = instruction.types[-2:]
    if target.name in ("f16x2", "bf16x2"):
        return _convert_pair(instruction, target, source)
    function = _conversion(instruction, target, source)
    if target.dtype.kind in "iu" and source.dtype.kind in "iu" and "bf16" not in target.name:
        return Pure(function, (source,), (target,))
    return Pure(function, (source,), (target,))


def _conversion(instruction: Instruction, target: PtxType, source: PtxType) -> Function:
    """Return the function for one value."""
    mode = rounding_mode(instruction)
    modifiers = instruction.modifiers
    if source.name == "bf16":
        inner = _conversion(instruction, target, _F32)
        return lambda a: inner(from_bf16(a))
    if target.name == "bf16":
        inner = _conversion(instruction, _F32, source)
        return lambda a: to_bf16(inner(a), mode)
    if source.is_float:
        steps = [_flush_f32(modifiers)] if "ftz" in modifiers else []
        if not target.is_float:
            name = instruction.choose(*TO_INTEGER)
            round_values = TO_INTEGER[name or "rzi"]
            steps.append(lambda a: float_to_integer(a, target, round_values))
            return _chain(steps)
        return _chain([*steps, *_to_float_steps(instruction, target)])
    if target.is_float:
        steps = [lambda a: integer_to_float(a, target, mode)]
        return _chain([*steps, rounding.saturate] if "sat" in modifiers else steps)
    if "sat" in modifiers:
        return lambda a: _saturated(a, target)
    return lambda a: a.astype(target.dtype)


def _to_float_steps(instruction: Instruction, target: PtxType) -> list[Function]:
    modifiers = instruction.modifiers
    mode = rounding_mode(instruction)
    steps: list[Function] = []
    whole = instruction.choose(*TO_INTEGER)
    if whole is not None:
        steps.append(TO_INTEGER[whole])
    steps.append(lambda a: float_to_float(a, target, mode))
    if "sat" in modifiers:
        steps.append(rounding.saturate)
    if "relu" in modifiers:
        steps.append(lambda a: canonical(np.where(a <= 0, a.dtype.type(0), a)))
    if "ftz" in modifiers:
        steps.append(_flush_f32(modifiers))
    return steps


def _flush_f32(modifiers: tuple[str, ...]) -> Function:
    del modifiers
    return lambda a: rounding.flush(a) if a.dtype == np.float32 else a


def _saturated(values: np.ndarray, target: PtxType) -> np.ndarray:
    if values.dtype == np.uint64:
        limit = np.uint64(np.iinfo(target.dtype).max)
        return np.minimum(values, limit).astype(target.dtype)
    if target.dtype == np.uint64:
        return np.maximum(values, 0).astype(np.uint64)
    return clamped(values.astype(np.int64), target)


def _chain(steps: list[Function]) -> Function:
    def function(values: np.ndarray) -> np.ndarray:
        for step in steps:
            values = step(values)
        return values

    return function


def _convert_pair(instruction: Instruction, target: PtxType, source: PtxType) -> Pure:
    """cvt.f16x2.f32 d, a, b: a in the upper half."""
    part = TYPES[target.name[:-2]]
    function = _conversion(instruction, part, source)

    def both(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        high, low = np.broadcast_arrays(function(a), function(b))
        pair = np.ascontiguousarray(np.stack([low, high], axis=-1)).view(np.uint32)
        return pair.reshape(-1)

    return Pure(both, (source, source), (TYPES["b32"],))
