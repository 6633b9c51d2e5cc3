"""What linear algebra costs here and in NumPy and SciPy, on the same processor.

Each round measures every function once with arrays of the host, once with arrays of the device, and
once as NumPy's, one right after the other; the figures are minima over the rounds, and what the
functions here cost beyond that. Run it on a quiet machine: ``python benchmarks/linalg.py``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator

import numpy as np

from pygpulib import cuda, linalg

Call = Callable[[], object]

FUNCTIONS = ("solve", "cholesky", "qr", "svd", "eigh", "inv", "det")
SHAPES = {
    "4": (4, 4),
    "64": (64, 64),
    "1000": (1000, 1000),
    "1000x8x8": (1000, 8, 8),
}


def make_calls(name: str, shape: tuple[int, ...]) -> tuple[Call, Call, Call]:
    """Return calls with host arrays, with device arrays, and of NumPy's function."""
    rng = np.random.default_rng(7)
    half = rng.standard_normal(shape)
    matrices = half @ half.swapaxes(-1, -2) / shape[-1] + np.eye(shape[-1])
    given = [matrices, rng.standard_normal(shape)] if name == "solve" else [matrices]
    placed = [cuda.to_device(each) for each in given]
    ours, theirs = getattr(linalg, name), getattr(np.linalg, name)
    return lambda: ours(*given), lambda: ours(*placed), lambda: theirs(*given)


def measure(call: Call, count: int) -> float:
    """Return the seconds that a call takes, over so many calls."""
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def rows(sizes: list[str], rounds: int) -> Iterator[tuple[str, list[float]]]:
    """Yield what each function takes for each size."""
    for size in sizes:
        for name in FUNCTIONS:
            calls = make_calls(name, SHAPES[size])
            # About 20 ms per round.
            count = max(1, int(0.02 / max(measure(calls[2], 1), 1e-6)))
            times = [[measure(call, count) for call in calls] for _ in range(rounds)]
            yield f"{name} {size}", [min(each) for each in zip(*times, strict=True)]


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", nargs="+", choices=SHAPES, default=list(SHAPES))
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    print(f"{'':18}{'NumPy':>12}{'host arrays':>22}{'device arrays':>22}")
    for title, (host, device, numpy) in rows(options.sizes, options.rounds):
        line = f"{title:18}{numpy * 1e6:9.1f} us"
        for ours in (host, device):
            line += f"{(ours - numpy) * 1e6:+9.1f} us {numpy / ours:6.2f}x "
        print(line)


if __name__ == "__main__":
    main()
