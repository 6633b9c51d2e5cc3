"""The bound interface of cuBLAS against the vendor's header, where its package is installed."""

from __future__ import annotations

import ctypes

import pytest

from pygpulib._bindings import cublas
from pygpulib.blas.cuda_functions import routine_functions
from tests.fakecuda.header import find_include_folder, read_header, same_abi

try:
    find_include_folder("cublas_api.h")
except FileNotFoundError as absent:
    pytest.skip(str(absent), allow_module_level=True)

FUNCTIONS = {**cublas.FUNCTIONS, **routine_functions()}
# What the header includes and its package does not have.
MORE = """
typedef struct { float x, y; } cuComplex;
typedef struct { double x, y; } cuDoubleComplex;
"""
ENUMS = {
    "CUBLAS_OP_": cublas.OPERATIONS,
    "CUBLAS_SIDE_": {"LEFT": cublas.SIDES["L"], "RIGHT": cublas.SIDES["R"]},
    "CUBLAS_FILL_MODE_": {"LOWER": cublas.FILL_MODES["L"], "UPPER": cublas.FILL_MODES["U"]},
    "CUBLAS_DIAG_": {"NON_UNIT": cublas.DIAGONALS["N"], "UNIT": cublas.DIAGONALS["U"]},
    "CUBLAS_POINTER_MODE_": {
        "HOST": cublas.POINTER_MODE_HOST,
        "DEVICE": cublas.POINTER_MODE_DEVICE,
    },
    "CUBLAS_ATOMICS_": {
        "NOT_ALLOWED": cublas.ATOMICS_NOT_ALLOWED,
        "ALLOWED": cublas.ATOMICS_ALLOWED,
    },
    "CUBLAS_STATUS_": {name: code for code, (name, _) in cublas.STATUSES.items()},
    "CUBLAS_": {
        "DEFAULT_MATH": cublas.MATH_MODES["default"],
        "PEDANTIC_MATH": cublas.MATH_MODES["pedantic"],
        "TF32_TENSOR_OP_MATH": cublas.MATH_MODES["tf32"],
        "GEMM_DEFAULT": cublas.DEFAULT_ALGORITHM,
    },
    "CUBLAS_COMPUTE_": {
        "16F": cublas.COMPUTE_TYPES["float16"],
        "16F_PEDANTIC": cublas.COMPUTE_TYPES["float16 pedantic"],
        "32F": cublas.COMPUTE_TYPES["float32"],
        "32F_PEDANTIC": cublas.COMPUTE_TYPES["float32 pedantic"],
        "64F": cublas.COMPUTE_TYPES["float64"],
        "64F_PEDANTIC": cublas.COMPUTE_TYPES["float64 pedantic"],
        "32I": cublas.COMPUTE_TYPES["int32"],
        "32I_PEDANTIC": cublas.COMPUTE_TYPES["int32 pedantic"],
        "32F_FAST_16F": cublas.COMPUTE_TYPES["fast float16"],
        "32F_FAST_16BF": cublas.COMPUTE_TYPES["fast bfloat16"],
        "32F_FAST_TF32": cublas.COMPUTE_TYPES["tf32"],
    },
}


def header():
    return read_header("cublas_api.h", MORE)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_is_declared_as_in_the_header(name):
    bound, declared = FUNCTIONS[name], header().functions[name]
    assert bound.result is ctypes.c_int or same_abi(bound.result, declared.result)
    assert len(bound.arguments) == len(declared.parameters)
    for given, parameter in zip(bound.arguments, declared.parameters, strict=True):
        is_pointer = "*" in parameter.spelling or parameter.ctype is ctypes.c_void_p
        is_enum = parameter.spelling.startswith("cublas") and parameter.spelling.endswith("_t")
        if is_enum and "Handle" not in parameter.spelling:
            assert given is ctypes.c_int, parameter
        elif is_pointer or "Handle" in parameter.spelling or "Stream" in parameter.spelling:
            assert same_abi(given, ctypes.c_void_p), parameter
        else:
            assert same_abi(given, parameter.ctype), parameter


@pytest.mark.parametrize(
    ("prefix", "name"), [(prefix, name) for prefix, table in ENUMS.items() for name in table]
)
def test_a_constant_is_that_of_the_header(prefix, name):
    assert ENUMS[prefix][name] == header().constants[prefix + name]


def test_every_status_is_known():
    codes = header().enums["cublasStatus_t"].values()
    assert set(codes) == {0, *cublas.STATUSES}


def test_every_routine_is_exported():
    places = [find_include_folder("cublas_api.h").parent / "lib" / "libcublas.so.13"]
    exported = places[0].read_bytes()
    assert [name for name in FUNCTIONS if name.encode() + b"\0" not in exported] == []
