"""Tables that belong to the vendor, and are read from its installed library when needed."""

from __future__ import annotations

import ctypes
import os
import re
from functools import cache
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib._bindings.curand import DIRECTION_VECTOR_SETS, open_curand
from pygpulib._bindings.wheels import find_in_wheels
from pygpulib._record import record
from pygpulib.errors import LibraryError

Words: TypeAlias = NDArray[Any]

DIMENSIONS = 20_000
"""How many dimensions the tables have."""


@cache
def scrambled_directions(bits: int) -> tuple[Words, Words]:
    """Return the direction numbers and constants of the scrambled Sobol sequences.

    Parameters
    ----------
    bits : int
        32 or 64.

    Returns
    -------
    directions : ndarray of shape (20000, bits)
        Read-only.
    constants : ndarray of shape (20000,)
        Read-only.

    Raises
    ------
    LibraryError
        If cuRAND is not installed.
    """
    library = open_curand(f"the scrambled Sobol{bits} sequence")
    word: Any = ctypes.c_uint if bits == 32 else ctypes.c_ulonglong
    vectors, constants = ctypes.POINTER(word)(), ctypes.POINTER(word)()
    which = DIRECTION_VECTOR_SETS[f"SCRAMBLED_DIRECTION_VECTORS_{bits}_JOEKUO6"]
    getattr(library, f"curandGetDirectionVectors{bits}")(ctypes.byref(vectors), which)
    getattr(library, f"curandGetScrambleConstants{bits}")(ctypes.byref(constants))
    dtype = np.dtype(f"uint{bits}")
    return (
        _read_only(vectors, (DIMENSIONS, bits), dtype),
        _read_only(constants, (DIMENSIONS,), dtype),
    )


def _read_only(pointer: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Words:  # noqa: ANN401
    view = np.ctypeslib.as_array(pointer, shape).view(dtype)
    view.flags.writeable = False
    return view
