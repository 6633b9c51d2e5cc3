"""Object code: compiled, or what an earlier process compiled from the same text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib._record import record
from pygpulib.jit.backends.cpu import engine
from pygpulib.jit.cache import digest, open_cache

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.engine import OptimizationLevel
    from pygpulib.jit.backends.cpu.target import CpuTarget


@record
class ObjectCode:
    """An object file.

    Attributes
    ----------
    code : bytes
        Its contents.
    was_cached : bool or None
        Whether it comes from the disk; None if nobody looked there.
    """

    code: bytes
    was_cached: bool | None


def find_object(
    text: str,
    target: CpuTarget,
    optimization: OptimizationLevel = engine.DEFAULT_OPTIMIZATION,
    *,
    use_cache: bool = True,
) -> ObjectCode:
    """Return the object file of a module, compiled if the cache on disk does not have it.

    Parameters
    ----------
    text : str
        LLVM IR. All that a kernel is made from shows in it: its source and its captured
        constants, the functions that it calls, and how this package translates them.
    target : CpuTarget
        What to compile for.
    optimization : int
        As for `engine.assemble`.
    use_cache : bool
        Whether the cache is looked into and added to.
    """
    cache = open_cache("cpu") if use_cache else None
    if cache is None:
        return ObjectCode(engine.assemble(text, target, optimization), was_cached=None)
    key = digest(engine.describe_compilation(target, optimization), text)
    code = cache.get(key)
    if code is not None:
        return ObjectCode(code, was_cached=True)
    code = engine.assemble(text, target, optimization)
    cache.put(key, code)
    return ObjectCode(code, was_cached=False)
