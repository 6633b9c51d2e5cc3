"""The interface of cublasLt, the part of cuBLAS that finishes the elements of products."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_float, c_int, c_int32, c_int64, c_size_t, c_uint32, c_uint64, c_void_p
from functools import cache

from pygpulib._bindings.cublas import LT_WHEEL_PLACES, find_by_vendor, status_error
from pygpulib._bindings.library import Function, Library, open_shared
from pygpulib._bindings.wheels import find_in_wheels

# Numbers of attributes, and the C types of their values.
DESCRIPTION = {
    "pointer_mode": (2, c_int32),
    "transa": (3, c_int32),
    "transb": (4, c_int32),
    "epilogue": (7, c_uint32),
    "bias_pointer": (8, c_uint64),
}
"""What a product's description says besides its arithmetic."""

LAYOUT = {"order": (1, c_int32), "batch_count": (5, c_int32), "batch_offset": (6, c_int64)}
"""What a matrix's layout says besides its dtype, shape and leading dimension."""

PREFERENCE = {
    "workspace_bytes": (1, c_uint64),
    "reduction_schemes": (3, c_uint32),
    "alignment_a": (5, c_uint32),
    "alignment_b": (6, c_uint32),
    "alignment_c": (7, c_uint32),
    "alignment_d": (8, c_uint32),
}
"""What an algorithm may count on."""

EPILOGUES = {"": 1, "relu": 2, "bias": 4, "relu bias": 6, "gelu": 32, "gelu bias": 36}
REDUCE_IN_PLACE = 1
REDUCE_IN_COMPUTE_TYPE = 2
COLUMN_MAJOR = 0
NOT_SUPPORTED = 15
"""The status that says that there is no algorithm."""


class Algorithm(ctypes.Structure):
    """How a product is computed; only the library knows what is inside."""

    _fields_ = (("data", c_uint64 * 8),)


class Suggestion(ctypes.Structure):
    """An algorithm that the library suggests, and what it needs."""

    _fields_ = (
        ("algorithm", Algorithm),
        ("workspace_bytes", c_size_t),
        ("state", c_int),
        ("waves", c_float),
        ("reserved", c_int * 4),
    )


_SET = (c_void_p, c_int, c_void_p, c_size_t)

FUNCTIONS = {
    "cublasLtCreate": Function("be set up", (POINTER(c_void_p),)),
    "cublasLtDestroy": Function("be given up", (c_void_p,)),
    "cublasLtGetVersion": Function("tell its version", (), result=c_size_t, is_checked=False),
    "cublasLtMatmulDescCreate": Function("describe a product", (POINTER(c_void_p), c_int, c_int)),
    "cublasLtMatmulDescDestroy": Function("forget a product", (c_void_p,)),
    "cublasLtMatmulDescSetAttribute": Function("describe a product", _SET),
    "cublasLtMatrixLayoutCreate": Function(
        "describe a matrix", (POINTER(c_void_p), c_int, c_uint64, c_uint64, c_int64)
    ),
    "cublasLtMatrixLayoutDestroy": Function("forget a matrix", (c_void_p,)),
    "cublasLtMatrixLayoutSetAttribute": Function("describe a matrix", _SET),
    "cublasLtMatmulPreferenceCreate": Function("look for an algorithm", (POINTER(c_void_p),)),
    "cublasLtMatmulPreferenceDestroy": Function("look for an algorithm", (c_void_p,)),
    "cublasLtMatmulPreferenceSetAttribute": Function("look for an algorithm", _SET),
    # The status says whether there is one.
    "cublasLtMatmulAlgoGetHeuristic": Function(
        "look for an algorithm",
        (*[c_void_p] * 7, c_int, POINTER(Suggestion), POINTER(c_int)),
        is_checked=False,
    ),
    "cublasLtMatmul": Function(
        "multiply matrices",
        (*[c_void_p] * 12, POINTER(Algorithm), c_void_p, c_size_t, c_void_p),
    ),
}
"""The functions under their exported names."""


LIBRARY_NAMES = ("libcublasLt.so.13", "libcublasLt.so.12")


def check_status(name: str, status: int) -> None:
    """Raise the error that a status of a function means."""
    if status:
        raise status_error("cublasLt", status, FUNCTIONS[name].action, name)


@cache
def find_cublaslt() -> Library | None:
    """Return the library, or None if it is not installed."""
    in_wheel = find_in_wheels(LT_WHEEL_PLACES)
    handle = open_shared([in_wheel] if in_wheel else LIBRARY_NAMES) or find_by_vendor("cublasLt")
    if handle is None:
        return None
    library = Library("cublasLt", handle, FUNCTIONS, check_status)
    value = int(library.cublasLtGetVersion())
    library.version = f"{value // 10000}.{value % 10000 // 100}.{value % 100}"
    return library
