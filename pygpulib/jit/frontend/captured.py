"""Device arrays that kernels see as globals or captured variables."""

from __future__ import annotations

import ast

from pygpulib.core import dtypes
from pygpulib.core.array import ndarray
from pygpulib.errors import DTypeError, KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import Array
from pygpulib.jit.ir import ops as ir


def device_array(ctx: Context, array: ndarray, name: str, node: ast.AST) -> Array:
    """Return a device array that the kernel reads and writes where it is.

    Its address becomes part of the program, which therefore keeps the array.

    Parameters
    ----------
    ctx : Context
        Where we are.
    array : ndarray
        The array.
    name : str
        What the user calls it.
    node : ast.AST
        Where errors point.
    """
    try:
        dtype = dtypes.from_numpy(array.dtype)
    except DTypeError as cause:
        ctx.fail(
            KernelTypeError,
            f"the array {name!r} has dtype {array.dtype}, which kernels do not have",
            node,
            detail=cause.detail,
            help="convert it with .astype(...) on the host",
        )
    ctx.captured.append(array)
    layout = "C" if array.is_c_contiguous() else "F" if array.is_f_contiguous() else "A"
    type_ = types.ArrayType(dtype, array.ndim, layout)
    address = ctx.builder.constant(array.address, dtypes.int64)
    pointer = ir.Value(ir.Pointer(), name)
    ctx.builder.append(ir.Bitcast(address, pointer, span=ctx.builder.span))
    shape, strides = (
        tuple(ctx.builder.constant(number, dtypes.int64) for number in numbers)
        for numbers in (array.shape, array.strides)
    )
    ctx.nonnegative.update(shape)
    return Array(type_, pointer, shape, strides, name)
