"""From optimized IR to a kernel on this processor."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pygpulib._config import config
from pygpulib.errors import UnsupportedFeatureError
from pygpulib.jit.backends.cpu.barriers import is_cooperative, refuse_barriers_in_callees
from pygpulib.jit.backends.cpu.emit import emit_kernel
from pygpulib.jit.backends.cpu.executable import CpuKernel
from pygpulib.jit.backends.cpu.lane_choice import choose_axes, choose_width, spins
from pygpulib.jit.backends.cpu.reports import all_errors
from pygpulib.jit.backends.cpu.target import (
    CpuVariant,
    choose_variant,
    choose_warp_variant,
    host_target,
)
from pygpulib.jit.backends.cpu.warps import cooperates
from pygpulib.jit.backends.messages import detail_types, find_prints
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.options import NO_HINTS, CompileHints
from pygpulib.jit.passes.carry_common import carry_common
from pygpulib.jit.passes.expand_intrinsics import Bodies, expand_intrinsics
from pygpulib.jit.passes.fold_constants import fold_constants
from pygpulib.jit.passes.fuse_exact import fuse_exact
from pygpulib.jit.passes.hoist_invariants import hoist_invariants
from pygpulib.jit.passes.narrow_integers import narrow_integers
from pygpulib.jit.passes.pipeline import Pass, run_passes
from pygpulib.jit.passes.remove_dead_ops import remove_dead_ops
from pygpulib.jit.passes.share_common import share_common

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.jit.backends.protocol import CompileFunction
    from pygpulib.jit.ir.intrinsic import Intrinsic, Lowering

_BODIES: Bodies = {}

_CPU_PASSES: tuple[Pass, ...] = (
    # Wraps of negative indices that cannot be negative hide contiguous accesses; and fewer bytes
    # per lane are faster. Both come from one analysis of ranges.
    narrow_integers,
    fold_constants,
    share_common,
    hoist_invariants,
    carry_common,
    fuse_exact,
    remove_dead_ops,
)


def compile_kernel(
    function: ir.Function,
    compile_function: CompileFunction,
    *,
    use_cache: bool = True,
    hints: CompileHints = NO_HINTS,
) -> CpuKernel:
    """Prepare optimized IR for this processor.

    Parameters
    ----------
    function : ir.Function
        A kernel.
    compile_function : callable
        The front end, for the mathematical functions that are written in the kernel language.
    use_cache : bool
        Whether the machine code is kept on disk.
    hints : CompileHints
        Advice for GPUs, which changes nothing here.

    Returns
    -------
    CpuKernel
        It is compiled when it is launched, for the shapes of the blocks it is launched with.

    Raises
    ------
    UnsupportedFeatureError
        If the kernel is to be linked with code of GPUs.
    """
    if hints.link:
        names = ", ".join(part.name for part in hints.link)
        raise UnsupportedFeatureError(
            f"the kernel {function.name} has the option link={names}, and this back end cannot "
            "link code of GPUs",
            help="write it in Python, with @cuda.jit(device=True)",
        )
    refuse_barriers_in_callees(function)
    expanded = expand_intrinsics(function, _lowering, compile_function, _BODIES)
    prepared = run_passes(expanded, _CPU_PASSES, verify=config.verify_ir)
    return CpuKernel(
        function.name,
        partial(_emit, prepared),
        choose=_variant_chooser(prepared),
        errors=all_errors(prepared),
        detail_types=detail_types(prepared),
        prints=find_prints(prepared),
        is_cooperative=is_cooperative(prepared),
        # The address of a captured array is another one in each process.
        use_cache=use_cache and not function.captured,
        function=prepared,
    )


def _variant_chooser(function: ir.Function) -> Callable[[tuple[int, int, int]], CpuVariant]:
    """Return how to lay blocks of a kernel on vectors."""
    if cooperates(function):
        return choose_warp_variant
    axes = choose_axes(function)
    width = 1 if spins(function) else choose_width(function, host_target())
    return lambda block: choose_variant(block, axes, width)


def _emit(function: ir.Function, variant: CpuVariant, name: str) -> str:
    return emit_kernel(function, variant, host_target(), name)


def _lowering(intrinsic: Intrinsic) -> Lowering:
    return intrinsic.cpu
