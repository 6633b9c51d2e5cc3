"""Kernels that apply a function to each row of some columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pygpulib import cuda

Function = Callable[..., Any]


def kernel_for(function: Function, inputs: int, outputs: int = 1) -> Callable[..., None]:
    """Return a Python kernel of so many input columns and then output columns.

    Parameters
    ----------
    function : callable
        What to apply: a function that kernels can call.
    inputs, outputs : int
        How many columns it takes and gives.
    """
    return _KERNELS[inputs, outputs](function)


def _one_to_one(function: Function) -> Callable[..., None]:
    def kernel(a: Any, out: Any) -> None:
        i = cuda.grid(1)
        if i < a.size:
            out[i] = function(a[i])

    return kernel


def _two_to_one(function: Function) -> Callable[..., None]:
    def kernel(a: Any, b: Any, out: Any) -> None:
        i = cuda.grid(1)
        if i < a.size:
            out[i] = function(a[i], b[i])

    return kernel


def _three_to_one(function: Function) -> Callable[..., None]:
    def kernel(a: Any, b: Any, c: Any, out: Any) -> None:
        i = cuda.grid(1)
        if i < a.size:
            out[i] = function(a[i], b[i], c[i])

    return kernel


def _one_to_two(function: Function) -> Callable[..., None]:
    def kernel(a: Any, first: Any, second: Any) -> None:
        i = cuda.grid(1)
        if i < a.size:
            first[i], second[i] = function(a[i])

    return kernel


def _two_to_two(function: Function) -> Callable[..., None]:
    def kernel(a: Any, b: Any, out: Any, more: Any) -> None:
        i = cuda.grid(1)
        if i < a.size:
            out[i], more[i] = function(a[i], b[i])

    return kernel


_KERNELS = {
    (2, 2): _two_to_two,
    (1, 1): _one_to_one,
    (2, 1): _two_to_one,
    (3, 1): _three_to_one,
    (1, 2): _one_to_two,
}
