"""What threads tell the host, read from the words that they leave: errors and printed lines.

Numbers are int64 words, or the bits of a float64 for floats. An error is told by a record whose
word 1 is the number of the error, 2-4 the block, 5-7 the thread, and from 9 on the numbers that its
message shows.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence

from pygpulib.core.dtypes import DType, uint64
from pygpulib.errors import KernelFault
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk
from pygpulib.jit.printing import format_print

NUMBER_WORD, BLOCK_WORD, THREAD_WORD, DETAIL_WORD = 1, 2, 5, 9

DetailTypes = Mapping[int, Sequence[ir.Type]]
"""By number of an error, the types of the numbers that its message shows."""


def detail_types(function: ir.Function) -> dict[int, Sequence[ir.Type]]:
    """Return, by number of the error, the types of the numbers that its message shows."""
    return {
        op.code: [value.type for value in op.details]
        for part in (function, *function.callees)
        for op in walk(part.body)
        if isinstance(op, ir.Raise) and op.code is not None
    }


def find_prints(function: ir.Function) -> list[ir.Print]:
    """Return the prints of a kernel and its callees; their numbers are their positions."""
    bodies = (function, *function.callees)
    return [op for part in bodies for op in walk(part.body) if isinstance(op, ir.Print)]


def read_number(word: int, type_: ir.Type) -> bool | int | float:
    """Return a number as a record or a printed line holds it."""
    if isinstance(type_, DType) and type_.is_float:
        value: float = struct.unpack("=d", struct.pack("=q", word))[0]
        return value
    if isinstance(type_, DType) and type_.is_bool:
        return bool(word)
    if type_ == uint64:
        return word & (1 << 64) - 1
    return word


def read_fault(
    record: Sequence[int],
    kernel: str,
    errors: Sequence[ir.ErrorEntry],
    types: DetailTypes,
) -> Exception:
    """Return the exception that a record tells of.

    Parameters
    ----------
    record : sequence of int
        The words of the record.
    kernel : str
        What the user calls the kernel.
    errors : sequence of ErrorEntry
        What can go wrong in it.
    types : mapping
        See `DetailTypes`.
    """
    number = record[NUMBER_WORD]
    entry = errors[number]
    details = [
        read_number(word, type_)
        for word, type_ in zip(record[DETAIL_WORD:], types.get(number, ()), strict=False)
    ]
    message = entry.message.format(*details) if details else entry.message
    block = tuple(record[BLOCK_WORD : BLOCK_WORD + 3])
    thread = tuple(record[THREAD_WORD : THREAD_WORD + 3])
    where = f"in the kernel {kernel}, block {block}, thread {thread}"
    if entry.span is not None:
        where += f", at {entry.span}"
    text = f"{message}\n{where}" if message else where
    try:
        return entry.exception(text)
    except TypeError:
        # The user's class wants other arguments than a message.
        return KernelFault(f"{entry.exception.__name__}: {text}")


def format_line(op: ir.Print, words: Sequence[int]) -> str:
    """Return what a thread prints.

    Parameters
    ----------
    op : Print
        The print.
    words : sequence of int
        Its operands.
    """
    types = [value.type for value in op.operands]
    numbers = [read_number(word, type_) for word, type_ in zip(words, types, strict=True)]
    return format_print(op.parts, [type_ for type_ in types if isinstance(type_, DType)], numbers)
