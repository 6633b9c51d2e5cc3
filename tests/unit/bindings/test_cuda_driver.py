"""The bound interface of the CUDA driver against the vendor's header."""

from __future__ import annotations

import ctypes

import pytest

from pygpulib._bindings import cuda_driver
from pygpulib._bindings.cuda_constants import (
    DEVICE_ATTRIBUTES,
    FUNCTION_ATTRIBUTES,
    STATUS_NAMES,
)
from tests.fakecuda.driver.library import cuda_header
from tests.fakecuda.header import find_include_folder, same_abi
from tests.helpers.packages import needs_vendor_packages

pytestmark = needs_vendor_packages

STRUCTURES = {
    "Uuid": "CUuuid",
    "IpcMemHandle": "CUipcMemHandle",
    "MemLocation": "CUmemLocation",
    "MemAccessDesc": "CUmemAccessDesc",
    "MemPoolProps": "CUmemPoolProps",
    "Memcpy2D": "CUDA_MEMCPY2D",
    "Memcpy3D": "CUDA_MEMCPY3D",
}
CONSTANTS = {
    "SUCCESS": "CUDA_SUCCESS",
    "EVENT_DEFAULT": "CU_EVENT_DEFAULT",
    "EVENT_DISABLE_TIMING": "CU_EVENT_DISABLE_TIMING",
    "STREAM_DEFAULT": "CU_STREAM_DEFAULT",
    "STREAM_NON_BLOCKING": "CU_STREAM_NON_BLOCKING",
    "ATTACH_GLOBAL": "CU_MEM_ATTACH_GLOBAL",
    "IPC_LAZY_PEER_ACCESS": "CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS",
    "POINTER_DEVICE_ORDINAL": "CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL",
    "MEMORY_TYPE_HOST": "CU_MEMORYTYPE_HOST",
    "MEMORY_TYPE_DEVICE": "CU_MEMORYTYPE_DEVICE",
    "ALLOCATION_PINNED": "CU_MEM_ALLOCATION_TYPE_PINNED",
    "LOCATION_DEVICE": "CU_MEM_LOCATION_TYPE_DEVICE",
    "ACCESS_READ_WRITE": "CU_MEM_ACCESS_FLAGS_PROT_READWRITE",
    "POOL_RELEASE_THRESHOLD": "CU_MEMPOOL_ATTR_RELEASE_THRESHOLD",
    "JIT_ERROR_LOG_BUFFER": "CU_JIT_ERROR_LOG_BUFFER",
    "JIT_ERROR_LOG_BUFFER_SIZE": "CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES",
    "JIT_GENERATE_LINE_INFO": "CU_JIT_GENERATE_LINE_INFO",
}
# Defined by macros, which the header's reader does not keep.
MACROS = {
    "HOST_ALLOC_PORTABLE": "CU_MEMHOSTALLOC_PORTABLE",
    "HOST_ALLOC_MAPPED": "CU_MEMHOSTALLOC_DEVICEMAP",
    "HOST_REGISTER_PORTABLE": "CU_MEMHOSTREGISTER_PORTABLE",
    "HOST_REGISTER_MAPPED": "CU_MEMHOSTREGISTER_DEVICEMAP",
}
STATUSES = (
    "INVALID_VALUE",
    "OUT_OF_MEMORY",
    "NOT_INITIALIZED",
    "DEINITIALIZED",
    "NO_DEVICE",
    "INVALID_DEVICE",
    "NOT_READY",
    "PEER_ACCESS_ALREADY_ENABLED",
    "CONTEXT_IS_DESTROYED",
    "HOST_MEMORY_ALREADY_REGISTERED",
)


def pointee(ctype):
    """Return what a pointer points to; None where its type does not say."""
    return getattr(ctype, "_type_", None) if issubclass(ctype, ctypes._Pointer) else None


@pytest.mark.parametrize("name", cuda_driver.FUNCTIONS)
def test_a_function_is_declared_as_in_the_header(name):
    bound = cuda_driver.FUNCTIONS[name]
    declared = cuda_header().functions[name]
    assert same_abi(bound.result, declared.result)
    assert len(bound.arguments) == len(declared.argtypes)
    for given, wanted, parameter in zip(
        bound.arguments, declared.argtypes, declared.parameters, strict=True
    ):
        assert same_abi(given, wanted), parameter
        if pointee(given) is not None and pointee(wanted) is not None:
            assert same_abi(pointee(given), pointee(wanted)), parameter


@pytest.mark.parametrize("name", STRUCTURES)
def test_a_structure_is_laid_out_as_in_the_header(name):
    bound, declared = getattr(cuda_driver, name), cuda_header().types[STRUCTURES[name]]
    assert ctypes.sizeof(bound) == ctypes.sizeof(declared)
    offsets = {getattr(declared, field[0]).offset for field in declared._fields_}
    for field in bound._fields_:
        assert getattr(bound, field[0]).offset in offsets, field[0]


@pytest.mark.parametrize("name", ["Memcpy2D", "Memcpy3D"])
def test_the_fields_of_a_copy_are_in_the_order_of_the_header(name):
    def plain(field):
        return field[0].replace("_", "").lower()

    declared = cuda_header().types[STRUCTURES[name]]
    bound = getattr(cuda_driver, name)
    assert [plain(field) for field in bound._fields_] == [plain(f) for f in declared._fields_]
    assert all(
        same_abi(given[1], wanted[1])
        for given, wanted in zip(bound._fields_, declared._fields_, strict=True)
    )


@pytest.mark.parametrize("name", CONSTANTS)
def test_a_constant_is_that_of_the_header(name):
    assert getattr(cuda_driver, name) == cuda_header().constants[CONSTANTS[name]]


@pytest.mark.parametrize("name", MACROS)
def test_a_macro_is_that_of_the_header(name):
    text = (find_include_folder("cuda.h") / "cuda.h").read_text()
    line = next(line for line in text.splitlines() if line.startswith(f"#define {MACROS[name]} "))
    assert getattr(cuda_driver, name) == int(line.split()[-1], 0)


@pytest.mark.parametrize("name", STATUSES)
def test_a_status_has_its_number(name):
    assert getattr(cuda_driver, name) == cuda_header().constants[f"CUDA_ERROR_{name}"]


def test_the_names_of_statuses_are_those_of_the_header():
    header = cuda_header().enums["CUresult"]
    assert header == {"CUDA_SUCCESS": 0} | {name: code for code, name in STATUS_NAMES.items()}


@pytest.mark.parametrize(
    ("table", "prefix"),
    [(DEVICE_ATTRIBUTES, "CU_DEVICE_ATTRIBUTE_"), (FUNCTION_ATTRIBUTES, "CU_FUNC_ATTRIBUTE_")],
)
def test_attributes_have_the_numbers_of_the_header(table, prefix):
    constants = cuda_header().constants
    assert table == {name: constants[prefix + name] for name in table}
