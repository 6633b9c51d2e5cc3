"""Functions for other compilers' kernels: a device function behind an entry of a known ABI.

* ``"c"``: parameters and result as a C function has them. An array is its pointer, its lengths and
  its strides in bytes, one parameter each; a complex number or a tuple is a structure where it is
  returned, and one parameter per part where it is passed.
* ``"numba"``: the result is written to an address that is the first parameter; a status, always 0,
  is returned.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pygpulib._record import replace
from pygpulib.core.dtypes import DType
from pygpulib.errors import UnsupportedFeatureError
from pygpulib.jit.backends.cuda.emit import function_attributes, write_callee
from pygpulib.jit.backends.cuda.line_info import write_module
from pygpulib.jit.backends.cuda.module import Module, needs_record
from pygpulib.jit.backends.cuda.thread import ThreadCode
from pygpulib.jit.backends.llvm.text import scalar_type
from pygpulib.jit.ir import ops as ir

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.target import CudaTarget

Abi = Literal["c", "numba"]


def emit_device_function(
    function: ir.Function, target: CudaTarget, name: str, abi: Abi, *, lineinfo: bool = False
) -> str:
    """Write a device function as an LLVM module.

    Parameters
    ----------
    function : ir.Function
        The function; its composed intrinsics have been expanded.
    target : CudaTarget
        The generation of GPUs.
    name : str
        Symbol of the entry.
    abi : str
        How it is called.
    lineinfo : bool
        Whether the text says which lines of the source instructions come from.

    Raises
    ------
    UnsupportedFeatureError
        If the function raises exceptions or prints: there is nobody to report to.
    """
    if needs_record(function):
        raise UnsupportedFeatureError(
            f"the device function {function.name} raises exceptions or prints, and is compiled "
            "for kernels of others",
            detail="only kernels of this package report to the host",
            help="compile it with debug=False, and without print",
        )
    # A function that calls itself is among its callees under its own name.
    function = replace(function, name=f"{function.name}.entry")
    body = ir.Block((), (ir.Return(()),))
    stub = ir.Function(name, (), body, callees=(function, *function.callees))
    module = Module(stub, target, name)
    _, symbol = module.callees[function.name]
    entry = _write_entry(module, function, symbol, abi)
    functions = [write_callee(module, *each) for each in module.callees.values()]
    code, header = functions[0]
    functions[0] = code, header.replace("noinline", "alwaysinline")
    return write_module(module, [entry, *functions], lineinfo=lineinfo)


def _write_entry(
    module: Module, function: ir.Function, symbol: str, abi: Abi
) -> tuple[ThreadCode, str]:
    code = ThreadCode()
    parameters, arguments = [], []
    for position, param in enumerate(function.params):
        parameter, argument = _pass_on(module, code, param, f"%p{position}")
        parameters.append(parameter)
        arguments.append(argument)
    call = f"call {module.result_type(function)} @{symbol}({', '.join(arguments)})"
    if function.result_types:
        result_type, result = _returned(code, module, function, code.emit(call))
    else:
        code.do(call)
        result_type, result = "void", ""
    if abi == "numba":
        if function.result_types:
            code.do(f"store {result_type} {result}, ptr %retval")
        parameters.insert(0, "ptr %retval")
        result_type, result = "i32", "0"
    code.do(f"ret {result_type} {result}".rstrip())
    header = f"define {result_type} @{module.name}({', '.join(parameters)})"
    return code, " ".join([header, *function_attributes(function)])


def _pass_on(module: Module, code: ThreadCode, param: ir.Value, name: str) -> tuple[str, str]:
    """Return a parameter of the entry, and the argument that it becomes."""
    wanted = module.spaces.text(param.type)
    if isinstance(param.type, DType):
        if not param.type.is_bool:
            return f"{wanted} {name}", f"{wanted} {name}"
        return f"i8 {name}", f"i1 {code.emit(f'icmp ne i8 {name}, 0')}"
    if wanted == "ptr":
        return f"ptr {name}", f"ptr {name}"
    return f"ptr {name}", f"{wanted} {code.emit(f'addrspacecast ptr {name} to {wanted}')}"


def _returned(
    code: ThreadCode, module: Module, function: ir.Function, result: str
) -> tuple[str, str]:
    """Return type and value that an entry returns for the structure that its body returns."""
    types = list(map(_plain_type, function.result_types))
    parts = []
    for position, type_ in enumerate(function.result_types):
        part = code.emit(f"extractvalue {module.result_type(function)} {result}, {position}")
        is_truth = isinstance(type_, DType) and type_.is_bool
        parts.append(code.emit(f"zext i1 {part} to i8") if is_truth else part)
    if len(parts) == 1:
        return types[0], parts[0]
    whole = f"{{ {', '.join(types)} }}"
    value = "poison"
    for position, (text, part) in enumerate(zip(types, parts, strict=True)):
        value = code.emit(f"insertvalue {whole} {value}, {text} {part}, {position}")
    return whole, value


def _plain_type(type_: ir.Type) -> str:
    """Return the type of a result in C: truth values are bytes."""
    return "i8" if isinstance(type_, DType) and type_.is_bool else scalar_type(type_)
