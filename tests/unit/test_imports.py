"""What is not imported costs nothing: the start of a process is part of this package's speed."""

import subprocess
import sys
from pathlib import Path

import pygpulib

PREAMBLE = f"""
import sys
sys.path.insert(0, {str(Path(pygpulib.__file__).parents[1])!r})
import numpy as np
before = set(sys.modules)
from pygpulib import cuda
"""

FIRST_KERNEL = """
@cuda.jit
def add(x, y, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = x[i] + y[i]

x, out = np.arange(1000.0), np.zeros(1000)
add[4, 256](x, x, out)
assert (out == 2 * x).all()
"""

# Each takes longer to import than it saves anybody.
NEVER = {
    "asyncio",
    "dataclasses",
    "difflib",
    "hashlib",
    "ml_dtypes",
    "numba",
    "numpy.typing",
    "scipy",
}


def imported(tmp_path, text):
    """Return what a program imports after NumPy; top packages stand for what is in them."""
    script = tmp_path / "program.py"
    script.write_text(f"{PREAMBLE}{text}\nprint(*set(sys.modules) - before)\n")
    out = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True, timeout=300
    )
    names = out.stdout.split()
    return {*names, *(name.partition(".")[0] for name in names)}


def test_importing_cuda_leaves_the_compiler_for_later(tmp_path):
    names = imported(tmp_path, "")
    assert "pygpulib.jit.dispatcher" in names
    assert not names & (NEVER | {"llvmlite", "pathlib", "pygpulib.core.driver_cpu"})
    compiler = ("pygpulib.jit.frontend", "pygpulib.jit.passes", "pygpulib.jit.backends.cpu")
    assert not [name for name in names if name.startswith(compiler)]


def test_the_first_kernel_imports_no_more_than_it_needs(tmp_path):
    names = imported(tmp_path, FIRST_KERNEL)
    assert "llvmlite" in names
    assert not names & NEVER
    unused = ("pygpulib.jit.backends.interp", "pygpulib.jit.intrinsics.composed.")
    assert not [name for name in names if name.startswith(unused)]
