"""From the start of a process to the result of its first kernel.

Each round starts one fresh process per row, so that all rows see the same machine. Byte code is
cached, as it is for an installed package; machine code only where the row says so. ``cpu`` is user
and system time of the process, which other programs on the machine disturb least. Run it with
``python benchmarks/cold_start.py``.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]

OUR_KERNEL = """
import numpy as np
from pygpulib import cuda
@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]
x = np.arange(1000.0)
out = np.zeros(1000)
add[{blocks}, {threads}](x, x, out)
assert (out == 2 * x).all()
"""

NUMBA_FUNCTION = """
import numba
import numpy as np
@numba.njit(parallel={parallel})
def add(x, y, out):
    for i in numba.prange(out.size):
        out[i] = x[i] + y[i]
x = np.arange(1000.0)
out = np.zeros(1000)
add(x, x, out)
assert (out == 2 * x).all()
"""

CACHED = "the same, cached on disk"

PROGRAMS = {
    "python": "pass",
    "numpy": "import numpy",
    "numpy, llvmlite.binding": "import numpy, llvmlite.binding",
    "numpy, pygpulib.cuda": "import numpy; from pygpulib import cuda",
    "first kernel, one block": OUR_KERNEL.format(blocks=1, threads=1024),
    "first kernel, many blocks": OUR_KERNEL.format(blocks=4, threads=256),
    CACHED: OUR_KERNEL.format(blocks=4, threads=256),
}

NUMBA_PROGRAMS = {
    "numpy, numba": "import numpy, numba",
    "numba: first njit": NUMBA_FUNCTION.format(parallel=False),
    "numba: first njit(parallel)": NUMBA_FUNCTION.format(parallel=True),
}


class Cost(NamedTuple):
    """What one process took, in seconds."""

    cpu: float
    wall: float


def run(script: Path, cache: Path, *, has_cache: bool) -> Cost:
    """Run a script in a process of its own, untouched by Python's environment variables."""
    command = [sys.executable, "-E", "-X", f"pycache_prefix={cache / 'byte code'}", str(script)]
    switches = {"PYGPULIB_CACHE": str(int(has_cache)), "PYGPULIB_CACHE_DIR": str(cache / "kernels")}
    environment = os.environ | switches  # noqa: TID251
    start = time.perf_counter()
    process = subprocess.Popen(command, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"{script.name} ended with code {process.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, wall)


def main() -> None:
    """Print a table of minima and medians in milliseconds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=20)
    rounds = parser.parse_args().rounds
    has_numba = importlib.util.find_spec("numba") is not None
    programs = PROGRAMS | (NUMBA_PROGRAMS if has_numba else {})
    costs: dict[str, list[Cost]] = {name: [] for name in programs}
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds + 1):
            for position, (name, text) in enumerate(programs.items()):
                script = Path(folder, f"program{position}.py")
                script.write_text(f"import sys; sys.path.insert(0, {str(ROOT)!r})\n{text}\n")
                cost = run(script, Path(folder, "cache"), has_cache=name == CACHED)
                if number:  # the first round fills the caches
                    costs[name].append(cost)
    print(f"{'milliseconds':<28}{'cpu min':>9}{'median':>9}{'wall min':>10}{'median':>9}")
    for name, found in costs.items():
        cpu, wall = zip(*found, strict=True)
        figures = min(cpu), statistics.median(cpu), min(wall), statistics.median(wall)
        print("{:<28}{:>9.1f}{:>9.1f}{:>10.1f}{:>9.1f}".format(name, *(1e3 * x for x in figures)))


if __name__ == "__main__":
    main()
