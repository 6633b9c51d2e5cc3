"""Products of stacks of small matrices on the CPU: one kernel, a block of it for each product.

For small matrices most of the time of BLAS goes by before its arithmetic begins. The kernel has no
such beginnings, and its blocks run on all processors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pygpulib.jit.dispatcher import Kernel
from pygpulib.jit.intrinsics.threads import blockIdx, threadIdx
from pygpulib.jit.options import CompileOptions

if TYPE_CHECKING:
    from types import FunctionType

    from pygpulib.core.driver import HostArray

_FEWEST_PRODUCTS = 64
_LARGEST_RESULT = 256
_LONGEST_SUM = 32


def fits(a: HostArray, b: HostArray, c: HostArray) -> bool:
    """Return whether the kernel multiplies stacks faster than BLAS."""
    count, rows, columns = c.shape
    return (
        count >= _FEWEST_PRODUCTS
        and 0 < rows * columns <= _LARGEST_RESULT
        and 0 < a.shape[2] <= _LONGEST_SUM
        and c.dtype.kind == "f"
        and a.shape[0] == count
        and b.shape[0] == count
        and not np.may_share_memory(c, a)
        and not np.may_share_memory(c, b)
    )


def _product(a: Any, b: Any, c: Any, alpha: Any, beta: Any) -> None:
    """Write one element of c = alpha a b + beta c."""
    place, i, j = blockIdx.x, threadIdx.y, threadIdx.x
    total = 0.0
    for k in range(a.shape[2]):
        total += a[place, i, k] * b[place, k, j]
    total *= alpha
    if beta != 0:
        total += beta * c[place, i, j]
    c[place, i, j] = total


_kernel = Kernel(cast("FunctionType", _product), CompileOptions())


def multiply(a: HostArray, b: HostArray, c: HostArray, alpha: float, beta: float) -> None:
    """Write alpha a b + beta c to c."""
    count, rows, columns = c.shape
    _kernel[count, (columns, rows)](a, b, c, alpha, beta)
