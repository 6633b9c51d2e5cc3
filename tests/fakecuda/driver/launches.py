"""Entry points that launch kernels and tell how many blocks fit."""

from __future__ import annotations

import ctypes
import math
from typing import TYPE_CHECKING, Any, NamedTuple

from tests.fakecuda.driver import hardware
from tests.fakecuda.driver.entries import entry
from tests.fakecuda.driver.modules import Kernel
from tests.fakecuda.driver.state import PENDING, Block, Context, System
from tests.fakecuda.driver.status import Code, DeviceFaultError, RefusedError, require
from tests.fakecuda.ptx import PtxFault, launch

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.fakecuda.memory import DeviceMemory

_END, _BUFFER, _BUFFER_SIZE = 0, 1, 2
_COOPERATIVE = 2  # CU_LAUNCH_ATTRIBUTE_COOPERATIVE
_SharedBytes = ctypes.CFUNCTYPE(ctypes.c_size_t, ctypes.c_int)
Size3 = tuple[int, int, int]


class Launch(NamedTuple):
    """A launch, with the bytes of every argument."""

    kernel: str
    grid: Size3
    block: Size3
    shared_bytes: int
    stream: int
    arguments: tuple[bytes, ...]
    cooperative: bool


class LaunchEntries:
    """Entry points that launch kernels."""

    def __init__(self, system: System) -> None:
        self.system = system
        self.launches: list[Launch] = []
        self.options: dict[str, Any] = {}  # how kernels run: arguments of the interpreter
        self.is_running = True  # whether kernels run at all

    @entry("cuLaunchKernel")
    def launch(self, function: int | None, *rest: Any) -> None:
        sizes, shared_bytes, stream, parameters, extra = rest[:6], *rest[6:]
        self._launch(function, sizes, shared_bytes, stream, parameters, extra)

    @entry("cuLaunchCooperativeKernel")
    def launch_cooperative(self, function: int | None, *rest: Any) -> None:
        sizes, shared_bytes, stream, parameters = rest[:6], *rest[6:]
        self._launch(function, sizes, shared_bytes, stream, parameters, None, cooperative=True)

    @entry("cuLaunchKernelEx")
    def launch_extended(
        self, config: Any, function: int | None, parameters: Any, extra: Any
    ) -> None:
        require(config, Code.INVALID_VALUE)
        given = config[0]
        sizes = [getattr(given, f"{of}Dim{axis}") for of in ("grid", "block") for axis in "XYZ"]
        cooperative = False
        for position in range(given.numAttrs):
            attribute = given.attrs[position]
            require(attribute.id == _COOPERATIVE, Code.NOT_SUPPORTED, "launch attribute")
            cooperative = bool(attribute.value.cooperative)
        self._launch(
            function,
            sizes,
            given.sharedMemBytes,
            given.hStream,
            parameters,
            extra,
            cooperative=cooperative,
        )

    def _launch(
        self,
        function: int | None,
        sizes: Iterable[int],
        shared_bytes: int,
        stream: int | None,
        parameters: Any,
        extra: Any,
        *,
        cooperative: bool = False,
    ) -> None:
        kernel = self.system.handles.find(Kernel, function)
        queue = self.system.stream(stream)
        require(kernel.context is queue.context, Code.INVALID_HANDLE, "another context's kernel")
        gx, gy, gz, bx, by, bz = sizes
        grid, block = (gx, gy, gz), (bx, by, bz)
        self._check_sizes(kernel, grid, block, shared_bytes)
        if cooperative:
            self._check_cooperative(kernel, grid, block, shared_bytes)
        arguments = read_arguments(kernel, parameters, extra)
        done = Launch(kernel.name, grid, block, shared_bytes, stream or 0, arguments, cooperative)
        self.launches.append(done)
        if self.is_running:
            name = f"kernel {kernel.name}"
            self.system.work.submit(queue, name, lambda: self._run(kernel, done))

    def _check_sizes(self, kernel: Kernel, grid: Size3, block: Size3, shared_bytes: int) -> None:
        for name, sizes, most in (
            ("grid", grid, hardware.MAX_GRID),
            ("block", block, hardware.MAX_BLOCK),
        ):
            for size, limit in zip(sizes, most, strict=True):
                message = f"{name} of {sizes}"
                require(0 < size <= limit, Code.INVALID_VALUE, message)
        threads = math.prod(block)
        message = f"{threads} threads of a block, but {kernel.name} takes {kernel.max_threads}"
        require(threads <= kernel.max_threads, Code.INVALID_VALUE, message)
        message = f"not enough registers for {threads} threads"
        enough = threads <= kernel.threads_by_registers
        require(enough, Code.LAUNCH_OUT_OF_RESOURCES, message)
        message = f"{shared_bytes} bytes of shared memory, of {kernel.dynamic_limit}"
        require(shared_bytes <= kernel.dynamic_limit, Code.INVALID_VALUE, message)
        required = kernel.function.directives.get("reqntid")
        if required:
            same = (*required, 1, 1)[:3] == block
            require(same, Code.INVALID_VALUE, f"{kernel.name} takes blocks of {required}")

    def _check_cooperative(
        self, kernel: Kernel, grid: Size3, block: Size3, shared_bytes: int
    ) -> None:
        fitting = kernel.blocks_per_multiprocessor(math.prod(block), shared_bytes)
        most = fitting * hardware.MULTIPROCESSORS
        message = f"{math.prod(grid)} blocks, but {most} run at the same time"
        require(math.prod(grid) <= most, Code.COOPERATIVE_LAUNCH_TOO_LARGE, message)

    def _run(self, kernel: Kernel, wanted: Launch) -> None:
        try:
            launch(
                kernel.loaded.module,
                kernel.name,
                wanted.arguments,
                grid=wanted.grid,
                block=wanted.block,
                shared_bytes=wanted.shared_bytes,
                memory=self._visible_memory(kernel.context),
                globals_=kernel.loaded.addresses,
                **self.options,
            )
        except PtxFault as fault:
            raise DeviceFaultError(fault.cuda_error, str(fault)) from fault

    def _visible_memory(self, context: Context) -> DeviceMemory:
        """Return the memory with only what a kernel of a context can reach now."""

        def is_visible(block: Block) -> bool:
            owner = block.context.device
            near = block.is_host or block.kind == "managed" or owner is context.device
            return block.state != PENDING and (near or owner.ordinal in context.peers)

        blocks = list(self.system.blocks)
        if all(map(is_visible, blocks)):
            return self.system.memory
        return self.system.memory.showing(b.address for b in blocks if is_visible(b))

    # ------------------------------------------------------------------------------- occupancy

    @entry("cuOccupancyMaxActiveBlocksPerMultiprocessor")
    def max_active_blocks(
        self, count: Any, function: int | None, threads: int, shared_bytes: int
    ) -> None:
        kernel = self.system.handles.find(Kernel, function)
        require(threads > 0, Code.INVALID_VALUE)
        count[0] = kernel.blocks_per_multiprocessor(threads, shared_bytes)

    @entry("cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags")
    def max_active_blocks_with_flags(
        self, count: Any, function: int | None, threads: int, shared_bytes: int, flags: int
    ) -> None:
        require(flags in (0, 1), Code.INVALID_VALUE, "unknown flags")
        self.max_active_blocks(count, function, threads, shared_bytes)

    @entry("cuOccupancyMaxPotentialBlockSize")
    def best_block(
        self,
        grid: Any,
        block: Any,
        function: int | None,
        shared_of: int | None,
        shared_bytes: int,
        limit: int,
    ) -> None:
        kernel = self.system.handles.find(Kernel, function)
        most = min(kernel.max_threads, kernel.threads_by_registers, limit or hardware.MAX_THREADS)
        best = (0, 0, 0)
        for threads in range(most - most % hardware.WARP or most, 0, -hardware.WARP):
            used = _SharedBytes(shared_of)(threads) if shared_of else shared_bytes
            blocks = kernel.blocks_per_multiprocessor(threads, used)
            best = max(best, (threads * blocks, threads, blocks))
        block[0] = best[1]
        grid[0] = best[2] * hardware.MULTIPROCESSORS

    @entry("cuOccupancyMaxPotentialBlockSizeWithFlags")
    def best_block_with_flags(self, grid: Any, block: Any, *rest: Any) -> None:
        *plain, flags = rest
        require(flags in (0, 1), Code.INVALID_VALUE, "unknown flags")
        self.best_block(grid, block, *plain)

    @entry("cuOccupancyAvailableDynamicSMemPerBlock")
    def available_shared(self, size: Any, function: int | None, blocks: int, threads: int) -> None:
        kernel = self.system.handles.find(Kernel, function)
        require(blocks > 0 and threads > 0, Code.INVALID_VALUE)
        capability = kernel.context.device.compute_capability
        chip = hardware.generation(capability)
        share = chip.shared_per_multiprocessor // blocks - hardware.shared_reserved(capability)
        size[0] = max(min(share, chip.shared_optin) - kernel.static_bytes, 0)


