"""The bound interface of cuSOLVER against the vendor's header, where its package is installed."""

from __future__ import annotations

import ctypes
import functools

import pytest

from pygpulib._bindings import cusolver
from pygpulib._bindings.cublas import DATA_TYPES
from tests.fakecuda.header import find_include_folder, read_header, same_abi

try:
    find_include_folder("cusolverDn.h")
    find_include_folder("cublas_v2.h")
except FileNotFoundError as absent:
    pytest.skip(str(absent), allow_module_level=True)

ENUMS = ("cublasOperation_t", "cublasFillMode_t", "cusolverEigMode_t")


@functools.cache
def header():
    return read_header("cusolverDn.h")


@pytest.mark.parametrize("name", cusolver.FUNCTIONS)
def test_a_function_is_declared_as_in_the_header(name):
    bound, declared = cusolver.FUNCTIONS[name], header().functions[name]
    assert bound.result is ctypes.c_int
    assert len(bound.arguments) == len(declared.parameters)
    for given, parameter in zip(bound.arguments, declared.parameters, strict=True):
        kind = parameter.spelling
        if "*" in kind or kind in ("cusolverDnHandle_t", "cudaStream_t"):
            assert same_abi(given, ctypes.c_void_p), parameter
        elif kind in ENUMS:
            assert given is ctypes.c_int, parameter
        else:
            assert same_abi(given, parameter.ctype), parameter


@pytest.mark.parametrize("name", cusolver.ROUTINES)
def test_arguments_have_the_header_s_names(name):
    routine = cusolver.ROUTINES[name]
    declared = header().functions[routine.function_name("D")].parameters[1:]
    also = {"ipiv": "devipiv", "info": "devinfo", "work": "workspace"}
    for given, parameter in zip(routine.arguments, declared, strict=True):
        assert parameter.name.lower() in (given, also.get(given))


def test_constants_are_those_of_the_header():
    constants = header().constants
    for code, (name, _) in cusolver.STATUSES.items():
        assert constants[f"CUSOLVER_STATUS_{name}"] == code
    for number in cusolver.EIG_TYPES.values():
        assert constants[f"CUSOLVER_EIG_TYPE_{number}"] == number
    for name, code in {"float32": "R_32F", "float64": "R_64F", "complex64": "C_32F"}.items():
        assert constants[f"CUDA_{code}"] == DATA_TYPES[name]
    assert constants["CUDA_C_64F"] == DATA_TYPES["complex128"]
    assert constants["CUSOLVER_EIG_MODE_NOVECTOR"] == cusolver.EIG_MODES["N"]
    assert constants["CUSOLVER_EIG_MODE_VECTOR"] == cusolver.EIG_MODES["V"]
