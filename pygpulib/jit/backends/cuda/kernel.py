"""A kernel on NVIDIA GPUs: PTX per generation, and code loaded per device."""

from __future__ import annotations

import ctypes
import re
import sys
from typing import TYPE_CHECKING

from pygpulib._config import config
from pygpulib._record import field, record
from pygpulib.core.device import current_driver
from pygpulib.core.driver import DEFAULT_STREAM
from pygpulib.core.driver_cuda.modules import ImageOptions
from pygpulib.core.foreign_code import ForeignCode
from pygpulib.core.locks import Lock
from pygpulib.errors import LaunchError, counted
from pygpulib.jit.backends.cuda.launch_record import (
    LaunchRecord,
    split_lines,
    warn_of_lost_lines,
)
from pygpulib.jit.backends.cuda.parameters import HEADER_RECORD_WORD, parameter_addresses
from pygpulib.jit.backends.cuda.ptx import optimized_text
from pygpulib.jit.backends.cuda.ptx_cache import find_ptx
from pygpulib.jit.backends.cuda.record import LOST_WORD, STATE_WORD
from pygpulib.jit.backends.cuda.target import OLDEST, CudaTarget, known_target
from pygpulib.jit.backends.findings import Resources
from pygpulib.jit.backends.messages import DetailTypes, format_line, read_fault
from pygpulib.jit.options import NO_HINTS, CompileHints

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pygpulib.core.driver import LaunchShape
    from pygpulib.core.driver_cuda import CudaDriver
    from pygpulib.jit import types
    from pygpulib.jit.backends.cuda.ptx import OptimizationLevel
    from pygpulib.jit.backends.cuda.ptx_cache import PtxCode
    from pygpulib.jit.backends.findings import Layout
    from pygpulib.jit.backends.protocol import Launcher
    from pygpulib.jit.ir import ops as ir

# What every block may have without asking, its arrays of a fixed size included.
_PLAIN_SHARED_BYTES = 48 << 10

