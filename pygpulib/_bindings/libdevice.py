"""Where CUDA's library of mathematical functions, libdevice, is."""

from __future__ import annotations

import os
from functools import cache

from pygpulib._bindings.wheels import find_in_wheels
from pygpulib._config import config
from pygpulib.errors import ArgumentError

FILE_NAME = "libdevice.10.bc"
"""The library: LLVM bitcode."""

INSTALLING = "install pygpulib[cuda13], or set CUDA_HOME to the folder of a CUDA toolkit"
"""How to get it."""

# Where wheels of CUDA 13 and 12 have the file, below the folder of the namespace `nvidia`.
_IN_WHEELS = (f"cu13/nvvm/libdevice/{FILE_NAME}", f"cuda_nvcc/nvvm/libdevice/{FILE_NAME}")


@cache
def find_libdevice() -> str | None:
    """Return the path of the library, or None where there is none.

    Raises
    ------
    ArgumentError
        If the environment names a file that does not exist.
    """
    if config.libdevice:
        if not os.path.isfile(config.libdevice):
            raise ArgumentError(
                f"the environment variable PYGPULIB_LIBDEVICE is {config.libdevice!r}",
                detail=f"expected the path of a file, {FILE_NAME} of a CUDA toolkit",
                help="unset it to use the file of an installed package or toolkit",
            )
        return config.libdevice
    return find_in_wheels(_IN_WHEELS) or _find_elsewhere()


def _find_elsewhere() -> str | None:
    """Look into conda environments and toolkits that CUDA_HOME or CUDA_PATH name."""
    # It takes fifty times as long to import as the wheels take to look through.
    try:
        from cuda import pathfinder
    except ImportError:
        return None
    try:
        return str(pathfinder.find_bitcode_lib("device"))
    except pathfinder.BitcodeLibNotFoundError:
        return None
