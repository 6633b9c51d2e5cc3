"""The Mandelbrot kernel against CPython and against numba's parallel CPU target, in one run.

Each round runs every contestant once, so that all see the same machine; the figures are minima
and medians over the rounds. Run it on a quiet machine: ``python benchmarks/mandelbrot.py``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable

import numpy as np

from pygpulib import cuda
from pygpulib.demo import mandelbrot

try:
    import numba
except ImportError:  # the comparison with numba is left out
    numba = None


def gpulib_launch() -> tuple[Callable[[], None], Callable[[], np.ndarray]]:
    """Return a launch of our kernel and how to read its image."""
    image = cuda.device_array((mandelbrot.HEIGHT, mandelbrot.WIDTH), np.uint8)
    kernel = mandelbrot.mandel_kernel[mandelbrot.GRID, mandelbrot.BLOCK]

    def launch() -> None:
        kernel(*mandelbrot.REGION, image, mandelbrot.ITERATIONS)
        cuda.synchronize()

    return launch, image.copy_to_host


def numba_launch() -> tuple[Callable[[], None], Callable[[], np.ndarray]]:
    """Return a run of numba's parallel target and how to read its image."""
    mandel = numba.njit(fastmath=True)(mandelbrot.mandel)

    @numba.njit(parallel=True, fastmath=True)
    def create(min_x, max_x, min_y, max_y, image, iters):  # noqa: ANN001, ANN202
        height, width = image.shape
        pixel_size_x = (max_x - min_x) / width
        pixel_size_y = (max_y - min_y) / height
        for y in numba.prange(height):
            imag = min_y + y * pixel_size_y
            for x in range(width):
                image[y, x] = mandel(min_x + x * pixel_size_x, imag, iters)

    image = np.zeros((mandelbrot.HEIGHT, mandelbrot.WIDTH), np.uint8)
    return lambda: create(*mandelbrot.REGION, image, mandelbrot.ITERATIONS), image.copy


def main() -> None:
    """Print a table of times and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=200)
    rounds = parser.parse_args().rounds

    start = time.perf_counter()
    expected = mandelbrot.compute_with_python()
    python_s = [time.perf_counter() - start]
    contestants = {"pygpulib": gpulib_launch()}
    if numba is not None:
        contestants["numba parallel fastmath"] = numba_launch()
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for run, _ in contestants.values():
        run()
    for _ in range(rounds):
        for name, (run, _) in contestants.items():
            start = time.perf_counter()
            run()
            times[name].append(time.perf_counter() - start)
    start = time.perf_counter()
    mandelbrot.compute_with_python()
    python_s.append(time.perf_counter() - start)

    base = min(python_s)
    print(f"{'':26}{'min ms':>10}{'median ms':>12}{'CPython / min':>16}{'wrong pixels':>14}")
    print(f"{'CPython':26}{base * 1e3:10.0f}{statistics.median(python_s) * 1e3:12.0f}{1:15.0f}x")
    for name, (_, read) in contestants.items():
        wrong = np.count_nonzero(read() != expected)
        best, middle = min(times[name]), statistics.median(times[name])
        print(f"{name:26}{best * 1e3:10.3f}{middle * 1e3:12.3f}{base / best:15.0f}x{wrong:14d}")
    if len(contestants) > 1:
        ratio = min(times["numba parallel fastmath"]) / min(times["pygpulib"])
        print(f"pygpulib is {ratio:.1f} times as fast as numba")


if __name__ == "__main__":
    main()
