"""Access to elements of arrays, and their attributes."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence, Set

from pygpulib.core import dtypes
from pygpulib.core.dtypes import DType
from pygpulib.errors import KernelTypeError
from pygpulib.jit.elements import RecordLayout
from pygpulib.jit.frontend import (
    elementwise,
    inference,
    integers,
    optionals,
    places,
    pointers,
    records,
    traversal,
    views,
)
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.faults import MAX_DETAILS, raise_if
from pygpulib.jit.frontend.values import (
    Address,
    Array,
    Method,
    Number,
    Object,
    Operand,
    Record,
    Tuple,
)
from pygpulib.jit.ir import ops as ir

# --------------------------------------------------------------------------------------- elements


def load(ctx: Context, array: Array, indices: Sequence[Number]) -> Operand:
    """Read one element.

    Parameters
    ----------
    ctx : Context
        Where we are.
    array : Array
        What is read.
    indices : sequence of Number
        One integer per dimension; negative ones count from the end.
    """
    place = places.element_place(array, element_address(ctx, array, indices))
    return places.load(ctx, array.type.element, place)


def store_element(
    ctx: Context, array: Array, indices: Sequence[Number], value: Operand, node: ast.AST
) -> None:
    """Write one element; the value is converted to the array's dtype."""
    adapted = element_value(ctx, array, value, node)
    place = places.element_place(array, element_address(ctx, array, indices))
    places.store(ctx, array.type.element, place, adapted, node)


def element_value(ctx: Context, array: Array, value: Operand, node: ast.AST) -> Operand:
    """Return a value converted to an array's dtype, or fail if the array cannot take it."""
    check_writable(ctx, array, node)
    return places.adapt(ctx, array.type.element, value, title(array), node)


def check_writable(ctx: Context, array: Array, node: ast.AST) -> None:
    """Fail at the node if an array is read-only."""
    if array.type.readonly:
        ctx.fail(
            KernelTypeError,
            f"{title(array)} is read-only and cannot be written to",
            node,
            help="pass the array as an argument of the kernel, and make it writable on the host",
        )


def title(array: Array) -> str:
    """Return how messages call an array."""
    return f"the array {array.name!r}" if array.name else "the array"


def access(array: Array) -> ir.Access:
    """Return the mark that memory operations on an array carry."""
    return ir.Access(array.name, array.type.ndim)


def element_address(
    ctx: Context, array: Array, indices: Sequence[Number]
) -> tuple[ir.Value, ir.Value, int]:
    """Return pointer, index and scale of an element, as memory operations take them."""
    positions = wrap_indices(ctx, array, indices)
    index, scale = flat_index(ctx, array, positions)
    return array.pointer, index.value, scale


def flat_index(ctx: Context, array: Array, positions: Sequence[Number]) -> tuple[Number, int]:
    """Return the offset of an element and its unit in bytes.

    The unit is the element's size where the layout says how elements follow each other, else 1.
    """
    if not positions:
        return integers.literal(ctx, 0), array.type.element.size_bytes
    if array.type.layout == "A":
        offset = integers.literal(ctx, 0)
        for position, stride in zip(positions, array.strides, strict=True):
            offset = integers.add(ctx, offset, integers.multiply(ctx, position, Number(stride)))
        return offset, 1
    ordered = list(zip(positions, array.shape, strict=True))
    if array.type.layout == "F":
        ordered.reverse()
    index = ordered[0][0]
    for position, extent in ordered[1:]:
        index = integers.add(ctx, integers.multiply(ctx, index, Number(extent)), position)
    return index, array.type.element.size_bytes


def wrap_indices(ctx: Context, array: Array, indices: Sequence[Number]) -> list[Number]:
    """Return positions in an array from indices that may count from the end.

    With ``debug`` a position outside the array ends the thread with an ``IndexError``. There may
    be fewer indices than dimensions.
    """
    wide = [inference.cast(ctx, index, dtypes.int64) for index in indices]
    # Unsigned indices never count from the end, whatever they are as signed ones.
    positions = [
        position if inference.is_nonnegative(ctx, index) else _wrapped(ctx, position, extent)
        for index, position, extent in zip(indices, wide, array.shape, strict=False)
    ]
    if ctx.options.debug and positions:
        _check_bounds(ctx, array, wide, positions)
    return positions


def _wrapped(ctx: Context, index: Number, extent: ir.Value) -> Number:
    if inference.is_nonnegative(ctx, index):
        return index
    from_end = integers.add(ctx, index, Number(extent))
    if index.literal is not None:
        return from_end
    zero = integers.literal(ctx, 0)
    is_negative = ctx.builder.compare(ir.CompareKind.LT, index.value, zero.value)
    return Number(ctx.builder.select(is_negative, from_end.value, index.value))


def _check_bounds(
    ctx: Context, array: Array, indices: Sequence[Number], positions: Sequence[Number]
) -> None:
    builder = ctx.builder
    outside: ir.Value | None = None
    for position, extent in zip(positions, array.shape, strict=False):
        # As unsigned numbers, negative positions are beyond every extent.
        unsigned = (builder.cast(value, dtypes.uint64) for value in (position.value, extent))
        beyond = builder.compare(ir.CompareKind.GE, *unsigned)
        outside = beyond if outside is None else builder.binary(ir.BinaryKind.OR, outside, beyond)
    assert outside is not None
    message, details = _describe_bounds(array, indices)
    raise_if(ctx, outside, IndexError, message, details)


