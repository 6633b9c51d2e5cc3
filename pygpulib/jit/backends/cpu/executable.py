"""A kernel on this processor: native code per variant, compiled when a launch needs it."""

from __future__ import annotations

import ctypes
import sys
from typing import TYPE_CHECKING

import numpy as np

from pygpulib._config import config
from pygpulib.core.locks import Lock
from pygpulib.jit.backends.cpu import engine
from pygpulib.jit.backends.cpu.objects import find_object
from pygpulib.jit.backends.cpu.pool import KERNEL_TYPE, shared_pool
from pygpulib.jit.backends.cpu.reports import (
    BLOCKS_WORD,
    PRINT_WORD,
    WAITING_WORD,
    LaunchRecord,
    take_lines,
)
from pygpulib.jit.backends.cpu.target import CpuVariant, choose_variant, host_target
from pygpulib.jit.backends.messages import DetailTypes, format_line, read_fault
from pygpulib.jit.backends.protocol import HEADER_WORDS
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pygpulib.core.driver import LaunchShape
    from pygpulib.jit import types
    from pygpulib.jit.backends.findings import Layout, Resources
    from pygpulib.jit.backends.protocol import Launcher

# The launch shape that stands for a kernel which has not been launched yet.
_TYPICAL_BLOCK = (256, 1, 1)

# Blocks that wait for the grid take memory, some kilobytes each, and nothing else.
_MAX_WAITING_BLOCKS = 65_535

