"""The interface of cuBLAS, the vendor's BLAS, apart from the routines themselves.

Those are made from the table in `pygpulib.blas.routines`, which knows their arguments.
"""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_void_p
from functools import cache, partial
from typing import TYPE_CHECKING

from pygpulib._bindings.library import Function, Library, open_shared
from pygpulib._bindings.wheels import find_in_wheels
from pygpulib.errors import LibraryError

if TYPE_CHECKING:
    from collections.abc import Mapping

STATUSES = {
    1: ("NOT_INITIALIZED", "CUDA could not be used, or its memory is full"),
    3: ("ALLOC_FAILED", "there is not enough memory"),
    7: ("INVALID_VALUE", "an argument is outside its range"),
    8: ("ARCH_MISMATCH", "the GPU does not have what is needed"),
    11: ("MAPPING_ERROR", "memory of the GPU could not be reached"),
    13: ("EXECUTION_FAILED", "a kernel failed"),
    14: ("INTERNAL_ERROR", "something failed inside the library"),
    15: ("NOT_SUPPORTED", "the library does not offer this"),
    16: ("LICENSE_ERROR", "the library found no license"),
}
"""Every status but success: its name without CUBLAS_STATUS_, and what it means."""

OPERATIONS = {"N": 0, "T": 1, "C": 2}
FILL_MODES = {"L": 0, "U": 1}
SIDES = {"L": 0, "R": 1}
DIAGONALS = {"N": 0, "U": 1}
POINTER_MODE_HOST = 0
POINTER_MODE_DEVICE = 1
ATOMICS_NOT_ALLOWED = 0
ATOMICS_ALLOWED = 1

MATH_MODES = {"default": 0, "pedantic": 2, "tf32": 3}

COMPUTE_TYPES = {
    "float16": 64,
    "float16 pedantic": 65,
    "float32": 68,
    "float32 pedantic": 69,
    "float64": 70,
    "float64 pedantic": 71,
    "int32": 72,
    "int32 pedantic": 73,
    "fast float16": 74,
    "fast bfloat16": 75,
    "tf32": 77,
}
DATA_TYPES = {
    "float32": 0,
    "float64": 1,
    "float16": 2,
    "int8": 3,
    "complex64": 4,
    "complex128": 5,
    "uint8": 8,
    "int32": 10,
    "bfloat16": 14,
}
DEFAULT_ALGORITHM = -1
"""Numbers of the library's enumerations."""

_HANDLE = c_void_p

FUNCTIONS = {
    "cublasCreate_v2": Function("be set up", (POINTER(_HANDLE),)),
    "cublasDestroy_v2": Function("be given up", (_HANDLE,)),
    "cublasGetVersion_v2": Function("tell its version", (_HANDLE, POINTER(c_int))),
    "cublasGetStatusString": Function(
        "explain a status", (c_int,), result=c_char_p, is_checked=False
    ),
    "cublasSetStream_v2": Function("use the stream", (_HANDLE, c_void_p)),
    "cublasSetWorkspace_v2": Function("use its workspace", (_HANDLE, c_void_p, c_size_t)),
    "cublasSetPointerMode_v2": Function("change where numbers are", (_HANDLE, c_int)),
    "cublasGetPointerMode_v2": Function("tell where numbers are", (_HANDLE, POINTER(c_int))),
    "cublasSetAtomicsMode": Function("allow atomic operations", (_HANDLE, c_int)),
    "cublasGetAtomicsMode": Function("tell of atomic operations", (_HANDLE, POINTER(c_int))),
    "cublasSetMathMode": Function("change its precision", (_HANDLE, c_int)),
    "cublasGetMathMode": Function("tell its precision", (_HANDLE, POINTER(c_int))),
}
"""The functions that are no routines, under their exported names; each returns a status."""

WHEEL_PLACES = ("cu13/lib/libcublas.so.13", "cublas/lib/libcublas.so.12")
LIBRARY_NAMES = ("libcublas.so.13", "libcublas.so.12")
# The library wants this one in the process first.
LT_WHEEL_PLACES = ("cu13/lib/libcublasLt.so.13", "cublas/lib/libcublasLt.so.12")


class CuBLASError(LibraryError):
    """cuBLAS refused a request, or an argument that it would refuse was given.

    Attributes
    ----------
    code : int
        The status.
    """


def status_error(library: str, status: int, action: str, name: str) -> CuBLASError:
    """Return the error that a status of a function of a library means."""
    title, meaning = STATUSES.get(status, ("an unknown status", "nothing that this package knows"))
    error = CuBLASError(
        f"{library} could not {action}: {meaning}",
        detail=f"{name} returned CUBLAS_STATUS_{title} ({status})",
    )
    error.code = status
    return error


error_of = partial(status_error, "cuBLAS")
"""Return the error that a status of a function of cuBLAS means."""


def find_cublas(routines: Mapping[str, Function]) -> Library | None:
    """Return the library with its routines, or None if it is not installed.

    Parameters
    ----------
    routines : mapping of str to Function
        The functions besides `FUNCTIONS`.
    """
    handle = _open()
    if handle is None:
        return None
    functions = {**FUNCTIONS, **routines}

    def check_status(name: str, status: int) -> None:
        if status:
            raise error_of(status, functions[name].action, name)

    library = Library("cuBLAS", handle, functions, check_status)
    number = c_int()
    library.cublasGetVersion_v2(None, ctypes.byref(number))
    value = number.value
    library.version = f"{value // 10000}.{value % 10000 // 100}.{value % 100}"
    return library


@cache
def _open() -> ctypes.CDLL | None:
    in_wheel, lt = find_in_wheels(WHEEL_PLACES), find_in_wheels(LT_WHEEL_PLACES)
    if in_wheel is not None and lt is not None:
        open_shared([lt])
    return open_shared([in_wheel] if in_wheel else LIBRARY_NAMES) or find_by_vendor("cublas")


def find_by_vendor(key: str) -> ctypes.CDLL | None:
    """Return a library from where NVIDIA's own finder looks: conda packages, the CUDA toolkit."""
    try:
        from cuda import pathfinder
    except ImportError:
        return None
    try:
        found = pathfinder.load_nvidia_dynamic_lib(key)
    except pathfinder.DynamicLibNotFoundError:
        return None
    return ctypes.CDLL(found.abs_path)
