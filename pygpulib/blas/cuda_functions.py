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
from pygpulib.errors import ArgumentError, LibraryError

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

LARGEST_INT = 2**31 - 1
"""The largest size or distance that functions without a variant for long sizes take."""

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


# Arguments: h for the handle, i for a letter or a kind, n for a size or distance, p for an address,
# l for a long long. `{}` stands for the letter of a dtype.
_MANY = {
    "cublas{}gemmBatched": "hiinnnppnpnppnn",
    "cublas{}gemmStridedBatched": "hiinnnppnlpnlppnln",
    "cublas{}getrfBatched": "hnpnppn",
    "cublas{}getrsBatched": "hinnpnppnpn",
    "cublas{}getriBatched": "hnpnppnpn",
    "cublas{}geqrfBatched": "hnnpnppn",
    "cublas{}gelsBatched": "hinnnpnpnppn",
    "cublasGemmEx": "hiinnnppinpinppinii",
    "cublasGemmStridedBatchedEx": "hiinnnppinlpinlppinlnii",
}
_WITH_LONG = ("gemm", "Gemm")
_TYPES: dict[str, Any] = {"h": c_void_p, "i": c_int, "n": c_int, "p": c_void_p, "l": c_int64}
_LONG_TYPES = _TYPES | {"n": c_int64}


@cache
def _codes() -> dict[str, str]:
    """Return the arguments of the functions for many matrices, by their exported names."""
    return {
        name.format(letter): codes
        for name, codes in _MANY.items()
        for letter in (DTYPES if "{}" in name else ("",))
    }


def _has_long(name: str) -> bool:
    return any(word in name for word in _WITH_LONG)


def batched_functions() -> dict[str, Function]:
    """Return the routines for many matrices, and mixed precision, under their exported names."""
    table = {}
    for name, codes in _codes().items():
        action = f"do {name.removeprefix('cublas')}"
        table[name] = Function(action, tuple([_TYPES[code] for code in codes]))
        if _has_long(name):
            types = tuple([_LONG_TYPES[code] for code in codes])
            table[f"{name}_64"] = Function(action, types)
    return table


def call_sized(library: Library, name: str, handle: object, *arguments: Any) -> None:
    """Call a function for many matrices, its variant for long sizes if need be.

    Raises
    ------
    ArgumentError
        If sizes need a variant that there is none of.
    """
    codes = _codes()[name]
    is_long = any(
        code == "n" and abs(value) > LARGEST_INT
        for code, value in zip(codes[1:], arguments, strict=True)
    )
    if is_long and not _has_long(name):
        raise too_large(name.removeprefix("cublas"))
    getattr(library, f"{name}_64" if is_long else name)(handle, *arguments)


def too_large(routine: str) -> ArgumentError:
    """Return the error for sizes that cuBLAS does not take."""
    return ArgumentError(
        f"{routine}: the arrays are too large for cuBLAS",
        detail=f"sizes and distances go up to {LARGEST_INT}",
    )


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
