"""Cooperative groups, under numba's names: ``cuda.cg.this_grid().sync()``."""

from __future__ import annotations

from pygpulib.jit.intrinsics.cooperative import (
    GridGroup,
    ThreadBlock,
    this_grid,
    this_thread_block,
)

__all__ = ["GridGroup", "ThreadBlock", "this_grid", "this_thread_block"]
