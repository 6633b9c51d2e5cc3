from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAM = """
import ctypes, sys
cuda = ctypes.CDLL("libcuda.so.1")
number, context, address = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_uint64()
print(cuda.cuInit(0), sys.argv[1:])
print(cuda.cuDriverGetVersion(ctypes.byref(number)), number.value)
print(cuda.cuDeviceGetCount(ctypes.byref(number)), number.value)
print(cuda.cuDeviceGetAttribute(ctypes.byref(number), 75, 0), number.value)
cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
cuda.cuCtxSetCurrent(context)
print(cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(100)))
print(hasattr(cuda, "cuEventElapsedTime_v2"), hasattr(cuda, "cuMemAllocAsync"))
"""


def _run(program: str, *options: str, status: int = 0) -> tuple[list[str], str]:
    command = [sys.executable, "-m", "tests.fakecuda.run", *options]
    done = subprocess.run(
        command, input=program, capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == status, done.stderr
    return done.stdout.splitlines(), done.stderr


def test_programs_see_the_devices_that_are_ordered() -> None:
    options = ("--devices", "2", "--cc", "9.0", "--version", "11010")
    lines, _ = _run(PROGRAM, *options, "-", "a", "b")
    assert lines == ["0 ['a', 'b']", "0 11010", "0 2", "0 9", "0", "False False"]


def test_programs_see_a_broken_driver() -> None:
    lines, _ = _run(PROGRAM, "--broken", "init", "-")
    assert lines[0] == "803 []"
    assert lines[2].startswith("3 ")


def test_leaks_and_calls_are_reported() -> None:
    _, told = _run(PROGRAM, "--leaks", "--calls", "-", status=1)
    assert "cuInit(Flags=0) -> CUDA_SUCCESS" in told
    assert "device memory of 100 bytes" in told


LATE_CALLS = {
    "import atexit; atexit.register(lambda: print(cuda.cuCtxSynchronize()))": "0",
    """
class Last:
    def __del__(self, call=cuda.cuCtxSynchronize, write=__import__("os").write):
        write(1, b"%d\\n" % call())
sys.last = Last()
sys.stdout.flush()
""": "4",
}


@pytest.mark.parametrize(("ending", "status"), LATE_CALLS.items(), ids=["atexit", "finalizer"])
def test_calls_at_the_end_of_a_program_fail_softly(ending: str, status: str) -> None:
    lines, _ = _run(f"{PROGRAM}\n{ending}\n", "-")
    assert lines[-1] == status
