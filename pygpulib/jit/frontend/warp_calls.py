"""Calls of the functions of a warp: inlined from the kernel language."""

from __future__ import annotations

import ast

from pygpulib.jit.frontend import inline
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import Arguments, Keywords, register
from pygpulib.jit.frontend.values import Operand
from pygpulib.jit.intrinsics import warp


def _register(function: warp.WarpFunction) -> None:
    @register(function)
    def call(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
        return inline.call(ctx, function.body, list(args), dict(kwargs), node)


for _function in warp.FUNCTIONS:
    _register(_function)
