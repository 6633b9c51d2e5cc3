"""The names of numba's ``numba.cuda.cudadrv`` that programs use."""

from __future__ import annotations

from pygpulib import errors as error
from pygpulib.cuda.cudadrv import devicearray, devices, driver

__all__ = ["devicearray", "devices", "driver", "error"]