def _describe_bounds(array: Array, indices: Sequence[Number]) -> tuple[str, tuple[ir.Value, ...]]:
    """Return message and details of an index error, within what a fault can report."""
    name = title(array).replace("{", "{{").replace("}", "}}")
    shown = tuple(index.value for index in indices)
    if len(shown) + array.type.ndim <= MAX_DETAILS:
        details, where = (*shown, *array.shape), f"shape {_tuple_template(array.type.ndim)}"
    else:
        details, where = shown[:MAX_DETAILS], f"{array.type.ndim} dimensions"
    index = "{}" if len(shown) == 1 else _tuple_template(len(shown[:MAX_DETAILS]))
    return f"index {index} is out of bounds for {name} with {where}", details


def _tuple_template(count: int) -> str:
    return f"({', '.join(['{}'] * count)}{',' if count == 1 else ''})"


# ---------------------------------------------------------------------------- subscripts, stores


def subscript(ctx: Context, array: Array, index: Operand, node: ast.AST) -> Operand:
    """Return an element or a view: ``array[index]``."""
    name = records.field_name(ctx, array, index, node)
    if name is not None:
        return records.field_view(ctx, array, name, node)
    items = index.items if isinstance(index, Tuple) else (index,)
    indices = _whole_index(ctx, array, items)
    if indices is not None:
        return load(ctx, array, indices)
    return views.select(ctx, array, items, node)


def store(ctx: Context, array: Operand, index: Operand, value: Operand, node: ast.AST) -> None:
    """Write to an element, or fill a view from a number or an array: ``array[index] = value``."""
    array = optionals.plain(ctx, array)
    if isinstance(array, Record):
        records.store(ctx, array, index, value, node)
        return
    if isinstance(array, Address):
        pointers.store(ctx, array, index, value, node)
        return
    if not isinstance(array, Array):
        ctx.fail(
            KernelTypeError,
            f"{inference.describe(array)} does not support item assignment",
            node,
            help="only elements of arrays can be assigned to",
        )
    name = records.field_name(ctx, array, index, node)
    if name is not None:
        elementwise.fill(ctx, records.field_view(ctx, array, name, node), value, node)
        return
    items = index.items if isinstance(index, Tuple) else (index,)
    indices = _whole_index(ctx, array, items)
    if indices is not None:
        store_element(ctx, array, indices, value, node)
    else:
        check_writable(ctx, array, node)
        elementwise.fill(ctx, views.select(ctx, array, items, node), value, node)


def _whole_index(ctx: Context, array: Array, items: Sequence[Operand]) -> list[Number] | None:
    """Return one integer per dimension if the index names a single element, else None."""
    if len(items) != array.type.ndim:
        return None
    indices = [inference.index(ctx, item) for item in items]
    found = [index for index in indices if index is not None]
    return found if len(found) == len(items) else None


# ------------------------------------------------------------------------------------- attributes

_OWN_METHODS = ("fill", "item", "reshape", "transpose", "view")
_REDUCTIONS = ("all", "any", "argmax", "argmin", "max", "mean", "min", "prod", "std", "sum", "var")
METHODS = frozenset({*_OWN_METHODS, *_REDUCTIONS})
"""Methods of arrays; :mod:`pygpulib.jit.frontend.methods` calls them."""


def _nbytes(ctx: Context, array: Array) -> Operand:
    itemsize = integers.literal(ctx, array.type.element.size_bytes)
    return integers.multiply(ctx, size(ctx, array), itemsize)


def _shape(ctx: Context, array: Array) -> Operand:
    return Tuple(tuple(integers.extent(ctx, value) for value in array.shape))


def _imag(ctx: Context, array: Array) -> Operand | None:
    return views.part(ctx, array, "imag") if _is_complex(array) else None


def _real(ctx: Context, array: Array) -> Operand:
    return views.part(ctx, array, "real") if _is_complex(array) else array


def _is_complex(array: Array) -> bool:
    element = array.type.element
    return isinstance(element, DType) and element.is_complex


def size(ctx: Context, array: Array) -> Number:
    """Return the number of elements."""
    total = integers.literal(ctx, 1)
    for extent in array.shape:
        total = integers.multiply(ctx, total, integers.extent(ctx, extent))
    return total


_ATTRIBUTES: dict[str, Callable[[Context, Array], Operand | None]] = {
    "shape": _shape,
    "strides": lambda _, array: Tuple(tuple(Number(value) for value in array.strides)),
    "ndim": lambda ctx, array: integers.literal(ctx, array.type.ndim),
    "itemsize": lambda ctx, array: integers.literal(ctx, array.type.element.size_bytes),
    "size": size,
    "nbytes": _nbytes,
    "dtype": lambda _, array: Object(array.type.element.numpy),
    "T": lambda _, array: views.transpose(array),
    "real": _real,
    "imag": _imag,
    "flat": lambda ctx, array: traversal.flat(ctx, array),  # noqa: PLW0108 - not imported yet
}


def attribute_names() -> Set[str]:
    """Return the names of what all arrays have."""
    return METHODS | _ATTRIBUTES.keys()


def attribute(ctx: Context, array: Array, name: str, node: ast.AST) -> Operand:
    """Return an attribute of an array."""
    if name in METHODS:
        return Method(array, name)
    found = _ATTRIBUTES[name](ctx, array) if name in _ATTRIBUTES else None
    if found is None and isinstance(array.type.element, RecordLayout):
        return records.field_view(ctx, array, name, node)
    if found is None:
        ctx.fail(
            KernelTypeError,
            f"{inference.describe(array)} has no attribute {name!r} in kernels",
            node,
            help=f"it has {', '.join((*_ATTRIBUTES, *sorted(METHODS)))}",
        )
    return found
