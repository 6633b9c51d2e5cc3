"""Groups of threads: ``cg.this_grid()`` and ``cg.this_thread_block()``.

A group has a value only inside a kernel, where the front end knows its methods by identity.
"""

from __future__ import annotations

from pygpulib.jit.intrinsics.sync import syncthreads
from pygpulib.jit.intrinsics.threads import only_in_kernels


def sync_grid() -> None:
    """Wait for all threads of the grid, and see what they wrote before."""
    only_in_kernels("cg.this_grid")


def grid_thread_rank() -> int:
    """Return the number of the thread in the grid, counted block by block; int64."""
    only_in_kernels("cg.this_grid")


def grid_size() -> int:
    """Return how many threads the grid has; int64."""
    only_in_kernels("cg.this_grid")


def block_thread_rank() -> int:
    """Return the number of the thread in its block, x first; int64."""
    only_in_kernels("cg.this_thread_block")


def block_size() -> int:
    """Return how many threads the block has; int64."""
    only_in_kernels("cg.this_thread_block")


class GridGroup:
    """All threads of the grid.

    A kernel that waits for the grid is launched so that all blocks can be on their way at once.
    """

    sync = staticmethod(sync_grid)
    thread_rank = staticmethod(grid_thread_rank)
    size = staticmethod(grid_size)


class ThreadBlock:
    """The threads of a block."""

    sync = staticmethod(syncthreads)
    thread_rank = staticmethod(block_thread_rank)
    size = staticmethod(block_size)


GRID = GridGroup()
BLOCK = ThreadBlock()


def this_grid() -> GridGroup:
    """Return the group of all threads of the grid.

    Returns
    -------
    GridGroup
        Its ``sync()`` waits for the whole grid.
    """
    only_in_kernels("cg.this_grid")


def this_thread_block() -> ThreadBlock:
    """Return the group of the threads of the block.

    Returns
    -------
    ThreadBlock
        Its ``sync()`` is ``cuda.syncthreads()``.
    """
    only_in_kernels("cg.this_thread_block")
