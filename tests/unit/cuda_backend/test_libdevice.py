"""Parts of CUDA's mathematical library, as LLVM IR."""

import re
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from pygpulib.errors import InternalError, LibraryError
from pygpulib.jit.backends.cuda import libdevice
from pygpulib.jit.backends.cuda.ptx import compile_ptx
from pygpulib.jit.backends.cuda.target import known_target
from pygpulib.jit.cache import DiskCache
from tests.helpers.packages import needs_vendor_packages

TARGET = known_target((8, 0))

SMALL = """\
; ModuleID = 'small'
target triple = "nvptx64-nvidia-gpulibs"

%struct.pair = type { i32, i32 }

@.str = private unnamed_addr constant [11 x i8] c"__CUDA_FTZ\\00", align 1
@table = internal addrspace(1) constant [2 x i32] [i32 1, i32 2], align 4

define float @__nv_outer(float %x) #0 {
  %y = call float @inner(float %x)
  ret float %y
}

define internal float @inner(float %x) #0 {
  %flag = call i32 @__nvvm_reflect(ptr @.str) #1
  %f = sitofp i32 %flag to float
  ret float %f
}

define i32 @__nv_table(i64 %i) #0 {
  %p = getelementptr i32, ptr addrspace(1) @table, i64 %i
  %v = load i32, ptr addrspace(1) %p
  ret i32 %v
}

declare i32 @__nvvm_reflect(ptr) #1

attributes #0 = { nounwind }
attributes #1 = { nounwind }
"""


def test_a_subset_has_what_its_functions_use_and_no_more():
    library = libdevice.index_library(SMALL)
    text = library.subset(["__nv_outer"], {"__CUDA_FTZ": 1})
    module = llvm.parse_assembly(text)
    module.verify()
    assert {function.name for function in module.functions} == {"__nv_outer", "inner"}
    assert "%flag = add i32 0, 1" in text
    assert "table" not in text
    assert "@table" in library.subset(["__nv_table"], {})


def test_questions_without_an_answer_are_answered_with_zero():
    assert "%flag = add i32 0, 0" in libdevice.index_library(SMALL).subset(["inner"], {})


@needs_vendor_packages
def test_the_index_has_all_functions_of_the_library():
    bitcode = Path(libdevice.find_libdevice()).read_bytes()
    module = llvm.parse_bitcode(bitcode)
    library = libdevice.load_libdevice()
    for function in module.functions:
        assert function.name in library.parts
    for variable in module.global_variables:
        assert variable.name in library.parts
    assert set(library.questions.values()) == {"__CUDA_FTZ", "__CUDA_PREC_SQRT", "__CUDA_ARCH"}


@needs_vendor_packages
def test_every_function_links_alone_and_nothing_stays_open():
    library = libdevice.load_libdevice()
    for name in library.parts:
        if name.startswith("__nv_"):
            module = llvm.parse_assembly(library.subset([name], {}))
            module.verify()
            open_names = [each.name for each in module.functions if each.is_declaration]
            assert all(each.startswith("llvm.") for each in open_names), name
            module.close()


def sqrt_kernel(fastmath):
    text = """
    declare float @__nv_sqrtf(float)
    define ptx_kernel void @k(ptr addrspace(1) %p, float %x) {
      %y = call float @__nv_sqrtf(float %x)
      store float %y, ptr addrspace(1) %p
      ret void
    }
    """
    return compile_ptx(text, TARGET, fastmath=fastmath)


@needs_vendor_packages
def test_square_roots_are_rounded_unless_math_is_fast():
    assert "sqrt.rn.f32" in sqrt_kernel(fastmath=False)
    assert "sqrt.approx.ftz.f32" in sqrt_kernel(fastmath=True)


@needs_vendor_packages
def test_functions_that_were_inlined_are_dropped():
    assert ".func" not in sqrt_kernel(fastmath=False)


@needs_vendor_packages
def test_a_function_that_does_not_exist():
    with pytest.raises(InternalError) as caught:
        libdevice.link_text(["__nv_sin", "__nv_wrong"], TARGET, fastmath=False)
    assert str(caught.value) == "CUDA's mathematical library has no function __nv_wrong"


@needs_vendor_packages
def test_the_index_comes_from_disk(tmp_path, monkeypatch):
    cache = DiskCache(str(tmp_path / "cuda"))
    monkeypatch.setattr(libdevice, "open_cache", lambda kind: cache)
    path = libdevice.find_libdevice()
    first = libdevice._load.__wrapped__(path)
    monkeypatch.setattr(libdevice, "index_library", None)
    second = libdevice._load.__wrapped__(path)
    assert second.text == first.text
    names = ["__nv_pow", "__nv_sinf"]
    assert second.subset(names, {"__CUDA_FTZ": 1}) == first.subset(names, {"__CUDA_FTZ": 1})


def test_a_missing_library_is_named_only_when_it_is_needed(monkeypatch):
    monkeypatch.setattr(libdevice, "find_libdevice", lambda: None)
    with pytest.raises(LibraryError) as caught:
        sqrt_kernel(fastmath=False)
    assert str(caught.value) == (
        "CUDA's library of mathematical functions, libdevice.10.bc, is not installed\n"
        "the kernel needs these functions of it: sqrtf\n"
        "help: install pygpulib[cuda13], or set CUDA_HOME to the folder of a CUDA toolkit"
    )
    assert ".entry k" in compile_ptx("define ptx_kernel void @k() { ret void }", TARGET)
    assert libdevice.library_version() == ""


@needs_vendor_packages
def test_the_version_changes_with_the_file():
    path, size, time = libdevice.library_version().rsplit(":", 2)
    assert path == libdevice.find_libdevice()
    assert int(size) == Path(path).stat().st_size
    assert re.fullmatch(r"\d+", time)
