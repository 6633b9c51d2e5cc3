"""Calls of the functions of a warp: inlined from the kernel language."""

from __future__ import annotations

import ast

from pygpulib._record import replace
from pygpulib.errors import KernelTypeError
from pygpulib.jit.frontend import inference, inline, optionals
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import Arguments, Keywords, register
from pygpulib.jit.frontend.values import Complex, Number, Operand, Time
from pygpulib.jit.intrinsics import warp
from pygpulib.jit.ir import ops as ir

_SHUFFLES = (warp.shfl_sync, warp.shfl_up_sync, warp.shfl_down_sync, warp.shfl_xor_sync)


def _register(function: warp.WarpFunction) -> None:
    names = function.parameters

    @register(function)
    def call(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
        for name, argument in (*zip(names, args, strict=False), *kwargs.items()):
            _check(ctx, repr(function), name, argument, node)
        if function in _SHUFFLES:
            return _shuffle(ctx, function, args, kwargs, node)
        return inline.call(ctx, function.body, list(args), dict(kwargs), node)


def _shuffle(
    ctx: Context, function: warp.WarpFunction, args: Arguments, kwargs: Keywords, node: ast.AST
) -> Operand:
    """Exchange the numbers that a value is made of, one after the other."""
    given = {**dict(zip(function.parameters, args, strict=False)), **kwargs}
    value = given.get("value")

    def exchange(part: ir.Value) -> ir.Value:
        operands = {**given, "value": Number(part)}
        result = inline.call(ctx, function.body, [], operands, node)
        assert isinstance(result, Number)
        return result.value

    if len(given) == len(args) + len(kwargs):
        if isinstance(value, Complex):
            return replace(value, real=exchange(value.real), imag=exchange(value.imag))
        if isinstance(value, Time):
            return replace(value, value=exchange(value.value))
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
