"""Where there is no memory for a block, the launch says so."""

from __future__ import annotations

import subprocess
import sys

import pytest

CHILD = """
import resource
import numpy as np
from pygpulib import cuda, float64

COUNT = 60000

@cuda.jit
def plain(out):
    own = cuda.local.array(COUNT, float64)
    i = cuda.threadIdx.x
    own[i] = i
    out[i] = own[i]

@cuda.jit
def waiting(out):
    own = cuda.local.array(COUNT, float64)
    i = cuda.threadIdx.x
    own[i] = i
    cuda.syncthreads()
    out[i] = own[i]

out = np.zeros(1024)

def launch(kernel):
    out[:] = 0
    kernel[1, 1024](out)
    assert (out == np.arange(1024)).all()

for kernel in (plain, waiting):
    launch(kernel)
in_use = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
before = resource.getrlimit(resource.RLIMIT_AS)
for kernel in (plain, waiting):
    resource.setrlimit(resource.RLIMIT_AS, (in_use + (4 << 20), before[1]))
    for _ in range(2):
        try:
            launch(kernel)
        except MemoryError as error:
            print(str(error).splitlines()[0])
    resource.setrlimit(resource.RLIMIT_AS, before)
    launch(kernel)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="needs limits of memory as Linux has them")
def test_a_launch_without_memory_is_an_error_and_not_a_crash():
    found = subprocess.run(
        [sys.executable, "-c", CHILD], check=False, capture_output=True, text=True, timeout=300
    )
    assert found.returncode == 0, found.stderr
    message = "there is no memory left for the shared and local arrays of a block"
    lines = found.stdout.splitlines()
    # What the first kernel needs may still be lying around in the process.
    assert 2 <= len(lines) <= 4
    assert set(lines) == {message}
