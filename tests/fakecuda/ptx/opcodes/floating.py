"""Arithmetic on floating-point numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.fakecuda.ptx import rounding
from tests.fakecuda.ptx.opcodes.table import Pure, pure
from tests.fakecuda.ptx.syntax import Instruction
from tests.fakecuda.ptx.types import PRED

ROUNDING_MODES = ("rn", "rz", "rm", "rp")
Function = Callable[..., np.ndarray]


def rounding_mode(instruction: Instruction) -> str:
    """Return the instruction's rounding mode, by default to the nearest."""
    return instruction.choose(*ROUNDING_MODES) or "rn"


def finished(function: Function, instruction: Instruction) -> Function:
    """Add what the modifiers .ftz, .sat and .relu do."""
    modifiers = instruction.modifiers
    result = function
    if "ftz" in modifiers and instruction.type.dtype.itemsize <= 4:
        inner = function

        def result(*values: np.ndarray) -> np.ndarray:
            return rounding.flush(inner(*[rounding.flush(v) for v in values]))

    if "sat" in modifiers:
        unclamped = result
        return lambda *values: rounding.saturate(unclamped(*values))
    if "relu" in modifiers:
        signed = result
        return lambda *values: _positive_part(signed(*values))
    return result


def _positive_part(values: np.ndarray) -> np.ndarray:
    return canonical(np.where(values <= 0, values.dtype.type(0), values))


def _of_type(function: Function, instruction: Instruction, count: int) -> Pure:
    kind = instruction.type
    return Pure(finished(function, instruction), (kind,) * count, (kind,))


def arithmetic(instruction: Instruction) -> Pure:
    """add, sub and mul of floats."""
    mode = rounding_mode(instruction)
    functions: dict[str, Function] = {
        "add": lambda a, b: rounding.add(a, b, mode),
        "sub": lambda a, b: rounding.add(a, -b, mode) if mode != "rn" else a - b,
        "mul": lambda a, b: rounding.multiply(a, b, mode),
    }
    return _of_type(functions[instruction.opcode], instruction, 2)


def multiply_add(instruction: Instruction) -> Pure:
    """fma, and mad of floats: one rounding."""
    mode = rounding_mode(instruction)
    return _of_type(lambda a, b, c: _fma(a, b, c, mode), instruction, 3)


def _fma(a: np.ndarray, b: np.ndarray, c: np.ndarray, mode: str) -> np.ndarray:
    if a.ndim == 1:
        return rounding.fma(a, b, c, mode)
    a, b, c = np.broadcast_arrays(a, b, c)
    return rounding.fma(a.reshape(-1), b.reshape(-1), c.reshape(-1), mode).reshape(a.shape)


pure("fma")(multiply_add)


def division(instruction: Instruction) -> Pure:
    """div of floats; the approximations are rounded correctly, too."""
    mode = rounding_mode(instruction)
    return _of_type(lambda a, b: rounding.divide(a, b, mode), instruction, 2)


@pure("rcp")
def reciprocal(instruction: Instruction) -> Pure:
    mode = rounding_mode(instruction)
    return _of_type(lambda a: rounding.divide(np.ones_like(a), a, mode), instruction, 1)


@pure("sqrt")
def square_root(instruction: Instruction) -> Pure:
    mode = rounding_mode(instruction)
    return _of_type(lambda a: rounding.square_root(a, mode), instruction, 1)


def _in_double(function: Function) -> Function:
    return lambda a: function(a.astype(np.float64)).astype(a.dtype)


def _double_rsqrt(a: np.ndarray) -> np.ndarray:
    return 1.0 / np.sqrt(a)


_APPROXIMATIONS: dict[str, Function] = {
    "rsqrt": _double_rsqrt,
    "sin": np.sin,
    "cos": np.cos,
    "ex2": np.exp2,
    "lg2": np.log2,
    "tanh": np.tanh,
}


@pure(*_APPROXIMATIONS)
def approximation(instruction: Instruction) -> Pure:
    """Functions that the hardware only approximates: here they are as good as NumPy's."""
    return _of_type(_in_double(_APPROXIMATIONS[instruction.opcode]), instruction, 1)


# --------------------------------------------------------------------------- signs and order


_SIGN_OF_BF16 = np.uint16(0x8000)


def negate(instruction: Instruction) -> Pure:
    if instruction.type.name == "bf16":
        return _of_type(lambda a: a ^ _SIGN_OF_BF16, instruction, 1)
    return _of_type(np.negative, instruction, 1)


def absolute(instruction: Instruction) -> Pure:
    if instruction.type.name == "bf16":
        return _of_type(lambda a: a & ~_SIGN_OF_BF16, instruction, 1)
    return _of_type(np.abs, instruction, 1)


def minimum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the smaller value: -0 is less than +0, a number wins against NaN."""
    less = (a < b) | ((a == b) & np.signbit(a)) | np.isnan(b)
    return canonical(np.where(less, a, b))


def maximum(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the larger value, by the same rules."""
    more = (a > b) | ((a == b) & ~np.signbit(a)) | np.isnan(b)
    return canonical(np.where(more, a, b))


def canonical(values: np.ndarray) -> np.ndarray:
    """Replace NaN by the one that these instructions give: all bits but the sign are set."""
    bits = values.dtype.itemsize * 8
    ones = np.array([(1 << (bits - 1)) - 1], f"u{bits // 8}").view(values.dtype)
    return np.where(np.isnan(values), ones, values)


def extremum(instruction: Instruction) -> Pure:
    """min and max of floats."""
    choose = minimum if instruction.opcode == "min" else maximum
    if "NaN" in instruction.modifiers:

        def function(a: np.ndarray, b: np.ndarray) -> np.ndarray:
            unordered = np.isnan(a) | np.isnan(b)
            return canonical(np.where(unordered, a.dtype.type(np.nan), choose(a, b)))

    else:
        function = choose
    if "xorsign" in instruction.modifiers:
        return _of_type(_with_xor_of_signs(function), instruction, 2)
    return _of_type(function, instruction, 2)


def _with_xor_of_signs(function: Function) -> Function:
    def result(a: np.ndarray, b: np.ndarray) -> np.ndarray:
        sign = np.where(np.signbit(a) ^ np.signbit(b), a.dtype.type(-1), a.dtype.type(1))
        return np.copysign(function(np.abs(a), np.abs(b)), sign)

    return result


@pure("copysign")
def copysign(instruction: Instruction) -> Pure:
    """copysign d, a, b: b with the sign of a."""
    return _of_type(lambda a, b: np.copysign(b, a), instruction, 2)


_PROPERTIES: dict[str, Function] = {
    "finite": np.isfinite,
    "infinite": np.isinf,
    "number": lambda a: ~np.isnan(a),
    "notanumber": np.isnan,
    "normal": lambda a: np.isfinite(a) & (np.abs(a) >= np.finfo(a.dtype).smallest_normal),
    "subnormal": lambda a: (a != 0) & (np.abs(a) < np.finfo(a.dtype).smallest_normal),
}


@pure("testp")
def test_property(instruction: Instruction) -> Pure:
    name = instruction.choose(*_PROPERTIES)
    assert name is not None
    return Pure(_PROPERTIES[name], (instruction.type,), (PRED,))
