"""Arrays that kernels make: in shared, local and constant memory."""

from __future__ import annotations

import ast
import linecache
from math import prod
from typing import NoReturn

import numpy as np

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.errors import DTypeError, KernelTypeError, KernelValueError, UnsupportedFeatureError
from pygpulib.jit import types
from pygpulib.jit.elements import Element, element_of
from pygpulib.jit.frontend import expressions, inference, integers, shapes
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import Arguments, Keywords, bind, register
from pygpulib.jit.frontend.values import Array, NoneValue, Number, Object, Operand, Text, Tuple
from pygpulib.jit.intrinsics.memory import const, local, shared
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk

_MIN_ALIGNMENT = 8

# What every GPU has; more dynamic shared memory is a matter of the launch.
_LIMITS = {
    ir.AddressSpace.SHARED: (48 << 10, "a block's arrays of shared memory"),
    ir.AddressSpace.LOCAL: (512 << 10, "a thread's local arrays"),
}
_SMALLER = {
    ir.AddressSpace.SHARED: "use smaller arrays, or dynamic shared memory: cuda.shared.array(0, "
    "dtype) and kernel[grid, block, stream, shared_bytes](...)",
    ir.AddressSpace.LOCAL: "use smaller arrays, or pass an array with a part for each thread",
}


