"""How arguments come to a kernel and back, under the names of numba's ``cuda.args``."""

from __future__ import annotations

from pygpulib.jit.transfers import In, InOut, Out, wrap_arg

__all__ = ["In", "InOut", "Out", "wrap_arg"]
