"""cuBLAS's routines as C functions, made from the table of routines."""

from __future__ import annotations

from ctypes import c_int, c_int64, c_void_p
from functools import cache
from typing import TYPE_CHECKING, Any

from pygpulib._bindings.cublas import (
    DIAGONALS,
    FILL_MODES,
    OPERATIONS,
    SIDES,
    find_cublas,
)
from pygpulib._bindings.library import Function
from pygpulib.blas.routines import DTYPES, FLAGS, MIXED_ROUTINES, NUMBERS, ROUTINES
from pygpulib.errors import LibraryError

if TYPE_CHECKING:
    from pygpulib._bindings.library import Library
    from pygpulib.blas.routines import Routine

ENUMS: dict[str, dict[str, int]] = {
    "trans": OPERATIONS,
    "transa": OPERATIONS,
    "transb": OPERATIONS,
    "uplo": FILL_MODES,
    "side": SIDES,
    "diag": DIAGONALS,
}
"""The numbers of letters."""

# These have no variant for long sizes.
WITHOUT_LONG = frozenset(["tpttr", "trttp"])


def function_name(routine: Routine, letter: str, is_long: bool = False) -> str:
    """Return the name that cuBLAS exports a routine under.

    Examples
    --------
    >>> function_name(ROUTINES["gemm"], "D"), function_name(ROUTINES["geam"], "S", True)
    ('cublasDgemm_v2', 'cublasSgeam_64')
    """
    return f"cublas{routine.names[letter]}{routine.suffix}{'_64' if is_long else ''}"


def _describe(routine: Routine, is_long: bool) -> Function:
    """Return how a routine is called: numbers and arrays are addresses."""
    size = c_int64 if is_long else c_int
    pointers = {operand.name for operand in routine.operands} | {*NUMBERS, "param", "result"}
    types: list[Any] = [c_void_p]
    for name in routine.native:
        if name in FLAGS:
            types.append(c_int)
        else:
            types.append(c_void_p if name in pointers else size)
    return Function(f"do {routine.name}", tuple(types))


# Arguments: h for the handle, i for an int or a letter, p for an address, l for a long long.
_BATCHED = {
    "gemmBatched": "hiiiiippipippii",
    "gemmStridedBatched": "hiiiiippilpilppili",
    "getrfBatched": "hipippi",
    "getrsBatched": "hiiipippipi",
    "getriBatched": "hipippipi",
    "geqrfBatched": "hiipippi",
    "gelsBatched": "hiiiipipippi",
}
_MIXED = {
    "GemmEx": "hiiiiippiipiippiiii",
    "GemmStridedBatchedEx": "hiiiiippiilpiilppiiliii",
}
_TYPES: dict[str, Any] = {"h": c_void_p, "i": c_int, "p": c_void_p, "l": c_int64}


def batched_functions() -> dict[str, Function]:
    """Return the routines for stacks of matrices under their exported names."""
    table = {
        f"cublas{letter}{name}": Function(f"do {name}", tuple([_TYPES[code] for code in codes]))
        for name, codes in _BATCHED.items()
        for letter in DTYPES
    }
    for name, codes in _MIXED.items():
        table[f"cublas{name}"] = Function(f"do {name}", tuple([_TYPES[code] for code in codes]))
    return table


@cache
def routine_functions() -> dict[str, Function]:
    """Return every routine under its exported name."""
    table = batched_functions()
    for routine in (*ROUTINES.values(), *MIXED_ROUTINES.values()):
        for is_long in (False, True):
            if is_long and routine.name in WITHOUT_LONG:
                continue
            function = _describe(routine, is_long)
            for letter in routine.names:
                table[function_name(routine, letter, is_long)] = function
    return table


@cache
def open_cublas() -> Library:
    """Return the library.

    Raises
    ------
    LibraryError
        If it is not installed.
    """
    library = find_cublas(routine_functions())
    if library is None:
        raise LibraryError(
            "BLAS on a GPU needs cuBLAS, which is not installed",
            detail="neither a package of NVIDIA nor the system has libcublas",
            help="pip install pygpulib[cuda13] (or cuda12)",
        )
    return library
