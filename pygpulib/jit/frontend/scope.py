"""Names: local variables, variables of enclosing functions, captured values and globals."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterable, Iterator
from functools import lru_cache

from pygpulib._record import replace
from pygpulib.errors import KernelTypeError, UndefinedNameError
from pygpulib.jit.frontend import expressions
from pygpulib.jit.frontend.context import Context, Frame
from pygpulib.jit.frontend.values import Array, Operand, Unbound

_Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda | ast.ClassDef


def lookup(ctx: Context, name: str, node: ast.AST) -> Operand:
    """Return what a name means at this point of the program.

    Parameters
    ----------
    ctx : Context
        Where we are.
    name : str
        The name.
    node : ast.AST
        The place for messages.

    Raises
    ------
    UndefinedNameError
        If nothing has that name, or a local variable has no value yet.
    KernelTypeError
        If the variable's values on two paths do not go together.
    """
    frame: Frame | None = ctx.frame
    while frame is not None:
        operand = frame.variables.get(name)
        if operand is not None and not isinstance(operand, Unbound):
            return operand
        if operand is not None or name in local_names(frame.source.node):
            _fail_unbound(ctx, name, operand, node)
        frame = frame.enclosing
    outer = ctx.frame.source.outer
    try:
        value = outer[name]
    except KeyError:
        ctx.fail(
            UndefinedNameError,
            f"name {name!r} is not defined",
            node,
            help=_suggest(name, _visible_names(ctx)),
        )
    return expressions.from_python(ctx, value, name, node)


def assign(ctx: Context, name: str, operand: Operand) -> None:
    """Give a local variable of the innermost function a new value."""
    if isinstance(operand, Array) and not operand.name:
        operand = replace(operand, name=name)
    ctx.frame.variables[name] = operand
    ctx.assigned.append((ctx.frame, ctx.builder.span, name, operand))


def _fail_unbound(ctx: Context, name: str, operand: Operand | None, node: ast.AST) -> None:
    if isinstance(operand, Unbound) and operand.problem:
        ctx.fail(
            KernelTypeError,
            operand.problem,
            node,
            help="use one type for one name, or decide by a value known when the kernel is "
            "compiled",
        )
    ctx.fail(
        UndefinedNameError,
        f"variable {name!r} is used before it has a value",
        node,
        help=f"assign {name!r} on every path that leads here; a name assigned anywhere in a "
        "function is local to it",
    )


def _visible_names(ctx: Context) -> Iterator[str]:
    frame: Frame | None = ctx.frame
    while frame is not None:
        yield from frame.variables
        frame = frame.enclosing
    yield from ctx.frame.source.outer


def _suggest(name: str, names: Iterable[str]) -> str:
    import difflib

    if hasattr(math, name) and not name.startswith("_"):
        return f"write math.{name}, with 'import math' at the top of the file"
    close = difflib.get_close_matches(name, set(names), n=1)
    if close:
        return f"did you mean {close[0]!r}?"
    return "define or import it outside the kernel, or pass it as an argument"


# --------------------------------------------------------------------------------- assigned names


@lru_cache(maxsize=4096)
def local_names(function: ast.FunctionDef | ast.Lambda) -> frozenset[str]:
    """Return the names that are local to a function: parameters and all that is assigned."""
    arguments = function.args
    parameters = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    parameters += [each for each in (arguments.vararg, arguments.kwarg) if each is not None]
    body = function.body if isinstance(function.body, list) else [function.body]
    names = {parameter.arg for parameter in parameters}
    for node in body:
        names |= assigned_names(node)
    return frozenset(names)


@lru_cache(maxsize=4096)
def assigned_names(node: ast.AST) -> frozenset[str]:
    """Return the names that a piece of a function assigns, inner functions not included."""
    return frozenset(_assigned(node))


def _assigned(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name):
        if not isinstance(node.ctx, ast.Load):
            yield node.id
    elif isinstance(node, _Function):
        if not isinstance(node, ast.Lambda):
            yield node.name
    else:
        for child in ast.iter_child_nodes(node):
            yield from _assigned(child)
