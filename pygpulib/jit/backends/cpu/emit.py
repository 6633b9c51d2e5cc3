"""From a kernel's IR to the LLVM IR of a function that runs blocks of it.

A kernel without barriers is one function: loops over blocks, rows and gangs around the gang's
program. With barriers, the program is a function of its own that runs from one barrier to the
next, and the outer one resumes all gangs of a block in turn. The parameters are described in
``docs/design.md``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.jit.backends.cpu.barriers import (
    block_barriers,
    find_crossing,
    find_split,
    is_cooperative,
)
from pygpulib.jit.backends.cpu.callees import Callees
from pygpulib.jit.backends.cpu.gang import Frame
from pygpulib.jit.backends.cpu.half import add_conversions
from pygpulib.jit.backends.cpu.program import Program
from pygpulib.jit.backends.cpu.reports import memory_error, overflow_error
from pygpulib.jit.backends.cpu.rounds import Rounds
from pygpulib.jit.backends.cpu.shared import place_shared, uses_piece
from pygpulib.jit.backends.cpu.walk import Coordinates, Walk
from pygpulib.jit.backends.cpu.workspace import Workspace
from pygpulib.jit.backends.llvm.text import Code
from pygpulib.jit.backends.messages import find_prints

if TYPE_CHECKING:
    from pygpulib.jit.backends.cpu.target import CpuTarget, CpuVariant
    from pygpulib.jit.ir import ops as ir


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
        LLVM IR with ``void @name(ptr words, i64 first_block, i64 end_block, i64 worker,
        ptr stop)``.

    Raises
    ------
    UnsupportedFeatureError
        If the kernel needs something that this back end does not have.
    """
    print_numbers = {id(op): number for number, op in enumerate(find_prints(function))}
    callees = Callees(function, variant, name, print_numbers, overflow_error(function))
    split = find_split(function)
    if split:
        text = _emit_resumable(function, variant, name, split, callees)
    else:
        text = _emit_straight(function, variant, name, callees)
    return text if target.has_float16 else add_conversions(text)


def _emit_straight(function: ir.Function, variant: CpuVariant, name: str, callees: Callees) -> str:
    code = Code()
    walk = Walk(code, variant)
    places = place_shared(function, variant.width)
    program = Program(code, function, variant, walk, callees, places)
    workspace, memory = None, ""
    if uses_piece(function, places):
        workspace = Workspace(code, walk, places, frame_bytes=0)
        memory = workspace.allocate(memory_error(function))
        program.gang.shared = workspace.shared
    program.write_launch()

    def run_gang(threads: Coordinates) -> None:
        program.set_threads(threads)
        program.write_body()

    def run_block(block: Coordinates) -> None:
        program.set_block(block)
        walk.each_gang(run_gang)

    walk.each_block(run_block)
    if workspace is not None:
        workspace.free(memory)
    code.do("ret void")
    return _module([(code, _kernel_header(name)), *callees.write()])


def _emit_resumable(
    function: ir.Function,
    variant: CpuVariant,
    name: str,
    split: frozenset[int],
    callees: Callees,
) -> str:
    inner, gang_name = Code(), f"{name}.gang"
    barriers = block_barriers(function)
    numbers = {id(op): number for number, op in enumerate(barriers, start=1)}
    frame = Frame(inner, frozenset(), split, numbers)
    # Local arrays survive barriers: they lie in the gangs' frames.
    places = place_shared(function, 0)
    program = Program(inner, function, variant, Walk(inner, variant), callees, places)
    program.gang.frame, program.gang.is_split = frame, True
    program.gang.shared = "%shared"
    program.write_launch()
    # Only what the program itself computes can be out of reach behind a barrier.
    frame.crossing = find_crossing(function, split) - program.gang.values.keys()
    rounds = Rounds(Code(), function, variant, gang_name)
    rounds.write_gang(program)
    rounds.write_kernel(places, frame.size_bytes)
    functions = [
        (inner, f"define internal i32 @{gang_name}({rounds.PARAMETERS})"),
        (rounds.code, _kernel_header(name)),
    ]
    if is_cooperative(function):
        sizes = rounds.write_sizes(places, frame.size_bytes)
        functions.append((sizes, f"define i64 @{name}.block_bytes(ptr %words)"))
    return _module([*functions, *callees.write()])


def _kernel_header(name: str) -> str:
    words = "ptr noalias readonly %words"
    return f"define void @{name}({words}, i64 %first, i64 %end, i64 %worker, ptr %stop)"


def _module(functions: list[tuple[Code, str]]) -> str:
    """Write a module of functions, each given by its code and the line that starts it."""
    codes = [code for code, _ in functions]
    declarations = {name: text for code in codes for name, text in code.declarations.items()}
    data = [line for code in codes for line in code.globals]
    definitions = [
        "\n".join([f"{header} {{", "entry:", *code.entry, *code.lines, "}", ""])
        for code, header in functions
    ]
    return "\n".join([*data, *declarations.values(), *definitions])
