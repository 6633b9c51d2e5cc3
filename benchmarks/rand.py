"""Random numbers against NumPy's generator and NVIDIA's own generators on the host, in one run.

Each round runs every contestant once, so that all see the same machine; the figures are those of
the best round, in millions of numbers per second. Writes are compared with the fastest fill of an
array of the same size, by NumPy or by a kernel on all threads. NVIDIA's figures need
``nvidia-curand`` and ``nvidia-cuda-runtime``, which the extras ``test`` and ``bench`` bring;
without them the column stays empty. Run it on a quiet machine: ``python benchmarks/rand.py``.
"""

from __future__ import annotations

import argparse
import ctypes
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pygpulib import cuda, get_num_threads, rand
from pygpulib._bindings.wheels import find_in_wheels
from pygpulib.rand.engine import make_engine
from pygpulib.rand.kinds import RULES, Kind
from pygpulib.rand.request import Distribution, Request, make_request

COUNT = 10_000_000
NAMES = ["ours", "numpy", "vendor"]
KINDS = [Kind.XORWOW, Kind.PHILOX4_32_10, Kind.MRG32K3A, Kind.MT19937, Kind.SOBOL32]
REQUESTS = [
    make_request(Distribution.RAW, "uint32"),
    make_request(Distribution.UNIFORM, "float32"),
    make_request(Distribution.UNIFORM, "float64"),
    make_request(Distribution.NORMAL, "float32", 0, 1),
    make_request(Distribution.NORMAL, "float64", 0, 1),
    make_request(Distribution.LOGNORMAL, "float32", 0, 1),
    make_request(Distribution.LOGNORMAL, "float64", 0, 1),
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
    ("lognormal", "float64"): (
        "curandGenerateLogNormalDouble",
        (ctypes.c_double(0), ctypes.c_double(1)),
    ),
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
        case Distribution.LOGNORMAL if out.dtype == np.float64:
            return lambda: rng.lognormal(0, 1, out.size)
        case Distribution.POISSON:
            return lambda: rng.poisson(10, out.size)
        case Distribution.BINOMIAL:
            return lambda: rng.binomial(100, 0.3, out.size)
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


@cuda.jit
def fill(out: Any, value: float) -> None:  # noqa: ANN401
    """Write one number everywhere."""
    i = cuda.grid(1)
    if i < out.size:
        out[i] = value


def fill_with_kernel(out: Any) -> None:  # noqa: ANN401
    """Write one number everywhere, and wait for it."""
    fill[(COUNT + 1023) // 1024, 1024](out, 1.0)
    cuda.synchronize()


def fill_speed(rounds: int) -> dict[int, float]:
    """Return bytes per second of filling arrays, by the size of their elements."""
    speeds = {}
    for dtype in (np.float32, np.float64):
        host, device = np.zeros(COUNT, dtype), cuda.device_array(COUNT, dtype)
        runs: dict[str, Run] = {
            "numpy": partial(host.fill, 1),
            "kernel": partial(fill_with_kernel, device),
        }
        speeds[host.itemsize] = host.nbytes / min(best_times(runs, rounds).values())
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


def best_of_calls(call: Run) -> float:
    """Return how many microseconds a call takes."""
    best = float("inf")
    for _ in range(200):
        start = time.perf_counter()
        for _ in range(20):
            call()
        best = min(best, (time.perf_counter() - start) / 20)
    return best * 1e6


def report_small(kinds: list[Kind]) -> None:
    """Print what ten numbers cost, from an engine and from the generator that users have."""
    print(f"\n{'microseconds for 10 numbers':34}{'engine':>9}{'method':>9}")
    for kind in kinds:
        engine = make_engine(kind)
        generator = (rand.QRNG if RULES[kind].is_quasi else rand.PRNG)(rndtype=int(kind))
        for request in REQUESTS:
            out = np.zeros(10, request.dtype)
            name = request.distribution.value
            method = getattr(generator, "generate" if name == "raw" else name, None)
            print(f"{kind.name} {name} {request.dtype}".ljust(34), end="")
            print(f"{best_of_calls(partial(engine.fill, request, out)):9.2f}", end="")
            if method:
                print(f"{best_of_calls(partial(method, out, *request.parameters)):9.2f}", end="")
            print(flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--kind", choices=[kind.name for kind in KINDS])
    options = parser.parse_args()
    kinds = [kind for kind in KINDS if options.kind in (None, kind.name)]
    speeds = fill_speed(options.rounds)
    rates = ", ".join(f"{speed / 1e9:.1f} GB/s" for speed in speeds.values())
    print(f"{COUNT:,} numbers, {get_num_threads()} threads; a fill reaches {rates} (4, 8 bytes)")
    titles = "".join(f"{name:>9}" for name in NAMES) + f"{'/ numpy':>10}{'/ vendor':>10}"
    print(f"{'million per second':34}{titles}{'GB/s':>8}{'of fill':>8}")
    for kind in kinds:
        for request in REQUESTS:
            report(kind, request, options.rounds, speeds)
    report_small(kinds)


if __name__ == "__main__":
    main()
