from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from pygpulib import doctor
from pygpulib._bindings.library import Function
from pygpulib._bindings.vendor_libraries import (
    VENDOR_LIBRARIES,
    VendorLibrary,
    find_vendor_library,
)
from pygpulib.errors import LibraryError
from tests.helpers.packages import needs_vendor_packages

ROOT = Path(__file__).parents[2]
NO_DRIVER = {"PYGPULIB_CUDA_LIBRARY": "/nowhere/libcuda.so.1"}


def run(command, *prefix, backend="auto", **more):
    environment = os.environ | {"PYTHONPATH": str(ROOT), "PYGPULIB_BACKEND": backend} | more
    words = [sys.executable, *prefix, command] if prefix else [sys.executable, "-", command]
    program = "import sys; from pygpulib.__main__ import main; sys.exit(main(sys.argv[1:]))"
    return subprocess.run(
        words, input=program, capture_output=True, text=True, check=False, env=environment
    )


def run_fake(command, *options, **more):
    return run(command, "-m", "tests.fakecuda.run", *options, "-", **more)


def test_the_doctor_without_a_driver(tmp_path):
    cache = {"PYGPULIB_CACHE": "1", "PYGPULIB_CACHE_DIR": str(tmp_path / "cache")}
    done = run("doctor", **cache, **NO_DRIVER)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("pygpulib ")
    assert "  --  driver: there is no CUDA driver on this machine" in lines
    assert "      the library /nowhere/libcuda.so.1 was not found" in lines
    assert any(line.startswith("  ok  processor: ") for line in lines)
    assert any(line.startswith("      vectors: ") for line in lines)
    assert f"  ok  compiled kernels on disk: {tmp_path / 'cache'}" in lines
    assert lines[-1] == (
        "verdict: kernels run on the processor, because there is no CUDA driver on this machine"
    )


def test_the_doctor_when_cuda_is_insisted_on():
    done = run("doctor", backend="cuda", **NO_DRIVER)
    assert done.returncode == 1
    assert done.stdout.endswith(
        "verdict: PYGPULIB_BACKEND is 'cuda', but there is no CUDA driver on this machine\n"
    )


def test_the_doctor_with_the_processor_asked_for_and_no_cache():
    done = run("doctor", backend="cpu", PYGPULIB_CACHE="0", **NO_DRIVER)
    assert done.returncode == 0
    assert "  --  compiled kernels on disk: switched off (PYGPULIB_CACHE=0)\n" in done.stdout
    assert done.stdout.endswith("because PYGPULIB_BACKEND is 'cpu'\n")


@pytest.mark.parametrize("is_buffered", [True, False])
@pytest.mark.parametrize("command", ["doctor", "info", "cache"])
def test_nobody_reads_the_output(command, is_buffered):
    reading, writing = os.pipe()
    os.close(reading)
    environment = os.environ | NO_DRIVER | {"PYTHONPATH": str(ROOT), "PYGPULIB_BACKEND": "auto"}
    environment["PYTHONUNBUFFERED"] = "" if is_buffered else "1"
    words = [sys.executable, "-m", "pygpulib", command]
    with open(writing, "wb") as closed:
        done = subprocess.run(
            words, stdout=closed, stderr=subprocess.PIPE, check=False, env=environment
        )
    assert (done.returncode, done.stderr) == (1, b"")


def test_the_doctor_with_gpus():
    done = run_fake("doctor", "--devices", "2", "--cc", "9.0")
    assert done.returncode == 0, done.stderr
    assert "  ok  driver: the CUDA driver 13.0 (" in done.stdout
    assert "  ok  device 1: Simulated GPU, compute capability 9.0, 0.2 GiB\n" in done.stdout
    assert done.stdout.endswith("verdict: kernels run on 2 GPUs\n")


def test_the_doctor_with_a_broken_driver():
    done = run_fake("doctor", "--broken", "init")
    assert "  !!  driver: the CUDA driver does not work\n" in done.stdout
    assert "CUDA_ERROR_SYSTEM_DRIVER_MISMATCH (803)" in done.stdout
    assert done.stdout.endswith("because the CUDA driver does not work\n")


def test_the_doctor_without_libdevice():
    done = run_fake("doctor", PYGPULIB_LIBDEVICE="/nowhere/libdevice.10.bc")
    assert "  !!  libdevice (mathematical functions of kernels): the environment " in done.stdout
    assert done.stdout.endswith(
        "verdict: kernels run on the processor, because the environment variable "
        "PYGPULIB_LIBDEVICE is '/nowhere/libdevice.10.bc'\n"
    )
    done = run_fake("doctor", backend="cuda", PYGPULIB_LIBDEVICE="/nowhere/libdevice.10.bc")
    assert done.stdout.endswith("verdict: kernels run on 1 GPU\n")


def test_the_table_of_the_processor():
    done = run("info", **NO_DRIVER)
    assert done.returncode == 0, done.stderr
    header, row = done.stdout.splitlines()
    assert header.split() == [
        *("device", "name", "back", "end", "capability", "free", "memory", "units", "UUID")
    ]
    assert row.startswith("0 ")
    assert " cpu " in row


def test_the_table_of_gpus():
    done = run_fake("info", "--devices", "2")
    assert done.returncode == 0, done.stderr
    rows = done.stdout.splitlines()[1:]
    assert [row.split()[0] for row in rows] == ["0", "1"]
    assert all(" cuda " in row and " 8.0 " in row and "GPU-" in row for row in rows)
    assert len({row.index("GPU-") for row in rows}) == 1


def test_the_table_where_the_wanted_device_does_not_exist():
    done = run("info", backend="cuda", **NO_DRIVER)
    assert done.returncode == 1
    assert done.stderr.startswith("there is no CUDA driver on this machine, and ")


# ------------------------------------------------------------------------ the vendor's libraries


@pytest.mark.parametrize("library", VENDOR_LIBRARIES, ids=lambda library: library.title)
def test_a_library_that_is_installed_tells_its_version_and_place(library):
    found = find_vendor_library(library)
    if found is not None:
        version, path = found.split(", ", 1)
        assert all(part.isdecimal() for part in version.split("."))
        assert Path(path).is_file()


@needs_vendor_packages
def test_a_library_that_does_not_work_is_a_finding(tmp_path, monkeypatch):
    source, path = tmp_path / "bad.c", tmp_path / "bad.so"
    source.write_text("int badGetVersion(int *version) { return 7; }")
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(path)], check=True)

    def load(key):
        assert key == "bad"
        return type("Loaded", (), {"abs_path": str(path)})

    from cuda import pathfinder

    monkeypatch.setattr(pathfinder, "load_nvidia_dynamic_lib", load)
    import ctypes

    table = {"badGetVersion": Function("tell its version", (ctypes.c_void_p,))}
    bad = VendorLibrary("cuBAD", "bad", "nothing", table, lambda lib: str(lib.badGetVersion(None)))
    with pytest.raises(LibraryError, match="cuBAD does not work\nbadGetVersion returned 7"):
        find_vendor_library(bad)
    finding = doctor._find_vendor_library(bad)
    assert (finding.mark, finding.text) == ("!!", "cuBAD does not work")
