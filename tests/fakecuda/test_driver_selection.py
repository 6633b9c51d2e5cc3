"""Which back end a process takes, with all kinds of drivers; each in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

REPORT = """
import warnings
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    from pygpulib import cuda
    print(cuda.current_backend())
    cuda.current_backend()
for warning in caught:
    print(warning.category.__name__)
    print(warning.message)
from pygpulib.core.selection import choose_driver
from pygpulib.errors import NoDeviceError
try:
    choose_driver("cuda")
except NoDeviceError as error:
    print("--- if one insists")
    print(error)
"""

# Installs GPUs older than the fake driver knows.
OLD_GPU = """
from tests.fakecuda.driver import FakeCuda
fake = FakeCuda()
fake.devices[0].attributes.update({75: 6, 76: 1})
fake.install()
"""


def run(words, backend="auto", program=REPORT, **more):
    environment = os.environ | {"PYGPULIB_BACKEND": backend, "PYTHONPATH": str(ROOT)} | more
    return subprocess.run(
        [sys.executable, *words],
        input=program,
        capture_output=True,
        text=True,
        check=False,
        env=environment,
    )


def run_fake(*options, **more):
    return run(["-m", "tests.fakecuda.run", *options, "-"], **more)


def run_without_driver(**more):
    return run(["-"], PYGPULIB_CUDA_LIBRARY="/nowhere/libcuda.so.1", **more)


def parts(done):
    """Return what a process takes, the warnings, and the refusal of those who want CUDA."""
    assert done.stderr == ""
    taken, _, refusal = done.stdout.partition("--- if one insists\n")
    backend, _, told = taken.partition("\n")
    return backend, told, refusal


def test_a_gpu_that_works_is_used():
    assert parts(run_fake()) == ("cuda", "", "")


def test_the_processor_can_be_asked_for():
    assert parts(run_fake(backend="cpu"))[:2] == ("cpu", "")


def test_without_a_driver_the_processor_is_used_silently():
    backend, told, refusal = parts(run_without_driver())
    assert (backend, told) == ("cpu", "")
    assert refusal == (
        "there is no CUDA driver on this machine, and PYGPULIB_BACKEND is 'cuda'\n"
        "the library /nowhere/libcuda.so.1 was not found\n"
        "help: install NVIDIA's driver, or set PYGPULIB_CUDA_LIBRARY to the path of the library; "
        "or unset PYGPULIB_BACKEND to run on the processor\n"
    )


def test_without_a_driver_no_module_for_cuda_is_imported():
    program = """
