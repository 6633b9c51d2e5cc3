"""What a ``for`` statement can go through, by position."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import NoReturn

from pygpulib._record import record
from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit.frontend import (
    arithmetic,
    arrays,
    expressions,
    forms,
    inference,
    optionals,
    scope,
    tuples,
)
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import Array, Number, Object, Operand, Range, Tuple
from pygpulib.jit.ir import ops as ir

_UNROLL_LIMIT = 16


@record(eq=True)
class Sequence:
    """Some items in order.

    Attributes
    ----------
    length : Number
        How many; int64.
    item : callable
        Compiles the item at a position.
    is_uniform : bool
        Whether the position may be a value of run time, since all items are of one type.
    """

    length: Number
    item: Callable[[Number], Operand]
    is_uniform: bool = True

    @property
    def is_unrolled(self) -> bool:
        """Whether a loop over it is best repeated in the program."""
        count = self.length.literal
        return count is not None and (count <= _UNROLL_LIMIT or not self.is_uniform)


def open_iterable(ctx: Context, node: ast.expr) -> Range | Sequence:
    """Compile what follows ``in``.

    ``enumerate``, ``zip`` and ``reversed`` exist only here: they make no object.
    """
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
        function = scope.lookup(ctx, node.func.id, node.func)
        if isinstance(function, Object) and not _has_star(node):
            if function.value is enumerate:
                return _enumerate(ctx, node)
            if function.value is zip:
                return _zip(ctx, node)
            if function.value is reversed:
                return _reversed(ctx, node)
    operand = optionals.plain(ctx, expressions.evaluate(ctx, node))
    return operand if isinstance(operand, Range) else _sequence(ctx, operand, node)


def _has_star(node: ast.Call) -> bool:
    return any(isinstance(argument, ast.Starred) for argument in node.args)


def _sequence(ctx: Context, operand: Operand, node: ast.expr) -> Sequence:
    if isinstance(operand, Object) and isinstance(operand.value, Sequence):
        return operand.value
    if isinstance(operand, Tuple):
        return _tuple_sequence(ctx, operand, node)
    if isinstance(operand, Array) and operand.type.ndim > 0:
        array = operand
        return Sequence(
            Number(array.shape[0]),
            lambda position: arrays.subscript(ctx, array, position, node),
        )
    return ctx.fail(
        KernelTypeError,
        f"cannot iterate over {inference.describe(operand)}",
        node,
        help="iterate over range(...), a tuple or an array",
    )


def _open_sequence(ctx: Context, node: ast.expr) -> Sequence:
    iterable = open_iterable(ctx, node)
    return _range_sequence(ctx, iterable, node) if isinstance(iterable, Range) else iterable


def _tuple_sequence(ctx: Context, operand: Tuple, node: ast.expr) -> Sequence:
    def item(position: Number) -> Operand:
        if position.literal is not None:
            return operand.items[int(position.literal)]
        return tuples.subscript(ctx, operand, position, node)

    is_uniform = len({forms.form_of(item) for item in operand.items}) <= 1
    return Sequence(position_of(ctx, len(operand.items)), item, is_uniform)


def position_of(ctx: Context, position: int) -> Number:
    """Return a position that is known now."""
    return inference.constant(ctx, position, dtypes.int64)


def length_of_range(ctx: Context, numbers: Range, node: ast.AST) -> Number:
    """Return how many numbers a range has."""
    return _range_sequence(ctx, numbers, node).length


def _range_sequence(ctx: Context, numbers: Range, node: ast.AST) -> Sequence:
    """Give a range positions: it has ceil((stop - start) / step) items, if that is positive."""
    start, stop, step = (
        inference.cast(ctx, part, dtypes.int64)
        for part in (numbers.start, numbers.stop, numbers.step)
    )

    def compute(operator: type[ast.operator], left: Operand, right: Operand) -> Operand:
        return arithmetic.binary(ctx, operator, left, right, node)

    distance = compute(ast.Sub, start, stop)
    length = arithmetic.unary(ctx, ast.USub, compute(ast.FloorDiv, distance, step), node)
    assert isinstance(length, Number)
    zero = position_of(ctx, 0)
    if length.literal is not None:
        length = length if length.literal > 0 else zero
    else:
        maximum = ctx.builder.binary(ir.BinaryKind.MAXIMUM, length.value, zero.value)
        length = Number(maximum)

    def item(position: Number) -> Operand:
        return compute(ast.Add, start, compute(ast.Mult, position, step))

    return Sequence(length, item)


def _enumerate(ctx: Context, node: ast.Call) -> Sequence:
    arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
    if not 1 <= len(arguments) <= 2 or any(keyword.arg != "start" for keyword in node.keywords):
        expected = "something to iterate over and a start"
        _fail_arguments(ctx, node, "enumerate", expected, "(items) or enumerate(items, start)")
    inner = _open_sequence(ctx, arguments[0])
    start = _start(ctx, arguments[1]) if len(arguments) == 2 else None

    def item(position: Number) -> Operand:
        number: Operand = position
        if start is not None:
            number = arithmetic.binary(ctx, ast.Add, start, position, node)
        return Tuple((number, inner.item(position)))

    return Sequence(inner.length, item, inner.is_uniform)


def _start(ctx: Context, node: ast.expr) -> Number:
    start = inference.integer(ctx, expressions.evaluate(ctx, node))
    if start is None:
        ctx.fail(
            KernelTypeError,
            "the start of enumerate() must be an integer",
            node,
            help="convert it with int(...)",
        )
    return start


def _zip(ctx: Context, node: ast.Call) -> Sequence:
    if not node.args or node.keywords:
        _fail_arguments(ctx, node, "zip", "one or more things to iterate over", "(items, others)")
    inner = [_open_sequence(ctx, argument) for argument in node.args]

    def item(position: Number) -> Operand:
        return Tuple(tuple(sequence.item(position) for sequence in inner))

    is_uniform = all(sequence.is_uniform for sequence in inner)
    return Sequence(_shortest(ctx, inner), item, is_uniform)


def _shortest(ctx: Context, sequences: list[Sequence]) -> Number:
    known = [length for each in sequences if (length := each.length.literal) is not None]
    lengths = [each.length.value for each in sequences if each.length.literal is None]
    if known:
        shortest = position_of(ctx, int(min(known)))
        if not lengths:
            return shortest
        lengths.append(shortest.value)
    value = lengths[0]
    for other in lengths[1:]:
        value = ctx.builder.binary(ir.BinaryKind.MINIMUM, value, other)
    return Number(value)


def _reversed(ctx: Context, node: ast.Call) -> Sequence:
    if len(node.args) != 1 or node.keywords:
        _fail_arguments(ctx, node, "reversed", "one thing to iterate over", "(items)")
    inner = _open_sequence(ctx, node.args[0])
    last = arithmetic.binary(ctx, ast.Sub, inner.length, position_of(ctx, 1), node)

    def item(position: Number) -> Operand:
        mirrored = arithmetic.binary(ctx, ast.Sub, last, position, node)
        assert isinstance(mirrored, Number)
        ctx.nonnegative.add(mirrored.value)
        return inner.item(mirrored)

    return Sequence(inner.length, item, inner.is_uniform)


def _fail_arguments(
    ctx: Context, node: ast.Call, name: str, expected: str, example: str
) -> NoReturn:
    ctx.fail(KernelTypeError, f"{name}() takes {expected}", node, help=f"write {name}{example}")
