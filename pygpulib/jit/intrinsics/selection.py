"""The choice between two values that are there already."""

from __future__ import annotations

from typing import Any

from pygpulib.jit.intrinsics.threads import only_in_kernels


def selp(condition: Any, if_true: Any, if_false: Any) -> Any:
    """Return ``if_true`` where the condition is not zero, else ``if_false``, without a branch.

    The result has the common type of both.
    """
    del condition, if_true, if_false
    only_in_kernels("selp")
