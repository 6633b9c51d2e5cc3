"""The bound interface of cublasLt against the vendor's header, where its package is installed."""

from __future__ import annotations

import ctypes

import pytest

from pygpulib._bindings import cublaslt
from tests.fakecuda.header import find_include_folder, read_header, same_abi

try:
    find_include_folder("cublasLt.h")
except FileNotFoundError as absent:
    pytest.skip(str(absent), allow_module_level=True)

# What the header includes and its package does not have.
MORE = """
typedef struct { float x, y; } cuComplex;
typedef struct { double x, y; } cuDoubleComplex;
typedef int cudaDataType;
"""
ENUMS = ("cublasComputeType_t", "cudaDataType", "cudaDataType_t")
CONSTANTS = {
    "CUBLASLT_MATMUL_DESC_POINTER_MODE": cublaslt.DESCRIPTION["pointer_mode"][0],
    "CUBLASLT_MATMUL_DESC_TRANSA": cublaslt.DESCRIPTION["transa"][0],
    "CUBLASLT_MATMUL_DESC_TRANSB": cublaslt.DESCRIPTION["transb"][0],
    "CUBLASLT_MATMUL_DESC_EPILOGUE": cublaslt.DESCRIPTION["epilogue"][0],
    "CUBLASLT_MATMUL_DESC_BIAS_POINTER": cublaslt.DESCRIPTION["bias_pointer"][0],
    "CUBLASLT_MATRIX_LAYOUT_ORDER": cublaslt.LAYOUT["order"][0],
    "CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT": cublaslt.LAYOUT["batch_count"][0],
    "CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET": cublaslt.LAYOUT["batch_offset"][0],
    "CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES": cublaslt.PREFERENCE["workspace_bytes"][0],
    "CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK": cublaslt.PREFERENCE["reduction_schemes"][0],
    **{
        f"CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_{letter}_BYTES": cublaslt.PREFERENCE[
            f"alignment_{letter.lower()}"
        ][0]
        for letter in "ABCD"
    },
    "CUBLASLT_EPILOGUE_DEFAULT": cublaslt.EPILOGUES[""],
    "CUBLASLT_EPILOGUE_RELU": cublaslt.EPILOGUES["relu"],
    "CUBLASLT_EPILOGUE_GELU": cublaslt.EPILOGUES["gelu"],
    "CUBLASLT_EPILOGUE_BIAS": cublaslt.EPILOGUES["bias"],
    "CUBLASLT_EPILOGUE_RELU_BIAS": cublaslt.EPILOGUES["relu bias"],
    "CUBLASLT_EPILOGUE_GELU_BIAS": cublaslt.EPILOGUES["gelu bias"],
    "CUBLASLT_REDUCTION_SCHEME_INPLACE": cublaslt.REDUCE_IN_PLACE,
    "CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE": cublaslt.REDUCE_IN_COMPUTE_TYPE,
    "CUBLASLT_ORDER_COL": cublaslt.COLUMN_MAJOR,
    "CUBLASLT_POINTER_MODE_HOST": 0,
    "CUBLASLT_POINTER_MODE_DEVICE": 1,
    "CUBLAS_STATUS_NOT_SUPPORTED": cublaslt.NOT_SUPPORTED,
}


def header():
    return read_header("cublasLt.h", MORE)


@pytest.mark.parametrize("name", cublaslt.FUNCTIONS)
def test_a_function_is_declared_as_in_the_header(name):
    bound, declared = cublaslt.FUNCTIONS[name], header().functions[name]
    assert bound.result is ctypes.c_int or same_abi(bound.result, declared.result)
    assert len(bound.arguments) == len(declared.parameters)
    for given, parameter in zip(bound.arguments, declared.parameters, strict=True):
        spelling = parameter.spelling.removeprefix("const ")
        if spelling in ENUMS or (spelling.endswith("_t") and "Attribute" in spelling):
            assert given is ctypes.c_int, parameter
        elif spelling.endswith("_t") and spelling.startswith(("cublasLt", "cudaStream")):
            assert same_abi(given, ctypes.c_void_p), parameter
        else:
            assert same_abi(given, parameter.ctype), parameter


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_is_that_of_the_header(name):
    assert CONSTANTS[name] == header().constants[name]


@pytest.mark.parametrize(
    ("bound", "declared"),
    [
        (cublaslt.Algorithm, "cublasLtMatmulAlgo_t"),
        (cublaslt.Suggestion, "cublasLtMatmulHeuristicResult_t"),
    ],
)
def test_a_structure_is_laid_out_as_in_the_header(bound, declared):
    theirs = header().types[declared]
    assert ctypes.sizeof(bound) == ctypes.sizeof(theirs)
    places = [getattr(bound, name).offset for name, _ in bound._fields_]
    assert places == [getattr(theirs, name).offset for name, _ in theirs._fields_]


def test_every_function_is_exported():
    library = find_include_folder("cublasLt.h").parent / "lib" / "libcublasLt.so.13"
    exported = library.read_bytes()
    assert [n for n in cublaslt.FUNCTIONS if n.encode() + b"\0" not in exported] == []


def test_the_library_tells_its_version_without_a_gpu():
    library = cublaslt.find_cublaslt()
    assert library is not None
    assert int(library.version.split(".")[0]) >= 12


@pytest.mark.parametrize(
    ("kind", "table"),
    [
        ("MatmulDesc", cublaslt.DESCRIPTION),
        ("MatrixLayout", cublaslt.LAYOUT),
        ("MatmulPreference", cublaslt.PREFERENCE),
    ],
)
def test_the_library_takes_attributes_and_tells_them(kind, table):
    library = cublaslt.find_cublaslt()
    descriptor, size = ctypes.c_void_p(), ctypes.c_size_t()
    arguments = {"MatmulDesc": (68, 0), "MatrixLayout": (0, 4, 5, 6), "MatmulPreference": ()}[kind]
    getattr(library, f"cublasLt{kind}Create")(ctypes.byref(descriptor), *arguments)
    tell = library._handle[f"cublasLt{kind}GetAttribute"]
    for name, (number, ctype) in table.items():
        given, told = ctype(4 if name == "epilogue" else 1), ctype(0)
        attribute = (descriptor, number, ctypes.byref(given), ctypes.sizeof(given))
        getattr(library, f"cublasLt{kind}SetAttribute")(*attribute)
        told_to = (ctypes.byref(told), ctypes.c_size_t(ctypes.sizeof(told)), ctypes.byref(size))
        assert tell(descriptor, number, *told_to) == 0
        assert (told.value, size.value) == (given.value, ctypes.sizeof(ctype)), name
    getattr(library, f"cublasLt{kind}Destroy")(descriptor)
