"""Choices between floats that become one masked move."""

from __future__ import annotations

from pygpulib.jit.intrinsics.scalars import Real


def at_most(x: Real, limit: Real) -> Real:
    """Return the smaller of two floats; a nan in ``x`` stays."""
    return limit if x > limit else x  # noqa: FURB136 — `min` promises nothing about nan


def at_least(x: Real, limit: Real) -> Real:
    """Return the larger of two floats; a nan in ``x`` stays."""
    return limit if x < limit else x  # noqa: FURB136 — `max` promises nothing about nan
