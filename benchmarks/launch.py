"""What it costs to launch a kernel that does next to nothing, with three arrays.

Each round measures every row once; the figures are minima and medians over the rounds. ``kernel``
looks the launch configuration up in every call (``kernel[1, 64](a, b, c)``), ``configured`` does it
once before. Run it on a quiet machine: ``python benchmarks/launch.py``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from pygpulib import cuda

try:
    import numba
except ImportError:  # the comparison with numba is left out
    numba = None

BLOCK = 64


@cuda.jit
def add(x, y, out):  # noqa: ANN001, ANN201
    """Add three elements."""
    i = cuda.grid(1)
    if i < 3:
        out[i] = x[i] + y[i]


@cuda.jit(debug=True)
def add_checked(x, y, out):  # noqa: ANN001, ANN201
    """Add three elements and check the indices."""
    i = cuda.grid(1)
    if i < 3:
        out[i] = x[i] + y[i]


@cuda.jit
def add_shared(x, y, out):  # noqa: ANN001, ANN201
    """Add three elements by way of shared memory."""
    sums = cuda.shared.array(BLOCK, np.float64)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    sums[t] = x[i % 3] + y[i % 3]
    cuda.syncthreads()
    if i < 3:
        out[i] = sums[t]


Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


def our_rows(arrays: Arrays) -> dict[str, Callable[[], object]]:
    """Return the launches to measure, by what the table calls them."""
    x, y, out = arrays
    rows: dict[str, Callable[[], object]] = {"kernel, 1 block": lambda: add[1, BLOCK](x, y, out)}
    for blocks in (1, 2, 1024):
        configured = add[blocks, BLOCK]
        rows[f"configured, {blocks} block{'s'[: blocks > 1]}"] = lambda configured=configured: (
            configured(x, y, out)
        )
    checked, shared = add_checked[1, BLOCK], add_shared[1, BLOCK]
    rows["configured, 1 block, debug"] = lambda: checked(x, y, out)
    rows["configured, 1 block, barrier"] = lambda: shared(x, y, out)
    return rows


def numba_rows(arrays: Arrays) -> dict[str, Callable[[], object]]:
    """Return calls of compiled functions of numba."""
    x, y, out = arrays

    def add_loop(x, y, out):  # noqa: ANN001, ANN202
        for i in numba.prange(3):
            out[i] = x[i] + y[i]

    serial, parallel = numba.njit(add_loop), numba.njit(parallel=True)(add_loop)
    return {
        "numba njit": lambda: serial(x, y, out),
        "numba njit(parallel)": lambda: parallel(x, y, out),
    }


def measure(action: Callable[[], object], repeats: int) -> float:
    """Return the time of one call in seconds, with that of the lambda around it."""
    start = time.perf_counter()
    for _ in range(repeats):
        action()
    return (time.perf_counter() - start) / repeats


def main() -> None:
    """Print a table of nanoseconds per launch."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--repeats", type=int, default=1000)
    arguments = parser.parse_args()
    arrays = np.arange(3.0), np.ones(3), np.zeros(3)
    rows = {"an empty lambda": lambda: None, **our_rows(arrays)}
    if numba is not None:
        rows |= numba_rows(arrays)
    times: dict[str, list[float]] = {name: [] for name in rows}
    for action in rows.values():
        measure(action, 10)  # compiles, and makes the short cuts
    for _ in range(arguments.rounds):
        for name, action in rows.items():
            times[name].append(measure(action, arguments.repeats))
    np.testing.assert_array_equal(arrays[2], arrays[0] + arrays[1])
    print(f"{'nanoseconds per launch':<32}{'min':>8}{'median':>8}")
    for name, found in times.items():
        print(f"{name:<32}{1e9 * min(found):>8.0f}{1e9 * statistics.median(found):>8.0f}")


if __name__ == "__main__":
    main()
