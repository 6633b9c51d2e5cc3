"""Functions of numbers, compiled to native code and run over arrays of inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pygpulib import cuda

Column = np.ndarray[Any, Any]


def over(function: Callable[..., Any], columns: tuple[Column, ...], *outputs: Column) -> None:
    """Apply a function of the kernel language to each row; its results go to the outputs."""
    shape = len(columns), len(outputs)
    kernel = cuda.jit(_KERNELS[shape](function))
    rows = len(columns[0])
    kernel[(rows + 127) // 128, 128](*columns, *outputs)


def _one_to_one(function: Callable[..., Any]) -> Callable[..., None]:
    def kernel(a: Any, out: Any) -> None:
        i = cuda.grid(1)
        if i < a.size:
            out[i] = function(a[i])

    return kernel


def _two_to_one(function: Callable[..., Any]) -> Callable[..., None]:
    def kernel(a: Any, b: Any, out: Any) -> None:
        i = cuda.grid(1)
        if i < a.size:
            out[i] = function(a[i], b[i])

    return kernel


def _three_to_one(function: Callable[..., Any]) -> Callable[..., None]:
    def kernel(a: Any, b: Any, c: Any, out: Any) -> None:
        i = cuda.grid(1)
        if i < a.size:
            out[i] = function(a[i], b[i], c[i])

    return kernel


def _one_to_two(function: Callable[..., Any]) -> Callable[..., None]:
    def kernel(a: Any, first: Any, second: Any) -> None:
        i = cuda.grid(1)
        if i < a.size:
            first[i], second[i] = function(a[i])

    return kernel


_KERNELS = {
    (1, 1): _one_to_one,
    (2, 1): _two_to_one,
    (3, 1): _three_to_one,
    (1, 2): _one_to_two,
}
