"""The interface of cuRAND, the vendor's library of random numbers, as far as it is used here."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_double, c_float, c_int, c_size_t, c_uint, c_ulonglong, c_void_p
from functools import cache

from pygpulib._bindings.library import Function, Library, open_shared
from pygpulib._bindings.wheels import find_in_wheels
from pygpulib.errors import LibraryError

WHEEL_PLACES = ("cu13/lib/libcurand.so.10", "curand/lib/libcurand.so.10")
LIBRARY_NAMES = ("libcurand.so.10",)
# The library wants the CUDA runtime of its own generation in the process first.
_RUNTIME_PLACES = ("cu13/lib/libcudart.so.13", "cuda_runtime/lib/libcudart.so.12")

STATUSES = {
    100: ("VERSION_MISMATCH", "the library and its header are of different versions"),
    101: ("NOT_INITIALIZED", "there is no such generator"),
    102: ("ALLOCATION_FAILED", "there is not enough memory"),
    103: ("TYPE_ERROR", "the generator is of another type"),
    104: ("OUT_OF_RANGE", "an argument is outside its range"),
    105: ("LENGTH_NOT_MULTIPLE", "the length is no multiple of the dimensions, or odd for pairs"),
    106: ("DOUBLE_PRECISION_REQUIRED", "the GPU has no double precision"),
    201: ("LAUNCH_FAILURE", "a kernel failed"),
    202: ("PREEXISTING_FAILURE", "an earlier call of CUDA had failed"),
    203: ("INITIALIZATION_FAILED", "CUDA could not be used"),
    204: ("ARCH_MISMATCH", "the GPU does not have what is needed"),
    999: ("INTERNAL_ERROR", "something failed inside the library"),
}
"""Every status but success: its name without CURAND_STATUS_, and what it means."""

RNG_TYPES = {
    "TEST": 0,
    "PSEUDO_DEFAULT": 100,
    "PSEUDO_XORWOW": 101,
    "PSEUDO_MRG32K3A": 121,
    "PSEUDO_MTGP32": 141,
    "PSEUDO_MT19937": 142,
    "PSEUDO_PHILOX4_32_10": 161,
    "QUASI_DEFAULT": 200,
    "QUASI_SOBOL32": 201,
    "QUASI_SCRAMBLED_SOBOL32": 202,
    "QUASI_SOBOL64": 203,
    "QUASI_SCRAMBLED_SOBOL64": 204,
}
ORDERINGS = {
    "PSEUDO_BEST": 100,
    "PSEUDO_DEFAULT": 101,
    "PSEUDO_SEEDED": 102,
    "PSEUDO_LEGACY": 103,
    "PSEUDO_DYNAMIC": 104,
    "QUASI_DEFAULT": 201,
}
DIRECTION_VECTOR_SETS = {
    "DIRECTION_VECTORS_32_JOEKUO6": 101,
    "SCRAMBLED_DIRECTION_VECTORS_32_JOEKUO6": 102,
    "DIRECTION_VECTORS_64_JOEKUO6": 103,
    "SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6": 104,
}
METHODS = {
    "CHOOSE_BEST": 0,
    "ITR": 1,
    "KNUTH": 2,
    "HITR": 3,
    "M1": 4,
    "M2": 5,
    "BINARY_SEARCH": 6,
    "DISCRETE_GAUSS": 7,
    "REJECTION": 8,
    "DEVICE_API": 9,
    "FAST_REJECTION": 10,
    "3RD": 11,
    "DEFINITION": 12,
    "POISSON": 13,
}
"""Numbers of the library's enumerations, under their names without CURAND_ and what is common."""

_GENERATOR = c_void_p
# Arrays lie in device memory: their addresses are numbers.
_OUT = c_void_p

