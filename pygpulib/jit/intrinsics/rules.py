"""Typing rules of the mathematical intrinsics.

Truth values and integers count as float64, as in numba. float16 is computed, and given back, as
float32: the result is rounded to float16 where it is stored or cast.
"""

from __future__ import annotations

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir.intrinsic import Rule, Signature


def common_float(operands: tuple[DType, ...]) -> DType:
    """Return the type in which a function of real operands is computed."""
    narrow = all(operand.is_float and operand is not dtypes.float64 for operand in operands)
    return dtypes.float32 if narrow else dtypes.float64


def real_function(arity: int, results: int = 1) -> Rule:
    """Return the rule of a function from floats to floats of one type."""

    def rule(operands: tuple[DType, ...]) -> Signature | None:
        if len(operands) != arity or any(operand.is_complex for operand in operands):
            return None
        dtype = common_float(operands)
        return Signature((dtype,) * arity, (dtype,) * results)

    return rule


def predicate(operands: tuple[DType, ...]) -> Signature | None:
    """Type a question about one float."""
    if len(operands) != 1 or operands[0].is_complex:
        return None
    return Signature((common_float(operands),), (dtypes.bool_,))


def scale_by_power(operands: tuple[DType, ...]) -> Signature | None:
    """Type ``ldexp``: a float and an int32 exponent."""
    if len(operands) != 2 or operands[0].is_complex or not _is_whole(operands[1]):
        return None
    dtype = common_float(operands[:1])
    return Signature((dtype, dtypes.int32), (dtype,))


def split_exponent(operands: tuple[DType, ...]) -> Signature | None:
    """Type ``frexp``: a float into mantissa and int32 exponent."""
    if len(operands) != 1 or operands[0].is_complex:
        return None
    dtype = common_float(operands)
    return Signature((dtype,), (dtype, dtypes.int32))


def float_to_bits(operands: tuple[DType, ...]) -> Signature | None:
    """Type the reading of a float's bits as a signed integer."""
    results = {dtypes.float32: dtypes.int32, dtypes.float64: dtypes.int64}
    if len(operands) != 1 or operands[0] not in results:
        return None
    return Signature(operands, (results[operands[0]],))


def bits_to_float(operands: tuple[DType, ...]) -> Signature | None:
    """Type the reading of an integer's bits as a float of the same width."""
    results = {
        dtypes.int32: dtypes.float32,
        dtypes.uint32: dtypes.float32,
        dtypes.int64: dtypes.float64,
        dtypes.uint64: dtypes.float64,
    }
    if len(operands) != 1 or operands[0] not in results:
        return None
    return Signature(operands, (results[operands[0]],))


def integer_function(operands: tuple[DType, ...]) -> Signature | None:
    """Type a function of one integer whose result has the operand's type."""
    if len(operands) != 1 or not operands[0].is_integer:
        return None
    return Signature(operands, operands)


def first_set_bit(operands: tuple[DType, ...]) -> Signature | None:
    """Type ``ffs``: any integer to uint32."""
    if len(operands) != 1 or not operands[0].is_integer:
        return None
    return Signature(operands, (dtypes.uint32,))


def reverse_bits(operands: tuple[DType, ...]) -> Signature | None:
    """Type ``brev``: unsigned of 32 or 64 bits; a signed operand counts as its bits."""
    if len(operands) != 1 or not operands[0].is_integer:
        return None
    dtype = dtypes.uint64 if operands[0].bits == 64 else dtypes.uint32
    return Signature((dtype,), (dtype,))


def choice(operands: tuple[DType, ...]) -> Signature | None:
    """Type the choice of one of two numbers; they meet in their common type."""
    if len(operands) != 2 or any(operand.is_complex for operand in operands):
        return None
    dtype = dtypes.promote(*operands)
    if dtype.is_small:
        dtype = dtypes.float32
    return Signature((dtype, dtype), (dtype,))


def _is_whole(dtype: DType) -> bool:
    return dtype.is_integer or dtype.is_bool


def fixed(operands: tuple[DType, ...], results: tuple[DType, ...]) -> Rule:
    """Return the rule of a function of real numbers that has one signature; operands are cast."""
    signature = Signature(operands, results)

    def rule(given: tuple[DType, ...]) -> Signature | None:
        fits = len(given) == len(operands) and not any(operand.is_complex for operand in given)
        return signature if fits else None

    return rule