import sys
from pygpulib import cuda
cuda.current_backend()
print([name for name in sys.modules if "driver_cuda" in name or "cuda_driver" in name])
"""
    assert run_without_driver(program=program).stdout == "[]\n"


def test_without_a_device_the_processor_is_used_silently():
    backend, told, refusal = parts(run_fake("--devices", "0"))
    assert (backend, told) == ("cpu", "")
    assert refusal.startswith(
        "there is a CUDA driver, but no CUDA device, and PYGPULIB_BACKEND is 'cuda'\n"
        "found the CUDA driver 13.0 ("
    )


def warning_of(told):
    category, _, text = told.partition("\n")
    assert category == "BackendWarning"
    return text


def test_an_old_driver_is_told_of_once():
    backend, told, refusal = parts(run_fake("--version", "10020"))
    assert backend == "cpu"
    first, second, last, rest = warning_of(told).split("\n")
    assert first == "the CUDA driver is too old: it is for CUDA 10.2; the processor is used instead"
    assert second.startswith(
        "pygpulib needs one for CUDA 11.4 or newer; found the CUDA driver 10.2"
    )
    assert last == "help: install a newer driver; python -m pygpulib doctor tells more"
    assert rest == ""
    assert refusal.startswith("the CUDA driver is too old: it is for CUDA 10.2, and ")


USES = [
    "cuda.current_backend()",
    "cuda.to_device([1.0])",
    "cuda.get_current_device()",
    "cuda.stream()",
    "kernel[1, 1]()",
]


@pytest.mark.parametrize("use", USES)
def test_the_warning_is_about_the_line_of_the_program(use, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "from pygpulib import cuda\n\n@cuda.jit\ndef kernel():\n    pass\n\n"
        f"def main():\n    {use}\n\nmain()\n"
    )
    done = run(["-m", "tests.fakecuda.run", "--broken", "init", str(script)])
    assert f"{script}:8: BackendWarning: the CUDA driver does not work" in done.stderr
    assert done.stderr.count("BackendWarning") == 1
    assert done.returncode == 0


def test_a_driver_that_does_not_start_is_told_of_once():
    backend, told, refusal = parts(run_fake("--broken", "init"))
    assert backend == "cpu"
    text = warning_of(told)
    assert text.startswith("the CUDA driver does not work; the processor is used instead\n")
    assert "cuInit returned CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)" in text
    assert "found the CUDA driver 13.0 (" in text
    assert "help: the driver in the kernel and its libraries differ in version: restart" in text
    assert refusal.startswith("the CUDA driver does not work, and ")


def test_a_gpu_that_is_too_old_is_told_of_once():
    backend, told, refusal = parts(run(["-"], program=OLD_GPU + REPORT))
    assert backend == "cpu"
    assert warning_of(told) == (
        "the CUDA devices of this machine are too old; the processor is used instead\n"
        "pygpulib needs compute capability 7.5 or newer; found 6.1\n"
        "help: set PYGPULIB_BACKEND=cpu to use the processor without this message; "
        "python -m pygpulib doctor tells more\n"
    )
    assert refusal.startswith("the CUDA devices of this machine are too old, and ")


def test_a_library_that_is_no_driver_is_told_of(tmp_path):
    source, library = tmp_path / "empty.c", tmp_path / "libcuda.so.1"
    source.write_text("int nothing;")
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    backend, told, _ = parts(run(["-"], PYGPULIB_CUDA_LIBRARY=str(library)))
    assert backend == "cpu"
    text = warning_of(told)
    assert text.startswith("the CUDA driver does not work; the processor is used instead\n")
    assert f"the CUDA driver ({library}) has no function cuDriverGetVersion" in text


def check_that_loading_fails(library, reason):
    backend, told, refusal = parts(run(["-"], PYGPULIB_CUDA_LIBRARY=str(library)))
    assert backend == "cpu"
    first, second, last, rest = warning_of(told).split("\n")
    assert first == ("the CUDA driver's library cannot be loaded; the processor is used instead")
    assert reason in second
    assert last == "help: reinstall NVIDIA's driver; python -m pygpulib doctor tells more"
    assert rest == ""
    assert refusal.startswith("the CUDA driver's library cannot be loaded, and PYGPULIB_BACKEND is")


def test_a_damaged_driver_library_is_told_of_once(tmp_path):
    library = tmp_path / "libcuda.so.1"
    library.write_bytes(b"not a library")
    check_that_loading_fails(library, str(library))


def test_a_driver_library_that_misses_another_one_is_told_of_once(tmp_path):
    source, library = tmp_path / "empty.c", tmp_path / "libcuda.so.1"
    needed = tmp_path / "libneeded_by_driver.so"
    source.write_text("int nothing;")
    build = ["gcc", "-shared", "-fPIC", str(source), "-o"]
    subprocess.run([*build, str(needed)], check=True)
    words = [*build, str(library), "-Wl,--no-as-needed", str(needed)]
    subprocess.run(words, check=True)
    needed.unlink()
    check_that_loading_fails(library, "libneeded_by_driver.so")


def test_without_libdevice_the_processor_is_used():
    program = """
