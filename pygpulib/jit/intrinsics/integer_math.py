"""Bits of integers, and powers with whole exponents."""

from __future__ import annotations

import numpy as np

from pygpulib.core.dtypes import ALL_DTYPES
from pygpulib.jit.intrinsics import rules
from pygpulib.jit.intrinsics.scalars import Whole
from pygpulib.jit.ir.intrinsic import LLVM, Compose, intrinsic


def _pattern(x: Whole) -> tuple[int, int]:
    """Return the bits of an integer as a non-negative number, and how many there are."""
    width = 8 * x.dtype.itemsize
    return int(x) & ((1 << width) - 1), width


@intrinsic(rule=rules.integer_function, cpu=LLVM("ctpop"), cuda=LLVM("ctpop"), samples="integer")
def popc(x: Whole) -> Whole:
    """Count the bits that are set."""
    return type(x)(_pattern(x)[0].bit_count())


@intrinsic(
    rule=rules.integer_function,
    cpu=LLVM("ctlz", ("i1 false",)),
    cuda=LLVM("ctlz", ("i1 false",)),
    samples="integer",
)
def clz(x: Whole) -> Whole:
    """Count the zero bits before the highest one that is set."""
    bits, width = _pattern(x)
    return type(x)(width - bits.bit_length())


@intrinsic(
    rule=rules.reverse_bits,
    cpu=LLVM("bitreverse"),
    cuda=LLVM("bitreverse"),
    samples="integer",
)
def brev(x: Whole) -> Whole:
    """Reverse the order of the bits."""
    bits, width = _pattern(x)
    return type(x)(int(f"{bits:0{width}b}"[::-1], 2))


def _first_set(x: Whole) -> Whole:
    return np.uint32(popc(x ^ (x - 1))) if x != 0 else np.uint32(0)


_FIRST_SET = Compose({dtype: _first_set for dtype in ALL_DTYPES if dtype.is_integer})


@intrinsic(
    rule=rules.first_set_bit,
    cpu=_FIRST_SET,
    cuda=_FIRST_SET,
    samples="integer",
)
def ffs(x: Whole) -> Whole:
    """Return the position of the lowest bit that is set, counted from 1; 0 if there is none."""
    bits, _ = _pattern(x)
    return np.uint32((bits & -bits).bit_length())
