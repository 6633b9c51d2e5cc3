"""PTX of a function, made in advance and without a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pygpulib._record import record, replace
from pygpulib.core.dtypes import DType
from pygpulib.errors import KernelTypeError, UnsupportedFeatureError
from pygpulib.jit import types
from pygpulib.jit.backends.cuda.compiler import prepare
from pygpulib.jit.backends.cuda.device_code import Abi, emit_device_function
from pygpulib.jit.backends.cuda.emit import emit_kernel
from pygpulib.jit.backends.cuda.kernel import entry_name
from pygpulib.jit.backends.cuda.ptx import compile_ptx
from pygpulib.jit.dispatcher import compile_composed
from pygpulib.jit.frontend.compile import compile_function, resolve_result_type
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.builder import Builder
from pygpulib.jit.passes.pipeline import optimize

if TYPE_CHECKING:
    from collections.abc import Callable

    from pygpulib.jit.backends.cuda.target import CudaTarget
    from pygpulib.jit.options import CompileOptions


class Compiled(NamedTuple):
    """PTX, and the type of what the function returns."""

    code: str
    result_type: types.Type


@record(eq=True)
class OfflineOptions:
    """How a function is compiled in advance.

    Attributes
    ----------
    target : CudaTarget
        The generation of GPUs.
    options : CompileOptions
        As for kernels.
    abi : str or None
        How a device function is called, see `pygpulib.jit.backends.cuda.device_code`; None for a
        kernel.
    name : str
        Symbol of the function; empty for the function's own name.
    """

    target: CudaTarget
    options: CompileOptions
    abi: Abi | None = None
    name: str = ""


def compile_offline(
    py_func: Callable[..., object], signature: types.FunctionSignature, how: OfflineOptions
) -> Compiled:
    """Compile a function to PTX.

    Parameters
    ----------
    py_func : function
        A kernel, or a device function.
    signature : FunctionSignature
        Types of the parameters and, if it has one, what the result is converted to.
    how : OfflineOptions
        How to compile it.

    Raises
    ------
    KernelTypeError
        If the result is not of the type that the signature says, or a kernel returns something.
    CompileError
        If the function is not in the kernel language or does not fit the types.
    """
    parameters, options = signature.parameters, how.options
    name = how.name or entry_name(getattr(py_func, "__name__", "function"))
    result_type = _result_type(py_func, signature, how)
    function = compile_function(py_func, parameters, options, name, is_kernel=how.abi is None)
    _refuse_captures(function)
    if how.abi is not None:
        function = _convert_results(function, result_type)
    function = prepare(optimize(function), compile_composed)
    lineinfo = options.hints.lineinfo
    if how.abi is None:
        text = emit_kernel(function, how.target, name, lineinfo=lineinfo)
    else:
        text = emit_device_function(function, how.target, name, how.abi, lineinfo=lineinfo)
    ptx = compile_ptx(
        text, how.target, fastmath=options.fastmath, optimization=3 if options.hints.optimize else 0
    )
    return Compiled(ptx, result_type)


def _result_type(
    py_func: Callable[..., object], signature: types.FunctionSignature, how: OfflineOptions
) -> types.Type:
    """Return the type of the result: as declared, or as found."""
    found = resolve_result_type(py_func, signature.parameters, how.options)
    declared = found if signature.result is None else signature.result
    if how.abi is None:
        for type_ in (found, declared):
            if type_ != types.void:
                raise KernelTypeError(
                    f"{getattr(py_func, '__name__', py_func)} returns {type_}",
                    detail="CUDA kernel must have void return type.",
                    help="compile it as a device function, with device=True",
                )
        return types.void
    is_number = isinstance(found, types.ScalarType) and isinstance(declared, types.ScalarType)
    if found != declared and not is_number:
        raise KernelTypeError(
            f"{getattr(py_func, '__name__', py_func)} returns {found}, and the signature says "
            f"{declared}",
            detail="only numbers are converted",
        )
    if any(isinstance(part, ir.Pointer) for part in declared.flat()):
        raise KernelTypeError(
            f"{getattr(py_func, '__name__', py_func)} returns {declared}",
            detail="functions for kernels of others return numbers, or tuples of them",
        )
    return declared


def _refuse_captures(function: ir.Function) -> None:
    if function.captured:
        raise UnsupportedFeatureError(
            f"{function.name} uses a device array from outside",
            detail="its address holds in this process only",
            help="pass the array as an argument",
        )


def _convert_results(function: ir.Function, wanted: types.Type) -> ir.Function:
    """Convert what a function returns, by putting its body in a scope that returns once."""
    if function.result_types == wanted.flat():
        return function
    numbers = [type_ for type_ in wanted.flat() if isinstance(type_, DType)]
    assert len(function.result_types) == len(numbers), function.name
    results = tuple(map(ir.Value, function.result_types))
    builder = Builder()
    with builder.collect() as ops:
        builder.append(ir.Scope(function.body, results, function.name))
        pairs = zip(results, numbers, strict=True)
        builder.append(ir.Return(tuple(builder.cast(value, type_) for value, type_ in pairs)))
    body = ir.Block((), tuple(ops))
    return replace(function, body=body, result_types=wanted.flat())