_Header = ctypes.c_int64 * HEADER_WORDS
_ALIGNMENT = 64


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
    detail_types : mapping of int to sequence of Type
        By number of the error, the types of the numbers that its message shows.
    prints : sequence of Print
        What the kernel prints, by number.
    is_cooperative : bool
        Whether its blocks wait for each other.
    use_cache : bool
        Whether its code is kept on disk.
    function : ir.Function, optional
        The prepared IR, for those who ask about the kernel.
    """

    # The processor addresses the memory of the host.
    copies_host_arrays = False

    def __init__(  # noqa: PLR0913 - what the compiler knows and running needs
        self,
        name: str,
        emit: Callable[[CpuVariant, str], str],
        *,
        choose: Callable[[tuple[int, int, int]], CpuVariant] = _choose_plain,
        errors: Sequence[ir.ErrorEntry] = (),
        detail_types: DetailTypes | None = None,
        prints: Sequence[ir.Print] = (),
        is_cooperative: bool = False,
        use_cache: bool = True,
        function: ir.Function | None = None,
    ) -> None:
        self.name = name
        self._emit = emit
        self._choose = choose
        self._errors = errors
        self._detail_types = detail_types or {}
        self._prints = prints
        self._is_cooperative = is_cooperative
        self._use_cache = use_cache
        self._function = function
        self._was_cached: dict[CpuVariant, bool | None] = {}
        self._sizes: dict[int, int] = {}
        self._addresses: dict[CpuVariant, int] = {}
        self._by_block: dict[tuple[int, int, int], int] = {}
        self._lock = Lock()

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
            sizes = ("kernel.block_bytes",) if self._is_cooperative else ()
            found_object = find_object(text, host_target(), use_cache=self._use_cache)
            self._was_cached[variant] = found_object.was_cached
            symbols = engine.load_all(found_object.code, ("kernel", *sizes))
            found = self._addresses[variant] = symbols["kernel"]
            if sizes:
                self._sizes[found] = symbols[sizes[0]]
        return found

    def run(self, shape: LaunchShape, arguments_address: int) -> None:
        """Run the grid on the pool, or a single block on the caller."""
        address = self.address(shape.block)
        blocks = count_blocks(shape)
        record = LaunchRecord() if self._reports else None
        header = _Header.from_address(arguments_address)
        record_address = ctypes.addressof(record) if record is not None else 0
        header[:] = [*shape.grid, *shape.block, record_address, shape.shared_bytes]
        if self._is_cooperative and record is not None:
            self._run_together(address, arguments_address, blocks, record)
        else:
            _run_blocks(address, arguments_address, blocks)
        if record is not None:
            self._report(record)

    @property
    def _reports(self) -> bool:
        """Whether a launch may have something to tell."""
        return bool(self._errors or self._prints or self._is_cooperative)

    def _run_together(
        self,
        address: int,
        arguments_address: int,
        blocks: int,
        record: ctypes.Array[ctypes.c_int64],
    ) -> None:
        """Run all blocks from one barrier of the grid to the next."""
        sizes = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(self._sizes[address])
        # Zeroed, because 0 is the progress of a block that has not started.
        memory = np.zeros(blocks * sizes(arguments_address) + _ALIGNMENT, np.uint8)
        start = memory.ctypes.data
        record[BLOCKS_WORD] = start + -start % _ALIGNMENT
        record[WAITING_WORD] = 1
        while record[WAITING_WORD] and not record[0]:
            record[WAITING_WORD] = 0
            _run_blocks(address, arguments_address, blocks)

    def _report(self, record: ctypes.Array[ctypes.c_int64]) -> None:
        """Print what the kernel printed, and raise what it raised."""
        if record[PRINT_WORD]:
            lines = take_lines(record[PRINT_WORD], self._prints)
            sys.stdout.writelines(format_line(op, words) for op, words in lines)
            sys.stdout.flush()
        if record[0]:
            raise read_fault(list(record), self.name, self._errors, self._detail_types)

    def bind(
        self,
        shape: LaunchShape,
        argument_types: Sequence[types.Type],
        parameter_types: Sequence[types.Type],
        fallback: Launcher,
        stream: int,  # noqa: ARG002 - everything is done at once
    ) -> Launcher | None:
        """Return a native function that checks and unboxes the arguments and launches."""
        if self._is_cooperative:
            return None
        from pygpulib.jit.backends.cpu.entry import make_entry

        return make_entry(
            shape,
            self.address(shape.block),
            tuple(argument_types),
            tuple(parameter_types),
            fallback,
            self._report_copy if self._reports else None,
        )

    def _report_copy(self, record: bytes) -> None:
        self._report(LaunchRecord.from_buffer_copy(record))

    def _text(self) -> str:
        variants = list(self._addresses) or [self._variant(_TYPICAL_BLOCK)]
        return self._emit(variants[-1], "kernel")

    @property
    def cache_hits(self) -> int:
        """How many variants were found in the cache on disk."""
        return sum(found is True for found in self._was_cached.values())

    @property
    def cache_misses(self) -> int:
        """How many variants were not found in the cache on disk."""
        return sum(found is False for found in self._was_cached.values())

    @property
    def resources(self) -> Resources:
        """What the kernel takes."""
        from pygpulib.jit.backends.cpu.explanation import find_resources

        assert self._function is not None, self.name
        return find_resources(self._function)

    def max_cooperative_blocks(
        self,
        block: tuple[int, int, int],  # noqa: ARG002
        shared_bytes: int,  # noqa: ARG002
    ) -> int:
        """Return how many blocks there is memory for."""
        return _MAX_WAITING_BLOCKS

    def explain(self) -> list[Layout]:
        """Describe how the blocks launched so far run, or a typical one."""
        from pygpulib.jit.backends.cpu.explanation import explain_variant

        assert self._function is not None, self.name
        variants: dict[CpuVariant, tuple[int, int, int]] = {}
        for block in list(self._by_block) or [_TYPICAL_BLOCK]:
            variants.setdefault(self._variant(block), block)
        return [
            explain_variant(self._function, variant, block, self._was_cached.get(variant))
            for variant, block in variants.items()
        ]

    def llvm_text(self) -> str:
        """Return the optimized LLVM IR of the newest variant."""
        return engine.optimized_text(self._text(), host_target())

    def assembly_text(self) -> str:
        """Return the assembly of the newest variant."""
        return engine.assembly_text(self._text(), host_target())


_never = ctypes.c_int64()  # who runs a single block, or has no pool, is not interrupted


def _run_blocks(address: int, arguments_address: int, blocks: int) -> None:
    """Run all blocks on the pool, or a single one on the caller."""
    pool = shared_pool() if blocks > 1 else None
    if pool is None:
        KERNEL_TYPE(address)(arguments_address, 0, blocks, 0, ctypes.addressof(_never))
    else:
        pool.run(address, arguments_address, blocks)


def count_blocks(shape: LaunchShape) -> int:
    """Return the number of blocks of a launch."""
    return shape.grid[0] * shape.grid[1] * shape.grid[2]
