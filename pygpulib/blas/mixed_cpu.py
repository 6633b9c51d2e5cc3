"""Products in mixed precision on the CPU: factors converted to what its BLAS multiplies fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.blas.engine import GELU_CUBE, GELU_SCALE
from pygpulib.blas.layout import turn
from pygpulib.core.array import ndarray
from pygpulib.core.dtypes import storage_dtype

if TYPE_CHECKING:
    from pygpulib.blas.engine import Product
    from pygpulib.core.driver import HostArray


def _to_tf32(array: HostArray) -> HostArray:
    """Return float32 numbers with ten bits after the leading one, halves rounded away from 0."""
    bits = array.view(np.uint32)
    exponents = np.uint32(0x7F800000)
    rounded = (bits + np.uint32(0x1000)) & np.uint32(0xFFFFE000)
    return np.where((bits & exponents) == exponents, bits, rounded).view(np.float32)


def _prepare(array: HostArray, compute: str) -> HostArray:
    """Return a factor as it is multiplied."""
    match compute:
        case "float64" | "int32":
            # Products of eight-bit numbers are exact in float64, and so is any sum of them here.
            return array.astype(np.float64)
        case "tf32":
            return _to_tf32(np.ascontiguousarray(array, np.float32))
        case "fast float16" | "fast bfloat16":
            small = storage_dtype(compute.removeprefix("fast "))
            return array.astype(small).astype(np.float32)
        case _:
            return array.astype(np.float32)


def _number(value: Any) -> Any:
    return value.item() if isinstance(value, ndarray) else value


def multiply_mixed(wanted: Product, a: HostArray, b: HostArray, c: HostArray) -> None:
    """Write alpha op(a) op(b) + beta c to c."""
    compute = wanted.compute
    alpha, beta = _number(wanted.alpha), _number(wanted.beta)
    if not alpha:
        # Factors are not read: they may hold anything.
        c[...] = c * beta if beta else 0
        return
    first, second = _prepare(a, compute), _prepare(b, compute)
    product: Any = turn(wanted.transa, first) @ turn(wanted.transb, second)
    if compute == "int32":
        total = int(alpha) * product.astype(np.int64)
        if beta:
            total += int(beta) * c.astype(np.int64)
        c[...] = total.astype(np.int32)
        return
    kind = product.dtype.type
    product *= kind(alpha)
    if beta:
        product += kind(beta) * c.astype(product.dtype)
    # As on a GPU, what is too large for the result becomes infinite.
    with np.errstate(over="ignore"):
        c[...] = product.astype(c.dtype)


def finish(work: HostArray, bias: HostArray | None, activation: str | None, out: HostArray) -> None:
    """Write f(work + bias) to out; the first is changed."""
    value: Any = work
    if bias is not None:
        value += bias
    if activation == "relu":
        value = np.maximum(value, 0)
    elif activation == "gelu":
        inner = GELU_SCALE * (value + GELU_CUBE * value**3)
        value = 0.5 * value * (1 + np.tanh(inner))
    with np.errstate(over="ignore"):
        out[...] = value.astype(out.dtype)
