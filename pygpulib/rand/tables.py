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


def _read_only(pointer: Any, shape: tuple[int, ...], dtype: np.dtype[Any]) -> Words:
    view = np.ctypeslib.as_array(pointer, shape).view(dtype)
    view.flags.writeable = False
    return view


# ------------------------------------------------------------------------------------- MTGP32

_HEADER = "curand_mtgp32dc_p_11213.h"
_EXPONENT = 11213


@record
class MtgpParameters:
    """The parameters of the sub-sequences of MTGP32, one row each.

    Attributes
    ----------
    positions, shifts_left, shifts_right : ndarray of uint32
        Of the recurrence.
    recursion, tempering : ndarray of uint32 of shape (200, 16)
        Sums of the rows of a matrix over the numbers modulo 2, for each 4 bits.
    mask : int
        The bits of the oldest word that count.
    """

    positions: Words
    shifts_left: Words
    shifts_right: Words
    recursion: Words
    tempering: Words
    mask: int


@cache
def mtgp_parameters() -> MtgpParameters:
    """Return the parameters of MTGP32, from the header that comes with cuRAND.

    Raises
    ------
    LibraryError
        If cuRAND or its header is not installed.
    """
    library = open_curand("the generator MTGP32")
    folder = os.path.dirname(library.path)
    places = [os.path.join(folder, up, "include", _HEADER) for up in ("..", "../..", "../../..")]
    path = next(filter(os.path.isfile, places), None) or find_in_wheels(
        f"{package}/include/{_HEADER}" for package in ("cu13", "curand")
    )
    if path is None:
        raise LibraryError(
            "the parameters of the generator MTGP32 cannot be found",
            detail=f"{library.description} comes without its header {_HEADER}",
            help="pip install pygpulib[cuda13] (or cuda12); it works without a GPU, too",
        )
    with open(path, encoding="utf-8") as file:
        return read_mtgp_parameters(file.read())


def read_mtgp_parameters(header: str) -> MtgpParameters:
    """Return the parameters that the text of the header holds.

    Raises
    ------
    LibraryError
        If it holds something else.
    """
    _, _, initializer = header.rpartition("[]")
    plain = re.sub(r"(?s:/\*.*?\*/)|(?m:^\s*#.*$)", "", initializer)
    numbers = np.array([int(each, 0) for each in re.findall(r"\b0x[\da-fA-F]+|\b\d+", plain)])
    # Four numbers, three matrices of 16, the mask, and a digest of 21 bytes.
    width = 4 + 3 * 16 + 1 + 21
    if not numbers.size or numbers.size % width or (numbers[::width] != _EXPONENT).any():
        raise LibraryError(
            "the parameters of the generator MTGP32 cannot be read",
            detail=f"cuRAND's header {_HEADER} does not hold what it did",
            help="install another version of cuRAND",
        )
    rows = numbers.reshape(-1, width).astype(np.uint32)
    return MtgpParameters(
        rows[:, 1],
        rows[:, 2],
        rows[:, 3],
        np.ascontiguousarray(rows[:, 4:20]),
        np.ascontiguousarray(rows[:, 20:36]),
        int(rows[0, 52]),
    )
