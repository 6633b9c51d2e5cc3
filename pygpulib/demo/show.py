"""Running the demonstration and printing what it found."""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, TextIO

import numpy as np

from pygpulib import cuda
from pygpulib.demo import mandelbrot
from pygpulib.demo.picture import write_png

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_REPETITIONS = 50


def run_demo(picture: Path, out: TextIO = sys.stdout) -> int:
    """Compute the Mandelbrot image, check it pixel by pixel against CPython, and report.

    Parameters
    ----------
    picture : pathlib.Path
        Where to write the image.
    out : text file, optional
        Where to print the table.

    Returns
    -------
    int
        0 if every pixel is right, else 1.
    """
    start = time.perf_counter()
    image = mandelbrot.compute_on_device()
    first_s = time.perf_counter() - start
    run_s = _best(_launcher())
    start = time.perf_counter()
    expected = mandelbrot.compute_with_python()
    python_s = time.perf_counter() - start
    wrong = int(np.count_nonzero(image != expected))
    scale = 255 // mandelbrot.ITERATIONS
    write_png(picture, (image * np.uint8(scale)).astype(np.uint8))

    device = cuda.get_current_device()
    rows = [
        ("device", str(device.name)),
        ("image", f"{mandelbrot.HEIGHT} x {mandelbrot.WIDTH}, {mandelbrot.ITERATIONS} iterations"),
        ("pixels that differ from CPython", str(wrong)),
        ("compile time", f"{(first_s - run_s) * 1e3:.1f} ms"),
        ("run time", f"{run_s * 1e3:.2f} ms"),
        ("CPython", f"{python_s * 1e3:.0f} ms"),
        ("ratio", f"{python_s / run_s:.0f}x"),
        ("picture", str(picture)),
    ]
    width = max(len(name) for name, _ in rows)
    out.writelines(f"{name.ljust(width)}  {value}\n" for name, value in rows)
    return 1 if wrong else 0


def _launcher() -> Callable[[], None]:
    """Return a launch of the kernel on an array that stays on the device."""
    d_image = cuda.device_array((mandelbrot.HEIGHT, mandelbrot.WIDTH), np.uint8)
    kernel = mandelbrot.mandel_kernel[mandelbrot.GRID, mandelbrot.BLOCK]

    def launch() -> None:
        kernel(*mandelbrot.REGION, d_image, mandelbrot.ITERATIONS)
        cuda.synchronize()

    return launch


def _best(action: Callable[[], None]) -> float:
    """Return the shortest of several runs, in seconds."""
    times = []
    for _ in range(_REPETITIONS):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)
