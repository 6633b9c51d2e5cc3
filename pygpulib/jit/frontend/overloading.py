"""Calls of what programs have added to the kernel language; see `pygpulib.jit.extensions`."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pygpulib.errors import CompileError, KernelTypeError
from pygpulib.jit import extensions, types
from pygpulib.jit.extensions import Overload
from pygpulib.jit.frontend import forms, inference, inline
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import Number, Operand, type_of

Arguments = Sequence[Operand]
Keywords = Mapping[str, Operand]


def find_attribute(ctx: Context, operand: Operand, name: str, node: ast.AST) -> Operand | None:
    """Return an attribute that programs have added to the type of a value, if there is one."""
    overloads = extensions.find_attributes(type_of(operand), name)
    if not overloads:
        return None
    return call(ctx, f"the attribute {name!r}", overloads, (operand,), {}, node)


def has_method(operand: Operand, name: str) -> bool:
    """Return whether programs have added a method to the type of a value."""
    return bool(extensions.find_methods(type_of(operand), name))


def call_method(
    ctx: Context, operand: Operand, name: str, args: Arguments, kwargs: Keywords, node: ast.AST
) -> Operand:
    """Call a method that programs have added to the type of a value."""
    overloads = extensions.find_methods(type_of(operand), name)
    return call(ctx, f"the method {name!r}", overloads, (operand, *args), kwargs, node)


def call(
    ctx: Context,
    title: str,
    overloads: Sequence[Overload],
    args: Arguments,
    kwargs: Keywords,
    node: ast.AST,
) -> Operand:
    """Call the first function that an overload gives for the types of the arguments.

    Parameters
    ----------
    ctx : Context
        Where we are.
    title : str
        What messages call it.
    overloads : sequence of Overload
        Whom to ask, in this order.
    args, kwargs : sequence and mapping of Operand
        The arguments.
    node : ast.AST
        Where errors point.
    """
    failure: CompileError | None = None
    for overload in overloads:
        for with_literals in (overload.prefers_literals, not overload.prefers_literals):
            given = [_type_for(each, with_literals) for each in args]
            named = {name: _type_for(each, with_literals) for name, each in kwargs.items()}
            try:
                function = _choose(overload, given, named)
            except CompileError as error:
                failure = error
                continue
            if function is not None:
                return inline.call(ctx, function, args, kwargs, node)
    if failure is not None and failure.span is None:
        ctx.fail(type(failure), failure.problem, node, detail=failure.detail, help=failure.help)
    shown = ", ".join(inference.describe(each) for each in (*args, *kwargs.values()))
    ctx.fail(
        KernelTypeError,
        f"{title} does not take ({shown})",
        node,
        detail="no overload that was registered for it returned a function",
        help="check the number and the types of the arguments",
    )


def _choose(
    overload: Overload, given: Sequence[types.Type], named: Mapping[str, types.Type]
) -> Callable[..., Any] | None:
    key = (tuple(given), tuple(named.items()))
    if key not in overload.chosen:
        overload.chosen[key] = overload.choose(*given, **named)
    return overload.chosen[key]


def _type_for(operand: Operand, with_literals: bool) -> types.Type:
    """Return the type of an argument as an overload sees it."""
    match operand:
        case Number(literal=int(value)) if with_literals:
            return types.LiteralType(operand.dtype, value)
        case _:
            return forms.form_of(operand)
