"""Running the demonstration and printing what it found."""

from __future__ import annotations

import sys
import time
from functools import partial
from typing import TYPE_CHECKING, TextIO

import numpy as np

from pygpulib import cuda
from pygpulib.demo import mandelbrot, matrices, uniforms
from pygpulib.demo.picture import write_png

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_REPETITIONS = 50
_FEW = 5
_MAX_DEVIATION = 5.0


def run_demo(picture: Path, out: TextIO = sys.stdout) -> int:
    """Compute an image, random numbers and matrices, check them, and report.

    Parameters
    ----------
    picture : pathlib.Path
        Where to write the Mandelbrot image; the histogram of the random numbers is written to
        ``uniforms.png`` next to it.
    out : text file, optional
        Where to print the tables.

    Returns
    -------
    int
        0 if every pixel is CPython's, the numbers are spread evenly and the matrices are NumPy's,
        else 1.
    """
    status = show_mandelbrot(picture, out)
    out.write("\n")
    status = max(status, show_uniforms(picture.with_name("uniforms.png"), out))
    out.write("\n")
    return max(status, show_matrices(out))


def show_uniforms(picture: Path, out: TextIO) -> int:
    """Draw a million random numbers and their histogram; return 1 if they lie unevenly."""
    generator = uniforms.make_generator()
    numbers = cuda.device_array(uniforms.COUNT, np.float32)
    generator.uniform(numbers)
    counts = uniforms.count_in_bins(numbers.copy_to_host().view(np.float32))
    write_png(picture, uniforms.draw_histogram(counts))
    deviation = uniforms.deviation(counts)

    def draw() -> None:
        generator.uniform(numbers)
        cuda.synchronize()

    run_s = _best(draw)
    host_generator, host_numbers = np.random.default_rng(1), np.empty(uniforms.COUNT, np.float32)
    numpy_s = _best(lambda: host_generator.random(out=host_numbers, dtype=np.float32))
    _write_table(
        out,
        [
            ("random numbers", f"{uniforms.COUNT:,} from XORWOW, uniform, float32"),
            ("deviation from evenness", f"{deviation:+.2f} sigma in {uniforms.BINS} parts"),
            ("run time", f"{run_s * 1e3:.3f} ms"),
            ("NumPy", f"{numpy_s * 1e3:.3f} ms"),
            ("ratio", f"{numpy_s / run_s:.1f}x"),
            ("picture", str(picture)),
        ],
    )
    return 1 if abs(deviation) > _MAX_DEVIATION else 0


def show_matrices(out: TextIO) -> int:
    """Multiply matrices and solve equations; return 1 if the results are not NumPy's."""
    a, b = matrices.make_matrices()
    d_a, d_b = cuda.to_device(a), cuda.to_device(b)
    wrong = 0
    for title, compute, expect in (
        ("product of matrices", matrices.multiply, np.matmul),
        ("system of equations", matrices.solve, np.linalg.solve),
    ):
        deviation = matrices.deviation(compute(d_a, d_b), expect(a, b))
        wrong += deviation > matrices.TOLERANCE
        run_s = _best(partial(_run_and_wait, compute, d_a, d_b), _FEW)
        numpy_s = _best(partial(expect, a, b), _FEW)
        _write_table(
            out,
            [
                (title, f"{matrices.ORDER} x {matrices.ORDER}, float32"),
                ("largest deviation from NumPy", f"{deviation:.1e}"),
                ("run time", f"{run_s * 1e3:.1f} ms"),
                ("NumPy", f"{numpy_s * 1e3:.1f} ms"),
                ("ratio", f"{numpy_s / run_s:.2f}x"),
            ],
        )
    return 1 if wrong else 0


def _run_and_wait(compute: Callable[..., object], *arrays: object) -> None:
    compute(*arrays)
    cuda.synchronize()


def show_mandelbrot(picture: Path, out: TextIO) -> int:
    """Compute the Mandelbrot image; return 1 if a pixel differs from CPython's."""
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
    _write_table(out, rows)
    return 1 if wrong else 0


def _write_table(out: TextIO, rows: list[tuple[str, str]]) -> None:
    width = max(len(name) for name, _ in rows)
    out.writelines(f"{name.ljust(width)}  {value}\n" for name, value in rows)


def _launcher() -> Callable[[], None]:
    """Return a launch of the kernel on an array that stays on the device."""
    d_image = cuda.device_array((mandelbrot.HEIGHT, mandelbrot.WIDTH), np.uint8)
    kernel = mandelbrot.mandel_kernel[mandelbrot.GRID, mandelbrot.BLOCK]

    def launch() -> None:
        kernel(*mandelbrot.REGION, d_image, mandelbrot.ITERATIONS)
        cuda.synchronize()

    return launch


def _best(action: Callable[[], object], repetitions: int = _REPETITIONS) -> float:
    """Return the shortest of several runs, in seconds."""
    times = []
    for _ in range(repetitions):
        start = time.perf_counter()
        action()
        times.append(time.perf_counter() - start)
    return min(times)
