"""The text that a ``print`` in a kernel gives; the host formats, threads only hand over numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.jit.ir import ops as ir

_Numbers = Iterator[tuple[DType, bool | int | float]]


def format_print(
    parts: Sequence[str | ir.Format | None],
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
    numbers = zip(operand_dtypes, values, strict=True)
    return "".join([part if isinstance(part, str) else _format(part, numbers) for part in parts])


def _format(part: ir.Format | None, numbers: _Numbers) -> str:
    dtype, value = next(numbers)
    if part is None:
        return _show(dtype, value)
    if not part.is_complex:
        return format(_as_python(dtype, value), part.spec)
    _, imaginary = next(numbers)
    number = complex(value, imaginary)
    if part.spec:
        return format(number, part.spec)
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
