"""Products in mixed precision on a GPU: cuBLAS's product, and a kernel that finishes elements."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pygpulib._bindings.cublas import (
    COMPUTE_TYPES,
    DATA_TYPES,
    DEFAULT_ALGORITHM,
    OPERATIONS,
    POINTER_MODE_HOST,
)
from pygpulib.blas.layout import find_columns
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.jit.dispatcher import Kernel
from pygpulib.jit.intrinsics.threads import blockDim, blockIdx, gridDim, threadIdx
from pygpulib.jit.options import CompileOptions

if TYPE_CHECKING:
    from types import FunctionType

    from pygpulib.blas.cuda import CudaEngine
    from pygpulib.blas.engine import Product

_THREADS = 256
_MOST_BLOCKS = 4096
_ACTIVATIONS = {None: 0, "relu": 1, "gelu": 2}
_SQRT_2_OVER_PI = 0.7978845608028654
_GELU_CUBE = 0.044715
# The units that multiply eight-bit numbers take four of them at a time.
_INT8_ALIGNMENT = 4


def make_kernel() -> Kernel:
    """Return a new kernel that finishes elements; it is loaded for one driver."""
    return Kernel(cast("FunctionType", _finish), CompileOptions())


def _finish(work: Any, bias: Any, activation: Any, out: Any) -> None:  # noqa: ANN401
    """Write f(work + bias) to out."""
    columns = out.shape[1]
    first = blockIdx.x * blockDim.x + threadIdx.x
    for place in range(first, out.size, gridDim.x * blockDim.x):
        i, j = place // columns, place % columns
        value = work[i, j] + bias[j]
        if activation == 1:
            # Not a maximum, which would lose what is not a number.
            value = 0 * value if value < 0 else value
        elif activation == 2:
            inner = _SQRT_2_OVER_PI * (value + _GELU_CUBE * value * value * value)
            value = 0.5 * value * (1 + math.tanh(inner))
        out[i, j] = value


def finish(
    kernel: Kernel,
    work: ndarray,
    bias: ndarray,
    activation: str | None,
    out: ndarray,
    stream: int,
) -> None:
    """Write f(work + bias) to out."""
    if out.size:
        blocks = min(-(-out.size // _THREADS), _MOST_BLOCKS)
        kernel[blocks, _THREADS, stream](work, bias, _ACTIVATIONS[activation], out)


def multiply_mixed(
    engine: CudaEngine,
    product: Product,
    factors: tuple[ndarray, ndarray],
    c: ndarray,
    stream: int,
) -> None:
    """Write alpha op(a) op(b) + beta c to c."""
    a, b = factors
    is_turned = product.transa != "N", product.transb != "N"
    if not c.size:
        return
    output = c
    columns = find_columns(c.shape, c.strides, c.itemsize)
    if columns is None:
        output = engine.copy(c, c.dtype, "C", stream)
        columns = find_columns(output.shape, output.strides, output.itemsize)
        assert columns is not None
    is_flipped = columns.is_flipped
    m, n = c.shape
    k = a.shape[0] if is_turned[0] else a.shape[1]
    first = _factor(a, is_turned[0] != is_flipped, stream)
    second = _factor(b, is_turned[1] != is_flipped, stream)
    if is_flipped:
        m, n, first, second = n, m, second, first
    numbers = [_number(each, product.compute) for each in (product.alpha, product.beta)]
    if not numbers[0]:
        # Then factors are not read, whatever they hold.
        k = 0
    arguments: list[Any] = [
        first[1],
        second[1],
        m,
        n,
        k,
        numbers[0].ctypes.data,
        first[0].address,
        DATA_TYPES[a.dtype.name],
        first[2],
        second[0].address,
        DATA_TYPES[b.dtype.name],
        second[2],
        numbers[1].ctypes.data,
        output.address,
        DATA_TYPES[c.dtype.name],
        columns.leading,
        COMPUTE_TYPES[product.compute],
        DEFAULT_ALGORITHM,
    ]
    with engine.handle(stream) as handle:
        handle.use_numbers(POINTER_MODE_HOST)
        handle.library.cublasGemmEx(handle.pointer, *arguments)
    if output is not c:
        engine.assign(c, output, stream)


def _number(value: Any, compute: str) -> np.ndarray[Any, Any]:  # noqa: ANN401
    kinds = {"float16": np.float16, "float64": np.float64, "int32": np.int32}
    number = value.item() if isinstance(value, ndarray) else value
    return np.array(number, kinds.get(compute, np.float32))


def _factor(array: ndarray, transposed: bool, stream: int) -> tuple[ndarray, int, int]:
    """Return a factor, the number of its letter, and its leading dimension."""
    columns = find_columns(array.shape, array.strides, array.itemsize)
    leading = 0 if columns is None else columns.leading
    if array.dtype == np.int8 and (leading % _INT8_ALIGNMENT or array.address % _INT8_ALIGNMENT):
        columns = None
    if columns is None:
        rows = array.shape[1]
        padded = -(-max(rows, 1) // _INT8_ALIGNMENT) * _INT8_ALIGNMENT
        made = device_array((array.shape[0], padded), array.dtype, stream=stream)
        copy: Any = made[:, :rows]
        copy.copy_to_device(array, stream)
        return copy, OPERATIONS["N" if transposed else "T"], padded
    turned = transposed != columns.is_flipped
    return array, OPERATIONS["T" if turned else "N"], columns.leading
