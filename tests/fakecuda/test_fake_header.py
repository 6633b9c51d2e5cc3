from __future__ import annotations

import ctypes

import pytest

from tests.fakecuda.driver.library import cuda_header
from tests.fakecuda.header import parse_declarations, read_header, same_abi


def test_functions_have_the_names_that_the_library_exports() -> None:
    functions = cuda_header().functions
    assert "cuMemAlloc_v2" in functions
    assert "cuMemAlloc" not in functions
    assert functions["cuInit"].argtypes == (ctypes.c_uint,)
    assert functions["cuCtxSynchronize"].argtypes == ()


def test_parameters_have_names_spellings_and_types() -> None:
    address, size = cuda_header().functions["cuMemAlloc_v2"].parameters
    assert (address.name, address.spelling) == ("dptr", "CUdeviceptr *")
    assert address.ctype is ctypes.POINTER(ctypes.c_ulonglong)
    assert (size.name, size.ctype) == ("bytesize", ctypes.c_size_t)


def test_structures_are_laid_out_as_in_c() -> None:
    types = cuda_header().types
    assert ctypes.sizeof(types["CUDA_MEMCPY2D"]) == 128
    assert ctypes.sizeof(types["CUDA_MEMCPY3D"]) == 200
    assert ctypes.sizeof(types["CUipcMemHandle"]) == 64
    assert ctypes.sizeof(types["CUmemPoolProps"]) == 88
    assert types["CUDA_MEMCPY2D"].WidthInBytes.offset == 112


def test_constants_keep_their_values() -> None:
    header = cuda_header()
    assert header.enums["CUresult"]["CUDA_ERROR_ILLEGAL_ADDRESS"] == 700
    assert header.constants["CU_STREAM_NON_BLOCKING"] == 1


def test_headers_of_other_libraries_are_read() -> None:
    header = read_header("curand.h")
    assert len(header.functions) == 29
    normal = header.functions["curandGenerateNormal"]
    assert [p.name for p in normal.parameters] == ["generator", "outputPtr", "n", "mean", "stddev"]
    assert normal.argtypes[2:] == (ctypes.c_size_t, ctypes.c_float, ctypes.c_float)


def test_declarations_of_every_kind() -> None:
    header = parse_declarations("""
        typedef enum kind_e { A, B = 4, C, D = B | 1 << 3, E = 0x10u } kind;
        typedef struct pair_s { int first; union { float f; char c[4 + B]; };
                                void (*call)(int); } pair;
        typedef pair *handle;
        static inline int twice(int x) { if (x) { return x; } return 2 * x; }
        extern const char *text(kind k, const handle h[], unsigned char, pair by_value,
                                void (*call)(int, int)) __attribute__((nonnull(1)));
        long unsigned int none(void);
    """)
    assert dict(header.constants) == {"A": 0, "B": 4, "C": 5, "D": 12, "E": 16}
    pair = header.types["pair"]
    assert ctypes.sizeof(pair) == 24
    assert pair.f.offset == pair.c.offset == 4
    text = header.functions["text"]
    assert [p.name for p in text.parameters] == ["k", "h", "p2", "by_value", "p4"]
    assert text.argtypes[0] is ctypes.c_int
    assert text.argtypes[1] is ctypes.POINTER(ctypes.POINTER(pair))
    assert text.argtypes[2:] == (ctypes.c_ubyte, pair, ctypes.c_void_p)
    assert header.functions["none"].result is ctypes.c_ulong
    assert "twice" not in header.functions


class _Pair(ctypes.Structure):
    _fields_ = (("a", ctypes.c_int), ("b", ctypes.c_int))


@pytest.mark.parametrize(
    ("first", "second", "same"),
    [
        (ctypes.c_void_p, ctypes.POINTER(ctypes.c_int), True),
        (ctypes.c_char_p, ctypes.c_void_p, True),
        (ctypes.CFUNCTYPE(None), ctypes.c_void_p, True),
        (ctypes.c_uint64, ctypes.c_size_t, True),
        (ctypes.c_int, ctypes.c_uint, False),
        (ctypes.c_int, ctypes.c_long, False),
        (ctypes.c_float, ctypes.c_int, False),
        (ctypes.c_float, ctypes.c_double, False),
        (_Pair, ctypes.c_void_p, False),
        (None, None, True),
    ],
)
def test_types_that_c_passes_alike(first: object, second: object, same: bool) -> None:
    assert same_abi(first, second) is same
