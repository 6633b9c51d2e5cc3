"""Measure launches, kernels and copies on the GPU of this machine.

Each figure is written at once to a file of JSON lines, so that it stays if time runs out. Kernels
are written once and compiled by this package and, where it is there, by numba-cuda; CuPy is
measured where it has the operation. Every kernel's result is checked.
"""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import importlib
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np

Kernels = dict[str, Any]
TILE = 16
THREADS = 256


class Sizes(NamedTuple):
    """How much is measured."""

    elements: int
    copy_bytes: int
    matrix: int
    image: tuple[int, int]
    launches: int
    rounds: int


FULL = Sizes(1 << 26, 1 << 28, 2048, (1024, 1536), 400, 15)
SMALL = Sizes(1 << 10, 1 << 12, 32, (24, 32), 5, 2)


class Notes:
    """The file of figures."""

    def __init__(self, path: Path, *, simulated: bool) -> None:
        self.path = path
        self.simulated = simulated

    def add(self, name: str, library: str, value: float, unit: str, **more: float) -> None:
        """Note a figure; one of a simulation means nothing and is left out."""
        entry = {"name": name, "library": library, "unit": unit, "simulated": self.simulated}
        figures = {"value": value, **more}
        entry |= dict.fromkeys(figures) if self.simulated else figures
        with self.path.open("a") as file:
            file.write(json.dumps(entry) + "\n")


