"""From a kernel's IR to the LLVM IR of a GPU's kernel.

A kernel is a function with one parameter per flat argument, of the argument's own type (truth
values are bytes), and one more if it needs a launch record (`pygpulib.jit.backends.cuda.record`).
Each thread runs the function, so what the IR says of one thread is written down as it stands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core import dtypes
from pygpulib.jit.backends.cuda.alignment import PLAIN, Alignment
from pygpulib.jit.backends.cuda.control import emit_block
from pygpulib.jit.backends.cuda.grid_barrier import emit_arrival_counters
from pygpulib.jit.backends.cuda.line_info import write_module
from pygpulib.jit.backends.cuda.module import RECORD_TYPE, Module
from pygpulib.jit.backends.cuda.thread import Thread, ThreadCode
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.passes.intervals import range_of_type

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.target import CudaTarget


def emit_kernel(
    function: ir.Function,
    target: CudaTarget,
    name: str,
    *,
    lineinfo: bool = False,
    alignment: Alignment = PLAIN,
) -> str:
    """Write a kernel as an LLVM module.

    Parameters
    ----------
    function : ir.Function
        The kernel; its composed intrinsics have been expanded.
    target : CudaTarget
        The generation of GPUs, and bounds on what the kernel takes.
    name : str
        Symbol of the kernel; other symbols start with it.
    lineinfo : bool
        Whether the text says which lines of the source instructions come from.
    alignment : Alignment
        What is known of the arguments of every launch.

    Returns
    -------
    str
        LLVM IR with ``ptx_kernel void @name(...)``; functions of CUDA's mathematical library are
        declared and left open.

    Raises
    ------
    UnsupportedFeatureError
        If the kernel needs something that this back end does not have.
    """
    module = Module(function, target, name, alignment.apart)
    functions = [_write_kernel(module, alignment)]
    functions += [write_callee(module, *entry) for entry in module.callees.values()]
    return write_module(module, functions, lineinfo=lineinfo)


def _write_kernel(module: Module, alignment: Alignment) -> tuple[ThreadCode, str]:
    thread = Thread(module, module.kernel)
    parameters = [
        _receive(thread, param, position, alignment)
        for position, param in enumerate(module.kernel.params)
    ]
    emit_arrival_counters(thread)
    emit_block(thread, module.kernel.body)
    parameters += _record_parameter(module)
    attributes = [*function_attributes(module.kernel), *_bounds(module.target)]
    header = f"define ptx_kernel void @{module.name}({', '.join(parameters)})"
    return thread.code, " ".join([header, *attributes])


def write_callee(module: Module, callee: ir.Function, symbol: str) -> tuple[ThreadCode, str]:
    """Write a function that is called; return its code and the line that starts it."""
    thread = Thread(module, callee)
    parameters = []
    for position, param in enumerate(callee.params):
        thread.define(param, f"%p{position}")
        parameters.append(thread.typed(param))
    emit_block(thread, callee.body)
    parameters += _record_parameter(module)
    result_type = module.result_type(callee)
    header = f"define internal {result_type} @{symbol}({', '.join(parameters)})"
    return thread.code, " ".join([header, "noinline convergent", *function_attributes(callee)])


def _receive(thread: Thread, param: ir.Value, position: int, alignment: Alignment) -> str:
    """Write how an argument becomes a value; return the parameter's declaration."""
    name, type_ = f"%p{position}", thread.register_type(param)
    thread.define(param, name)
    if param.type == dtypes.bool_:
        thread.define(param, thread.code.emit(f"icmp ne i8 {name}, 0"))
        return f"i8 {name}"
    multiple = alignment.multiples.get(position, 1)
    align = f"align {multiple} " if multiple > 1 else ""
    if type_ == "ptr":
        # Arguments are of global memory, which makes for better code where LLVM can follow them.
        text = f"addrspacecast ptr addrspace(1) {name} to ptr"
        thread.define(param, thread.code.emit(text))
        return f"ptr addrspace(1) {align}{name}"
    if isinstance(param.type, ir.Pointer):
        return f"{type_} {align}{name}"
    if multiple > 1:
        _assume_multiple(thread.code, type_, name, multiple)
    end = alignment.ends.get(position)
    bounds = thread.function.param_ranges.get(param) if end is None else (0, end - 1)
    return f"{type_} {_range(param, bounds)}{name}"


def _assume_multiple(code: ThreadCode, type_: str, name: str, multiple: int) -> None:
    """Write what LLVM may take for granted of a whole number; it becomes no instruction."""
    rest = code.emit(f"and {type_} {name}, {multiple - 1}")
    code.call_void("llvm.assume", [("i1", code.emit(f"icmp eq {type_} {rest}, 0"))])


def _range(param: ir.Value, bounds: tuple[int, int] | None) -> str:
    """Return the attribute that says between which numbers a parameter lies."""
    whole = range_of_type(param.type)
    if bounds is None or whole is None or bounds == whole:
        return ""
    low, high = bounds
    type_ = param.type.llvm  # type: ignore[union-attr]
    # The end is not included, and wraps around.
    end = low_end if (low_end := high + 1) <= whole.high else whole.low
    return f"range({type_} {low}, {end}) "


def _record_parameter(module: Module) -> list[str]:
    return [f"{RECORD_TYPE} %record"] if module.has_record else []


def function_attributes(function: ir.Function) -> list[str]:
    """Return the attributes that a function gets for the numbers in it."""
    attributes = ["nounwind"]
    if function.numeric.fastmath:
        attributes.append('"denormal-fp-math-f32"="preserve-sign,preserve-sign"')
    return attributes


def _bounds(target: CudaTarget) -> list[str]:
    bounds = {
        "nvvm.maxntid": target.max_threads_per_block,
        "nvvm.minctasm": target.min_blocks,
        "nvvm.maxnreg": target.max_registers,
    }
    return [f'"{name}"="{bound}"' for name, bound in bounds.items() if bound]
