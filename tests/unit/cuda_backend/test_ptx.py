"""From LLVM IR to PTX."""

import os
import subprocess
import sys

import pytest

from pygpulib.errors import InternalError, UnsupportedFeatureError
from pygpulib.jit.backends.cuda.ptx import compile_ptx, describe_compilation, optimized_text
from pygpulib.jit.backends.cuda.target import known_target

TARGET = known_target((8, 0))


def kernel(body, declarations="", parameters="ptr addrspace(1) %p, float %x, float %y"):
    return f"{declarations}\ndefine ptx_kernel void @k({parameters}) {{\n{body}\nret void\n}}\n"


def test_an_entry_and_its_parameters():
    ptx = compile_ptx(kernel("store float %x, ptr addrspace(1) %p"), TARGET)
    assert ".visible .entry k(" in ptx
    assert ".target sm_80" in ptx
    assert ".version 7.0" in ptx
    assert ".param .f32 k_param_1" in ptx
    assert "st.global" in ptx


def test_code_is_optimized_as_far_as_asked():
    body = "%slot = alloca float\nstore float %x, ptr %slot\n%v = load float, ptr %slot\n"
    body += "store float %v, ptr addrspace(1) %p"
    assert ".local" not in compile_ptx(kernel(body), TARGET)
    assert ".local" in compile_ptx(kernel(body), TARGET, optimization=0)


def test_division_and_square_root_are_exact_unless_an_instruction_says_otherwise():
    body = """
      %d = fdiv{flag} float %x, %y
      %s = call{flag} float @llvm.sqrt.f32(float %d)
      store float %s, ptr addrspace(1) %p"""
    declaration = "declare float @llvm.sqrt.f32(float)"
    exact = compile_ptx(kernel(body.format(flag=""), declaration), TARGET)
    assert "div.rn.f32" in exact
    assert "sqrt.rn.f32" in exact
    fast = compile_ptx(kernel(body.format(flag=" afn"), declaration), TARGET)
    assert "div.approx.f32" in fast
    assert "sqrt.approx.f32" in fast


def test_denormals_are_flushed_where_a_function_says_so():
    text = kernel("%s = fadd float %x, %y\nstore float %s, ptr addrspace(1) %p")
    flushing = text.replace(") {", ') "denormal-fp-math-f32"="preserve-sign" {')
    assert "add.rn.f32" in compile_ptx(text, TARGET)
    assert "add.rn.ftz.f32" in compile_ptx(flushing, TARGET)


def test_contraction_where_it_is_allowed():
    body = "%m = fmul{flag} float %x, %y\n%a = fadd{flag} float %m, %x\n"
    body += "store float %a, ptr addrspace(1) %p"
    assert "fma.rn.f32" in compile_ptx(kernel(body.format(flag=" contract")), TARGET)
    assert "fma" not in compile_ptx(kernel(body.format(flag="")), TARGET)


def test_line_information_passes_through():
    text = """
    define ptx_kernel void @k(ptr addrspace(1) %p) !dbg !3 {
      store i32 1, ptr addrspace(1) %p, !dbg !5
      ret void, !dbg !5
    }
    !llvm.dbg.cu = !{!0}
    !llvm.module.flags = !{!2}
    !0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: DebugDirectivesOnly)
    !1 = !DIFile(filename: "program.py", directory: "/somewhere")
    !2 = !{i32 2, !"Debug Info Version", i32 3}
    !3 = distinct !DISubprogram(name: "k", file: !1, line: 7, unit: !0, type: !4,
      spFlags: DISPFlagDefinition)
    !4 = !DISubroutineType(types: !{})
    !5 = !DILocation(line: 8, column: 3, scope: !3)
    """
    ptx = compile_ptx(text, TARGET)
    assert 'program.py"' in ptx
    assert ".loc\t1 8 3" in ptx


def test_text_that_llvm_refuses():
    with pytest.raises(InternalError) as caught:
        compile_ptx("define void @k( { }", TARGET)
    message = str(caught.value)
    assert message.startswith("LLVM refuses the code that pygpulib generated\n")
    assert message.endswith("define void @k( { }")
    with pytest.raises(InternalError, match="LLVM refuses the code"):
        compile_ptx(kernel("%a = fadd float %missing, %x"), TARGET)


