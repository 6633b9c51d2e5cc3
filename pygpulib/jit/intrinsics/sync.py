"""Threads that wait for each other, and the order in which they see each other's writes.

The functions have a meaning only inside a kernel, where the front end knows them by identity.
"""

from __future__ import annotations

from pygpulib.jit.intrinsics.threads import only_in_kernels

FULL_MASK = 0xFFFFFFFF


def syncthreads() -> None:
    """Wait for all threads of the block; what they wrote before can be read after."""
    only_in_kernels("syncthreads")


def syncthreads_count(predicate: int) -> int:
    """Wait as `syncthreads` does, and return in how many threads the predicate is not zero."""
    del predicate
    only_in_kernels("syncthreads_count")


def syncthreads_and(predicate: int) -> int:
    """Wait as `syncthreads` does, and return 1 if the predicate is zero in no thread, else 0."""
    del predicate
    only_in_kernels("syncthreads_and")


def syncthreads_or(predicate: int) -> int:
    """Wait as `syncthreads` does, and return 0 if the predicate is zero in all threads, else 1."""
    del predicate
    only_in_kernels("syncthreads_or")


def syncwarp(mask: int = FULL_MASK) -> None:
    """Wait for the lanes of the warp whose bits are set in the mask."""
    del mask
    only_in_kernels("syncwarp")


def threadfence_block() -> None:
    """Let the threads of the block see all writes before before any write after."""
    only_in_kernels("threadfence_block")


def threadfence() -> None:
    """Let the threads of the device see all writes before before any write after."""
    only_in_kernels("threadfence")


def threadfence_system() -> None:
    """Let all devices and the host see all writes before before any write after."""
    only_in_kernels("threadfence_system")


def nanosleep(nanoseconds: int) -> None:
    """Let other threads run for about so long, which may be no time at all."""
    del nanoseconds
    only_in_kernels("nanosleep")
