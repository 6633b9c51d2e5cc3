"""Short vectors of numbers: made from numbers and shorter vectors, computed with by element."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.frontend import arithmetic, inference
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import Number, Operand, Vector

_NAMES = "xyzw"


def construct(
    ctx: Context,
    type_: types.VectorType,
    args: Sequence[Operand],
    kwargs: Mapping[str, Operand],
    node: ast.AST,
) -> Vector:
    """Return the vector ``float32x4(...)`` of the given numbers and vectors."""
    parts: list[Number] = []
    for argument in args:
        if isinstance(argument, Vector):
            parts += [Number(item) for item in argument.items]
        elif isinstance(argument, Number):
            parts.append(argument)
        else:
            _fail_construct(ctx, type_, args, node)
    if kwargs or len(parts) != type_.count:
        _fail_construct(ctx, type_, (*args, *kwargs.values()), node)
    return Vector(type_, tuple(inference.cast(ctx, one, type_.dtype).value for one in parts))


def _fail_construct(
    ctx: Context, type_: types.VectorType, args: Sequence[Operand], node: ast.AST
) -> NoReturn:
    ctx.fail(
        KernelTypeError,
        f"{type_} does not take ({', '.join(inference.describe(one) for one in args)})",
        node,
        detail=f"expected numbers and shorter vectors with {type_.count} numbers in all",
        help="give one number per element",
    )


def attribute(ctx: Context, vector: Vector, name: str, node: ast.AST) -> Number:
    """Return an element: ``v.x``."""
    names = _NAMES[: vector.type.count]
    if name not in tuple(names):
        ctx.fail(
            KernelTypeError,
            f"{vector.type} has no attribute {name!r}",
            node,
            help=f"its elements are {', '.join(names)}",
        )
    return Number(vector.items[names.index(name)])


def binary(
    ctx: Context, operator: type[ast.operator], left: Operand, right: Operand, node: ast.AST
) -> Vector | None:
    """Apply an operator element by element; a number goes with every element.

    The elements keep the type of the vector where it can hold the result's kind of number. None
    if the operands do not go together.
    """
    counts = {one.type.count for one in (left, right) if isinstance(one, Vector)}
    if len(counts) != 1:
        return None
    columns = [_spread(one, counts) for one in (left, right)]
    if None in columns:
        return None
    pairs = zip(*(column for column in columns if column is not None), strict=True)
    results = [arithmetic.real(ctx, operator, a, b, node) for a, b in pairs]
    return _collect(ctx, _result_type(left, right, results), results)


def _spread(operand: Operand, counts: set[int]) -> list[Number] | None:
    (count,) = counts
    if isinstance(operand, Vector):
        return [Number(item) for item in operand.items]
    return [operand] * count if isinstance(operand, Number) else None


def _result_type(left: Operand, right: Operand, results: Sequence[Number]) -> types.VectorType:
    """Return the type of a result: that of the vectors, floats where integers give floats."""
    vectors = [one.type for one in (left, right) if isinstance(one, Vector)]
    dtype = vectors[0].dtype
    for other in vectors[1:]:
        dtype = inference.promote(dtype, other.dtype)
    if results[0].dtype.is_float and not dtype.is_float:
        dtype = results[0].dtype
    return types.VectorType(dtype, vectors[0].count)


def _collect(ctx: Context, type_: types.VectorType, items: Sequence[Number]) -> Vector:
    return Vector(type_, tuple(inference.cast(ctx, item, type_.dtype).value for item in items))


def each(ctx: Context, vector: Vector, function: Callable[[Number], Operand]) -> Vector:
    """Apply a function from numbers to numbers to every element; their type stays."""
    results = [function(Number(item)) for item in vector.items]
    return _collect(ctx, vector.type, [one for one in results if isinstance(one, Number)])
