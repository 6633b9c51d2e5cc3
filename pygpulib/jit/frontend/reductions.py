"""Reductions of whole arrays: ``np.sum(a)``, ``a.max()``."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

import numpy as np

from pygpulib.core.dtypes import DType
from pygpulib.errors import KernelTypeError
from pygpulib.jit.frontend import inference, inline
from pygpulib.jit.frontend.context import Context
from pygpulib.jit.frontend.functions import Arguments, Handler, Keywords, bind, register
from pygpulib.jit.frontend.values import Array, Object, Operand
from pygpulib.jit.intrinsics.array_reductions import FUNCTIONS

METHODS = {
    function.__name__: function for function in FUNCTIONS if hasattr(np.ndarray, function.__name__)
}
"""The functions that arrays also have as methods."""

_ORDERED = {np.min, np.max, np.argmin, np.argmax, np.nanmin, np.nanmax, np.var, np.std}
_ORDERED |= {np.nanvar, np.nanstd}


def _handler(function: Callable[..., Any]) -> Handler:
    def apply(ctx: Context, args: Arguments, kwargs: Keywords, node: ast.AST) -> Operand:
        (array,) = bind(ctx, f"numpy.{function.__name__}", ("a",), 1, args, kwargs, node)
        assert array is not None
        return call(ctx, function, array, node)

    return apply


for _function in FUNCTIONS:
    register(_function)(_handler(_function))


def call(ctx: Context, function: Callable[..., Any], array: Operand, node: ast.AST) -> Operand:
    """Reduce an array by one of NumPy's functions."""
    element = array.type.element if isinstance(array, Array) else None
    is_complex = isinstance(element, DType) and element.is_complex
    if not isinstance(element, DType) or (is_complex and function in _ORDERED):
        ctx.fail(
            KernelTypeError,
            f"numpy.{function.__name__} does not take {inference.describe(array)}",
            node,
            detail=f"expected an array of {'real ' * (function in _ORDERED)}numbers",
            help="pass an array argument, or a view of one",
        )
    # NumPy itself says of what type the result is.
    wanted = Object(np.asarray(function(np.ones(1, element.numpy))).dtype.type)
    return inline.call(ctx, FUNCTIONS[function], [array, wanted], {}, node)
