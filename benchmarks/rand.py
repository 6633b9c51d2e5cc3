"""Random numbers against NumPy's generator and NVIDIA's own generators on the host, in one run.

Each round runs every contestant once, so that all see the same machine; the figures are those of
the best round, in millions of numbers per second. Writes are compared with the fastest fill of an
array of the same size. Run it on a quiet machine: ``python benchmarks/rand.py``.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable

import numpy as np

from pygpulib import get_num_threads
from pygpulib._bindings.wheels import find_in_wheels
from pygpulib.rand.engine import make_engine
from pygpulib.rand.kinds import Kind
from pygpulib.rand.request import Distribution, Request, make_request

COUNT = 10_000_000
NAMES = ["ours", "numpy", "vendor"]
KINDS = [Kind.XORWOW, Kind.PHILOX4_32_10, Kind.MRG32K3A]
REQUESTS = [
    make_request(Distribution.RAW, "uint32"),
    make_request(Distribution.UNIFORM, "float32"),
    make_request(Distribution.UNIFORM, "float64"),
    make_request(Distribution.NORMAL, "float32", 0, 1),
    make_request(Distribution.NORMAL, "float64", 0, 1),
    make_request(Distribution.LOGNORMAL, "float32", 0, 1),
    make_request(Distribution.POISSON, "uint32", 10),
    make_request(Distribution.BINOMIAL, "uint32", 100, 0.3),
]
VENDOR_FUNCTIONS = {
    ("raw", "uint32"): ("curandGenerate", ()),
    ("uniform", "float32"): ("curandGenerateUniform", ()),
    ("uniform", "float64"): ("curandGenerateUniformDouble", ()),
    ("normal", "float32"): ("curandGenerateNormal", (ctypes.c_float(0), ctypes.c_float(1))),
    ("normal", "float64"): ("curandGenerateNormalDouble", (ctypes.c_double(0), ctypes.c_double(1))),
    ("lognormal", "float32"): ("curandGenerateLogNormal", (ctypes.c_float(0), ctypes.c_float(1))),
    ("poisson", "uint32"): ("curandGeneratePoisson", (ctypes.c_double(10),)),
}

Run = Callable[[], object]


def numpy_run(request: Request, out: np.ndarray) -> Run | None:
    """Return a run of NumPy's default generator, if it has such numbers."""
    rng = np.random.default_rng(1)
    match request.distribution:
        case Distribution.UNIFORM:
            return lambda: rng.random(out=out, dtype=out.dtype)
        case Distribution.NORMAL:
            return lambda: rng.standard_normal(out=out, dtype=out.dtype)
        case Distribution.POISSON:
            return lambda: rng.poisson(10, out.size)
        case _:
            return None


def vendor_run(kind: Kind, request: Request, out: np.ndarray) -> Run | None:
    """Return a run of NVIDIA's generator on the host, if its library is installed."""
    path = find_in_wheels(["cu13/lib/libcurand.so.10", "curand/lib/libcurand.so.10"])
    known = VENDOR_FUNCTIONS.get((request.distribution.value, request.dtype))
    if path is None or known is None:
        return None
    library, handle = ctypes.CDLL(path), ctypes.c_void_p()
    if library.curandCreateGeneratorHost(ctypes.byref(handle), int(kind)):
        return None
    function, address = getattr(library, known[0]), ctypes.c_void_p(out.ctypes.data)
    return lambda: function(handle, address, ctypes.c_size_t(out.size), *known[1])


def best_times(runs: dict[str, Run], rounds: int) -> dict[str, float]:
    """Return the shortest time of each run."""
    times = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    for turn in range(rounds):
        for name, run in runs.items():
            if name == "vendor" and turn % 5:
                continue  # slow, and steady
            start = time.perf_counter()
            run()
            times[name] = min(times[name], time.perf_counter() - start)
    return times


def fill_speed(rounds: int) -> dict[int, float]:
    """Return bytes per second of filling arrays, by the size of their elements."""
    speeds = {}
    for dtype in (np.float32, np.float64):
        out = np.zeros(COUNT, dtype)
        times = best_times({"fill": lambda out=out: out.fill(1)}, rounds)
        speeds[out.itemsize] = out.nbytes / times["fill"]
    return speeds


def report(kind: Kind, request: Request, rounds: int, speeds: dict[int, float]) -> None:
    """Print one row of the table."""
    out = np.zeros(COUNT, request.dtype)
    engine = make_engine(kind)
    others = {"numpy": numpy_run(request, out), "vendor": vendor_run(kind, request, out)}
    runs: dict[str, Run] = {"ours": lambda: engine.fill(request, out)}
    runs |= {name: run for name, run in others.items() if run is not None}
    times = best_times(runs, rounds)
    ours = times["ours"]
    speed = out.nbytes / ours
    print(
        f"{kind.name} {request.distribution.value} {request.dtype}".ljust(34),
        *[f"{COUNT / times[name] / 1e6:9.0f}" if name in times else " " * 9 for name in NAMES],
        *[f"{times[name] / ours:9.1f}x" if name in times else " " * 10 for name in NAMES[1:]],
        f"{speed / 1e9:8.1f}{speed / speeds[out.itemsize]:8.0%}",
        sep="",
        flush=True,
    )


def report_small() -> None:
    """Print what ten numbers cost."""
    for kind in KINDS:
        engine = make_engine(kind)
        for request in REQUESTS:
            out = np.zeros(10, request.dtype)
            best = float("inf")
            for _ in range(200):
                start = time.perf_counter()
                for _ in range(20):
                    engine.fill(request, out)
                best = min(best, (time.perf_counter() - start) / 20)
            name = f"{kind.name} {request.distribution.value} {request.dtype}"
            print(f"{name:34}{best * 1e6:9.2f} us for 10 numbers")


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--kind", choices=[kind.name for kind in KINDS])
    options = parser.parse_args()
    speeds = fill_speed(options.rounds)
    rates = ", ".join(f"{speed / 1e9:.1f} GB/s" for speed in speeds.values())
    print(f"{COUNT:,} numbers, {get_num_threads()} threads; a fill reaches {rates} (4, 8 bytes)")
    titles = "".join(f"{name:>9}" for name in NAMES) + f"{'/ numpy':>10}{'/ vendor':>10}"
    print(f"{'million per second':34}{titles}{'GB/s':>8}{'of fill':>8}")
    for kind in KINDS:
        if options.kind in (None, kind.name):
            for request in REQUESTS:
                report(kind, request, options.rounds, speeds)
    report_small()


if __name__ == "__main__":
    main()
