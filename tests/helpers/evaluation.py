"""Functions of numbers, compiled and run over arrays of inputs by the interpreter of the IR."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from pygpulib.core import dtypes
from pygpulib.jit import types
from pygpulib.jit.backends.interp.launch import run
from pygpulib.jit.frontend.compile import compile_function, resolve_result_type
from pygpulib.jit.ir.verifier import verify
from pygpulib.jit.options import CompileOptions
from pygpulib.jit.signature import typeof
from tests.helpers.elementwise import kernel_for
from tests.helpers.kernels import Device

OPTIONS = CompileOptions()


def result_type(function: Callable[..., object], *arguments: types.Type) -> types.Type:
    """Return the type that a function gives for arguments of some types."""
    return resolve_result_type(function, arguments, OPTIONS)


def over(
    function: Callable[..., object], *columns: np.ndarray[Any, Any], debug: bool = False
) -> np.ndarray[Any, Any]:
    """Apply a compiled function to each row of some columns, one thread per row."""
    scalars = [types.scalar_type(dtypes.from_numpy(column.dtype)) for column in columns]
    found = result_type(function, *scalars)
    assert isinstance(found, types.ScalarType)
    out = np.zeros(len(columns[0]), found.dtype.numpy)
    kernel = kernel_for(Device(function), len(columns))
    arguments = (*columns, out)
    compiled = compile_function(kernel, tuple(map(typeof, arguments)), CompileOptions(debug=debug))
    verify(compiled)
    outcome = run(compiled, 1, len(out), arguments)
    assert outcome.fault is None, outcome.fault
    return out


def scalar(function: Callable[..., object], *arguments: Any) -> Any:
    """Return what a compiled function gives for some numbers."""
    columns: Sequence[Any] = [np.array([argument]) for argument in arguments]
    return over(function, *columns)[0]
