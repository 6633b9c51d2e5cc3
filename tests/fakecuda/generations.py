"""Every kernel of a test session for every generation of GPUs, assembled by the vendor's tool.

``pytest --backend fakecuda --keep-kernels FOLDER`` keeps what the session compiles, and
``python -m tests.fakecuda.generations FOLDER`` compiles and assembles it. A program that has been
assembled once is known in the folder and not assembled again.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import time
import zlib
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pygpulib.errors import PyGpuLibError, UnsupportedFeatureError
from pygpulib.jit.backends.cuda import compiler
from pygpulib.jit.backends.cuda.kernel import CudaKernel, entry_name
from pygpulib.jit.backends.cuda.ptx import compile_ptx
from pygpulib.jit.backends.cuda.target import known_target
from pygpulib.jit.options import NO_HINTS
from tests.fakecuda.assemble import AssemblyError, assemble

if TYPE_CHECKING:
    from pygpulib.jit.backends.cuda.kernel import KernelFacts
    from pygpulib.jit.backends.cuda.kernel_code import Emit
    from pygpulib.jit.options import CompileHints

GENERATIONS = ((7, 5), (8, 0), (9, 0), (10, 0), (12, 0))
"""A device of each kind."""

_SUFFIX, _DONE = ".kernel", "assembled.txt"


class Outcome(NamedTuple):
    """What became of a kernel: digests of the programs that are right, and what is wrong."""

    assembled: list[str]
    failures: list[str]
    refused: int


def keep_kernels(folder: Path) -> None:
    """Write down every kernel that this process compiles from now on."""
    folder.mkdir(parents=True, exist_ok=True)

    class Kept(CudaKernel):
        """A kernel that has been written down."""

        def __init__(
            self,
            name: str,
            emit: Emit,
            facts: KernelFacts,
            **options: Any,
        ) -> None:
            super().__init__(name, emit, facts, **options)
            _write(folder, name, emit, facts, options)

    compiler.CudaKernel = Kept  # type: ignore[misc]


def _write(
    folder: Path, name: str, emit: Emit, facts: KernelFacts, options: dict[str, Any]
) -> None:
    hints: CompileHints = options.get("hints", NO_HINTS)
    names = ("max_registers", "max_threads_per_block", "min_blocks")
    bounds = {bound: getattr(hints, bound) for bound in names}
    texts: dict[str, list[tuple[int, int]]] = {}
    for generation in GENERATIONS:
        target = known_target(generation, **bounds)
        for alignment in facts.alignments:
            try:
                text = emit(target, entry_name(name), alignment)
            except UnsupportedFeatureError:
                break  # which the user is told; that is tested elsewhere
            texts.setdefault(text, []).append(generation)
    how = {
        "fastmath": options.get("fastmath", False),
        "optimization": 3 if hints.optimize else 0,
        "bounds": bounds,
    }
    data = json.dumps({"name": name, "how": how, "texts": list(texts.items())}).encode()
    path = folder / (hashlib.sha256(data).hexdigest()[:32] + _SUFFIX)
    if not path.exists():
        path.write_bytes(zlib.compress(data, 1))


def check_kernel(path: Path, done: frozenset[str]) -> Outcome:
    """Compile and assemble a kernel for all generations."""
    kept = json.loads(zlib.decompress(path.read_bytes()))
    how, outcome = dict(kept["how"]), Outcome([], [], 0)
    bounds = how.pop("bounds")
    for text, generations in kept["texts"]:
        for generation in map(tuple, generations):
            target = known_target(generation, **bounds)
            key = hashlib.sha256(f"{target}{how}{text}".encode()).hexdigest()[:32]
            if key in done:
                continue
            try:
                assemble(compile_ptx(text, target, **how), target.sm)
            except UnsupportedFeatureError:
                outcome = outcome._replace(refused=outcome.refused + 1)
            except (PyGpuLibError, AssemblyError) as error:
                outcome.failures.append(f"{path.name}: {kept['name']} for {target.sm}: {error}")
            else:
                outcome.assembled.append(key)
    return outcome


def main(words: list[str]) -> int:
    """Check all kernels of a folder, and return the process's exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fakecuda.generations")
    parser.add_argument("folder", type=Path, help="what --keep-kernels was given")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    options = parser.parse_args(words)
    started = time.perf_counter()
    paths = sorted(options.folder.glob(f"*{_SUFFIX}"))
    record = options.folder / _DONE
    done = frozenset(record.read_text().split()) if record.exists() else frozenset()
    with ProcessPoolExecutor(options.jobs) as pool:
        outcomes = list(pool.map(check_kernel, paths, [done] * len(paths), chunksize=8))
    new = [key for outcome in outcomes for key in outcome.assembled]
    with record.open("a") as file:
        file.writelines(f"{key}\n" for key in new)
    failures = [failure for outcome in outcomes for failure in outcome.failures]
    refused = sum(outcome.refused for outcome in outcomes)
    seconds = time.perf_counter() - started
    sys.stdout.writelines(f"{failure}\n" for failure in failures)
    sys.stdout.write(
        f"{len(paths)} kernels: {len(new)} programs assembled in {seconds:.0f} s, "
        f"{refused} refused by pygpulib, {len(failures)} failed\n"
    )
    # No kernels are kept where something else went wrong.
    return 1 if failures or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
