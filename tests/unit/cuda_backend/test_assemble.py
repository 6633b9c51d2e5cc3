"""Translating PTX without a GPU."""

import ctypes
import re
from pathlib import Path

import pytest

from pygpulib._bindings import nvjitlink
from pygpulib.errors import ImageError, LibraryError
from pygpulib.jit.backends.cuda import assemble as module
from pygpulib.jit.backends.cuda.assemble import assemble, assemble_with_log, is_available
from pygpulib.jit.backends.cuda.ptx import compile_ptx
from pygpulib.jit.backends.cuda.target import known_generations, known_target, sm_name
from tests.helpers.packages import needs_vendor_packages

pytestmark = needs_vendor_packages

KERNEL = """
declare double @__nv_sin(double)
define ptx_kernel void @k(ptr addrspace(1) %p, double %x) {
  %s = call double @__nv_sin(double %x)
  store double %s, ptr addrspace(1) %p
  ret void
}
"""


def test_code_for_its_own_and_a_newer_generation():
    ptx = compile_ptx(KERNEL, known_target((7, 5)))
    for sm in ("sm_75", "sm_90", "sm_120"):
        assert assemble(ptx, sm).startswith(b"\x7fELF")


# 10.1 was renamed to 11.0: toolkits of CUDA 13 do not know the old name.
@pytest.mark.parametrize("generation", sorted({*known_generations()} - {(10, 1)}), ids=sm_name)
def test_every_generation(generation):
    ptx = compile_ptx(KERNEL, known_target(generation))
    assert assemble(ptx, sm_name(generation)).startswith(b"\x7fELF")


def test_the_log_tells_the_registers():
    found = assemble_with_log(compile_ptx(KERNEL, known_target((8, 0))), "sm_80", ["-verbose"])
    assert re.search(r"used \d+ registers", found.log)


def test_a_program_that_is_wrong():
    ptx = ".version 7.0\n.target sm_80\n.address_size 64\n.visible .entry k() { foo.bar %r1; }\n"
    with pytest.raises(ImageError) as caught:
        assemble(ptx, "sm_80")
    message = str(caught.value)
    assert message.startswith("nvJitLink could not ")
    assert " for sm_80\n" in message
    assert "foo" in message


def test_a_generation_that_does_not_exist():
    with pytest.raises(LibraryError) as caught:
        assemble("", "sm_1")
    message = str(caught.value)
    assert re.match(r"nvJitLink \d+\.\d+ makes no code for sm_1\nit does for sm_75, ", message)


def test_no_library(monkeypatch):
    monkeypatch.setattr(module, "_open", lambda: None)
    assert not is_available()
    with pytest.raises(LibraryError) as caught:
        assemble("", "sm_80")
    assert str(caught.value) == (
        "nvJitLink, which translates PTX without a GPU, is not installed\n"
        "help: install nvidia-nvjitlink, or let the driver translate the code"
    )


def test_the_table_agrees_with_the_header():
    from pygpulib._bindings.wheels import find_in_wheels

    path = find_in_wheels(["cu13/include/nvJitLink.h"])
    assert path is not None
    header = Path(path).read_text()
    for name, function in nvjitlink.FUNCTIONS.items():
        declared = re.search(rf"extern nvJitLinkResult {name}\s*\(([^;]*)\);", header)
        parameters = [each.strip() for each in declared[1].split(",")]
        assert len(parameters) == len(function.arguments), name
        for parameter, type_ in zip(parameters, function.arguments, strict=True):
            is_pointer = "*" in parameter or parameter.startswith("nvJitLinkHandle")
            assert ctypes.sizeof(type_) == (8 if is_pointer or "size_t" in parameter else 4), name
    for number, text in nvjitlink.ERROR_NAMES.items():
        assert re.search(rf"NVJITLINK_ERROR_{text}\b", header), (number, text)
    kinds = re.findall(r"^  NVJITLINK_INPUT_(\w+)", header, re.MULTILINE)
    assert kinds[nvjitlink.INPUT_PTX] == "PTX"
