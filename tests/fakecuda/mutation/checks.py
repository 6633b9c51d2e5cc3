"""What checks of kernels have in common."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from pygpulib import cuda

Check = Callable[[np.random.Generator], None]
CASES: dict[str, Check] = {}


def case(check: Check) -> Check:
    CASES[check.__name__] = check
    return check


def same(found: np.ndarray, expected: np.ndarray) -> None:
    """Check that all is equal to the bit; NaN is equal to NaN."""
    np.testing.assert_array_equal(found, expected, strict=True)


def close(found: np.ndarray, expected: np.ndarray, rtol: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


def run(kernel, grid, block, *arguments, shared_bytes=0):
    """Launch with copies of the arrays; return all arguments as the kernel leaves them."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    kernel[grid, block, 0, shared_bytes](*copies)
    cuda.synchronize()
    return copies
