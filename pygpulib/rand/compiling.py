"""How the functions of the generators are compiled: with every operation rounded by itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from pygpulib.jit.device_function import DeviceFunction
from pygpulib.jit.dispatcher import Kernel
from pygpulib.jit.options import CompileOptions

Value: TypeAlias = Any
"""A number, array or tuple in a kernel."""

Function: TypeAlias = Callable[..., Value]
"""A function for kernels."""

# The numbers are specified to the last bit, so multiplications and additions stay apart.
_OPTIONS = CompileOptions(fma=False)


def device(function: Function) -> Function:
    """Make a function one for kernels."""
    return DeviceFunction(function, _OPTIONS)  # type: ignore[arg-type]


def kernel(function: Callable[..., None]) -> Kernel:
    """Make a function a kernel."""
    return Kernel(function, _OPTIONS)  # type: ignore[arg-type]
