"""The launch record in device memory, as the host makes and reads it.

What the words mean is said in `pygpulib.jit.backends.cuda.record`.
"""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.layout import Layout
from pygpulib.core.memory import Buffer
from pygpulib.errors import PyGpuLibWarning, counted
from pygpulib.jit.backends.cuda.prints import NODE_HEADER_WORDS
from pygpulib.jit.backends.cuda.record import (
    BUFFER_WORD,
    CAPACITY_WORD,
    RECORD_WORDS,
    USED_WORD,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pygpulib.core.driver import Driver
    from pygpulib.jit.ir import ops as ir

PRINT_WORDS = 1 << 17
"""Size of a print buffer: a megabyte."""


class LaunchRecord:
    """The record of one launch; the memory lives as long as this object.

    Parameters
    ----------
    driver : Driver
        Whose memory it is.
    has_prints : bool
        Whether the kernel prints.
    stream : int
        The stream of the launch.

    Attributes
    ----------
    address : int
        Where the record is.
    """

    def __init__(self, driver: Driver, has_prints: bool, stream: int) -> None:
        capacity = PRINT_WORDS if has_prints else 0
        self._stream = stream
        self._memory = Buffer.allocate(driver, 8 * (RECORD_WORDS + capacity), stream)
        self.address = self._memory.address
        words = np.zeros(RECORD_WORDS, np.int64)
        words[CAPACITY_WORD] = capacity
        words[BUFFER_WORD] = self.address + 8 * RECORD_WORDS
        self._part(0, RECORD_WORDS).copy_to_device(words, stream)

    def read(self) -> tuple[list[int], list[int]]:
        """Return the words of the record, and those of the printed lines.

        The launch must be done.
        """
        header = self._copy(0, RECORD_WORDS)
        used = min(header[USED_WORD], header[CAPACITY_WORD])
        return header, self._copy(RECORD_WORDS, used) if used else []

    def _part(self, start: int, count: int) -> ndarray:
        layout = Layout((count,), (8,), 8 * start)
        return ndarray.from_buffer(self._memory, layout, np.dtype(np.int64), self._stream)

    def _copy(self, start: int, count: int) -> list[int]:
        host = np.empty(count, np.int64)
        self._part(start, count).copy_to_host(host, self._stream)
        # With a stream, the copy may still be under way.
        self._memory.driver.synchronize_stream(self._stream)
        words: list[int] = host.tolist()
        return words


def split_lines(
    words: Sequence[int], prints: Sequence[ir.Print]
) -> list[tuple[ir.Print, Sequence[int]]]:
    """Return the lines of a print buffer, in order of block.

    Parameters
    ----------
    words : sequence of int
        The part of the buffer that was used. The last line may not have fitted.
    prints : sequence of Print
        The prints of the kernel, by number.

    Returns
    -------
    list of (Print, sequence of int)
        Each line's print and the words of its operands.
    """
    lines = []
    position = 0
    while position < len(words):
        size = words[position]
        if size < NODE_HEADER_WORDS or position + size > len(words):
            break
        number, block = words[position + 1 : position + NODE_HEADER_WORDS]
        operands = words[position + NODE_HEADER_WORDS : position + size]
        lines.append((block, prints[number], operands))
        position += size
    # Within a block the order is that of execution.
    lines.sort(key=lambda line: line[0])
    return [(op, operands) for _, op, operands in lines]


def warn_of_lost_lines(kernel: str, count: int) -> None:
    """Say that lines did not fit into the print buffer."""
    warnings.warn(
        f"{counted(count, 'line')} that the kernel {kernel} printed did not fit into its buffer of "
        f"{8 * PRINT_WORDS} bytes and got lost\nhelp: print from fewer threads",
        PyGpuLibWarning,
        stacklevel=2,
    )