# Every pending record with prints holds a megabyte.
_MAX_PENDING = 16

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
    """

    parameter_count: int
    has_record: bool = False
    is_cooperative: bool = False
    errors: Sequence[ir.ErrorEntry] = ()
    detail_types: DetailTypes = field(default_factory=dict)
    prints: Sequence[ir.Print] = ()
    foreign_code: tuple[ForeignCode, ...] = ()


class LoadedKernel:
    """A kernel in the memory of one device, given back when this object dies.

    Parameters
    ----------
    driver : CudaDriver
        The driver.
    function : int
        Its handle of the kernel.

    Attributes
    ----------
    fixed_shared_bytes : int
        Shared memory of a block that launches have no say in.
    shared_limit : int
        Most dynamic shared memory that the driver was told of, in bytes.
    """

    def __init__(self, driver: CudaDriver, function: int) -> None:
        self.function = function
        # Bound here, because at the end of the interpreter global names may be gone.
        self._unload = driver.unload_image
        self.fixed_shared_bytes = driver.function_attribute(function, "SHARED_SIZE_BYTES")
        self.shared_limit = _PLAIN_SHARED_BYTES - self.fixed_shared_bytes

    def __del__(self) -> None:
        self._unload(self.function)


class CudaKernel:
    """A kernel that is compiled for a generation of GPUs when a device of it first runs it.

    Parameters
    ----------
    name : str
        What the user calls it.
    emit : callable
        Gives the LLVM IR for a target; the entry has the name passed second.
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
        emit: Callable[[CudaTarget, str], str],
        facts: KernelFacts,
        *,
        fastmath: bool = False,
        hints: CompileHints = NO_HINTS,
        use_cache: bool = True,
        function: ir.Function | None = None,
    ) -> None:
        self.name = name
        self.facts = facts
        self._emit = emit
        self._fastmath = fastmath
        self._hints = hints
        self._optimization: OptimizationLevel = 3 if hints.optimize else 0
        self._image_options = ImageOptions(has_line_info=hints.lineinfo)
        self._use_cache = use_cache
        self._function = function
        self._entry = entry_name(name)
        self._texts: dict[CudaTarget, PtxCode] = {}
        self._loaded: dict[tuple[CudaDriver, int], LoadedKernel] = {}
        self._blocks: dict[tuple[int, int, int], None] = {}
        self._pending: set[LaunchRecord] = set()
        self._lock = Lock()

    # ------------------------------------------------------------------------------ compiling

    def ptx(self, target: CudaTarget) -> str:
        """Return the PTX for a target, compiled if need be."""
        with self._lock:
            found = self._texts.get(target)
            if found is None:
                text = self._emit(target, self._entry)
                if config.dump_ir:
                    sys.stderr.write(f"; {self.name}, {target}\n{text}\n")
                found = self._texts[target] = find_ptx(
                    text,
                    target,
                    fastmath=self._fastmath,
                    optimization=self._optimization,
                    use_cache=self._use_cache,
                )
            return found.text

    def target(self, compute_capability: tuple[int, int]) -> CudaTarget:
        """Return what is compiled for a device."""
        return known_target(
            compute_capability,
            max_registers=self._hints.max_registers,
            max_threads_per_block=self._hints.max_threads_per_block,
            min_blocks=self._hints.min_blocks,
        )

    def load(self, driver: CudaDriver) -> LoadedKernel:
        """Return the kernel on the calling thread's device, loaded if need be."""
        key = (driver, driver.current_ordinal())
        found = self._loaded.get(key)
        if found is None:
            capability = driver.device_properties(key[1]).compute_capability
            code = self.ptx(self.target(capability)).encode()
            with self._lock:
                found = self._loaded.get(key)
                if found is None:
                    code = self._link(driver, code)
                    function = driver.load_image(code, self._entry, self._image_options)
                    found = self._loaded[key] = LoadedKernel(driver, function)
        return found

    def _link(self, driver: CudaDriver, code: bytes) -> bytes:
        """Return the code together with that in other languages."""
        others = dict.fromkeys((*self.facts.foreign_code, *self._hints.link))
        if not others:
            return code
        return driver.link_code(
            [ForeignCode("ptx", f"the kernel {self.name}", code), *others], self._image_options
        )

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
        loaded = self.load(driver)
        self._blocks[shape.block] = None
        self._prepare(driver, loaded, shape)
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

    def _prepare(self, driver: CudaDriver, loaded: LoadedKernel, shape: LaunchShape) -> None:
        """Ask the device for what a launch of a shape takes, and refuse what it does not have."""
        if shape.shared_bytes > loaded.shared_limit:
            self._ask_for_shared(driver, loaded, shape.shared_bytes)
        if self.facts.is_cooperative:
            blocks = shape.grid[0] * shape.grid[1] * shape.grid[2]
            most = self.max_cooperative_blocks(shape.block, shape.shared_bytes)
            if blocks > most:
                raise LaunchError(
                    f"the grid of a launch of {self.name} has {blocks} blocks, which wait for "
                    "each other",
                    detail=f"the device runs {counted(most, 'such block')} at once",
                    help="use fewer blocks, and let each do more: "
                    "kernel.overloads[...].max_cooperative_grid_blocks(block) tells how many",
                )

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
        properties = driver.device_properties(driver.current_ordinal())
        function = self.load(driver).function
        threads = block[0] * block[1] * block[2]
        per_processor = driver.max_active_blocks(function, threads, shared_bytes)
        return per_processor * properties.attributes["MULTIPROCESSOR_COUNT"]

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
        loaded = self.load(driver)
        return make_short_cut(
            driver, loaded, shape, stream, argument_types, parameter_types, fallback
        )

    # ------------------------------------------------------------------------------ inspection

    @property
    def cache_hits(self) -> int:
        """For how many targets PTX was found in the cache on disk."""
        return sum(found.was_cached is True for found in self._texts.values())

    @property
    def cache_misses(self) -> int:
        """For how many targets PTX was not found in the cache on disk."""
        return sum(found.was_cached is False for found in self._texts.values())

    @property
    def resources(self) -> Resources:
        """What the kernel takes on the calling thread's device."""
        driver = _cuda_driver()
        function = self.load(driver).function
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
        from pygpulib.jit.backends.cuda.explanation import explain_block

        assert self._function is not None, self.name
        cached = [found.was_cached for found in self._texts.values()]
        was_cached = cached[-1] if cached else None
        blocks = list(self._blocks) or [_TYPICAL_BLOCK]
        return [explain_block(self._function, block, was_cached) for block in blocks]

    def llvm_text(self) -> str:
        """Return the optimized LLVM IR for the newest target."""
        target = self._newest_target()
        return optimized_text(
            self._emit(target, self._entry),
            target,
            fastmath=self._fastmath,
            optimization=self._optimization,
        )

    def assembly_text(self) -> str:
        """Return the PTX for the newest target."""
        return self.ptx(self._newest_target())

    def _newest_target(self) -> CudaTarget:
        """Return what was compiled for last, or what the calling thread's device needs."""
        if self._texts:
            return list(self._texts)[-1]
        driver = current_driver()
        if driver.name != "cuda":
            return self.target(OLDEST)
        properties = driver.device_properties(_cuda_driver().current_ordinal())
        return self.target(properties.compute_capability)


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
