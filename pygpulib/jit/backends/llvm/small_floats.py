"""Conversions of the floats that are kept as their bits, in integer arithmetic.

All are written through float32, from which and to which they convert; see
:mod:`pygpulib.jit.ir.small_floats` for what they mean.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.backends.llvm.text import lanes_of

if TYPE_CHECKING:
    from pygpulib.jit.backends.llvm.arithmetic import Arithmetic

_WORD, _SINGLE = dtypes.uint32, dtypes.float32
_INFINITY = 0x7F800000
_MAGNITUDE = 0x7FFFFFFF
_MANTISSA_BITS = 23
_BIAS = 127


class Bits:
    """Writes operations on the words that hold numbers.

    Parameters
    ----------
    write : Arithmetic
        What writes single operations.
    width : int
        Lanes, 0 for a scalar.
    """

    def __init__(self, write: Arithmetic, width: int) -> None:
        self.write = write
        self.width = width

    def op(self, name: str, left: str, right: str | int) -> str:
        """Write an operation of two words, or a comparison."""
        text = self.word(right) if isinstance(right, int) else right
        return self.write.operation(name, _WORD, self.width, left, text)

    def word(self, value: int) -> str:
        """Return a constant."""
        return self.write.number(value, _WORD, self.width)

    def select(self, condition: str, left: str | int, right: str | int) -> str:
        """Write a choice of two words."""
        texts = [self.word(one) if isinstance(one, int) else one for one in (left, right)]
        return self.write.select(_WORD, self.width, condition, *texts)

    def of(self, number: str) -> str:
        """Return the bits of a float32."""
        return self.write.bitcast(_SINGLE, _WORD, self.width, number)

    def single(self, word: str) -> str:
        """Return the float32 that has some bits."""
        return self.write.bitcast(_WORD, _SINGLE, self.width, word)


def _pattern(dtype: DType) -> DType:
    return dtypes.uint16 if dtype.size_bytes == 2 else dtypes.uint8


def widen(write: Arithmetic, dtype: DType, width: int, value: str) -> str:
    """Write the conversion of a small float to float32, which is exact.

    Parameters
    ----------
    write : Arithmetic
        What writes single operations.
    dtype : DType
        The small type.
    width : int
        Lanes, 0 for a scalar.
    value : str
        The number's bits.
    """
    bits = Bits(write, width)
    word = write.cast(_pattern(dtype), _WORD, width, value)
    if dtype == dtypes.bfloat16:
        return bits.single(bits.op("shl", word, 16))
    if dtype == dtypes.float8_e8m0fnu:
        scaled = bits.op("shl", word, _MANTISSA_BITS)
        # The smallest power of two is subnormal; an exponent of ones alone would be infinity.
        is_lowest = bits.op("icmp eq", word, 0)
        is_nan = bits.op("icmp eq", word, 255)
        scaled = bits.select(is_lowest, 1 << (_MANTISSA_BITS - 1), scaled)
        return bits.single(bits.select(is_nan, _INFINITY | 1 << (_MANTISSA_BITS - 1), scaled))
    return _widen_signed(bits, dtype, word)


def _widen_signed(bits: Bits, dtype: DType, word: str) -> str:
    """Widen a number of sign, exponent and mantissa; the exponent's bias is that of IEEE 754."""
    stored = dtype.float_format.precision - 1
    bias = (1 << (6 - stored)) - 1
    sign = bits.op("shl", bits.op("and", word, 0x80), 24)
    magnitude = bits.op("and", word, 0x7F)
    # Read with the wider exponent's bias, subnormal numbers and all, then scaled: this is exact.
    shifted = bits.single(bits.op("shl", magnitude, _MANTISSA_BITS - stored))
    scale = bits.write.number(2.0 ** (_BIAS - bias), _SINGLE, bits.width)
    finite = bits.of(bits.write.operation("fmul", _SINGLE, bits.width, shifted, scale))
    if dtype == dtypes.float8_e5m2:
        special = bits.op("icmp uge", magnitude, 0x7C)
        rest = bits.op("shl", magnitude, _MANTISSA_BITS - stored)
        wide = bits.op("or", rest, _INFINITY)
    else:
        special = bits.op("icmp eq", magnitude, 0x7F)
        wide = bits.word(_INFINITY | 1 << (_MANTISSA_BITS - 1))
    return bits.single(bits.op("or", bits.select(special, wide, finite), sign))


