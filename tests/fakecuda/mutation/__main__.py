"""Report which changes of code checks notice: ``python -m tests.fakecuda.mutation``."""

# ruff: noqa: T201

from __future__ import annotations

import argparse
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

from tests.fakecuda.mutation.campaign import Outcome, examine
from tests.fakecuda.mutation.cases import CASES


def _examine(name: str, most: int | None, seed: int) -> Outcome:
    return examine(CASES[name], most=most, seed=seed)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--most", type=int, help="mutants of each kernel; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--survivors", action="store_true", help="list what was not noticed")
    parser.add_argument("kernels", nargs="*", help=f"of {', '.join(CASES)}")
    options = parser.parse_args()
    names = options.kernels or list(CASES)
    caught: Counter[str] = Counter()
    total = 0
    with ProcessPoolExecutor(options.jobs) as pool:
        started = time.perf_counter()
        waiting = {n: pool.submit(_examine, n, options.most, options.seed) for n in names}
        for name, future in waiting.items():
            outcome = future.result()
            caught += outcome.caught
            total += outcome.total
            print(
                f"{name:<16}{outcome.caught.total():>5} of {outcome.total:<5}"
                f"({outcome.refused} refused by the assembler)",
                flush=True,
            )
            if options.survivors:
                for mutant in outcome.survivors:
                    print(f"    {mutant}", flush=True)
    print(f"all: {caught.total()} of {total}, {caught.total() / total:.1%}")
    print(", ".join(f"{how}: {count}" for how, count in caught.most_common()))
    print(f"{time.perf_counter() - started:.0f} s")


if __name__ == "__main__":
    main()
