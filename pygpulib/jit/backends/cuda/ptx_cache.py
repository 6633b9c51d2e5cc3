"""PTX: compiled, or what an earlier process compiled from the same text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib._record import record
from pygpulib.jit.backends.cuda.ptx import (
    DEFAULT_OPTIMIZATION,
    OptimizationLevel,
    compile_ptx,
    describe_compilation,
)
from pygpulib.jit.cache import digest, open_cache

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.target import CudaTarget


@record
class PtxCode:
    """PTX.

    Attributes
    ----------
    text : str
        The PTX.
    was_cached : bool or None
        Whether it comes from the disk; None if nobody looked there.
    """

    text: str
    was_cached: bool | None


def find_ptx(
    llvm_text: str,
    target: CudaTarget,
    *,
    fastmath: bool = False,
    optimization: OptimizationLevel = DEFAULT_OPTIMIZATION,
    use_cache: bool = True,
) -> PtxCode:
    """Return the PTX of a module, compiled if the cache on disk does not have it.

    Parameters
    ----------
    llvm_text : str
        LLVM IR. All that a kernel is made from shows in it: its source and its captured
        constants, the functions that it calls, and how this package translates them.
    target, fastmath, optimization
        As for `compile_ptx`.
    use_cache : bool
        Whether the cache is looked into and added to.
    """
    cache = open_cache("cuda") if use_cache else None
    if cache is None:
        text = compile_ptx(llvm_text, target, fastmath=fastmath, optimization=optimization)
        return PtxCode(text, was_cached=None)
    how = describe_compilation(llvm_text, target, fastmath=fastmath, optimization=optimization)
    key = digest("ptx", how, llvm_text)
    kept = cache.get(key)
    if kept is not None:
        return PtxCode(kept.decode(), was_cached=True)
    text = compile_ptx(llvm_text, target, fastmath=fastmath, optimization=optimization)
    cache.put(key, text.encode())
    return PtxCode(text, was_cached=False)
