"""Kernels whose threads work together, natively and in the interpreter."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from pygpulib import cuda
from pygpulib.jit.backends.interp.launch import run
from pygpulib.jit.options import CompileOptions
from tests.helpers.kernels import Kernel, compare, compile_for

Extent = int | Sequence[int]


def run_both(
    kernel: Kernel, grid: Extent, block: Extent, *args: Any, shared_bytes: int = 0
) -> tuple[Any, ...]:
    """Run a kernel natively and in the interpreter, compare, and return the arguments after it."""
    native, interpreted = copy.deepcopy(args), copy.deepcopy(args)
    cuda.jit(fma=False)(kernel)[grid, block, 0, shared_bytes](*native)
    function = compile_for(kernel, *interpreted, options=CompileOptions(fma=False))
    outcome = run(function, grid, block, interpreted, dynamic_shared_bytes=shared_bytes)
    assert outcome.fault is None, outcome.fault
    compare(interpreted, native)
    return native