def test_functions_that_do_not_exist():
    text = kernel("%s = call double @sin(double 1.0)", "declare double @sin(double)")
    with pytest.raises(InternalError) as caught:
        compile_ptx(text, TARGET)
    assert str(caught.value) == (
        "the code of a kernel calls sin, which GPUs do not have\n"
        "help: set PYGPULIB_BACKEND=cpu: the same program runs on the processor"
    )


@pytest.mark.parametrize(
    ("name", "call", "declaration"),
    [
        ("llvm.sin.f64", "%s = call double @{}(double 1.0)", "declare double @{}(double)"),
        ("llvm.nvvm.wgmma.fence.sync.aligned", "call void @{}()", "declare void @{}()"),
    ],
)
def test_intrinsics_that_would_end_the_process(name, call, declaration):
    text = kernel(call.format(name), declaration.format(name))
    with pytest.raises(InternalError, match=f"calls {name}, which GPUs do not have"):
        compile_ptx(text, TARGET)


def test_an_instruction_of_newer_gpus():
    text = kernel(
        "%r = call i32 @llvm.nvvm.redux.sync.add(i32 1, i32 -1)\nstore i32 %r, ptr addrspace(1) %p",
        "declare i32 @llvm.nvvm.redux.sync.add(i32, i32)",
    )
    assert "redux.sync.add" in compile_ptx(text, TARGET)
    with pytest.raises(UnsupportedFeatureError) as caught:
        compile_ptx(text, known_target((7, 5)))
    assert str(caught.value) == (
        "the kernel uses an instruction that GPUs of compute capability 7.5 do not have\n"
        "llvm.nvvm.redux.sync.add needs 8.0 or newer"
    )


def test_library_functions_can_be_left_open():
    text = kernel("%s = call float @__nv_sinf(float %x)", "declare float @__nv_sinf(float)")
    with pytest.raises(InternalError, match="calls __nv_sinf"):
        compile_ptx(text, TARGET, link_libdevice=False)


def test_the_optimized_text():
    text = optimized_text(kernel("%a = fadd float %x, %y"), TARGET)
    assert "fadd" not in text
    assert "ptx_kernel" in text
    assert 'target triple = "nvptx64-nvidia-cuda"' in text


def test_a_description_names_all_that_decides():
    def describe(text="", cc=(8, 0), fastmath=False):
        return describe_compilation(text, known_target(cc), fastmath=fastmath, optimization=3)

    assert describe() == describe()
    different = [describe(), describe(cc=(9, 0)), describe(fastmath=True)]
    assert len(set(different)) == len(different)


