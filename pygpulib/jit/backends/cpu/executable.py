"""A kernel on this processor: native code per variant, compiled when a launch needs it.

Where a kernel can fail, word 6 of its argument block is the address of a *fault record* of
8-byte words: 0 whether a thread has claimed it (0 or 1, by compare and exchange; only the first
thread reports), 1 number of the error, 2-4 block, 5-7 thread, 8 number of details, from 9 on the
details: integers as int64, floats as float64.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
from typing import TYPE_CHECKING

from pygpulib._config import config
from pygpulib.core.dtypes import DType
from pygpulib.errors import KernelFault
from pygpulib.jit.backends.cpu import engine
from pygpulib.jit.backends.cpu.faults import MAX_DETAILS
from pygpulib.jit.backends.cpu.pool import KERNEL_TYPE, shared_pool
from pygpulib.jit.backends.cpu.target import CpuVariant, choose_variant, host_target
from pygpulib.jit.backends.protocol import HEADER_WORDS
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pygpulib.core.driver import LaunchShape
    from pygpulib.jit import types
    from pygpulib.jit.backends.protocol import Launcher

# The launch shape that stands for a kernel which has not been launched yet.
_TYPICAL_BLOCK = (256, 1, 1)

_Header = ctypes.c_int64 * HEADER_WORDS
_FaultRecord = ctypes.c_int64 * (9 + MAX_DETAILS)


def _choose_plain(block: tuple[int, int, int]) -> CpuVariant:
    return choose_variant(block, (0, 1, 2), 32)


class CpuKernel:
    """A kernel whose variants are compiled one by one.

    Parameters
    ----------
    name : str
        What the user calls it.
    emit : callable
        Gives the LLVM IR of a variant; the function has the name passed second.
    choose : callable
        Gives the variant for a block shape.
    errors : sequence of ErrorEntry
        What can go wrong while the kernel runs.
    detail_types : mapping of int to tuple of Type
        By number of the error, the types of the numbers that its message shows.
    """

    def __init__(
        self,
        name: str,
        emit: Callable[[CpuVariant, str], str],
        *,
        choose: Callable[[tuple[int, int, int]], CpuVariant] = _choose_plain,
        errors: Sequence[ir.ErrorEntry] = (),
        detail_types: Mapping[int, Sequence[ir.Type]] | None = None,
    ) -> None:
        self.name = name
        self._emit = emit
        self._choose = choose
        self._errors = errors
        self._detail_types = detail_types or {}
        self._addresses: dict[CpuVariant, int] = {}
        self._by_block: dict[tuple[int, int, int], int] = {}
        self._lock = threading.Lock()

    def address(self, block: tuple[int, int, int]) -> int:
        """Return the address of the code for a block shape, compiled if need be."""
        found = self._by_block.get(block)
        if found is None:
            with self._lock:
                found = self._by_block[block] = self._compile(self._variant(block))
        return found

    def _variant(self, block: tuple[int, int, int]) -> CpuVariant:
        return self._choose(block)

    def _compile(self, variant: CpuVariant) -> int:
        found = self._addresses.get(variant)
        if found is None:
            text = self._emit(variant, "kernel")
            if config.dump_ir:
                sys.stderr.write(f"; {self.name}, {variant}\n{text}\n")
            found = engine.load(engine.assemble(text, host_target()), "kernel")
            self._addresses[variant] = found
        return found

    def run(self, shape: LaunchShape, arguments_address: int) -> None:
        """Run the grid on the pool, or a single block on the caller."""
        address = self.address(shape.block)
        record = _FaultRecord() if self._errors else None
        header = _Header.from_address(arguments_address)
        fault_address = ctypes.addressof(record) if record is not None else 0
        header[:] = [*shape.grid, *shape.block, fault_address, shape.shared_bytes]
        blocks = count_blocks(shape)
        pool = shared_pool() if blocks > 1 else None
        if pool is None:
            KERNEL_TYPE(address)(arguments_address, 0, blocks, 0)
        else:
            pool.run(address, arguments_address, blocks)
        if record is not None and record[0]:
            raise self._fault(record)

    def _fault(self, record: ctypes.Array[ctypes.c_int64]) -> Exception:
        number = record[1]
        entry = self._errors[number]
        details = [
            _detail(word, type_)
            for word, type_ in zip(record[9:], self._detail_types.get(number, ()), strict=False)
        ]
        message = entry.message.format(*details) if details else entry.message
        block, thread = tuple(record[2:5]), tuple(record[5:8])
        where = f"in the kernel {self.name}, block {block}, thread {thread}"
        if entry.span is not None:
            where += f", at {entry.span}"
        text = f"{message}\n{where}" if message else where
        try:
            return entry.exception(text)
        except TypeError:
            # The user's class wants other arguments than a message.
            return KernelFault(f"{entry.exception.__name__}: {text}")

    def bind(
        self,
        shape: LaunchShape,
        argument_types: Sequence[types.Type],
        parameter_types: Sequence[types.Type],
        fallback: Launcher,
    ) -> Launcher | None:
        """Return a native function that checks and unboxes the arguments and launches."""
        if self._errors:
            return None
        from pygpulib.jit.backends.cpu.entry import make_entry

        address = self.address(shape.block)
        return make_entry(shape, address, tuple(argument_types), tuple(parameter_types), fallback)

    def _text(self) -> str:
        variants = list(self._addresses) or [self._variant(_TYPICAL_BLOCK)]
        return self._emit(variants[-1], "kernel")

    def llvm_text(self) -> str:
        """Return the optimized LLVM IR of the newest variant."""
        return engine.optimized_text(self._text(), host_target())

    def assembly_text(self) -> str:
        """Return the assembly of the newest variant."""
        return engine.assembly_text(self._text(), host_target())


def _detail(word: int, type_: ir.Type) -> float:
    """Return a number of the fault record."""
    if isinstance(type_, DType) and type_.is_float:
        value: float = struct.unpack("=d", struct.pack("=q", word))[0]
        return value
    if isinstance(type_, DType) and type_.is_bool:
        return bool(word)
    return word


def count_blocks(shape: LaunchShape) -> int:
    """Return the number of blocks of a launch."""
    return shape.grid[0] * shape.grid[1] * shape.grid[2]
