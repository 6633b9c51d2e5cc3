"""From a kernel's IR to the LLVM IR of a function that runs blocks of it.

A kernel without barriers is one function: loops over blocks, rows and gangs around the gang's
program. With barriers, the program is a function of its own that runs from one barrier to the
next, and the outer one resumes all gangs of a block in turn. The parameters are described in
``docs/design.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.jit.backends.cpu.barriers import block_barriers, find_crossing, find_split
from pygpulib.jit.backends.cpu.gang import Frame
from pygpulib.jit.backends.cpu.program import PARAMETER_WORD, Program
from pygpulib.jit.backends.cpu.rounds import Rounds
from pygpulib.jit.backends.cpu.shared import uses_shared
from pygpulib.jit.backends.cpu.walk import Coordinates, Walk
from pygpulib.jit.backends.cpu.workspace import Workspace
from pygpulib.jit.backends.llvm.text import Code

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.target import CpuTarget, CpuVariant
    from pygpulib.jit.ir import ops as ir

__all__ = ["PARAMETER_WORD", "emit_kernel"]


def emit_kernel(function: ir.Function, variant: CpuVariant, target: CpuTarget, name: str) -> str:
    """Write a kernel as an LLVM module.

    Parameters
    ----------
    function : ir.Function
        The kernel; its composed intrinsics have been expanded.
    variant : CpuVariant
        How the threads of a block lie on vectors.
    target : CpuTarget
        The processor.
    name : str
        Symbol of the function to define.

    Returns
    -------
    str
        LLVM IR with ``void @name(ptr words, i64 first_block, i64 end_block, i64 worker)``.

    Raises
    ------
    UnsupportedFeatureError
        If the kernel needs something that this back end does not have.
    """
    del target  # so far the same text is right for every processor
    split = find_split(function)
    if split:
        return _emit_resumable(function, variant, name, split)
    code = Code()
    walk = Walk(code, variant)
    program = Program(code, function, variant, walk)
    program.write_launch()
    workspace = None
    if uses_shared(function):
        workspace = Workspace(code, walk, program.gang.shared_places, frame_bytes=0)
        program.gang.shared = workspace.shared

    def run_gang(threads: Coordinates) -> None:
        program.set_threads(threads)
        program.write_body()

    def run_block(block: Coordinates) -> None:
        program.set_block(block)
        walk.each_gang(run_gang)

    walk.each_block(run_block)
    if workspace is not None:
        workspace.free()
    code.do("ret void")
    return _module([code], [_define(code, _kernel_header(name))])


def _emit_resumable(
    function: ir.Function, variant: CpuVariant, name: str, split: frozenset[int]
) -> str:
    inner, gang_name = Code(), f"{name}.gang"
    barriers = block_barriers(function)
    numbers = {id(op): number for number, op in enumerate(barriers, start=1)}
    frame = Frame(inner, frozenset(), split, numbers)
    program = Program(inner, function, variant, Walk(inner, variant))
    program.gang.frame, program.gang.is_split = frame, True
    program.write_launch()
    # Only what the program itself computes can be out of reach behind a barrier.
    frame.crossing = find_crossing(function, split) - program.gang.values.keys()
    rounds = Rounds(Code(), function, variant, gang_name)
    rounds.write_gang(program)
    rounds.write_kernel(program.gang.shared_places, frame.size_bytes)
    gang = _define(inner, f"define internal i32 @{gang_name}({rounds.PARAMETERS})")
    return _module([inner, rounds.code], [gang, _define(rounds.code, _kernel_header(name))])


def _kernel_header(name: str) -> str:
    words = "ptr noalias readonly %words"
    return f"define void @{name}({words}, i64 %first, i64 %end, i64 %worker)"


def _define(code: Code, header: str) -> str:
    return "\n".join([f"{header} {{", "entry:", *code.entry, *code.lines, "}", ""])


def _module(codes: list[Code], functions: list[str]) -> str:
    declarations = {name: text for code in codes for name, text in code.declarations.items()}
    data = [line for code in codes for line in code.globals]
    return "\n".join([*data, *declarations.values(), *functions])
