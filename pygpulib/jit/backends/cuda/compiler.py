"""From optimized IR to a kernel on NVIDIA GPUs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pygpulib._config import config
from pygpulib.jit.backends.cuda.alignment import PLAIN, Alignment, find_alignments
from pygpulib.jit.backends.cuda.emit import emit_kernel
from pygpulib.jit.backends.cuda.kernel import CudaKernel, KernelFacts
from pygpulib.jit.backends.cuda.module import foreign_code, needs_record, waits_for_grid
from pygpulib.jit.backends.messages import detail_types, find_prints
from pygpulib.jit.options import NO_HINTS, CompileHints
from pygpulib.jit.passes.expand_intrinsics import Bodies, expand_intrinsics
from pygpulib.jit.passes.fold_constants import fold_constants
from pygpulib.jit.passes.hoist_invariants import hoist_invariants
from pygpulib.jit.passes.narrow_integers import narrow_integers
from pygpulib.jit.passes.pipeline import Pass, run_passes
from pygpulib.jit.passes.remove_dead_ops import remove_dead_ops
from pygpulib.jit.passes.share_common import share_common

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.target import CudaTarget
    from pygpulib.jit.backends.protocol import CompileFunction
    from pygpulib.jit.ir import ops as ir
    from pygpulib.jit.ir.intrinsic import Intrinsic, Lowering

_BODIES: Bodies = {}

_CUDA_PASSES: tuple[Pass, ...] = (
    # Wraps of negative indices go away where indices cannot be negative, and 32-bit arithmetic
    # takes half the instructions of 64-bit arithmetic.
    narrow_integers,
    fold_constants,
    share_common,
    hoist_invariants,
    remove_dead_ops,
)


def compile_kernel(
    function: ir.Function,
    compile_function: CompileFunction,
    *,
    use_cache: bool = True,
    hints: CompileHints = NO_HINTS,
) -> CudaKernel:
    """Prepare optimized IR for NVIDIA GPUs.

    Parameters
    ----------
    function : ir.Function
        A kernel.
    compile_function : callable
        The front end, for the functions that are written in the kernel language.
    use_cache : bool
        Whether the PTX is kept on disk.
    hints : CompileHints
        Bounds on what a kernel takes, and how to compile it.

    Returns
    -------
    CudaKernel
        It is compiled when it is launched, for the generation of the device.
    """
    prepared = prepare(function, compile_function)
    return CudaKernel(
        function.name,
        partial(_emit, prepared, hints.lineinfo),
        facts_of(prepared, has_variants=hints.optimize),
        fastmath=function.numeric.fastmath,
        hints=hints,
        # The address of a captured array is another one in each process.
        use_cache=use_cache and not function.captured,
        function=prepared,
    )


def prepare(function: ir.Function, compile_function: CompileFunction) -> ir.Function:
    """Expand intrinsics that GPUs have no instruction for, and optimize.

    Parameters
    ----------
    function : ir.Function
        A kernel or device function.
    compile_function : callable
        The front end.
    """
    expanded = expand_intrinsics(function, _lowering, compile_function, _BODIES)
    return run_passes(expanded, _CUDA_PASSES, verify=config.verify_ir)


def _emit(
    function: ir.Function, lineinfo: bool, target: CudaTarget, name: str, alignment: Alignment
) -> str:
    return emit_kernel(function, target, name, lineinfo=lineinfo, alignment=alignment)


def facts_of(function: ir.Function, *, has_variants: bool = False) -> KernelFacts:
    """Return what running a kernel takes to know about it.

    Parameters
    ----------
    function : ir.Function
        Its prepared IR.
    has_variants : bool
        Whether it may be compiled anew for arguments that are multiples of something.
    """
    return KernelFacts(
        parameter_count=len(function.params),
        has_record=needs_record(function),
        is_cooperative=waits_for_grid(function),
        errors=function.errors,
        detail_types=detail_types(function),
        prints=find_prints(function),
        foreign_code=foreign_code(function),
        alignments=find_alignments(function) if has_variants else (PLAIN,),
    )


def _lowering(intrinsic: Intrinsic) -> Lowering:
    return intrinsic.cuda
