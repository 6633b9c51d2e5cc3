"""The table of functions with a meaning of their own, and how they take their arguments."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from pygpulib.errors import KernelTypeError, counted
from pygpulib.jit.frontend import inference, optionals
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.values import Number, Operand

Arguments = Sequence[Operand]
Keywords = Mapping[str, Operand]
Handler = Callable[[Context, Arguments, Keywords, ast.AST], Operand]

_HANDLERS: dict[int, tuple[object, Handler]] = {}


def register(*spellings: object) -> Callable[[Handler], Handler]:
    """Return a decorator that makes a handler the meaning of some Python objects in kernels."""

    def add(handler: Handler) -> Handler:
        for spelling in spellings:
            _HANDLERS[id(spelling)] = (spelling, handler)
        return handler

    return add


def find_handler(value: object) -> Handler | None:
    """Return what calling a Python object means, if it is in the table."""
    entry = _HANDLERS.get(id(value))
    return None if entry is None else entry[1]


# -------------------------------------------------------------------------------------- arguments


def function_name(spelling: object) -> str:
    """Return how messages call a function: ``math.sin``."""
    name = getattr(spelling, "__name__", str(spelling))
    if isinstance(spelling, np.ufunc):
        return f"numpy.{name}"
    module = getattr(spelling, "__module__", None)
    return f"{module}.{name}" if module in ("math", "cmath", "numpy", "operator") else name


def no_keywords(ctx: Context, function: object, kwargs: Keywords, node: ast.AST) -> None:
    """Fail if there are keyword arguments."""
    if kwargs:
        ctx.fail(
            KernelTypeError,
            f"{function_name(function)} takes no keyword argument {next(iter(kwargs))!r}",
            node,
            help="pass the arguments by position",
        )


def bind(
    ctx: Context,
    name: str,
    parameters: tuple[str, ...],
    required: int,
    args: Arguments,
    kwargs: Keywords,
    node: ast.AST,
) -> list[Operand | None]:
    """Return the arguments in the order of the parameters, None where one is left out.

    Parameters
    ----------
    ctx : Context
        Where we are.
    name : str
        What messages call the function.
    parameters : tuple of str
        Names of all parameters.
    required : int
        How many of them must be given.
    args, kwargs : sequence and mapping of Operand
        The arguments.
    node : ast.AST
        Where errors point.
    """
    unknown = [key for key in kwargs if key not in parameters[len(args) :]]
    given = [*args, *(kwargs.get(key) for key in parameters[len(args) :])]
    count = len(args) + len(kwargs)
    if unknown or len(args) > len(parameters) or None in given[:required]:
        at_most = len(parameters)
        expected = counted(at_most, "argument")
        if required < at_most:
            expected = f"{required} to {expected}"
        problem = f"a keyword argument {unknown[0]!r}" if unknown else counted(count, "argument")
        ctx.fail(
            KernelTypeError,
            f"{name} is called with {problem}",
            node,
            detail=f"expected {expected}: {', '.join(parameters)}",
            help="check the arguments",
        )
    return [None if each is None else optionals.plain(ctx, each) for each in given]


def numbers(ctx: Context, name: str, args: Sequence[Operand | None], node: ast.AST) -> list[Number]:
    """Return arguments that must all be real numbers."""
    plain = [None if each is None else optionals.plain(ctx, each) for each in args]
    found = [argument for argument in plain if isinstance(argument, Number)]
    if len(found) != len(args):
        given = ", ".join(inference.describe(one) for one in args if one is not None)
        ctx.fail(
            KernelTypeError,
            f"{name} does not take ({given})",
            node,
            detail="expected real numbers",
            help="index arrays and tuples, or convert the arguments",
        )
    return found
