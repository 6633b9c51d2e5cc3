"""Calls of the functions of a warp: inlined from the kernel language."""

from __future__ import annotations

import ast

from pygpulib.errors import KernelTypeError
from pygpulib.jit.frontend import inference, inline, optionals
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import Arguments, Keywords, register
from pygpulib.jit.frontend.values import Number, Operand
from pygpulib.jit.intrinsics import warp


def _register(function: warp.WarpFunction) -> None:
    names = function.parameters

    @register(function)
    def call(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
        for name, argument in (*zip(names, args, strict=False), *kwargs.items()):
            _check(ctx, repr(function), name, argument, node)
        return inline.call(ctx, function.body, list(args), dict(kwargs), node)


def _check(ctx: Context, function: str, name: str, argument: Operand, node: ast.AST) -> None:
    """Refuse masks that are no integers, and predicates whose truth C and Python see differently.

    To C, 0.5 is the integer 0.
    """
    plain = optionals.plain(ctx, argument)
    is_integer = isinstance(plain, Number) and plain.dtype.is_integer
    is_truth = isinstance(plain, Number) and plain.dtype.is_bool
    given = inference.describe(argument)
    if name == "mask" and not is_integer:
        ctx.fail(
            KernelTypeError,
            f"the mask of {function} is {given}",
            node,
            detail="Mask type must be an integer",
            help="pass a word with one bit per lane, such as 0xffffffff",
        )
    if name == "predicate" and not (is_integer or is_truth):
        ctx.fail(
            KernelTypeError,
            f"the predicate of {function} is {given}",
            node,
            detail="Predicate must be an integer or boolean",
            help="compare it with something, as in x != 0",
        )


for _function in warp.FUNCTIONS:
    _register(_function)
