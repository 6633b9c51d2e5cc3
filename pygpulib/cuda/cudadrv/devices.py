"""The names of numba's ``numba.cuda.cudadrv.devices`` that programs use."""

from __future__ import annotations

from pygpulib.cuda.devices import close as reset
from pygpulib.cuda.devices import current_context as get_context
from pygpulib.cuda.devices import gpus, require_context

__all__ = ["get_context", "gpus", "require_context", "reset"]
