"""What products cost here and in NumPy and SciPy, on the same processor.

Each round measures every pair once, one right after the other; the figures are minima over the
rounds, and their ratio. Run it on a quiet machine: ``python benchmarks/blas.py``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np
import scipy.linalg.blas

from pygpulib import blas

Call = Callable[[], object]


def small_rows(rng: np.random.Generator) -> Iterator[tuple[str, Call, Call]]:
    """Yield products that are over in no time."""
    for letter in ("f4", "f8", "c8", "c16"):
        a, b = rng.random((2, 4, 4)).astype(letter)
        a, b, c = a.copy(), b.copy(), np.empty((4, 4), letter)
        yield (
            f"gemm 4x4 {letter}",
            lambda a=a, b=b: blas.gemm("N", "N", 1.0, a, b),  # type: ignore[misc]
            lambda a=a, b=b: np.matmul(a, b),  # type: ignore[misc]
        )
        yield (
            f"gemm 4x4 {letter}, output given",
            lambda a=a, b=b, c=c: blas.gemm("N", "N", 1.0, a, b, 0, c),  # type: ignore[misc]
            lambda a=a, b=b, c=c: np.matmul(a, b, out=c),  # type: ignore[misc]
        )
    x, y = rng.random((2, 8))
    x, y = x.copy(), y.copy()
    yield "dot 8 f8", lambda: blas.dot(x, y), lambda: np.dot(x, y)
    yield "axpy 8 f8", lambda: blas.axpy(1e-9, x, y), lambda: np.add(1e-9 * x, y, out=y)
    yield "nrm2 8 f8", lambda: blas.nrm2(x), lambda: np.linalg.norm(x)
    yield "scal 8 f8", lambda: blas.scal(1.0, x), lambda: np.multiply(1.0, x, out=x)
    stacks = rng.random((2, 1000, 8, 8))
    first, second = stacks[0].copy(), stacks[1].copy()
    yield (
        "1000 products 8x8 f8",
        lambda: blas.gemm_strided_batched("N", "N", 1.0, first, second),
        lambda: np.matmul(first, second),
    )
    out = np.empty_like(first)
    yield (
        "1000 products 8x8 f8, output given",
        lambda: blas.gemm_strided_batched("N", "N", 1.0, first, second, 0, out),
        lambda: np.matmul(first, second, out=out),
    )


def large_rows(rng: np.random.Generator) -> Iterator[tuple[str, Call, Call]]:
    """Yield products that take a while."""
    for size in (256, 512, 1024):
        for dtype in (np.float32, np.float64):
            a, b = rng.random((2, size, size)).astype(dtype)
            c = np.empty((size, size), dtype)
            yield (
                f"gemm {size}x{size} {np.dtype(dtype).str[1:]}",
                lambda a=a, b=b, c=c: blas.gemm("N", "N", 1.0, a, b, 0, c),  # type: ignore[misc]
                lambda a=a, b=b, c=c: np.matmul(a, b, out=c),  # type: ignore[misc]
            )
    a, x = rng.random((2000, 2000)), rng.random(2000)
    y = np.empty(2000)
    yield "gemv 2000x2000 f8", lambda: blas.gemv("N", 1.0, a, x, 0, y), lambda: np.dot(a, x, out=y)
    columns, product = np.asfortranarray(a), np.zeros((2000, 2000), order="F")
    half = columns[:, :500]
    yield (
        "syrk 2000x500 f8",
        lambda: blas.syrk("L", "N", 1.0, half, 0, product),
        lambda: scipy.linalg.blas.dsyrk(1.0, half, 0, product, lower=1, overwrite_c=1),
    )
    right = np.asfortranarray(rng.random((2000, 100)))
    yield (
        "trsm 2000x100 f8",
        lambda: blas.trsm("L", "L", "N", True, 1.0, columns, right.copy(order="F")),
        lambda: scipy.linalg.blas.dtrsm(1.0, columns, right, lower=1, diag=1),
    )


def measure(call: Call) -> float:
    """Return the microseconds of one call, of as many as take a millisecond.

    So short a time often passes without another program.
    """
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
    print(f"{'':36}{'here':>12}{'NumPy':>12}{'ratio':>8}   (microseconds)")
    for name, ours, theirs in (*small_rows(rng), *large_rows(rng)):
        ours(), theirs()
        pairs = [(measure(ours), measure(theirs)) for _ in range(rounds)]
        here, there = (min(column) for column in zip(*pairs, strict=True))
        print(f"{name:36}{here:12.2f}{there:12.2f}{there / here:8.2f}")


if __name__ == "__main__":
    main()
