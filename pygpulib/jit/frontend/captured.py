"""Arrays that kernels see as globals or captured variables: those of the host are copied."""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from pygpulib.core import dtypes
from pygpulib.core.array import ndarray
from pygpulib.core.interop import as_cuda_array
from pygpulib.core.ordering import wait_for
from pygpulib.errors import DTypeError, KernelTypeError, PyGpuLibError
from pygpulib.jit import types
from pygpulib.jit.elements import element_of
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import Array
from pygpulib.jit.ir import ops as ir


def device_array(ctx: Context, value: object, name: str, node: ast.AST) -> Array:
    """Return a device array that the kernel reads and writes where it is.

    Its address becomes part of the program, which therefore keeps the array.

    Parameters
    ----------
    ctx : Context
        Where we are.
    value : ndarray or object with ``__cuda_array_interface__``
        The array.
    name : str
        What the user calls it.
    node : ast.AST
        Where errors point.
    """
    try:
        array = value if isinstance(value, ndarray) else as_cuda_array(value)
    except PyGpuLibError as cause:
        ctx.fail(
            KernelTypeError,
            f"the array {name!r} of type {type(value).__name__} cannot be used in a kernel",
            node,
            detail="\n".join(filter(None, (cause.problem, cause.detail))),
            help=cause.help,
        )
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
    # Later launches look at their arguments only.
    wait_for(array.buffer)
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


def host_array(ctx: Context, array: np.ndarray[Any, Any], name: str, node: ast.AST) -> Array:
    """Return a read-only array with a copy of the elements that a host array has now.

    Parameters
    ----------
    ctx : Context
        Where we are.
    array : numpy.ndarray
        The array.
    name : str
        What the user calls it.
    node : ast.AST
        Where errors point.
    """
    if hasattr(array, "mask") and isinstance(array, np.ma.MaskedArray):
        ctx.fail(
            KernelTypeError,
            f"{name!r} is a masked array, and kernels do not see masks",
            node,
            help="use its data and its mask as two arrays, or the result of filled(...)",
        )
    try:
        element = element_of(array.dtype)
    except DTypeError as cause:
        ctx.fail(
            KernelTypeError,
            f"the array {name!r} has dtype {array.dtype}, which kernels do not have",
            node,
            detail=cause.detail,
            help="convert it with .astype(...) outside the kernel",
        )
    layout = "F" if types.array_layout(array) == "F" else "C"
    if id(array) not in ctx.frozen:
        data = np.array(array.T if layout == "F" else array, order="C", copy=True)
        data.flags.writeable = False
        ctx.frozen[id(array)] = (array, data)
    data = ctx.frozen[id(array)][1]
    type_ = types.ArrayType(
        element, array.ndim, layout, readonly=True, space=ir.AddressSpace.CONSTANT
    )
    pointer = ir.Value(ir.Pointer(type_.space), name)
    ctx.builder.append(ir.ConstantData(data, pointer, span=ctx.builder.span))
    strides = data.strides[::-1] if layout == "F" else data.strides
    shape, steps = (
        tuple(ctx.builder.constant(number, dtypes.int64) for number in numbers)
        for numbers in (array.shape, strides)
    )
    ctx.nonnegative.update(shape)
    return Array(type_, pointer, shape, steps, name)