from pygpulib._bindings import libdevice
libdevice._IN_WHEELS = ()
libdevice._find_elsewhere = lambda: None
"""
    backend, told, refusal = parts(run_fake(program=program + REPORT))
    assert backend == "cpu"
    first, second, last, rest = warning_of(told).split("\n")
    assert first == (
        "CUDA's library of mathematical functions, libdevice.10.bc, is not installed; "
        "the processor is used instead"
    )
    assert second.startswith(
        "kernels need it for functions such as math.sin; found the CUDA driver 13.0 ("
    )
    assert last == (
        "help: install pygpulib[cuda13], or set CUDA_HOME to the folder of a CUDA toolkit; "
        "PYGPULIB_BACKEND=cuda runs what does without it on the GPU; "
        "python -m pygpulib doctor tells more"
    )
    assert (rest, refusal) == ("", "")


def test_without_the_libdevice_that_the_environment_names_the_processor_is_used():
    backend, told, _ = parts(run_fake(PYGPULIB_LIBDEVICE="/nowhere/libdevice.10.bc"))
    assert backend == "cpu"
    assert warning_of(told) == (
        "the environment variable PYGPULIB_LIBDEVICE is '/nowhere/libdevice.10.bc'; "
        "the processor is used instead\n"
        "expected the path of a file, libdevice.10.bc of a CUDA toolkit\n"
        "help: unset it to use the file of an installed package or toolkit; "
        "python -m pygpulib doctor tells more\n"
    )


SINE = """
import math
import numpy as np
from pygpulib import cuda
from pygpulib.errors import ArgumentError
@cuda.jit
def plain(a):
    a[0] = 3
@cuda.jit
def sine(a):
    a[0] = math.sin(a[0])
a = np.zeros(1)
plain[1, 1](a)
print(a)
try:
    sine[1, 1](a)
except ArgumentError as error:
    print(error.problem)
"""


def test_without_libdevice_those_who_insist_on_a_gpu_are_told_when_it_is_needed(tmp_path):
    program = tmp_path / "sine.py"
    program.write_text(SINE)
    words = ["-m", "tests.fakecuda.run", str(program)]
    done = run(words, backend="cuda", PYGPULIB_LIBDEVICE="/nowhere/libdevice.10.bc")
    assert done.stderr == ""
    assert done.stdout == (
        "[3.]\nthe environment variable PYGPULIB_LIBDEVICE is '/nowhere/libdevice.10.bc'\n"
    )


def test_devices_that_are_too_old_are_left_out():
    program = """
from tests.fakecuda.driver import FakeCuda
fake = FakeCuda(device_count=2)
fake.devices[0].attributes[75] = 6
fake.install()
from pygpulib import cuda
print(len(cuda.gpus), cuda.get_current_device().compute_capability)
"""
    done = run(["-"], program=program)
    assert done.stdout == "1 (8, 0)\n", done.stderr


def test_the_memory_of_a_process_that_ends_is_no_news():
    program = """
import numpy as np
from pygpulib import cuda
array = cuda.to_device(np.arange(3))
stream, event = cuda.stream(), cuda.event()
pinned = cuda.pinned_array(4)
"""
    done = run_fake(program=program)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_child_of_a_fork_is_told_what_to_do_and_ends_quietly():
    program = """
import os, sys
import numpy as np
from pygpulib import cuda
from pygpulib.errors import DeviceError
from pygpulib.core.device import current_driver
array, stream = cuda.to_device(np.arange(3)), cuda.stream()
current_driver().add_report(0, lambda: print("done"))
child = os.fork()
if child == 0:
    try:
        array.copy_to_host()
    except DeviceError as error:
        print(error)
    del array, stream
    sys.exit()
_, status = os.waitpid(child, 0)
print(status, array.copy_to_host())
"""
    done = run_fake(program=program)
    assert (done.returncode, done.stderr) == (0, "")
    first, second, third, *rest = done.stdout.splitlines()
    assert first == "CUDA could not switch to the device: not initialized"
    assert second == "cuCtxSetCurrent returned CUDA_ERROR_NOT_INITIALIZED (3)"
    assert third.startswith("help: CUDA does not survive a fork: start child processes with ")
    assert rest == ["done", "0 [0 1 2]"]
