"""The options of one compilation."""

from __future__ import annotations

from pygpulib._record import record
from pygpulib.core.foreign_code import ForeignCode


@record(eq=True)
class CompileHints:
    """Advice about a kernel for GPUs, which changes its speed and never what it computes.

    Attributes
    ----------
    max_registers : int
        Most registers of a thread, or 0 for no bound.
    max_threads_per_block : int
        Largest block that the kernel will be launched with, or 0.
    min_blocks : int
        How many blocks a multiprocessor should have room for, or 0.
    optimize : bool
        Whether LLVM optimizes the code.
    lineinfo : bool
        Whether the code tells which line of the source it comes from, for profilers.
    link : tuple of ForeignCode
        Code in other languages that it is linked with: it defines what the kernel only declares.
    """

    max_registers: int = 0
    max_threads_per_block: int = 0
    min_blocks: int = 0
    optimize: bool = True
    lineinfo: bool = False
    link: tuple[ForeignCode, ...] = ()


NO_HINTS = CompileHints()


@record(eq=True)
class CompileOptions:
    """What ``cuda.jit`` was asked for; part of the key of a specialization.

    Attributes
    ----------
    debug : bool
        Check bounds and report exceptions of kernels.
    fastmath : bool
        Allow approximate floating-point arithmetic.
    fma : bool
        Allow multiply and add to be contracted into one rounding.
    cache : bool
        Keep the machine code on disk.
    weak_literals : bool
        Let numbers that are written down take the type of those that they meet.
    hints : CompileHints
        Advice for GPUs.
    """

    debug: bool = False
    fastmath: bool = False
    fma: bool = True
    cache: bool = True
    weak_literals: bool = False
    hints: CompileHints = NO_HINTS
