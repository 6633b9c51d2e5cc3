"""What products cost here and in NumPy and SciPy, on the same processor.

Each round measures the contestants one right after the other; the figures are minima over the
rounds, and ratios of them. The BLAS here is SciPy's; NumPy has another build of it, often a newer
one. Run it on a quiet machine: ``python benchmarks/blas.py``.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import blas as scipy_blas

from pygpulib import blas

Call = Callable[[], object]
Matrix = NDArray[Any]
Row = tuple[str, Call, Call | None, Call | None]
"""What it is, and how it is computed here, by NumPy and by SciPy."""


def small_rows(rng: np.random.Generator) -> Iterator[Row]:
    """Yield products that are over in no time."""
    for letter in ("f4", "f8", "c8", "c16"):
        a, b = rng.random((2, 4, 4)).astype(letter)
        a, b, c = a.copy(), b.copy(), np.empty((4, 4), letter)
        yield (
            f"gemm 4x4 {letter}",
            lambda a=a, b=b: blas.gemm("N", "N", 1.0, a, b),  # type: ignore[misc]
            lambda a=a, b=b: np.matmul(a, b),  # type: ignore[misc]
            None,
        )
        yield (
            f"gemm 4x4 {letter}, output given",
            lambda a=a, b=b, c=c: blas.gemm("N", "N", 1.0, a, b, 0, c),  # type: ignore[misc]
            lambda a=a, b=b, c=c: np.matmul(a, b, out=c),  # type: ignore[misc]
            None,
        )
    x, y = rng.random((2, 8))
    x, y = x.copy(), y.copy()
    yield "dot 8 f8", lambda: blas.dot(x, y), lambda: np.dot(x, y), None
    yield "axpy 8 f8", lambda: blas.axpy(1e-9, x, y), lambda: np.add(1e-9 * x, y, out=y), None
    yield "nrm2 8 f8", lambda: blas.nrm2(x), lambda: np.linalg.norm(x), None
    yield "scal 8 f8", lambda: blas.scal(1.0, x), lambda: np.multiply(1.0, x, out=x), None
    stacks = rng.random((2, 1000, 8, 8))
    first, second = stacks[0].copy(), stacks[1].copy()
    yield (
        "1000 products 8x8 f8",
        lambda: blas.gemm_strided_batched("N", "N", 1.0, first, second),
        lambda: np.matmul(first, second),
        None,
    )
    out = np.empty_like(first)
    yield (
        "1000 products 8x8 f8, output given",
        lambda: blas.gemm_strided_batched("N", "N", 1.0, first, second, 0, out),
        lambda: np.matmul(first, second, out=out),
        None,
    )


def large_rows(rng: np.random.Generator) -> Iterator[Row]:
    """Yield products that take a while."""
    for size in (256, 512, 1024):
        for dtype, gemm in ((np.float32, scipy_blas.sgemm), (np.float64, scipy_blas.dgemm)):
            a, b = rng.random((2, size, size)).astype(dtype)
            yield f"gemm {size}x{size} {np.dtype(dtype).str[1:]}", *_products(a, b, gemm)
    a, x = rng.random((2000, 2000)), rng.random(2000)
    y = np.empty(2000)
    yield (
        "gemv 2000x2000 f8",
        lambda: blas.gemv("N", 1.0, a, x, 0, y),
        lambda: np.dot(a, x, out=y),
        lambda: scipy_blas.dgemv(1.0, a.T, x, 0, y, trans=1, overwrite_y=1),
    )
    columns, product = np.asfortranarray(a), np.zeros((2000, 2000), order="F")
    half = columns[:, :500]
    yield (
        "syrk 2000x500 f8",
        lambda: blas.syrk("L", "N", 1.0, half, 0, product),
        None,
        lambda: scipy_blas.dsyrk(1.0, half, 0, product, lower=1, overwrite_c=1),
    )
    right = np.asfortranarray(rng.random((2000, 100)))
    yield (
        "trsm 2000x100 f8",
        lambda: blas.trsm("L", "L", "N", True, 1.0, columns, right.copy(order="F")),
        None,
        lambda: scipy_blas.dtrsm(1.0, columns, right, lower=1, diag=1),
    )


def _products(a: Matrix, b: Matrix, gemm: Callable[..., object]) -> tuple[Call, Call, Call]:
    c = np.empty_like(a)
    return (
        lambda: blas.gemm("N", "N", 1.0, a, b, 0, c),
        lambda: np.matmul(a, b, out=c),
        # Columns are contiguous for SciPy: the transpose is computed.
        lambda: gemm(1.0, b.T, a.T, 0, c.T, overwrite_c=1),
    )


def measure(call: Call | None) -> float:
    """Return the microseconds of one call, of as many as take a millisecond.

    So short a time often passes without another program. What there is not takes no number.
    """
    if call is None:
        return math.nan
    start = time.perf_counter()
    call()
    once = time.perf_counter() - start
    count = max(1, min(2000, int(0.001 / max(once, 1e-7))))
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count * 1e6


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=40)
    rounds = parser.parse_args().rounds
    rng = np.random.default_rng(0)
    names = f"{'here':>12}{'NumPy':>12}{'SciPy':>12}{'NumPy/here':>12}{'SciPy/here':>12}"
    print(f"{'microseconds':36}{names}")
    for name, *calls in (*small_rows(rng), *large_rows(rng)):
        for call in calls:
            measure(call)
        found = [[measure(call) for call in calls] for _ in range(rounds)]
        here, numpy, scipy = (min(column) for column in zip(*found, strict=True))
        figures = "".join(f"{each:12.2f}" for each in (here, numpy, scipy))
        print(f"{name:36}{figures}{numpy / here:12.2f}{scipy / here:12.2f}".replace("nan", "   "))


if __name__ == "__main__":
    main()
