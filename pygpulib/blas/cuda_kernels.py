"""Kernels for what cuBLAS has no function for."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

from pygpulib.blas.cuda_matrices import is_aligned
from pygpulib.blas.cuda_numbers import convert
from pygpulib.blas.engine import GELU_CUBE, GELU_SCALE
from pygpulib.core.creation import device_array
from pygpulib.jit.dispatcher import Kernel
from pygpulib.jit.intrinsics.threads import blockDim, blockIdx, gridDim, threadIdx
from pygpulib.jit.options import CompileOptions

if TYPE_CHECKING:
    from types import FunctionType

    from pygpulib.core.array import ndarray

_THREADS = 256
_MOST_BLOCKS = 4096
_ACTIVATIONS = {None: 0, "relu": 1, "gelu": 2}


def _finish(work: Any, bias: Any, has_bias: Any, activation: Any, out: Any) -> None:
    """Write f(work + bias) to out."""
    columns = out.shape[1]
    first = blockIdx.x * blockDim.x + threadIdx.x
    for place in range(first, out.size, gridDim.x * blockDim.x):
        i, j = place // columns, place % columns
        value = work[i, j]
        if has_bias:
            value = value + bias[j]
        if activation == 1:
            # Not a maximum, which would lose what is not a number.
            value = type(value)(0) if value < 0 else value
        elif activation == 2:
            inner = GELU_SCALE * (value + GELU_CUBE * value * value * value)
            value = 0.5 * value * (1 + math.tanh(inner))
        out[i, j] = value


def _scale(x: Any, factor: Any) -> None:
    """Multiply a vector by a number; 0 makes zeros whatever it held."""
    number = factor[0]
    first = blockIdx.x * blockDim.x + threadIdx.x
    for place in range(first, x.size, gridDim.x * blockDim.x):
        if number == 0:
            x[place] = 0
        else:
            x[place] = number * x[place]


class Kernels:
    """The kernels, loaded for one driver."""

    def __init__(self) -> None:
        self._finish = Kernel(cast("FunctionType", _finish), CompileOptions())
        self._scale = Kernel(cast("FunctionType", _scale), CompileOptions())

    def finish(
        self,
        work: ndarray,
        bias: ndarray | None,
        activation: str | None,
        out: ndarray,
        stream: int,
    ) -> None:
        """Write f(work + bias) to out; both are packed, with any number of axes before the last."""
        if out.size:
            columns = out.shape[-1]
            work, target = work.reshape(-1, columns), out.reshape(-1, columns)
            launch = self._finish[_blocks(out.size), _THREADS, stream]
            row: Any = work[0] if bias is None else bias
            launch(work, row, bias is not None, _ACTIVATIONS[activation], target)

    def scale(self, array: ndarray, factor: ndarray, stream: int) -> None:
        """Multiply an array in place by a number of its dtype in device memory."""
        if not array.size:
            return
        packed = array
        if not (array.flags["C_CONTIGUOUS"] and is_aligned(array)):
            packed = device_array(array.shape, array.dtype, stream=stream)
            convert(array, packed, stream)
        launch = self._scale[_blocks(array.size), _THREADS, stream]
        launch(packed.reshape(-1), factor.reshape(1))
        if packed is not array:
            convert(packed, array, stream)


def _blocks(size: int) -> int:
    return min(-(-size // _THREADS), _MOST_BLOCKS)
