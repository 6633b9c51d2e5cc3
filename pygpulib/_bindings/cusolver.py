"""The interface of cuSOLVER, the vendor's LAPACK."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_byte, c_int, c_void_p
from functools import cache
from typing import Any

from pygpulib._bindings.library import Function, Library, open_shared
from pygpulib._bindings.wheels import find_in_wheels
from pygpulib._record import record
from pygpulib.errors import LibraryError

STATUSES = {
    1: ("NOT_INITIALIZED", "CUDA could not be used, or its memory is full"),
    2: ("ALLOC_FAILED", "there is not enough memory"),
    3: ("INVALID_VALUE", "an argument is outside its range"),
    4: ("ARCH_MISMATCH", "the GPU does not have what is needed"),
    5: ("MAPPING_ERROR", "memory of the GPU could not be reached"),
    6: ("EXECUTION_FAILED", "a kernel failed"),
    7: ("INTERNAL_ERROR", "something failed inside the library"),
    8: ("MATRIX_TYPE_NOT_SUPPORTED", "the library does not offer this kind of matrix"),
    9: ("NOT_SUPPORTED", "the library does not offer this"),
}
"""The statuses of dense routines: names without CUSOLVER_STATUS_, and what they mean."""

EIG_MODES = {"N": 0, "V": 1}
"""Whether eigenvectors are computed."""

_LETTERS = "SDCZ"


@record(eq=True)
class Routine:
    """A routine of cuSOLVER.

    Attributes
    ----------
    real, complex : str
        Its name without the letter of the dtype.
    arguments : tuple of str
        Its arguments but the handle, as the library's documentation names them in lower case.
    sizing : tuple of str or None
        Those of the function that tells how large the workspace must be, but for the size.
    """

    real: str
    complex: str
    arguments: tuple[str, ...]
    sizing: tuple[str, ...] | None

    def function_name(self, letter: str) -> str:
        """Return the exported name for a dtype."""
        return f"cusolverDn{letter}{self.complex if letter in 'CZ' else self.real}"


def _read(rows: str) -> dict[str, Routine]:
    """Return routines from lines of names, arguments, and arguments for the workspace."""
    routines = {}
    for row in rows.strip().splitlines():
        names, arguments, *sizing = [part.strip() for part in row.split("|")]
        real, _, other = names.partition("/")
        routines[real] = Routine(
            real,
            other or real,
            tuple(arguments.split()),
            tuple(sizing[0].split()) if sizing else None,
        )
    return routines


ROUTINES = _read(
    """
getrf       | m n a lda work ipiv info                                     | m n a lda
getrs       | trans n nrhs a lda ipiv b ldb info
potrf       | uplo n a lda work lwork info                                 | uplo n a lda
potrs       | uplo n nrhs a lda b ldb info
geqrf       | m n a lda tau work lwork info                                | m n a lda
orgqr/ungqr | m n k a lda tau work lwork info                              | m n k a lda tau
gesvd       | jobu jobvt m n a lda s u ldu vt ldvt work lwork rwork info   | m n
syevd/heevd | jobz uplo n a lda w work lwork info                          | jobz uplo n a lda w
"""
)
"""The routines that are used, by their names for real numbers."""

_INTEGERS = frozenset(
    ["m", "n", "k", "nrhs", "lda", "ldb", "ldu", "ldvt", "lwork", "trans", "uplo", "jobz"]
)
_LETTER_ARGUMENTS = frozenset(["jobu", "jobvt"])


def _type_of(argument: str) -> Any:
    if argument in _INTEGERS:
        return c_int
    return c_byte if argument in _LETTER_ARGUMENTS else c_void_p


def _declare() -> dict[str, Function]:
    functions = {
        "cusolverDnCreate": Function("be set up", (POINTER(c_void_p),)),
        "cusolverDnDestroy": Function("be given up", (c_void_p,)),
        "cusolverDnSetStream": Function("use the stream", (c_void_p, c_void_p)),
        "cusolverGetVersion": Function("tell its version", (POINTER(c_int),)),
    }
    for routine in ROUTINES.values():
        for letter in _LETTERS:
            name = routine.function_name(letter)
            types = [_type_of(argument) for argument in routine.arguments]
            functions[name] = Function(f"do {routine.real}", (c_void_p, *types))
            if routine.sizing is not None:
                sizes = [_type_of(argument) for argument in routine.sizing]
                functions[f"{name}_bufferSize"] = Function(
                    f"tell the memory for {routine.real}", (c_void_p, *sizes, POINTER(c_int))
                )
    return functions


FUNCTIONS = _declare()
"""All functions that are bound, under their exported names; each returns a status."""

WHEEL_PLACES = ("cu13/lib/libcusolver.so.12", "cusolver/lib/libcusolver.so.11")
LIBRARY_NAMES = ("libcusolver.so.12", "libcusolver.so.11")


class CuSolverError(LibraryError):
    """cuSOLVER refused a request.

    Attributes
    ----------
    code : int
        The status.
    """


def check_status(name: str, status: int) -> None:
    """Raise the error that a status of a function means."""
    if not status:
        return
    title, meaning = STATUSES.get(status, ("an unknown status", "nothing that this package knows"))
    error = CuSolverError(
        f"cuSOLVER could not {FUNCTIONS[name].action}: {meaning}",
        detail=f"{name} returned CUSOLVER_STATUS_{title} ({status})",
    )
    error.code = status
    raise error


@cache
def find_cusolver() -> Library | None:
    """Return the library, or None if it is not installed."""
    in_wheel = find_in_wheels(WHEEL_PLACES)
    handle = _find_with_dependencies() or open_shared([in_wheel] if in_wheel else LIBRARY_NAMES)
    if handle is None:
        return None
    library = Library("cuSOLVER", handle, FUNCTIONS, check_status)
    number = c_int()
    library.cusolverGetVersion(ctypes.byref(number))
    value = number.value
    library.version = f"{value // 1000}.{value % 1000 // 100}.{value % 100}"
    return library


def _find_with_dependencies() -> ctypes.CDLL | None:
    """Let NVIDIA's own finder load the libraries that cuSOLVER needs, and it."""
    try:
        from cuda import pathfinder
    except ImportError:
        return None
    try:
        found = pathfinder.load_nvidia_dynamic_lib("cusolver")
    except pathfinder.DynamicLibNotFoundError:
        return None
    return ctypes.CDLL(found.abs_path)