@register(shared.array)
def _shared_array(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    shape, dtype, alignment = _arguments(ctx, "cuda.shared.array", args, kwargs, node)
    is_dynamic = bool(shape) and shape[0] == 0
    _check_extents(ctx, "cuda.shared.array", shape[1:] if is_dynamic else shape, node)
    size_bytes = prod(shape) * dtype.size_bytes
    pointer = _shared_memory(ctx, size_bytes, alignment, dtype, node)
    extents = [integers.literal(ctx, extent) for extent in shape]
    if is_dynamic:
        extents[0] = _dynamic_extent(ctx, prod(shape[1:]) * dtype.size_bytes)
    return _packed(ctx, pointer, extents, dtype)


def _shared_memory(
    ctx: Context, size_bytes: int, alignment: int, dtype: Element, node: ast.AST
) -> ir.Value:
    """Return the memory of a call, which is the same wherever the call is inlined.

    It is allocated where the kernel starts, out of sight of functions that are not inlined.
    """
    source = ctx.frame.source
    if any(each.is_open for each in ctx.recursions.values()):
        ctx.fail(
            UnsupportedFeatureError,
            f"{source.name} makes a shared array, and calls itself or is called by a function "
            "that does",
            node,
            help="make the array in the kernel, and pass it to the function",
        )
    key = (node, source.outer, size_bytes, alignment, dtype)
    if key not in ctx.shared:
        space = ir.AddressSpace.SHARED
        pointer = ir.Value(ir.Pointer(space))
        op = ir.Allocate(space, size_bytes, alignment, pointer, span=ctx.builder.span)
        ctx.shared[key] = (pointer, op)
    return ctx.shared[key][0]


def _dynamic_extent(ctx: Context, row_bytes: int) -> Number:
    """Return how many rows the launch's dynamic shared memory has room for."""
    size = expressions.read_register(ctx, ir.Register.DYNAMIC_SHARED_BYTES)
    wide = inference.cast(ctx, size, dtypes.int64)
    return integers.floor_divide(ctx, wide, integers.literal(ctx, row_bytes))


@register(local.array)
def _local_array(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    shape, dtype, alignment = _arguments(ctx, "cuda.local.array", args, kwargs, node)
    _check_extents(ctx, "cuda.local.array", shape, node)
    space = ir.AddressSpace.LOCAL
    pointer = ir.Value(ir.Pointer(space))
    size_bytes = prod(shape) * dtype.size_bytes
    ctx.builder.append(ir.Allocate(space, size_bytes, alignment, pointer, span=ctx.builder.span))
    return _packed(ctx, pointer, [integers.literal(ctx, extent) for extent in shape], dtype)


def check_memory(function: ir.Function) -> None:
    """Check that the arrays which each function makes fit into the memory that there is for them.

    Raises
    ------
    KernelValueError
        If they do not.
    """
    for body in (function.body, *(callee.body for callee in function.callees)):
        totals = dict.fromkeys(ir.AddressSpace, 0)
        for op in walk(body):
            if isinstance(op, ir.Allocate):
                totals[op.space] += op.size_bytes
                limit, what = _LIMITS[op.space]
                if totals[op.space] > limit:
                    _fail_too_large(op, what, totals[op.space], limit)


def _fail_too_large(op: ir.Allocate, what: str, size: int, limit: int) -> NoReturn:
    from pygpulib.jit.diagnostics import describe

    assert op.span is not None
    excerpt = describe(op.span, linecache.getlines(op.span.filename), ())
    raise KernelValueError(
        f"{op.span}: {what} take {size:,} bytes",
        span=op.span,
        detail=f"{excerpt}\nthe device has {limit:,} bytes for them",
        help=_SMALLER[op.space],
    )


def _packed(ctx: Context, pointer: ir.Value, shape: list[Number], dtype: Element) -> Array:
    """Return a C-contiguous array."""
    strides = shapes.packed_strides(ctx, shape, integers.literal(ctx, dtype.size_bytes), "C")
    assert isinstance(pointer.type, ir.Pointer)
    type_ = types.ArrayType(dtype, len(shape), "C", space=pointer.type.space)
    ctx.nonnegative.update(extent.value for extent in shape)
    return Array(type_, pointer, tuple(extent.value for extent in shape), strides)


@register(const.array_like)
def _array_like(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    (array,) = bind(ctx, "cuda.const.array_like", ("array",), 1, args, kwargs, node)
    if isinstance(array, Array) and array.type.space is ir.AddressSpace.CONSTANT:
        return array
    assert array is not None
    ctx.fail(
        KernelTypeError,
        f"cuda.const.array_like does not take {inference.describe(array)}",
        node,
        detail="expected a NumPy array that is a global or captured variable of the kernel",
        help="make it on the host, outside the kernel",
    )


# -------------------------------------------------------------------------------------- arguments


def _arguments(
    ctx: Context, name: str, args: Arguments, kwargs: Keywords, node: ast.AST
) -> tuple[tuple[int, ...], Element, int]:
    """Return shape, dtype and alignment."""
    given = bind(ctx, name, ("shape", "dtype", "alignment"), 2, args, kwargs, node)
    shape, dtype, alignment = given
    assert shape is not None
    assert dtype is not None
    row = element_from(ctx, name, dtype, node)
    return _shape(ctx, name, shape, row, node), row, _alignment(ctx, name, alignment, row, node)


def _shape(
    ctx: Context, name: str, shape: Operand, dtype: Element, node: ast.AST
) -> tuple[int, ...]:
    items = shape.items if isinstance(shape, Tuple) else (shape,)
    numba_says = (
        f"No implementation of function Function(<function {name.removeprefix('cuda.')}>) found "
        f"for signature:\n \n >>> array(shape={_signature_of(shape)}, dtype=class({dtype}))"
    )
    extents: list[int] = []
    for item in items:
        if not isinstance(item, Number) or not item.dtype.is_integer:
            ctx.fail(
                KernelTypeError,
                f"{inference.describe(shape)} is no shape for {name}",
                node,
                detail=f"expected an integer or a tuple of integers\n{numba_says}",
                help="write the shape as N or (N, M)",
            )
        if item.literal is None:
            _fail_not_constant(ctx, name, numba_says, node)
        extents.append(int(item.literal))
    return tuple(extents)


def _signature_of(shape: Operand) -> str:
    """Return how numba writes the type of a shape."""
    match shape:
        case Tuple(items):
            return f"Tuple({', '.join(map(_signature_of, items))})"
        case Number(literal=int() as literal):
            return f"Literal[int]({literal})"
        case _:
            return inference.describe(shape)


def _fail_not_constant(ctx: Context, name: str, numba_says: str, node: ast.AST) -> NoReturn:
    advice = "use a literal, a global, or a variable of the function around the kernel"
    if name == "cuda.shared.array":
        advice += (
            "; for a size that only the launch knows, write cuda.shared.array(0, dtype), which is "
            "dynamic shared memory, and pass its size in bytes: "
            "kernel[grid, block, stream, shared_bytes](...)"
        )
    ctx.fail(
        KernelTypeError,
        f"the shape of {name} must be a compile-time constant",
        node,
        detail=numba_says,
        help=advice,
    )


def _check_extents(ctx: Context, name: str, shape: tuple[int, ...], node: ast.AST) -> None:
    for extent in shape:
        if extent < 1:
            help_ = "use at least one element"
            if name == "cuda.shared.array":
                help_ += "; a first extent of 0 stands for dynamic shared memory"
            ctx.fail(
                KernelValueError,
                f"the shape of {name} has the extent {extent}, but every extent must be positive",
                node,
                help=help_,
            )


def element_from(ctx: Context, name: str, dtype: Operand, node: ast.AST) -> Element:
    """Return the elements that a dtype stands for, or fail in the name of who asks for them."""
    match dtype:
        case Object(types.ScalarType() as scalar):
            return scalar.dtype
        case Object(types.RecordType(layout) | types.TimeType(layout) | types.CharsType(layout)):
            return layout
        case Object(DType() as row):
            return row
        case Text(text):
            return _named_dtype(ctx, name, text, node)
        case Object(np.dtype() | type() as value):
            try:
                return element_of(np.dtype(value))
            except DTypeError as error:
                ctx.fail(KernelTypeError, f"{name}: {error.problem}", node, detail=error.detail)
        case _:
            ctx.fail(
                KernelTypeError,
                f"{inference.describe(dtype)} is no dtype for {name}",
                node,
                help="use a type such as float32, numpy.float32 or 'float32'",
            )


def _named_dtype(ctx: Context, name: str, text: str, node: ast.AST) -> Element:
    try:
        return element_of(dtypes.numpy_dtype(text))
    except DTypeError:
        names = ", ".join(row.name for row in dtypes.ALL_DTYPES)
        ctx.fail(
            KernelTypeError,
            f"{name}: Invalid NumPy dtype specified: {text!r}",
            node,
            detail=f"expected one of: {names}",
        )


def _alignment(
    ctx: Context, name: str, alignment: Operand | None, dtype: Element, node: ast.AST
) -> int:
    if alignment is None or isinstance(alignment, NoneValue):
        return _natural_alignment(dtype)
    is_number = isinstance(alignment, Number) and alignment.dtype.is_integer
    if not isinstance(alignment, Number) or not is_number or alignment.literal is None:
        ctx.fail(
            KernelTypeError,
            f"the alignment of {name} must be an integer that is a compile-time constant",
            node,
            detail="RequireLiteralValue: the alignment must be a constant integer, not "
            f"{inference.describe(alignment)}",
            help="use a literal, a global, or a variable of the function around the kernel",
        )
    number = int(alignment.literal)
    if number <= 0 or number & (number - 1) or number % _MIN_ALIGNMENT:
        ctx.fail(
            KernelValueError,
            f"the alignment of {name} is {number}",
            node,
            detail=f"Alignment must be a power of two and a multiple of {_MIN_ALIGNMENT}",
            help="use 8, 16, 32, ...",
        )
    return max(number, _natural_alignment(dtype))


def _natural_alignment(element: Element) -> int:
    return element.size_bytes if isinstance(element, DType) else element.alignment
