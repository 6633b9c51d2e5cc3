"""Calls of functions of NumPy and ``math`` that are inlined from the kernel language."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable

import numpy as np

from pygpulib.jit.frontend import calls, inference, inline, integers
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import (
    Arguments,
    Keywords,
    function_name,
    no_keywords,
    numbers,
    register,
)
from pygpulib.jit.frontend.values import Operand
from pygpulib.jit.intrinsics import formulas

Function = Callable[..., object]


def _register_float(spelling: object, body: Function, count: int, *constants: float) -> None:
    """Make a function of real numbers known, which takes them in one floating-point type."""

    @register(spelling)
    def call(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
        no_keywords(ctx, spelling, kwargs, node)
        name = function_name(spelling)
        found = numbers(ctx, name, args, node)
        dtype = None
        if len(found) == count:
            dtype = inference.promote_binary(ast.Div, found[0].dtype, found[-1].dtype)
        if dtype is None:
            calls.fail_types(ctx, name, args, node)
        operands: list[Operand] = [inference.cast(ctx, one, dtype) for one in found]
        operands += [inference.constant(ctx, constant, dtype) for constant in constants]
        return inline.call(ctx, body, operands, {}, node)


_register_float(np.logaddexp, formulas.logaddexp, 2)
_register_float(np.logaddexp2, formulas.logaddexp2, 2, math.log2(math.e))
_register_float(np.heaviside, formulas.heaviside, 2, 1.0)
_register_float(np.spacing, formulas.spacing, 1, math.inf)
_register_float(math.ulp, formulas.ulp, 1, math.inf)


def _register_whole(spelling: object, body: Function, neutral: int) -> None:
    """Make a function of integers known, which goes through them one by one."""

    @register(spelling)
    def call(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
        no_keywords(ctx, spelling, kwargs, node)
        name = function_name(spelling)
        found = numbers(ctx, name, args, node)
        is_ufunc = isinstance(spelling, np.ufunc)
        if not all(one.dtype.is_integer for one in found) or (is_ufunc and len(found) != 2):
            calls.fail_types(ctx, name, args, node)
        if len(found) < 2:
            found = [integers.literal(ctx, neutral), *found]
        result: Operand = found[0]
        for one in found[1:]:
            result = inline.call(ctx, body, [result, one], {}, node)
        return result


_register_whole(np.gcd, formulas.gcd, 0)
_register_whole(np.lcm, formulas.lcm, 1)
_register_whole(math.gcd, formulas.gcd, 0)
_register_whole(math.lcm, formulas.lcm, 1)
