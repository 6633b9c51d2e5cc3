"""Import every family of intrinsics, which registers their records."""

from __future__ import annotations

from pygpulib.jit.intrinsics import (
    bits,
    decomposition,
    exp_log,
    floating,
    hyperbolic,
    integer_math,
    library,
    like,
    numpy_names,
    roots,
    special,
    trigonometry,
)

FAMILIES = (
    bits,
    decomposition,
    exp_log,
    floating,
    hyperbolic,
    integer_math,
    library,
    like,
    numpy_names,
    roots,
    special,
    trigonometry,
)
"""The modules, in the order of the documentation."""
