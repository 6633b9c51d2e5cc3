"""Functions of numbers, compiled to native code and run over arrays of inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from pygpulib import cuda
from tests.helpers.elementwise import kernel_for

Column = np.ndarray[Any, Any]


def over(function: Callable[..., Any], columns: tuple[Column, ...], *outputs: Column) -> None:
    """Apply a function of the kernel language to each row; its results go to the outputs."""
    kernel = cuda.jit(kernel_for(function, len(columns), len(outputs)))
    rows = len(columns[0])
    kernel[(rows + 127) // 128, 128](*columns, *outputs)
