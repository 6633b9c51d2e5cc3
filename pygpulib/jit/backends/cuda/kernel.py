"""A kernel on NVIDIA GPUs: PTX per generation, and code loaded per device."""

from __future__ import annotations

import ctypes
import re
import sys
from typing import TYPE_CHECKING

from pygpulib._record import field, record
from pygpulib.core.device import current_driver
from pygpulib.core.driver import DEFAULT_STREAM
from pygpulib.core.foreign_code import ForeignCode
from pygpulib.core.locks import Lock
from pygpulib.errors import LaunchError, counted
from pygpulib.jit.backends.cuda.alignment import PLAIN, Alignment, fitting_alignments, relevant_bits
from pygpulib.jit.backends.cuda.kernel_code import KernelCode, LoadedKernel
from pygpulib.jit.backends.cuda.launch_record import (
    LaunchRecord,
    split_lines,
    warn_of_lost_lines,
)
from pygpulib.jit.backends.cuda.parameters import HEADER_RECORD_WORD, parameter_addresses
from pygpulib.jit.backends.cuda.record import LOST_WORD, STATE_WORD
from pygpulib.jit.backends.findings import Resources
from pygpulib.jit.backends.messages import DetailTypes, format_line, read_fault
from pygpulib.jit.backends.protocol import HEADER_WORDS
from pygpulib.jit.options import NO_HINTS, CompileHints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pygpulib.core.driver import LaunchShape
    from pygpulib.core.driver_cuda import CudaDriver
    from pygpulib.jit import types
    from pygpulib.jit.backends.cuda.kernel_code import Emit
    from pygpulib.jit.backends.findings import Layout
    from pygpulib.jit.backends.protocol import Launcher
    from pygpulib.jit.ir import ops as ir

# Every pending record with prints holds a megabyte.
_MAX_PENDING = 16

# Launches of one shape whose arrays have been looked at.
_MAX_KNOWN = 256

_TYPICAL_BLOCK = (256, 1, 1)


@record(eq=True)
class KernelFacts:
    """What running a kernel takes to know about it.

    Attributes
    ----------
    parameter_count : int
        Number of its flat parameters.
    has_record : bool
        Whether it takes the address of a launch record besides.
    is_cooperative : bool
        Whether its blocks wait for each other.
    errors : sequence of ErrorEntry
        What can go wrong while it runs.
    detail_types : mapping of int to sequence of Type
        By number of the error, the types of the numbers that its message shows.
    prints : sequence of Print
        What it prints, by number.
    foreign_code : tuple of ForeignCode
        The code in other languages that it calls.
    alignments : tuple of Alignment
        Its variants, for arguments that are multiples of something; the last one takes all.
    """

    parameter_count: int
    has_record: bool = False
    is_cooperative: bool = False
    errors: Sequence[ir.ErrorEntry] = ()
    detail_types: DetailTypes = field(default_factory=dict)
    prints: Sequence[ir.Print] = ()
    foreign_code: tuple[ForeignCode, ...] = ()
    alignments: tuple[Alignment, ...] = (PLAIN,)


