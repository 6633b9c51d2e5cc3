"""Marks for a profiler, under numba's names."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from pygpulib.core.device import current_device

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["profile_start", "profile_stop", "profiling"]


def profile_start() -> None:
    """Begin what a profiler is to show. No profiler listens on the CPU back end."""
    current_device().synchronize()


def profile_stop() -> None:
    """End what a profiler is to show. No profiler listens on the CPU back end."""
    current_device().synchronize()


@contextmanager
def profiling() -> Iterator[None]:
    """Return a context whose work a profiler is to show."""
    profile_start()
    try:
        yield
    finally:
        profile_stop()
