"""Atomic operations on elements of arrays."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.errors import KernelTypeError, counted
from pygpulib.jit import types
from pygpulib.jit.elements import Element, RecordLayout, TimeLayout
from pygpulib.jit.frontend import arrays, inference, integers
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import Arguments, Handler, Keywords, bind, register
from pygpulib.jit.frontend.values import Array, Number, Operand, Tuple
from pygpulib.jit.intrinsics.atomics import atomic
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.ops import AtomicKind

_FUNCTIONS = (
    (atomic.add, AtomicKind.ADD),
    (atomic.sub, AtomicKind.SUBTRACT),
    (atomic.and_, AtomicKind.AND),
    (atomic.or_, AtomicKind.OR),
    (atomic.xor, AtomicKind.XOR),
    (atomic.inc, AtomicKind.INCREMENT),
    (atomic.dec, AtomicKind.DECREMENT),
    (atomic.exch, AtomicKind.EXCHANGE),
    (atomic.max, AtomicKind.MAXIMUM),
    (atomic.min, AtomicKind.MINIMUM),
    (atomic.nanmax, AtomicKind.NAN_MAXIMUM),
    (atomic.nanmin, AtomicKind.NAN_MINIMUM),
)
_BITWISE = frozenset({AtomicKind.AND, AtomicKind.OR, AtomicKind.XOR})
_COUNTING = frozenset({AtomicKind.INCREMENT, AtomicKind.DECREMENT})
_SUMS = frozenset({AtomicKind.ADD, AtomicKind.SUBTRACT})


def _change(name: str, kind: AtomicKind) -> Handler:
    def apply(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
        given = bind(ctx, name, ("ary", "idx", "val"), 3, args, kwargs, node)
        array = _array(ctx, name, kind, given[0], node)
        indices = _indices(ctx, name, array, given[1], node)
        value = _value(ctx, name, array, given[2], node)
        return _append(ctx, kind, array, indices, (value, None))

    return apply


for _function, _kind in _FUNCTIONS:
    register(_function)(_change(f"cuda.atomic.{_function.__name__}", _kind))


@register(atomic.cas)
def _cas(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    name, kind = "cuda.atomic.cas", AtomicKind.COMPARE_EXCHANGE
    given = bind(ctx, name, ("ary", "idx", "old", "val"), 4, args, kwargs, node)
    array = _array(ctx, name, kind, given[0], node)
    indices = _indices(ctx, name, array, given[1], node)
    old, value = (_value(ctx, name, array, operand, node) for operand in given[2:])
    return _append(ctx, kind, array, indices, (value, old))


@register(atomic.compare_and_swap)
def _compare_and_swap(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
    name, kind = "cuda.atomic.compare_and_swap", AtomicKind.COMPARE_EXCHANGE
    given = bind(ctx, name, ("ary", "old", "val"), 3, args, kwargs, node)
    array = _array(ctx, name, kind, given[0], node)
    indices = [integers.literal(ctx, 0) for _ in range(array.type.ndim)]
    old, value = (_value(ctx, name, array, operand, node) for operand in given[1:])
    return _append(ctx, kind, array, indices, (value, old))


def _append(
    ctx: Context,
    kind: AtomicKind,
    array: Array,
    indices: Sequence[Number],
    operands: tuple[Number, Number | None],
) -> Number:
    """Append the operation; truth values are changed as the bytes that they are."""
    value, expected = operands
    pointer, index, scale = arrays.element_address(ctx, array, indices)
    result = ir.Value(value.dtype)
    old = None if expected is None else expected.value
    access = arrays.access(array)
    ctx.builder.append(
        ir.Atomic(
            kind, pointer, index, value.value, old, scale, result, access, span=ctx.builder.span
        )
    )
    return inference.cast(ctx, Number(result), array.type.dtype)


# -------------------------------------------------------------------------------------- arguments


def _array(
    ctx: Context, name: str, kind: AtomicKind, operand: Operand | None, node: ast.AST
) -> Array:
    if not isinstance(operand, Array):
        assert operand is not None
        ctx.fail(
            KernelTypeError,
            f"the first argument of {name} is {inference.describe(operand)}",
            node,
            detail="expected an array",
            help="pass the array and the index one by one, as in cuda.atomic.add(a, i, 1)",
        )
    arrays.check_writable(ctx, operand, node)
    element = operand.type.element
    if not isinstance(element, DType) or not _takes(kind, element):
        ctx.fail(
            KernelTypeError,
            f"{name} does not take an array of {element}",
            node,
            detail=f"expected elements of {_expected(kind)}",
            help=_advice(element),
        )
    return operand


def _advice(element: Element) -> str:
    match element:
        case DType(is_complex=True):
            return "change z.real and z.imag one by one"
        case RecordLayout():
            return "change one field, as in cuda.atomic.add(array['field'], i, 1)"
        case TimeLayout():
            return "pass array.view(numpy.int64)"
        case _:
            return "use an array of another dtype"


def _takes(kind: AtomicKind, dtype: DType) -> bool:
    if dtype.is_complex or dtype.is_storage:
        return False
    if kind in _COUNTING:
        return dtype.is_integer and not dtype.is_signed
    if kind in _BITWISE:
        return dtype.is_integer or dtype.is_bool
    return not (dtype.is_bool and kind in _SUMS)


def _expected(kind: AtomicKind) -> str:
    if kind in _COUNTING:
        return "an unsigned integer type"
    if kind in _BITWISE:
        return "an integer type, or truth values"
    return "an integer or real floating-point type"


def _indices(
    ctx: Context, name: str, array: Array, operand: Operand | None, node: ast.AST
) -> list[Number]:
    assert operand is not None
    items = operand.items if isinstance(operand, Tuple) else (operand,)
    indices = [inference.index(ctx, item) for item in items]
    found = [index for index in indices if index is not None]
    if len(found) != len(items):
        ctx.fail(
            KernelTypeError,
            f"the index of {name} is {inference.describe(operand)}",
            node,
            detail="expected an integer, or a tuple of one integer per dimension",
            help="convert the index with int(...)",
        )
    if len(found) != array.type.ndim:
        ctx.fail(
            KernelTypeError,
            f"the index of {name} has {counted(len(found), 'integer')}, but "
            f"{arrays.title(array)} has {counted(array.type.ndim, 'dimension')}",
            node,
            help="use one integer per dimension, as in cuda.atomic.add(a, (i, j), 1)",
        )
    return found


def _value(ctx: Context, name: str, array: Array, operand: Operand | None, node: ast.AST) -> Number:
    if not isinstance(operand, Number):
        assert operand is not None
        ctx.fail(
            KernelTypeError,
            f"{name} does not take {inference.describe(operand)} as a value for "
            f"{arrays.title(array)}, whose dtype is {array.type.dtype}",
            node,
            detail="expected a real number",
        )
    converted = inference.convert(ctx, operand, types.scalar_type(array.type.dtype), node)
    assert isinstance(converted, Number)
    return inference.cast(ctx, converted, dtypes.uint8) if converted.dtype.is_bool else converted