def make_kernels(cuda: Any) -> Kernels:  # noqa: C901 - six functions
    """Compile the kernels with what calls itself ``cuda``."""
    float32 = np.float32

    @cuda.jit
    def nothing():
        pass

    @cuda.jit
    def touch(a, b, c, d):
        i = cuda.grid(1)
        if i < 1:
            d[i] = a[i] + b[i] + c[i]

    @cuda.jit
    def saxpy(a, x, y):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = a * x[i] + y[i]

    @cuda.jit
    def reduce(x, out):
        partial = cuda.shared.array(THREADS, np.float32)
        t = cuda.threadIdx.x
        total = float32(0)
        for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
            total += x[i]
        partial[t] = total
        cuda.syncthreads()
        half = THREADS // 2
        while half > 0:
            if t < half:
                partial[t] += partial[t + half]
            cuda.syncthreads()
            half //= 2
        if t == 0:
            cuda.atomic.add(out, 0, partial[0])

    @cuda.jit
    def matmul(a, b, c):
        left = cuda.shared.array((TILE, TILE), np.float32)
        right = cuda.shared.array((TILE, TILE), np.float32)
        x, y = cuda.grid(2)
        tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
        total = float32(0)
        for tile in range(a.shape[1] // TILE):
            left[ty, tx] = a[y, tile * TILE + tx]
            right[ty, tx] = b[tile * TILE + ty, x]
            cuda.syncthreads()
            for k in range(TILE):
                total += left[ty, k] * right[k, tx]
            cuda.syncthreads()
        c[y, x] = total

    @cuda.jit
    def mandelbrot(min_x, max_x, min_y, max_y, image, limit):
        x, y = cuda.grid(2)
        if x < image.shape[1] and y < image.shape[0]:
            c = complex(
                min_x + x * (max_x - min_x) / image.shape[1],
                min_y + y * (max_y - min_y) / image.shape[0],
            )
            z = 0.0j
            count = limit
            for i in range(limit):
                z = z * z + c
                if z.real * z.real + z.imag * z.imag >= 4:
                    count = i
                    break
            image[y, x] = count

    kernels = (nothing, touch, saxpy, reduce, matmul, mandelbrot)
    names = ("nothing", "touch", "saxpy", "reduce", "matmul", "mandelbrot")
    return dict(zip(names, kernels, strict=True))


class Bench:
    """What is measured with one package.

    Parameters
    ----------
    library
        Its name.
    cuda
        Its module.
    notes
        Where figures go.
    sizes
        How much is measured.
    """

    def __init__(self, library: str, cuda: Any, notes: Notes, sizes: Sizes) -> None:
        self.library = library
        self.cuda = cuda
        self.notes = notes
        self.sizes = sizes
        self.kernels = make_kernels(cuda)

    def run(self) -> Iterator[Callable[[], None]]:
        yield self.copy_on_device
        yield self.launches
        yield self.saxpy
        yield self.reduction
        yield self.mandelbrot
        yield self.matmul
        yield self.host_copies

    def add(self, name: str, value: float, unit: str, **more: float) -> None:
        self.notes.add(name, self.library, value, unit, **more)

    def seconds(self, action: Callable[[], object], repeats: int = 5) -> float:
        """Return the shortest time that an action takes on the device."""
        cuda, found = self.cuda, []
        action()
        for _ in range(self.sizes.rounds):
            start, end = cuda.event(), cuda.event()
            start.record()
            for _ in range(repeats):
                action()
            end.record()
            end.synchronize()
            found.append(cuda.event_elapsed_time(start, end) / 1e3 / repeats)
        return max(min(found), 1e-9)

    def launches(self) -> None:
        cuda, count = self.cuda, self.sizes.launches
        arrays = [cuda.to_device(np.ones(4, np.float32)) for _ in range(4)]
        for name, launch in (
            ("launch, no array", self.kernels["nothing"][1, 32]),
            ("launch, 4 arrays", self.kernels["touch"][1, 32]),
        ):
            given = arrays if "4" in name else []
            times = []
            for _ in range(self.sizes.rounds + 1):
                cuda.synchronize()
                start = time.perf_counter()
                for _ in range(count):
                    launch(*given)
                issued = time.perf_counter() - start
                cuda.synchronize()
                times.append((issued / count, (time.perf_counter() - start) / count))
            issued, done = map(min, zip(*times[1:], strict=True))
            self.add(name, issued * 1e6, "µs", until_done=done * 1e6)
        assert arrays[3].copy_to_host()[0] == 3

    def copy_on_device(self) -> None:
        cuda, size = self.cuda, self.sizes.copy_bytes
        source, target = (cuda.device_array(size // 4, np.float32) for _ in range(2))
        taken = self.seconds(lambda: target.copy_to_device(source))
        self.add("copy on the device", 2 * size / taken / 1e9, "GB/s")

    def saxpy(self) -> None:
        cuda, count = self.cuda, self.sizes.elements
        x, y = (cuda.to_device(np.ones(count, np.float32)) for _ in range(2))
        launch = self.kernels["saxpy"][-(-count // THREADS), THREADS]
        a = np.float32(0.5)
        taken = self.seconds(lambda: launch(a, x, y))
        y = cuda.to_device(np.full(count, 2, np.float32))
        launch(a, x, y)
        assert (y.copy_to_host() == 2.5).all()
        self.add("saxpy", 12 * count / taken / 1e9, "GB/s")

    def reduction(self) -> None:
        cuda, count = self.cuda, self.sizes.elements
        x = cuda.to_device(np.ones(count, np.float32))
        out = cuda.to_device(np.zeros(1, np.float32))
        launch = self.kernels["reduce"][min(-(-count // THREADS), 2048), THREADS]
        taken = self.seconds(lambda: launch(x, out))
        out = cuda.to_device(np.zeros(1, np.float32))
        launch(x, out)
        np.testing.assert_allclose(out.copy_to_host(), count, rtol=1e-4)
        self.add("reduction", 4 * count / taken / 1e9, "GB/s")

    def mandelbrot(self) -> None:
        cuda, (height, width) = self.cuda, self.sizes.image
        image = cuda.to_device(np.zeros((height, width), np.uint8))
        launch = self.kernels["mandelbrot"][(-(-width // 32), -(-height // 8)), (32, 8)]
        taken = self.seconds(lambda: launch(-2.0, 1.0, -1.0, 1.0, image, 20))
        found = image.copy_to_host()
        assert found[0, 0] < 2
        assert (found == 20).mean() > 0.1
        self.add("mandelbrot", taken * 1e6, "µs")

    def matmul(self) -> None:
        cuda, size = self.cuda, self.sizes.matrix
        rng = np.random.default_rng(0)
        a, b = (rng.integers(-4, 4, (size, size)).astype(np.float32) for _ in "ab")
        d_a, d_b = cuda.to_device(a), cuda.to_device(b)
        d_c = cuda.device_array((size, size), np.float32)
        launch = self.kernels["matmul"][(size // TILE, size // TILE), (TILE, TILE)]
        taken = self.seconds(lambda: launch(d_a, d_b, d_c), 2)
        np.testing.assert_array_equal(d_c.copy_to_host(), a @ b)
        self.add("tiled matmul", 2 * size**3 / taken / 1e9, "GFLOP/s")

    def host_copies(self) -> None:
        cuda, size = self.cuda, self.sizes.copy_bytes
        device = cuda.device_array(size // 4, np.float32)
        pageable = np.ones(size // 4, np.float32)
        pinned = cuda.pinned_array(size // 4, np.float32)
        pinned[:] = 1
        for kind, host in (("pageable", pageable), ("pinned", pinned)):
            for direction, action in (
                ("to the device", lambda host=host: device.copy_to_device(host)),
                ("to the host", lambda host=host: device.copy_to_host(host)),
            ):
                taken = min(self._wall(action) for _ in range(min(self.sizes.rounds, 5)))
                self.add(f"copy {direction}, {kind}", size / taken / 1e9, "GB/s")

    def _wall(self, action: Callable[[], object]) -> float:
        self.cuda.synchronize()
        start = time.perf_counter()
        action()
        self.cuda.synchronize()
        return time.perf_counter() - start


def measure_cupy(cupy: Any, notes: Notes, sizes: Sizes) -> Iterator[Callable[[], None]]:
    """Measure what CuPy has of the same."""

    def seconds(action: Callable[[], object], repeats: int = 5) -> float:
        found = []
        action()
        for _ in range(sizes.rounds):
            start, end = cupy.cuda.Event(), cupy.cuda.Event()
            start.record()
            for _ in range(repeats):
                action()
            end.record()
            end.synchronize()
            found.append(cupy.cuda.get_elapsed_time(start, end) / 1e3 / repeats)
        return max(min(found), 1e-9)

    def saxpy() -> None:
        x, y = (cupy.ones(sizes.elements, cupy.float32) for _ in range(2))
        kernel = cupy.ElementwiseKernel("T a, T x, T y0", "T y", "y = a * x + y0", "saxpy")
        taken = seconds(lambda: kernel(cupy.float32(0.5), x, y, y))
        notes.add("saxpy", "cupy", 12 * sizes.elements / taken / 1e9, "GB/s")

    def reduction() -> None:
        x = cupy.ones(sizes.elements, cupy.float32)
        taken = seconds(x.sum)
        notes.add("reduction", "cupy", 4 * sizes.elements / taken / 1e9, "GB/s")

    def copy() -> None:
        source, target = (cupy.empty(sizes.copy_bytes, cupy.uint8) for _ in range(2))
        taken = seconds(lambda: target.data.copy_from_device_async(source.data, source.nbytes))
        notes.add("copy on the device", "cupy", 2 * sizes.copy_bytes / taken / 1e9, "GB/s")

    def launches() -> None:
        arrays = [cupy.ones(4, cupy.float32) for _ in range(3)]
        kernel = cupy.ElementwiseKernel("T a, T b, T c", "T d", "d = a + b + c", "touch")
        out, times = cupy.empty(4, cupy.float32), []
        for _ in range(sizes.rounds + 1):
            cupy.cuda.runtime.deviceSynchronize()
            start = time.perf_counter()
            for _ in range(sizes.launches):
                kernel(*arrays, out)
            times.append((time.perf_counter() - start) / sizes.launches)
        notes.add("launch, 4 arrays", "cupy", min(times[1:]) * 1e6, "µs")

    yield from (copy, launches, saxpy, reduction)


def _import(name: str) -> ModuleType | None:
    try:
        return importlib.import_module(name)
    except ImportError as error:
        print(f"{name}: {error}")
        return None


def _attempt(action: Callable[[], None], library: str) -> bool:
    """Measure one thing; what fails with another package is told and does not count."""
    name = getattr(action, "__name__", "")
    start = time.perf_counter()
    try:
        action()
    except Exception as error:  # the others are measured all the same
        print(f"{library}, {name}: {type(error).__name__}: {error}", flush=True)
        return library != "pygpulib"
    print(f"{library}, {name}: {time.perf_counter() - start:.1f} s", flush=True)
    return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("file", type=Path)
    parser.add_argument("--simulated", action="store_true", help="small, and without figures")
    options = parser.parse_args()
    notes = Notes(options.file, simulated=options.simulated)
    sizes = SMALL if options.simulated else FULL
    from pygpulib import cuda

    right = [_attempt(action, "pygpulib") for action in Bench("pygpulib", cuda, notes, sizes).run()]
    if not options.simulated:
        if other := _import("numba.cuda"):
            for action in Bench("numba-cuda", other, notes, sizes).run():
                _attempt(action, "numba-cuda")
        if cupy := _import("cupy"):
            for action in measure_cupy(cupy, notes, sizes):
                _attempt(action, "cupy")
    return 0 if all(right) else 1


if __name__ == "__main__":
    raise SystemExit(main())
