"""What the call path asks of a back end; the back ends know nothing of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from pygpulib.core.driver import Executable
from pygpulib.errors import NoDeviceError
from pygpulib.jit.options import NO_HINTS, CompileHints

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pygpulib.core.driver import Driver, LaunchShape
    from pygpulib.jit import types
    from pygpulib.jit.backends.findings import Layout, Resources
    from pygpulib.jit.ir import ops as ir

HEADER_WORDS = 8
"""Words before the argument words, for the back end's own use."""

Launcher = Callable[..., None]
"""Launches one kernel in one shape; takes the kernel's arguments."""


CompileFunction = Callable[[Callable[..., object], "tuple[types.Type, ...]"], "ir.Function"]
"""From a function of the kernel language and its parameter types to IR."""


class CompiledKernel(Executable, Protocol):
    """A kernel compiled for one list of parameter types; it may still grow per launch shape."""

    @property
    def copies_host_arrays(self) -> bool:
        """Whether a launch copies arrays of the host to the device and back."""
        ...

    @property
    def cache_hits(self) -> int:
        """How often its machine code was found in the cache on disk."""
        ...

    @property
    def cache_misses(self) -> int:
        """How often its machine code was not found there, and compiled."""
        ...

    @property
    def resources(self) -> Resources:
        """What the kernel takes."""
        ...

    def max_cooperative_blocks(self, block: tuple[int, int, int], shared_bytes: int) -> int:
        """Return how many blocks of a shape can wait for each other."""
        ...

    def run(self, shape: LaunchShape, arguments_address: int) -> None:
        """Run the grid.

        `arguments_address` points to `HEADER_WORDS` words for the back end's own use and, after
        them, the argument words; all are 8 bytes and may be overwritten.
        """
        ...

    def bind(
        self,
        shape: LaunchShape,
        argument_types: Sequence[types.Type],
        parameter_types: Sequence[types.Type],
        fallback: Launcher,
        stream: int,
    ) -> Launcher | None:
        """Return a short cut for launches of one shape, or None where there is none.

        Parameters
        ----------
        shape : LaunchShape
            The launch shape.
        argument_types : sequence of Type
            Types of the arguments that the short cut takes.
        parameter_types : sequence of Type
            Types that the kernel was compiled for; the arguments convert to them.
        fallback : callable
            What to call with all other arguments.
        stream : int
            Where launches are queued.
        """
        ...

    def explain(self) -> Sequence[Layout]:
        """Describe how the blocks launched so far run, or a typical one."""
        ...

    def llvm_text(self) -> str:
        """Return the LLVM IR as the code generator sees it."""
        ...

    def assembly_text(self) -> str:
        """Return the machine code as assembly."""
        ...


class CompilerBackend(Protocol):
    """Compiles optimized IR for the devices of one driver."""

    def __call__(
        self,
        function: ir.Function,
        compile_function: CompileFunction,
        *,
        use_cache: bool = True,
        hints: CompileHints = NO_HINTS,
    ) -> CompiledKernel:
        """Compile a kernel.

        `compile_function` is the front end, for the library functions that the back end composes
        in the kernel language; `use_cache` says whether machine code is kept on disk; `hints` are
        advice that a back end may ignore.
        """
        ...


def find_backend(driver: Driver) -> CompilerBackend:
    """Return the compiler that makes code for a driver's devices."""
    if driver.name == "cpu":
        from pygpulib.jit.backends.cpu import compiler as cpu

        return cpu.compile_kernel
    if driver.name == "cuda":
        from pygpulib.jit.backends.cuda import compiler as cuda

        return cuda.compile_kernel
    raise NoDeviceError(
        f"this version of pygpulib does not compile kernels for the back end {driver.name!r}",
        help="set PYGPULIB_BACKEND=cpu: the same program runs on the processor",
    )
