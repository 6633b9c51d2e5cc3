"""What a launch reports to the host: the launch record, and how to read it.

Word 6 of the argument block is the address of the record, or 0 where the kernel has nothing to
report. Its 8-byte words are: 0 whether a thread has claimed the fault (0 or 1, by compare and
exchange; only the first thread reports), 1 number of the error, 2-4 block, 5-7 thread, 8 number of
details, from 9 on the details as int64 (the bits of a float64 for floats), 16 the newest printed
line, 17 the memory of all blocks of a cooperative launch, 18 how many of them wait for the others.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Mapping, Sequence

from pygpulib.core.dtypes import DType, uint64
from pygpulib.errors import DeviceMemoryError, KernelFault
from pygpulib.jit.backends.cpu.barriers import block_barriers
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk

RECORD_WORDS = 24
DETAIL_WORD = 9
PRINT_WORD, BLOCKS_WORD, WAITING_WORD = 16, 17, 18

LaunchRecord = ctypes.c_int64 * RECORD_WORDS

DetailTypes = Mapping[int, Sequence[ir.Type]]


def overflow_error(function: ir.Function) -> int:
    """Return the number of the error that a too deep recursion is."""
    return len(function.errors) + len(block_barriers(function))


def memory_error(function: ir.Function) -> int:
    """Return the number of the error that there is no memory for a block."""
    return overflow_error(function) + bool(function.callees)


def all_errors(function: ir.Function) -> tuple[ir.ErrorEntry, ...]:
    """Return everything that can go wrong in a kernel: what it raises, and what may fail in it."""
    message = "a barrier is not reached by all threads of the block"
    barriers = [ir.ErrorEntry(KernelFault, message, op.span) for op in block_barriers(function)]
    deep = [
        ir.ErrorEntry(RecursionError, "device functions call each other too deeply", callee.span)
        for callee in function.callees[:1]
    ]
    message = "there is no memory left for the shared and local arrays of a block"
    needs_memory = barriers or any(isinstance(op, ir.Allocate) for op in walk(function.body))
    memory = [ir.ErrorEntry(DeviceMemoryError, message, function.span)] if needs_memory else []
    return (*function.errors, *barriers, *deep, *memory)


def detail_types(function: ir.Function) -> dict[int, Sequence[ir.Type]]:
    """Return, by number of the error, the types of the numbers that its message shows."""
    return {
        op.code: [value.type for value in op.details]
        for part in (function, *function.callees)
        for op in walk(part.body)
        if isinstance(op, ir.Raise) and op.code is not None
    }


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
    record: ctypes.Array[ctypes.c_int64],
    kernel: str,
    errors: Sequence[ir.ErrorEntry],
    types: DetailTypes,
) -> Exception:
    """Return the exception that a record tells of."""
    number = record[1]
    entry = errors[number]
    details = [
        read_number(word, type_)
        for word, type_ in zip(record[DETAIL_WORD:], types.get(number, ()), strict=False)
    ]
    message = entry.message.format(*details) if details else entry.message
    block, thread = tuple(record[2:5]), tuple(record[5:8])
    where = f"in the kernel {kernel}, block {block}, thread {thread}"
    if entry.span is not None:
        where += f", at {entry.span}"
    text = f"{message}\n{where}" if message else where
    try:
        return entry.exception(text)
    except TypeError:
        # The user's class wants other arguments than a message.
        return KernelFault(f"{entry.exception.__name__}: {text}")


_free = ctypes.pythonapi.PyMem_RawFree
_free.argtypes = [ctypes.c_void_p]
_free.restype = None


def take_lines(head: int, prints: Sequence[ir.Print]) -> list[tuple[ir.Print, list[int]]]:
    """Return what was printed, in order of block, and free it.

    Parameters
    ----------
    head : int
        Address of the newest node; see :mod:`pygpulib.jit.backends.cpu.prints`.
    prints : sequence of Print
        The prints of the kernel, by number.

    Returns
    -------
    list of (Print, list of int)
        Each line's print and the words of its operands.
    """
    lines = []
    while head:
        words = (ctypes.c_int64 * 3).from_address(head)
        following, block, number = words[0], words[1], words[2]
        op = prints[number]
        operands = list((ctypes.c_int64 * len(op.operands)).from_address(head + 24))
        lines.append((block, op, operands))
        _free(head)
        head = following
    # Newest first in the list; within a block the order is that of execution.
    lines.reverse()
    lines.sort(key=lambda line: line[0])
    return [(op, operands) for _, op, operands in lines]