class CudaKernel:
    """A kernel that is compiled for a generation of GPUs when a device of it first runs it.

    Parameters
    ----------
    name : str
        What the user calls it.
    emit : callable
        Gives the LLVM IR for a target and a variant; the entry has the name passed second.
    facts : KernelFacts
        What running it takes to know.
    fastmath : bool
        Whether functions of CUDA's mathematical library may be approximate.
    hints : CompileHints
        Bounds on what it takes, and how to compile it.
    use_cache : bool
        Whether its PTX is kept on disk.
    function : ir.Function, optional
        The prepared IR, for those who ask about the kernel.
    """

    # GPUs do not address the memory of the host.
    copies_host_arrays = True

    def __init__(
        self,
        name: str,
        emit: Emit,
        facts: KernelFacts,
        *,
        fastmath: bool = False,
        hints: CompileHints = NO_HINTS,
        use_cache: bool = True,
        function: ir.Function | None = None,
    ) -> None:
        self.name = name
        self.facts = facts
        self._function = function
        self._code = KernelCode(
            name,
            entry_name(name),
            emit,
            facts.alignments[0],
            fastmath=fastmath,
            hints=hints,
            foreign_code=facts.foreign_code,
            use_cache=use_cache,
        )
        self._blocks: dict[tuple[int, int, int], None] = {}
        self._pending: set[LaunchRecord] = set()
        self._lock = Lock()

    # -------------------------------------------------------------------------------- running

    def run(self, shape: LaunchShape, arguments_address: int) -> None:
        """Run the grid on the default stream."""
        current_driver().launch(self, shape, arguments_address, DEFAULT_STREAM)

    def enqueue(
        self, driver: CudaDriver, shape: LaunchShape, arguments_address: int, stream: int
    ) -> None:
        """Launch the kernel.

        Parameters
        ----------
        driver : CudaDriver
            The driver.
        shape : LaunchShape
            How many threads.
        arguments_address : int
            Address of the header and the argument words, which the driver copies.
        stream : int
            Where the launch is queued.

        Raises
        ------
        LaunchError
            If the blocks of a cooperative kernel cannot all run at once.
        Exception
            What the kernel raises, if it can raise anything.
        """
        self._blocks[shape.block] = None
        loaded = self._prepare(driver, shape, self._words(arguments_address))
        launched = None
        if self.facts.has_record:
            launched = LaunchRecord(driver, bool(self.facts.prints), stream)
            word = ctypes.c_uint64.from_address(arguments_address + 8 * HEADER_RECORD_WORD)
            word.value = launched.address
        parameters = parameter_addresses(arguments_address, self.facts.parameter_count)
        driver.launch_function(
            loaded.function,
            shape,
            ctypes.addressof(parameters),
            stream,
            cooperative=self.facts.is_cooperative,
        )
        if launched is not None:
            self._follow_up(driver, launched, stream)

    def _words(self, arguments_address: int) -> bytes:
        """Return the words of a launch's arguments, after the header."""
        first = arguments_address + 8 * HEADER_WORDS
        return ctypes.string_at(first, 8 * self.facts.parameter_count)

    def _prepare(self, driver: CudaDriver, shape: LaunchShape, words: bytes) -> LoadedKernel:
        """Load the variant for some arguments, and ask the device for what a launch of it takes.

        What the device does not have is refused.
        """
        loaded = self._load(driver, shape.block, words)
        if shape.shared_bytes > loaded.shared_limit:
            self._ask_for_shared(driver, loaded, shape.shared_bytes)
        if self.facts.is_cooperative:
            blocks = shape.grid[0] * shape.grid[1] * shape.grid[2]
            most = _most_blocks(driver, loaded, shape.block, shape.shared_bytes)
            if blocks > most:
                raise LaunchError(
                    f"the grid of a launch of {self.name} has {blocks} blocks, which wait for "
                    "each other",
                    detail=f"the device runs {counted(most, 'such block')} at once",
                    help="use fewer blocks, and let each do more: "
                    "kernel.overloads[...].max_cooperative_grid_blocks(block) tells how many",
                )
        return loaded

    def _load(self, driver: CudaDriver, block: tuple[int, int, int], words: bytes) -> LoadedKernel:
        """Load the first variant for some arguments that has registers for all of a block."""
        threads = block[0] * block[1] * block[2]
        variants = fitting_alignments(self.facts.alignments, words)
        loaded = self._code.load(driver, next(variants))
        for alignment in variants:
            if threads <= loaded.max_threads:
                break
            loaded = self._code.load(driver, alignment)
        return loaded

    def _ask_for_shared(self, driver: CudaDriver, loaded: LoadedKernel, size_bytes: int) -> None:
        limits = driver.launch_limits(driver.current_ordinal())
        most = limits["MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"]
        fixed = loaded.fixed_shared_bytes
        total = fixed + size_bytes
        if total > most:
            raise LaunchError(
                f"a block of {self.name} takes {total:,} bytes of shared memory: {fixed:,} "
                f"for its arrays of a fixed size, {size_bytes:,} of dynamic shared memory",
                detail=f"the device has {most:,} bytes for a block",
                help=f"pass {most - fixed} or less as the launch's shared memory",
            )
        with self._lock:
            # Another thread may have asked for more meanwhile.
            if size_bytes > loaded.shared_limit:
                driver.set_dynamic_shared_limit(loaded.function, size_bytes)
                loaded.shared_limit = size_bytes

    def max_cooperative_blocks(self, block: tuple[int, int, int], shared_bytes: int) -> int:
        """Return how many blocks run at once on the calling thread's device."""
        driver = _cuda_driver()
        # Which variant a launch gets depends on its arguments. Last comes the one to be shown.
        return min(
            _most_blocks(driver, self._code.load(driver, each), block, shared_bytes)
            for each in reversed(self.facts.alignments)
        )

    def _follow_up(self, driver: CudaDriver, launched: LaunchRecord, stream: int) -> None:
        """Report what the launch has to tell: errors now, printed lines when somebody waits."""
        if self.facts.errors:
            driver.synchronize_stream(stream)
            self._report(launched)
        elif self.facts.prints:
            self._pending.add(launched)

            def report() -> None:
                self._pending.discard(launched)
                self._report(launched)

            driver.add_report(stream, report)
            if len(self._pending) >= _MAX_PENDING:
                driver.synchronize_stream(stream)

    def _report(self, launched: LaunchRecord) -> None:
        """Print what the kernel printed, and raise what it raised."""
        header, printed = launched.read()
        if printed:
            lines = split_lines(printed, self.facts.prints)
            sys.stdout.writelines(format_line(op, words) for op, words in lines)
            sys.stdout.flush()
        if header[LOST_WORD]:
            warn_of_lost_lines(self.name, header[LOST_WORD])
        if header[STATE_WORD]:
            raise read_fault(header, self.name, self.facts.errors, self.facts.detail_types)

    def bind(
        self,
        shape: LaunchShape,
        argument_types: Sequence[types.Type],
        parameter_types: Sequence[types.Type],
        fallback: Launcher,
        stream: int,
    ) -> Launcher | None:
        """Return a function that packs the arguments and launches, or None."""
        if self.facts.has_record:
            return None
        from pygpulib.jit.backends.cuda.short_cut import make_short_cut

        driver = _cuda_driver()
        relevant = relevant_bits(self.facts.alignments)
        found: dict[int, LoadedKernel] = {}

        def find(words: bytes) -> LoadedKernel:
            key = int.from_bytes(words, "little") & relevant if relevant else 0
            loaded = found.get(key)
            if loaded is None:
                if len(found) >= _MAX_KNOWN:
                    found.clear()
                loaded = found[key] = self._prepare(driver, shape, words)
            return loaded

        return make_short_cut(
            driver, find, shape, stream, argument_types, parameter_types, fallback
        )

    # ------------------------------------------------------------------------------ inspection

    @property
    def cache_hits(self) -> int:
        """For how many targets PTX was found in the cache on disk."""
        return sum(answer is True for answer in self._code.cache_answers)

    @property
    def cache_misses(self) -> int:
        """For how many targets PTX was not found in the cache on disk."""
        return sum(answer is False for answer in self._code.cache_answers)

    @property
    def resources(self) -> Resources:
        """What the kernel takes on the calling thread's device."""
        driver = _cuda_driver()
        function = self._code.load(driver).function
        registers, constant, shared, local, threads = (
            driver.function_attribute(function, name)
            for name in (
                "NUM_REGS",
                "CONST_SIZE_BYTES",
                "SHARED_SIZE_BYTES",
                "LOCAL_SIZE_BYTES",
                "MAX_THREADS_PER_BLOCK",
            )
        )
        return Resources(registers, constant, shared, local, threads)

    def explain(self) -> list[Layout]:
        """Describe how the blocks launched so far run, or a typical one."""
        from pygpulib.jit.backends.cuda.explanation import explain_block, explain_joining

        assert self._function is not None, self.name
        cached = self._code.cache_answers
        was_cached = cached[-1] if cached else None
        blocks = list(self._blocks) or [_TYPICAL_BLOCK]
        has_variants = len(self.facts.alignments) > 1
        joined = explain_joining(self._code.used()) if has_variants else ()
        return [explain_block(self._function, block, was_cached, joined) for block in blocks]

    def llvm_text(self) -> str:
        """Return the optimized LLVM IR of the newest code."""
        return self._code.llvm_text()

    def assembly_text(self) -> str:
        """Return the PTX of the newest code."""
        return self._code.assembly_text()


def _most_blocks(
    driver: CudaDriver, loaded: LoadedKernel, block: tuple[int, int, int], shared_bytes: int
) -> int:
    """Return how many blocks of a kernel run at once on the calling thread's device."""
    properties = driver.device_properties(driver.current_ordinal())
    threads = block[0] * block[1] * block[2]
    per_processor = driver.max_active_blocks(loaded.function, threads, shared_bytes)
    return per_processor * properties.attributes["MULTIPROCESSOR_COUNT"]


def _cuda_driver() -> CudaDriver:
    driver: CudaDriver = current_driver()  # type: ignore[assignment]
    return driver


def entry_name(name: str) -> str:
    """Return the name that a kernel has in PTX and in profilers.

    Examples
    --------
    >>> entry_name("<lambda>"), entry_name("add")
    ('_lambda_', 'add')
    """
    return re.sub(r"\W", "_", name, flags=re.ASCII)
