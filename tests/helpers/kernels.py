"""Kernels run by CPython and, compiled, by the interpreter of the IR."""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np

from pygpulib.jit.backends.interp.launch import run
from pygpulib.jit.frontend.compile import compile_function
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.verifier import verify
from pygpulib.jit.options import CompileOptions
from pygpulib.jit.signature import typeof

Kernel = Callable[..., object]


class Device:
    """A device function: what marks it for the front end is the attribute ``py_func``."""

    def __init__(self, py_func: Kernel) -> None:
        self.py_func = py_func
        self.__name__ = getattr(py_func, "__name__", "?")

    def __call__(self, *args: object, **kwargs: object) -> object:
        return self.py_func(*args, **kwargs)


def compile_for(
    kernel: Kernel, *args: object, options: CompileOptions | None = None
) -> ir.Function:
    """Compile a kernel for the types of some arguments and verify the result."""
    function = compile_function(kernel, tuple(map(typeof, args)), options or CompileOptions())
    verify(function)
    return function


def interpret(
    kernel: Kernel, *args: object, threads: int = 1, debug: bool = False
) -> ir.ErrorEntry | None:
    """Run a kernel in the interpreter; arrays among the arguments change.

    Returns the entry of the first exception, if there was one.
    """
    function = compile_for(kernel, *args, options=CompileOptions(debug=debug))
    fault = run(function, 1, threads, args).fault
    return None if fault is None else function.errors[fault.code]


def check(kernel: Kernel, *args: object) -> None:
    """Run one thread of a kernel both ways and compare all arrays."""
    expected = copy.deepcopy(args)
    kernel(*expected)
    actual = copy.deepcopy(args)
    interpret(kernel, *actual)
    compare(expected, actual)


def compare(expected: object, actual: object) -> None:
    """Compare arrays, also inside tuples."""
    if isinstance(expected, np.ndarray):
        np.testing.assert_array_equal(actual, expected)
    elif isinstance(expected, tuple):
        assert isinstance(actual, tuple)
        for one, other in zip(expected, actual, strict=True):
            compare(one, other)