# In a process of its own, because an intrinsic that cannot be selected ends it.
_SELECT_ALL = r"""
import re
from pygpulib.jit.backends.cuda import selection
from pygpulib.jit.backends.cuda.ptx import compile_ptx
from pygpulib.jit.backends.cuda.target import known_generations, known_target

def function(number, name, result, operands):
    parameters = ", ".join(f"{t} %a{i}" for i, t in enumerate(operands) if " " not in t)
    arguments = ", ".join(t if " " in t else f"{t} %a{i}" for i, t in enumerate(operands))
    declared = ", ".join(t.split()[0] for t in operands)
    call = f"call {result} @{name}({arguments})"
    body = call if result == "void" else f"%r = {call}"
    back = "ret void" if result == "void" else f"ret {result} %r"
    return (f"declare {result} @{name}({declared})",
            f"define {result} @f{number}({parameters}) {{ {body}\n {back} }}")

ROWS = []
for type_, suffix in (("half", "f16"), ("float", "f32"), ("double", "f64")):
    for name in ("ceil", "fabs", "floor", "rint", "roundeven", "sqrt", "trunc", "nearbyint"):
        ROWS.append((f"llvm.{name}.{suffix}", type_, [type_]))
    for name in ("copysign", "maxnum", "minnum"):
        ROWS.append((f"llvm.{name}.{suffix}", type_, [type_] * 2))
    ROWS.append((f"llvm.fma.{suffix}", type_, [type_] * 3))
for bits in (8, 16, 32, 64):
    for name in ("bitreverse", "ctpop"):
        ROWS.append((f"llvm.{name}.i{bits}", f"i{bits}", [f"i{bits}"]))
    for name in ("ctlz", "cttz", "abs"):
        ROWS.append((f"llvm.{name}.i{bits}", f"i{bits}", [f"i{bits}", "i1 false"]))
    for name in ("smax", "smin", "umax", "umin", "uadd.sat", "usub.sat", "sadd.sat", "ssub.sat"):
        ROWS.append((f"llvm.{name}.i{bits}", f"i{bits}", [f"i{bits}"] * 2))
    for name in ("fshl", "fshr"):
        ROWS.append((f"llvm.{name}.i{bits}", f"i{bits}", [f"i{bits}"] * 3))
    for name in ("smul", "umul", "sadd", "uadd", "ssub", "usub"):
        ROWS.append((f"llvm.{name}.with.overflow.i{bits}", f"{{ i{bits}, i1 }}", [f"i{bits}"] * 2))
    for type_, suffix in (("float", "f32"), ("double", "f64")):
        for name in ("fptosi", "fptoui"):
            ROWS.append((f"llvm.{name}.sat.i{bits}.{suffix}", f"i{bits}", [type_]))
N = "llvm.nvvm."
for name in ("ctaid.x", "tid.z", "ntid.y", "nctaid.x", "laneid", "lanemask.lt", "warpsize",
             "dynamic_smem_size", "clock", "smid", "nsmid", "warpid", "nwarpid"):
    ROWS.append((f"{N}read.ptx.sreg.{name}", "i32", []))
ROWS += [(f"{N}read.ptx.sreg.globaltimer", "i64", []), (f"{N}read.ptx.sreg.clock64", "i64", [])]
ROWS += [
    (f"{N}barrier.cta.sync.aligned.all", "void", ["i32 0"]),
    (f"{N}bar.warp.sync", "void", ["i32"]),
    (f"{N}membar.cta", "void", []), (f"{N}membar.gl", "void", []), (f"{N}membar.sys", "void", []),
    (f"{N}activemask", "i32", []), (f"{N}nanosleep", "void", ["i32"]), (f"{N}exit", "void", []),
    (f"{N}prmt", "i32", ["i32"] * 3),
    (f"{N}match.any.sync.i32", "i32", ["i32"] * 2),
    (f"{N}match.any.sync.i64", "i32", ["i32", "i64"]),
    (f"{N}match.all.sync.i32p", "{ i32, i1 }", ["i32"] * 2),
    (f"{N}match.all.sync.i64p", "{ i32, i1 }", ["i32", "i64"]),
]
for how in ("idx", "up", "down", "bfly"):
    ROWS.append((f"{N}shfl.sync.{how}.i32", "i32", ["i32"] * 4))
    ROWS.append((f"{N}shfl.sync.{how}.f32", "float", ["i32", "float", "i32", "i32"]))
    ROWS.append((f"{N}shfl.sync.{how}.i32p", "{ i32, i1 }", ["i32"] * 4))
for how in ("all", "any", "uni"):
    ROWS.append((f"{N}vote.{how}.sync", "i1", ["i32", "i1"]))
ROWS.append((f"{N}vote.ballot.sync", "i32", ["i32", "i1"]))

for name, _, _ in ROWS:
    assert selection._PLAIN.fullmatch(name), name
texts = [function(number, *row) for number, row in enumerate(ROWS)]
whole = "\n".join(part for both in texts for part in both)
for generation in known_generations():
    ptx = compile_ptx(whole, known_target(generation))
    missing = [number for number in range(len(ROWS)) if f" f{number}(" not in ptx]
    assert not missing, missing
"""


def test_all_intrinsics_are_selected_for_all_generations():
    ran = subprocess.run(
        [sys.executable, "-c", _SELECT_ALL],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert ran.returncode == 0, ran.stderr
