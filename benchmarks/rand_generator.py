"""How fast `rand.Generator` is next to NumPy's.

A row is a method with its arguments. Rounds measure every row once with both, one after the other;
the figures are the best rounds, in nanoseconds for one number, and the ratio is the median over the
rounds. Run it on a quiet machine: ``python benchmarks/rand_generator.py``.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable
from functools import cache, partial
from typing import Any

import numpy as np

from pygpulib import rand

Call = Callable[[Any, int], object]


def into(name: str, dtype: str, *arguments: float) -> Call:
    """Return a call that fills an array that is there already."""
    kept: dict[int, np.ndarray] = {}

    def call(rng: Any, size: int) -> object:  # noqa: ANN401
        out = kept.setdefault(size, np.empty(size, dtype))
        return getattr(rng, name)(*arguments, dtype=np.dtype(dtype), out=out)

    return call


def new(name: str, *arguments: Any, **options: Any) -> Call:  # noqa: ANN401
    """Return a call that makes a new array."""
    return lambda rng, size: getattr(rng, name)(*arguments, size=size, **options)


@cache
def numbers(size: int) -> np.ndarray:
    """Return an array of the host that calls read, and shuffle."""
    return np.arange(size)


def on(name: str, columns: int = 1, **options: Any) -> Call:  # noqa: ANN401
    """Return a call that takes an array of the host; of `columns` if it has two axes."""

    def call(rng: Any, size: int) -> object:  # noqa: ANN401
        array = numbers(size)
        if columns > 1:
            array = array[: size // columns * columns].reshape(-1, columns)
        return getattr(rng, name)(array, **options)

    return call


def within_arrays(rng: Any, size: int) -> object:  # noqa: ANN401
    """Call `integers` with bounds for each number."""
    low = numbers(size)
    return rng.integers(low, low + 10)


ROWS: dict[str, Call] = {
    "random float64": into("random", "f8"),
    "random float32": into("random", "f4"),
    "standard_normal float64": into("standard_normal", "f8"),
    "standard_normal float32": into("standard_normal", "f4"),
    "standard_exponential float64": into("standard_exponential", "f8"),
    "standard_exponential float32": into("standard_exponential", "f4"),
    "standard_gamma(2.5)": into("standard_gamma", "f8", 2.5),
    "standard_gamma(0.5)": into("standard_gamma", "f8", 0.5),
    "integers(1000)": new("integers", 1000),
    "integers(10**12)": new("integers", 10**12),
    "integers(1000), int32": new("integers", 1000, dtype=np.int32),
    "integers(100), uint8": new("integers", 100, dtype=np.uint8),
    "integers(2), bool": new("integers", 2, dtype=bool),
    "integers(array, array)": within_arrays,
    "normal(1, 2)": new("normal", 1.0, 2.0),
    "lognormal()": new("lognormal"),
    "laplace()": new("laplace"),
    "beta(2, 3)": new("beta", 2.0, 3.0),
    "standard_t(5)": new("standard_t", 5.0),
    "vonmises(0, 2)": new("vonmises", 0.0, 2.0),
    "poisson(5)": new("poisson", 5.0),
    "poisson(100)": new("poisson", 100.0),
    "binomial(20, 0.4)": new("binomial", 20, 0.4),
    "binomial(1000, 0.4)": new("binomial", 1000, 0.4),
    "geometric(0.3)": new("geometric", 0.3),
    "hypergeometric(1000, 500, 100)": new("hypergeometric", 1000, 500, 100),
    "zipf(2.5)": new("zipf", 2.5),
    "choice with p": new("choice", 4, p=[0.1, 0.2, 0.3, 0.4]),
    "choice of an array": lambda rng, size: rng.choice(numbers(size), size),
    "choice of half, each once": lambda rng, size: rng.choice(size, size // 2, replace=False),
    "choice of few, each once": lambda rng, size: rng.choice(size, size // 100, replace=False),
    "permutation(n)": lambda rng, size: rng.permutation(size),
    "permutation(array)": on("permutation"),
    "shuffle(array)": on("shuffle"),
    "shuffle(rows of 4)": on("shuffle", 4),
    "permuted(rows of 10)": on("permuted", 10, axis=1),
    "permuted(rows of 1000)": on("permuted", 1000, axis=1),
}


CLOCKS = {"wall": time.perf_counter, "cpu": time.process_time}


def seconds(call: Callable[[], object], calls: int, clock: Callable[[], float]) -> float:
    """Return what a call takes."""
    start = clock()
    for _ in range(calls):
        call()
    return (clock() - start) / calls


def measure(size: int, rounds: int, calls: int, clock: str) -> None:
    """Print the table for arrays of a size."""
    now = CLOCKS[clock]
    ours, theirs = rand.default_rng(1), np.random.default_rng(1)
    for call in ROWS.values():
        call(ours, size)
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ROWS}
    for _ in range(rounds):
        for name, call in ROWS.items():
            ours_call, theirs_call = partial(call, ours, size), partial(call, theirs, size)
            pair = seconds(ours_call, calls, now), seconds(theirs_call, calls, now)
            found[name].append(pair)
    print(f"{size} numbers{'':>20}  ours  numpy   ratio")
    for name, pairs in found.items():
        best = [min(column) / size * 1e9 for column in zip(*pairs, strict=True)]
        ratio = statistics.median(theirs / ours for ours, theirs in pairs)
        print(f"{name:32} {best[0]:9.2f} {best[1]:9.2f} {ratio:7.2f}")


def main() -> None:
    """Measure large arrays, and calls that make ten numbers."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=4_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--clock",
        choices=list(CLOCKS),
        default="wall",
        help="cpu: the time that all threads compute, for a machine that is not quiet",
    )
    given = parser.parse_args()
    measure(given.size, given.rounds, 1, given.clock)
    measure(10, given.rounds, 200, given.clock)


if __name__ == "__main__":
    main()
