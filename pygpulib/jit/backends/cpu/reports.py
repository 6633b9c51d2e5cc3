"""What a launch reports to the host: the launch record, and how to read it.

Word 6 of the argument block is the address of the record, or 0 where the kernel has nothing to
report. Its 8-byte words are: 0 whether a thread has claimed the fault (0 or 1, by compare and
exchange; only the first thread reports), 1 number of the error, 2-4 block, 5-7 thread, 8 number of
details, from 9 on the details as int64 (the bits of a float64 for floats), 16 the newest printed
line, 17 the memory of all blocks of a cooperative launch, 18 how many of them wait for the others.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

from pygpulib.errors import DeviceMemoryError, KernelFault
from pygpulib.jit.backends.cpu.barriers import block_barriers
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk

RECORD_WORDS = 24
PRINT_WORD, BLOCKS_WORD, WAITING_WORD = 16, 17, 18

LaunchRecord = ctypes.c_int64 * RECORD_WORDS


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