def narrow(write: Arithmetic, dtype: DType, width: int, value: str) -> str:
    """Write the rounding of a float32 to a small float.

    Parameters
    ----------
    write : Arithmetic
        What writes single operations.
    dtype : DType
        The small type.
    width : int
        Lanes, 0 for a scalar.
    value : str
        The float32.
    """
    if dtype == dtypes.bfloat16 and write.has_bfloat16:
        single, small, word = (lanes_of(name, width) for name in ("float", "bfloat", "i16"))
        rounded = write.code.emit(f"fptrunc {single} {value} to {small}")
        return write.code.emit(f"bitcast {small} {rounded} to {word}")
    bits = Bits(write, width)
    word = bits.of(value)
    if dtype == dtypes.bfloat16:
        code = _narrow_bfloat16(bits, word)
    elif dtype == dtypes.float8_e8m0fnu:
        code = _round_up_to_power(bits, bits.op("and", word, _MAGNITUDE))
    else:
        code = _narrow_signed(bits, dtype, word)
    return write.cast(_WORD, _pattern(dtype), width, code)


def _narrow_bfloat16(bits: Bits, word: str) -> str:
    kept = bits.op("lshr", word, 16)
    is_nan = bits.op("icmp ugt", bits.op("and", word, _MAGNITUDE), _INFINITY)
    # To nearest even: half a unit, less one, plus the lowest bit that stays.
    half = bits.op("add", bits.op("and", kept, 1), 0x7FFF)
    rounded = bits.op("lshr", bits.op("add", word, half), 16)
    # A nan stays one although its last bits are cut off.
    return bits.select(is_nan, bits.op("or", kept, 0x40), rounded)


def _round_up_to_power(bits: Bits, magnitude: str) -> str:
    exponent = bits.op("lshr", magnitude, _MANTISSA_BITS)
    rest = bits.op("and", magnitude, (1 << _MANTISSA_BITS) - 1)
    # Without a leading one, half of what the next exponent stands for has a number itself.
    is_subnormal = bits.op("icmp eq", exponent, 0)
    limit = bits.select(is_subnormal, 1 << (_MANTISSA_BITS - 1), 0)
    is_above = bits.op("icmp ugt", rest, limit)
    raised = bits.select(is_above, bits.op("add", exponent, 1), exponent)
    bounded = bits.select(bits.op("icmp ugt", raised, 254), 254, raised)
    return bits.select(bits.op("icmp ugt", magnitude, _INFINITY), 255, bounded)


def _narrow_signed(bits: Bits, dtype: DType, word: str) -> str:
    form = dtype.float_format
    stored = form.precision - 1
    cut = _MANTISSA_BITS - stored
    least_normal = form.min_exponent + stored
    sign = bits.op("lshr", bits.op("and", word, 0x80000000), 24)
    magnitude = bits.op("and", word, _MAGNITUDE)
    # To nearest even: half a unit, less one, plus the lowest bit that stays.
    odd = bits.op("and", bits.op("lshr", magnitude, cut), 1)
    bias = (1 << (cut - 1)) - 1 - ((_BIAS + least_normal - 1) << _MANTISSA_BITS)
    moved = bits.op("add", magnitude, bias & 0xFFFFFFFF)
    normal = bits.op("lshr", bits.op("add", moved, odd), cut)
    # Adding a power of two leaves a subnormal result in the low bits, rounded by the addition.
    power = 2.0 ** (form.min_exponent + _MANTISSA_BITS)
    addend = bits.write.number(power, _SINGLE, bits.width)
    number = bits.single(magnitude)
    aligned = bits.of(bits.write.operation("fadd", _SINGLE, bits.width, number, addend))
    origin = (_BIAS + form.min_exponent + _MANTISSA_BITS) << _MANTISSA_BITS
    subnormal = bits.op("sub", aligned, origin)
    is_small = bits.op("icmp ult", magnitude, (_BIAS + least_normal) << _MANTISSA_BITS)
    largest = 0x7B if dtype == dtypes.float8_e5m2 else 0x7E
    # What has a larger exponent than there is would wrap.
    is_huge = bits.op("icmp uge", magnitude, (_BIAS + form.max_exponent + 1) << _MANTISSA_BITS)
    is_beyond = bits.op("icmp ugt", normal, largest)
    bounded = bits.select(is_beyond, largest, normal)
    bounded = bits.select(is_huge, largest, bounded)
    finite = bits.select(is_small, subnormal, bounded)
    is_nan = bits.op("icmp ugt", magnitude, _INFINITY)
    return bits.op("or", bits.select(is_nan, 0x7F, finite), sign)