def read_arguments(kernel: Kernel, parameters: Any, extra: Any) -> tuple[bytes, ...]:
    """Return the bytes of the arguments of a launch, from either form in which C hands them."""
    expected = kernel.function.parameters
    if extra:
        return _read_buffer(kernel, extra)
    if not expected:
        return ()
    require(parameters, Code.INVALID_VALUE, f"{kernel.name} takes {len(expected)} arguments")
    read = []
    for position, parameter in enumerate(expected):
        address = parameters[position]
        if not address:
            raise RefusedError(Code.INVALID_VALUE, f"no address of argument {position}")
        read.append(ctypes.string_at(address, parameter.size))
    return tuple(read)


def _read_buffer(kernel: Kernel, extra: Any) -> tuple[bytes, ...]:
    address = size = position = 0
    while (key := extra[position] or 0) != _END:
        value = extra[position + 1] or 0
        if key == _BUFFER:
            address = value
        elif key == _BUFFER_SIZE:
            size = ctypes.c_size_t.from_address(value).value
        else:
            raise RefusedError(Code.INVALID_VALUE, f"unknown extra {key}")
        position += 2
    needed = kernel.function.parameter_bytes
    require(address and size >= needed, Code.INVALID_VALUE, f"{size} bytes, not {needed}")
    data = ctypes.string_at(address, size)
    return tuple(data[p.offset : p.offset + p.size] for p in kernel.function.parameters)
