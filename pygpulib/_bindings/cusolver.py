"""The interface of cuSOLVER, the vendor's LAPACK."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_byte, c_int, c_int64, c_size_t, c_void_p
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

EIG_TYPES = {1: 1, 2: 2, 3: 3}
"""The kinds of generalized problems: a x = w b x, a b x = w x, and b a x = w x."""

_LETTERS = "SDCZ"

# What a caller of a routine makes room for, and how long it must be, in the terms of both kinds of
# routines: those of one dtype count elements in 32 bits, those of all dtypes count bytes in 64.
_SPACES = {"work": "lwork"}
_GENERIC_SPACES = {
    "bufferondevice": "workspaceinbytesondevice",
    "bufferonhost": "workspaceinbytesonhost",
}

_BUFFERS = " ".join(f"{space} {size}" for space, size in _GENERIC_SPACES.items())


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
        Those of the function that tells how much room it needs, None if it needs none.
    sizes : tuple of str
        Those among them that are told.
    """

    real: str
    complex: str
    arguments: tuple[str, ...]
    sizing: tuple[str, ...] | None
    sizes: tuple[str, ...]

    @property
    def is_generic(self) -> bool:
        """Whether one function serves all dtypes, with sizes of 64 bits."""
        return self.real.startswith("X")

    def function_name(self, letter: str) -> str:
        """Return the exported name for a dtype."""
        if self.is_generic:
            return f"cusolverDn{self.real}"
        return f"cusolverDn{letter}{self.complex if letter in 'CZ' else self.real}"


def _read(rows: str) -> dict[str, Routine]:
    """Return routines from lines of names and arguments."""
    routines = {}
    for row in rows.strip().splitlines():
        names, _, rest = row.partition("|")
        real, _, other = names.strip().partition("/")
        arguments = tuple(rest.replace("buffers", _BUFFERS).split())
        spaces = {**_SPACES, **_GENERIC_SPACES}
        sizes = tuple([each for each in arguments if each in spaces.values()])
        unread = {*spaces, "ipiv", "info"}
        sizing = tuple([each for each in arguments if each not in unread]) if sizes else None
        routines[real] = Routine(real, other or real, arguments, sizing, sizes)
    return routines


ROUTINES = _read(
    """
Xgetrf | params m n datatypea a lda ipiv computetype buffers info
Xgetrs | params trans n nrhs datatypea a lda ipiv datatypeb b ldb info
Xpotrf | params uplo n datatypea a lda computetype buffers info
Xpotrs | params uplo n nrhs datatypea a lda datatypeb b ldb info
Xgeqrf | params m n datatypea a lda datatypetau tau computetype buffers info
Xgesvd | params jobu jobvt m n datatypea a lda datatypes s datatypeu u ldu \
         datatypevt vt ldvt computetype buffers info
Xsyevd | params jobz uplo n datatypea a lda datatypew w computetype buffers info
Xgeev  | params jobvl jobvr n datatypea a lda datatypew w datatypevl vl ldvl \
         datatypevr vr ldvr computetype buffers info
orgqr/ungqr               | m n k a lda tau work lwork info
sygvd/hegvd               | itype jobz uplo n a lda b ldb w work lwork info
potrfBatched              | uplo n aarray lda infoarray batchsize
syevjBatched/heevjBatched | jobz uplo n a lda w work lwork info params batchsize
gesvdjBatched             | jobz m n a lda s u ldu v ldv work lwork info params batchsize
"""
)
"""The routines that are used, by their names for real numbers.

Xgeev is part of CUDA since 12.6, the others of all versions that this package works with.
"""

PARAMETERS = {
    "syevjBatched": "SyevjInfo",
    "gesvdjBatched": "GesvdjInfo",
}
"""Whose parameters are of which kind; those of generic routines are ``Params``."""

PARAMETER_KINDS = ("Params", *PARAMETERS.values())

_DIMENSIONS = frozenset(
    ["m", "n", "k", "nrhs", "lda", "ldb", "ldu", "ldv", "ldvt", "ldvl", "ldvr", "batchsize"]
)
_CODES = frozenset(["trans", "uplo", "jobz", "jobvl", "jobvr", "itype", "lwork", "computetype"])
_LETTER_ARGUMENTS = frozenset(["jobu", "jobvt"])


def _type_of(argument: str, is_generic: bool) -> Any:
    if argument in _DIMENSIONS:
        return c_int64 if is_generic else c_int
    if argument in _CODES or argument.startswith("datatype"):
        return c_int
    if argument in _GENERIC_SPACES.values():
        return c_size_t
    return c_byte if argument in _LETTER_ARGUMENTS else c_void_p


def _declare() -> dict[str, Function]:
    functions = {
        "cusolverDnCreate": Function("be set up", (POINTER(c_void_p),)),
        "cusolverDnDestroy": Function("be given up", (c_void_p,)),
        "cusolverDnSetStream": Function("use the stream", (c_void_p, c_void_p)),
        "cusolverGetVersion": Function("tell its version", (POINTER(c_int),)),
    }
    for kind in PARAMETER_KINDS:
        functions[f"cusolverDnCreate{kind}"] = Function("be set up", (POINTER(c_void_p),))
        functions[f"cusolverDnDestroy{kind}"] = Function("be given up", (c_void_p,))
    for routine in ROUTINES.values():
        for letter in _LETTERS:
            functions |= _declare_routine(routine, routine.function_name(letter))
    return functions


def _declare_routine(routine: Routine, name: str) -> dict[str, Function]:
    """Return a routine's function, and the one that tells how much room it needs."""

    def type_of(argument: str) -> Any:
        return _type_of(argument, routine.is_generic)

    what = routine.real.removeprefix("X")
    declared = {name: Function(f"do {what}", (c_void_p, *map(type_of, routine.arguments)))}
    if routine.sizing is not None:
        types = [
            POINTER(type_of(argument)) if argument in routine.sizes else type_of(argument)
            for argument in routine.sizing
        ]
        told = Function(f"tell the memory for {what}", (c_void_p, *types))
        declared[f"{name}_bufferSize"] = told
    return declared


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
