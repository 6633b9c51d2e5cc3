"""The text that a ``print`` in a kernel gives; the host formats, threads only hand over numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import Enum
from itertools import islice
from math import prod
from typing import Any, assert_never

import numpy as np

from pygpulib._record import record
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir

_Number = bool | int | float
_Numbers = Iterator[tuple[DType, _Number]]


def format_print(
    parts: Sequence[ir.Part],
    operand_dtypes: Sequence[DType],
    values: Sequence[bool | int | float],
) -> str:
    r"""Return what one thread prints, as Python would write it.

    Parameters
    ----------
    parts : sequence
        The parts of an :class:`~pygpulib.jit.ir.ops.Print`.
    operand_dtypes : sequence of DType
        The types of its operands.
    values : sequence of number
        What the operands are in the thread. Unsigned integers may come as the signed integers
        with the same bits.

    Returns
    -------
    str
        The text, line ends included.

    Examples
    --------
    >>> from pygpulib.core import dtypes
    >>> format_print(("x = ", None, "\n"), [dtypes.float64], [0.1])
    'x = 0.1\n'
    """
    return _join(parts, zip(operand_dtypes, values, strict=True))


def _join(parts: Sequence[ir.Part], numbers: _Numbers) -> str:
    return "".join([part if isinstance(part, str) else _format(part, numbers) for part in parts])


def _format(part: ir.Format | ir.Shown | ir.Optional | None, numbers: _Numbers) -> str:
    match part:
        case ir.Shown(count, show):
            return show([_as_python(*number) for number in islice(numbers, count)])
        case ir.Optional(parts):
            _, has_value = next(numbers)
            text = _join(parts, numbers)  # takes its operands in either case
            return text if has_value else "None"
        case ir.Format(spec, True):
            return _format_complex(spec, numbers)
        case ir.Format(spec):
            return format(_as_python(*next(numbers)), spec)
        case None:
            return _show(*next(numbers))
        case _:
            assert_never(part)


def _format_complex(spec: str, numbers: _Numbers) -> str:
    dtype, real = next(numbers)
    _, imaginary = next(numbers)
    number = complex(real, imaginary)
    if spec:
        return format(number, spec)
    return str(number if dtype is dtypes.float64 else dtypes.complex64.numpy.type(number))


def _show(dtype: DType, value: bool | float) -> str:
    number = _as_python(dtype, value)
    if dtype.is_float and dtype is not dtypes.float64:
        # The shortest digits that give this number in its own precision.
        return str(dtype.numpy.type(number))
    return str(number)


def _as_python(dtype: DType, value: bool | float) -> bool | int | float:
    if dtype.is_bool:
        return bool(value)
    if dtype.is_float:
        return float(value)
    whole = int(value)
    return whole if dtype.is_signed else whole & ((1 << dtype.bits) - 1)


# -------------------------------------------------------------------------- more than one number


@record
class ShownMemory:
    """Shows a value that lies in memory, as NumPy does; to be called with its numbers.

    Attributes
    ----------
    dtype : numpy.dtype
        Its type, or that of its elements.
    shape : tuple of int or None
        Its shape, if it is an array.
    places : tuple of (int, numpy.dtype)
        Where each number lies in it, and of which type it is.
    is_quoted : bool
        Whether it stands in a tuple.
    """

    dtype: np.dtype[Any]
    shape: tuple[int, ...] | None
    places: tuple[tuple[int, np.dtype[Any]], ...]
    is_quoted: bool

    def __call__(self, numbers: Sequence[_Number]) -> str:
        """Return the text."""
        shape = () if self.shape is None else self.shape
        memory = bytearray(self.dtype.itemsize * prod(shape))
        for (offset, dtype), number in zip(self.places, numbers, strict=True):
            np.ndarray((), dtype, memory, offset)[...] = number
        whole = np.ndarray(shape, self.dtype, memory)
        shown = whole[()] if self.shape is None else whole
        return repr(shown) if self.is_quoted else str(shown)


@record
class ShownMember:
    """Shows a member of an enumeration; to be called with its position."""

    cls: type[Enum]
    is_quoted: bool

    def __call__(self, numbers: Sequence[_Number]) -> str:
        """Return the text."""
        member = list(self.cls)[int(numbers[0])]
        return repr(member) if self.is_quoted else str(member)


@record
class ShownPadded:
    """Shows text with numbers inside in a given width; to be called with the numbers."""

    parts: tuple[ir.Part, ...]
    operand_dtypes: tuple[DType, ...]
    spec: str

    def __call__(self, numbers: Sequence[_Number]) -> str:
        """Return the text."""
        return format(format_print(self.parts, self.operand_dtypes, numbers), self.spec)
