"""Types as values, and the same bits read as another type: ``numpy.dtype``, ``view``."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence

import numpy as np

from pygpulib._record import replace
from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType, numpy_dtype
from pygpulib.errors import DTypeError, KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.elements import Element, TimeLayout, element_of
from pygpulib.jit.frontend import arrays, calls, inference, integers
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import bind, register
from pygpulib.jit.frontend.values import Array, Complex, Number, Object, Operand, Text, Time
from pygpulib.jit.ir import ops as ir


@register(np.dtype)
def _dtype(
    ctx: Context, args: Sequence[Operand], kwargs: Mapping[str, Operand], node: ast.AST
) -> Operand:
    (given,) = bind(ctx, "numpy.dtype", ("dtype",), 1, args, kwargs, node)
    wanted = given.text if isinstance(given, Text) else getattr(given, "value", None)
    if not isinstance(given, Text | Object) or not isinstance(wanted, str | type | np.dtype):
        assert given is not None
        calls.fail_types(ctx, "numpy.dtype", [given], node)
    try:
        return Object(numpy_dtype(wanted))
    except DTypeError:
        ctx.fail(
            KernelTypeError,
            f"numpy.dtype does not take {inference.describe(given)}",
            node,
            help="use the name of a dtype, such as 'float32'",
        )


def view(
    ctx: Context, operand: Number | Complex | Time | Array, wanted: object, node: ast.AST
) -> Operand:
    """Return ``x.view(dtype)``.

    Parameters
    ----------
    ctx : Context
        Where we are.
    operand : Number, Complex, Time or Array
        What is read.
    wanted : object
        The type: NumPy's or one of the kernel language.
    node : ast.AST
        Where errors point.
    """
    element = _element(ctx, wanted, node)
    if isinstance(operand, Array):
        return _view_array(ctx, operand, element, node)
    target = dtypes.int64 if isinstance(element, TimeLayout) else element
    source = dtypes.int64 if isinstance(operand, Time) else operand.dtype
    if source == target and not isinstance(operand, Time | Number):
        return operand
    is_plain = isinstance(target, DType) and _is_plain(source) and _is_plain(target)
    if not is_plain or isinstance(operand, Complex) or source.size_bytes != target.size_bytes:
        return _fail_scalar(ctx, operand, element, node)
    assert isinstance(target, DType)
    bits = inference.reinterpret(ctx, operand.value, target)
    return Time(types.TimeType(element), bits) if isinstance(element, TimeLayout) else Number(bits)


def _is_plain(dtype: DType) -> bool:
    return not dtype.is_complex and not dtype.is_bool


def _element(ctx: Context, wanted: object, node: ast.AST) -> Element:
    match wanted:
        case types.ScalarType(dtype):
            return dtype
        case types.RecordType(layout) | types.TimeType(layout) | types.CharsType(layout):
            return layout
        case np.dtype() | type():
            try:
                return element_of(np.dtype(wanted))
            except DTypeError as error:
                ctx.fail(KernelTypeError, error.problem, node, detail=error.detail)
        case _:
            ctx.fail(
                KernelTypeError,
                "view does not take something that is no dtype",
                node,
                help="use a type such as numpy.int64",
            )


def _fail_scalar(ctx: Context, operand: Operand, element: Element, node: ast.AST) -> Operand:
    return ctx.fail(
        KernelTypeError,
        f"{inference.describe(operand)} cannot be viewed as {element}",
        node,
        help="view numbers as numbers of the same size",
    )


def _view_array(ctx: Context, array: Array, element: Element, node: ast.AST) -> Array:
    """Return a view of an array; the last dimension is divided or multiplied.

    Whoever asks for larger elements sees to it that they are aligned.
    """
    old, new = array.type.element, element
    size, wanted = old.size_bytes, new.size_bytes
    if size == wanted:
        return Array(
            replace(array.type, element=new), array.pointer, array.shape, array.strides, array.name
        )
    if array.type.ndim == 0 or array.type.layout != "C":
        _fail_array(ctx, array, element, "the sizes differ, and it is not C-contiguous", node)
    if size % wanted and wanted % size:
        _fail_array(ctx, array, element, "neither size is a multiple of the other", node)
    last = Number(array.shape[-1])
    if size % wanted == 0:
        extent = integers.multiply(ctx, last, integers.literal(ctx, size // wanted))
    else:
        extent = integers.floor_divide(ctx, last, integers.literal(ctx, wanted // size))
    ctx.nonnegative.add(extent.value)
    step: ir.Value = integers.literal(ctx, wanted).value
    return Array(
        replace(array.type, element=new),
        array.pointer,
        (*array.shape[:-1], extent.value),
        (*array.strides[:-1], step),
        array.name,
    )


def _fail_array(ctx: Context, array: Array, element: Element, reason: str, node: ast.AST) -> None:
    ctx.fail(
        KernelTypeError,
        f"{arrays.title(array)} cannot be viewed as {element}: {reason}",
        node,
        help="view it on the host",
    )