FUNCTIONS = {
    "curandGetVersion": Function("tell its version", (POINTER(c_int),)),
    "curandCreateGenerator": Function("make a generator", (POINTER(_GENERATOR), c_int)),
    "curandCreateGeneratorHost": Function(
        "make a generator on the host", (POINTER(_GENERATOR), c_int)
    ),
    "curandDestroyGenerator": Function("give up a generator", (_GENERATOR,)),
    "curandSetStream": Function("use the stream", (_GENERATOR, c_void_p)),
    "curandSetPseudoRandomGeneratorSeed": Function("set the seed", (_GENERATOR, c_ulonglong)),
    "curandSetGeneratorOffset": Function("set the offset", (_GENERATOR, c_ulonglong)),
    "curandSetGeneratorOrdering": Function("set the ordering", (_GENERATOR, c_int)),
    "curandSetQuasiRandomGeneratorDimensions": Function("set the dimensions", (_GENERATOR, c_uint)),
    "curandGenerateSeeds": Function("set up a generator", (_GENERATOR,)),
    "curandGenerate": Function("make raw numbers", (_GENERATOR, _OUT, c_size_t)),
    "curandGenerateLongLong": Function("make raw numbers", (_GENERATOR, _OUT, c_size_t)),
    "curandGenerateUniform": Function("make uniform numbers", (_GENERATOR, _OUT, c_size_t)),
    "curandGenerateUniformDouble": Function("make uniform numbers", (_GENERATOR, _OUT, c_size_t)),
    "curandGenerateNormal": Function(
        "make normal numbers", (_GENERATOR, _OUT, c_size_t, c_float, c_float)
    ),
    "curandGenerateNormalDouble": Function(
        "make normal numbers", (_GENERATOR, _OUT, c_size_t, c_double, c_double)
    ),
    "curandGenerateLogNormal": Function(
        "make log-normal numbers", (_GENERATOR, _OUT, c_size_t, c_float, c_float)
    ),
    "curandGenerateLogNormalDouble": Function(
        "make log-normal numbers", (_GENERATOR, _OUT, c_size_t, c_double, c_double)
    ),
    "curandGeneratePoisson": Function(
        "make Poisson numbers", (_GENERATOR, _OUT, c_size_t, c_double)
    ),
    "curandGetDirectionVectors32": Function(
        "tell its direction vectors", (POINTER(POINTER(c_uint)), c_int)
    ),
    "curandGetDirectionVectors64": Function(
        "tell its direction vectors", (POINTER(POINTER(c_ulonglong)), c_int)
    ),
    "curandGetScrambleConstants32": Function(
        "tell its scramble constants", (POINTER(POINTER(c_uint)),)
    ),
    "curandGetScrambleConstants64": Function(
        "tell its scramble constants", (POINTER(POINTER(c_ulonglong)),)
    ),
}
"""Every function under its exported name; each returns a status."""


class CuRandError(LibraryError):
    """cuRAND refused a request.

    Attributes
    ----------
    code : int
        The status that it returned.
    """


def check_status(name: str, status: int) -> None:
    """Raise the error that a status means.

    Raises
    ------
    CuRandError
        If it is not success.
    """
    if not status:
        return
    title, meaning = STATUSES.get(status, ("an unknown status", "nothing that this package knows"))
    error = CuRandError(
        f"cuRAND could not {FUNCTIONS[name].action}: {meaning}",
        detail=f"{name} returned {title} ({status})",
    )
    error.code = status
    raise error


@cache
def find_curand() -> Library | None:
    """Return the library, or None if it is not installed."""
    runtime, in_wheel = find_in_wheels(_RUNTIME_PLACES), find_in_wheels(WHEEL_PLACES)
    if in_wheel is not None and runtime is not None:
        open_shared([runtime])
    handle = open_shared([in_wheel] if in_wheel else LIBRARY_NAMES)
    if handle is None:
        handle = _find_elsewhere()
    if handle is None:
        return None
    library = Library("cuRAND", handle, FUNCTIONS, check_status)
    number = c_int()
    library.curandGetVersion(ctypes.byref(number))
    library.version = f"{number.value // 1000}.{number.value % 1000 // 100}.{number.value % 100}"
    return library


def _find_elsewhere() -> ctypes.CDLL | None:
    """Look where NVIDIA's own finder looks: conda packages, the CUDA toolkit."""
    try:
        from cuda import pathfinder
    except ImportError:
        return None
    try:
        found = pathfinder.load_nvidia_dynamic_lib("curand")
    except pathfinder.DynamicLibNotFoundError:
        return None
    return ctypes.CDLL(found.abs_path)


def open_curand(purpose: str) -> Library:
    """Return the library.

    Parameters
    ----------
    purpose : str
        What needs it, in the user's words.

    Raises
    ------
    LibraryError
        If it is not installed.
    """
    library = find_curand()
    if library is None:
        raise LibraryError(
            f"{purpose} needs cuRAND, which is not installed",
            detail="its tables belong to NVIDIA, and come with its library only",
            help="pip install pygpulib[cuda13] (or cuda12); it works without a GPU, too",
        )
    return library
