"""PTX that LLVM makes, for tests of the interpreter."""

from __future__ import annotations

import functools
import importlib.util
from pathlib import Path

import llvmlite.binding as llvm

TARGETS = ["sm_75", "sm_80", "sm_90", "sm_120"]

HEADER = """
target triple = "nvptx64-nvidia-cuda"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare void @llvm.nvvm.barrier0()
define internal i32 @number() alwaysinline {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %n = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %m = mul i32 %c, %n
  %i = add i32 %m, %t
  ret i32 %i
}
"""


@functools.cache
def compile_to_ptx(text: str, target: str, *, level: int = 3, libdevice: bool = False) -> str:
    """Compile LLVM IR (after `HEADER`) to PTX."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(HEADER + text)
    if libdevice:
        _link_libdevice(module)
    machine = llvm.Target.from_triple(module.triple).create_target_machine(cpu=target, opt=3)
    options = llvm.create_pipeline_tuning_options(speed_level=level)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(module, passes)
    return machine.emit_assembly(module)


def _link_libdevice(module: llvm.ModuleRef) -> None:
    own = {function.name for function in module.functions if not function.is_declaration}
    library = llvm.parse_bitcode(find_libdevice().read_bytes())
    library.triple, library.data_layout = module.triple, module.data_layout
    module.link_in(library)
    for function in module.functions:
        if not function.is_declaration and function.name not in own:
            function.linkage = "internal"


def find_libdevice() -> Path:
    """Return the file of the wheel nvidia-nvvm."""
    spec = importlib.util.find_spec("nvidia")
    assert spec is not None
    places = spec.submodule_search_locations or []
    return next(file for place in places for file in Path(place).rglob("libdevice.10.bc"))
