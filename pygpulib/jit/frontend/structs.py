"""Values of types made by programs; see `pygpulib.jit.models`."""

from __future__ import annotations

import ast
import operator as python_operator
from collections.abc import Mapping, Sequence
from typing import NoReturn

from pygpulib.errors import KernelTypeError, UnsupportedFeatureError
from pygpulib.jit import extensions, models, types
from pygpulib.jit.frontend import forms, inference, overloading
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import Operand, Struct

FUNCTIONS: dict[type[ast.AST], object] = {
    ast.Add: python_operator.add,
    ast.Sub: python_operator.sub,
    ast.Mult: python_operator.mul,
    ast.MatMult: python_operator.matmul,
    ast.Div: python_operator.truediv,
    ast.FloorDiv: python_operator.floordiv,
    ast.Mod: python_operator.mod,
    ast.Pow: python_operator.pow,
    ast.LShift: python_operator.lshift,
    ast.RShift: python_operator.rshift,
    ast.BitAnd: python_operator.and_,
    ast.BitOr: python_operator.or_,
    ast.BitXor: python_operator.xor,
    ast.USub: python_operator.neg,
    ast.UAdd: python_operator.pos,
    ast.Invert: python_operator.invert,
    ast.Eq: python_operator.eq,
    ast.NotEq: python_operator.ne,
    ast.Lt: python_operator.lt,
    ast.LtE: python_operator.le,
    ast.Gt: python_operator.gt,
    ast.GtE: python_operator.ge,
}
"""The functions whose overloads say what an operator means."""


def are_involved(operands: Sequence[Operand]) -> bool:
    """Return whether a value of a type made by a program is among some operands."""
    return any(isinstance(one, Struct) for one in operands)


def apply(
    ctx: Context, function: object, title: str, operands: Sequence[Operand], node: ast.AST
) -> Operand | None:
    """Apply an operator as its overloads say, None if that is not for them.

    Parameters
    ----------
    ctx : Context
        Where we are.
    function : object
        What overloads were registered for: a function of the module ``operator``, mostly.
    title : str
        What messages call it.
    operands : sequence of Operand
        What it is applied to.
    node : ast.AST
        Where errors point.
    """
    overloads = extensions.find_function(function)
    if not overloads or not are_involved(operands):
        return None
    return overloading.call(ctx, title, overloads, operands, {}, node)


def from_python(ctx: Context, value: object, name: str, node: ast.AST) -> Struct | None:
    """Return a constant of a type made by a program, None for any other object."""
    from pygpulib.jit.frontend import expressions  # imports this module

    type_ = models.type_of_object(value)
    if type_ is None:
        return None
    given: dict[str, Operand] = {}
    for member, _ in models.members_of(type_):
        if not hasattr(value, member):
            ctx.fail(
                KernelTypeError,
                f"{name} is a {type_} without the attribute {member!r}",
                node,
                help="the members of a model are read from attributes of the same names",
            )
        given[member] = expressions.from_python(ctx, getattr(value, member), name, node)
    return _make(ctx, type_, given, node)


def attribute(ctx: Context, operand: Struct, name: str, node: ast.AST) -> Operand:
    """Return a member that kernels see."""
    visible = models.attributes_of(operand.type)
    if name not in visible:
        known = ", ".join(visible)
        ctx.fail(
            KernelTypeError,
            f"{operand.type} has no attribute {name!r} in kernels",
            node,
            help=f"its attributes are {known}; make_attribute_wrapper and overload_attribute "
            "give it more"
            if known
            else "give it one with make_attribute_wrapper or overload_attribute",
        )
    names = [member for member, _ in models.members_of(operand.type)]
    if visible[name] not in names:
        ctx.fail(
            KernelTypeError,
            f"the attribute {name!r} of {operand.type} is its member {visible[name]!r}, which "
            "there is not",
            node,
            help=f"its model has the members {', '.join(names)}",
        )
    return operand.items[names.index(visible[name])]


def subscript(ctx: Context, operand: Struct, index: Operand, node: ast.AST) -> Operand:
    """Return what an overload of ``operator.getitem`` says."""
    found = apply(ctx, python_operator.getitem, "the index", (operand, index), node)
    if found is None:
        ctx.fail(
            KernelTypeError,
            f"{operand.type} cannot be indexed in a kernel",
            node,
            help="write @overload(operator.getitem)",
        )
    return found


# ----------------------------------------------------------------------------------- construction


def construct(
    ctx: Context,
    callee: object,
    args: Sequence[Operand],
    kwargs: Mapping[str, Operand],
    node: ast.AST,
) -> Struct | None:
    """Make a value by calling its type or its class, None if the callee is neither.

    The arguments of the type are the members. So are those of the class, if they have the names of
    the members; otherwise only its overloads can say what a call means.
    """
    if isinstance(callee, types.Type) and models.has_model(callee):
        names = [name for name, _ in models.members_of(callee)]
        return _make(ctx, callee, _bound(ctx, str(callee), names, args, kwargs, node), node)
    typer = models.typer_of(callee)
    if typer is None:
        return None
    title = getattr(callee, "__name__", "the class")
    from inspect import signature  # slow to import, and seldom needed

    names = list(signature(typer).parameters)
    given = _bound(ctx, title, names, args, kwargs, node)
    result = typer(**{name: forms.form_of(operand) for name, operand in given.items()})
    if result is None:
        shown = ", ".join(inference.describe(each) for each in given.values())
        ctx.fail(
            KernelTypeError,
            f"{title} does not take ({shown})",
            node,
            detail="the function given by type_callable returned no type",
            help="check the types of the arguments",
        )
    if not isinstance(result, types.Type) or not models.has_model(result):
        _fail_underivable(ctx, title, f"it makes {result!r}, which has no model", node)
    members = [name for name, _ in models.members_of(result)]
    if set(members) != set(names):
        reason = f"its parameters are {', '.join(names)}; the members are {', '.join(members)}"
        _fail_underivable(ctx, title, reason, node)
    return _make(ctx, result, given, node)


def _fail_underivable(ctx: Context, title: str, reason: str, node: ast.AST) -> NoReturn:
    ctx.fail(
        UnsupportedFeatureError,
        f"nothing says how {title} makes a value of its arguments",
        node,
        detail=reason,
        help=f"write @overload({title}), whose function calls the type with the members",
    )


def _bound(
    ctx: Context,
    title: str,
    names: Sequence[str],
    args: Sequence[Operand],
    kwargs: Mapping[str, Operand],
    node: ast.AST,
) -> dict[str, Operand]:
    """Return the arguments by the names of the parameters."""
    given = dict(zip(names, args, strict=False))
    is_wrong = len(args) > len(names) or any(name in given or name not in names for name in kwargs)
    given.update(kwargs)
    if is_wrong or len(given) != len(names):
        ctx.fail(
            KernelTypeError,
            f"{title} is called with the wrong arguments",
            node,
            detail=f"expected {', '.join(names) or 'none'}",
        )
    return given


def _make(ctx: Context, type_: types.Type, given: Mapping[str, Operand], node: ast.AST) -> Struct:
    items = tuple(
        inference.convert(ctx, given[name], member, node)
        for name, member in models.members_of(type_)
    )
    return Struct(type_, items)
