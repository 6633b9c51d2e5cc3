"""What Python costs per launch of a kernel on a GPU, measured without one.

The kernels are launched on the fake driver, in which those functions of the driver that a launch
calls have been replaced by C functions that do nothing. So the figures hold all that happens
between the call and the driver, and nothing of what the driver does. Needs ``gcc``. Run it on a
quiet machine: ``python benchmarks/cuda_launch.py``.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from pygpulib import cuda
from pygpulib.core.device import current_driver, use_driver
from pygpulib.core.driver_cuda import CudaDriver
from tests.fakecuda.driver import FakeCuda
from tests.fakecuda.driver.connection import replaced

BLOCK = 64


@cuda.jit
def nothing():  # noqa: ANN201
    """Do nothing."""


@cuda.jit
def combine(x, y, z, out):  # noqa: ANN001, ANN201
    """Combine three arrays into a fourth."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] * y[i] + z[i]


@cuda.jit
def combine_pairs(x, y, z, out):  # noqa: ANN001, ANN201
    """Combine arrays two elements at a time, which has a variant for aligned arrays."""
    i = 2 * cuda.grid(1)
    if i + 1 < out.size:
        first, second = x[i] * y[i] + z[i], x[i + 1] * y[i + 1] + z[i + 1]
        out[i], out[i + 1] = first, second


@cuda.jit
def scale(x, y, z, out, factor, shift):  # noqa: ANN001, ANN201
    """Combine arrays and numbers."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = (x[i] * y[i] + z[i]) * factor + shift


def rows() -> dict[str, Callable[[], object]]:
    """Return the launches to measure, by what the table calls them."""
    x, y, z, out = (cuda.to_device(np.arange(100.0)) for _ in range(4))
    stream = cuda.stream()
    empty, combined, scaled = nothing[1, BLOCK], combine[2, BLOCK], scale[2, BLOCK]
    paired = combine_pairs[1, BLOCK]
    on_stream = combine[2, BLOCK, stream]
    return {
        "an empty lambda": lambda: None,
        "no array, no lambda": empty,
        "4 arrays": lambda: combined(x, y, z, out),
        "4 arrays, accessed in pairs": lambda: paired(x, y, z, out),
        "4 arrays, kernel[grid, block](...)": lambda: combine[2, BLOCK](x, y, z, out),
        "4 arrays, on a stream": lambda: on_stream(x, y, z, out),
        "4 arrays, 2 numbers": lambda: scaled(x, y, z, out, 2.5, 1.0),
    }


def compile_nothing(folder: str) -> ctypes.CDLL:
    """Return a library with a C function that returns 0, whatever it is given."""
    source, made = Path(folder, "nothing.c"), Path(folder, "nothing.so")
    source.write_text("int nothing() { return 0; }\n")
    subprocess.run(["gcc", "-O2", "-shared", "-fPIC", source, "-o", made], check=True)
    return ctypes.CDLL(str(made))


def functions_called(fake: FakeCuda, actions: list[Callable[[], object]]) -> set[str]:
    """Return which functions of the driver launches call once they have been called before."""
    for _ in range(10):
        for action in actions:
            action()
    fake.calls.clear()
    for action in actions:
        action()
    return {call.name for call in fake.calls}


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
    options = parser.parse_args()
    current_driver()  # chosen before there is a fake one
    with tempfile.TemporaryDirectory() as folder, FakeCuda() as fake:
        driver = CudaDriver()
        address = ctypes.cast(compile_nothing(folder).nothing, ctypes.c_void_p).value or 0
        with use_driver(driver):
            actions = rows()
            names = functions_called(fake, list(actions.values()))
            times: dict[str, list[float]] = {name: [] for name in actions}
            with replaced(dict.fromkeys(names, address)):
                for _ in range(options.rounds):
                    for name, action in actions.items():
                        times[name].append(measure(action, options.repeats))
            del actions
        driver.close()
    print(f"functions that do nothing: {', '.join(sorted(names))}")
    print(f"{'nanoseconds per launch':<36}{'min':>8}{'median':>8}")
    for name, found in times.items():
        print(f"{name:<36}{1e9 * min(found):>8.0f}{1e9 * statistics.median(found):>8.0f}")


if __name__ == "__main__":
    main()
