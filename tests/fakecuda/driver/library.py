"""A ``libcuda.so.1`` whose exported functions jump through a table that Python fills.

It is compiled once per set of functions and kept in a folder for temporary files. Its soname makes
every later ``dlopen("libcuda.so.1")`` of the process find it.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from tests.fakecuda.header import Header, find_include_folder, read_header

if TYPE_CHECKING:
    from collections.abc import Iterable

SONAME = "libcuda.so.1"

# Entries that the header does not show: kept for old programs, or declared in another one.
_MORE = """
CUresult cuProfilerStart(void);
CUresult cuProfilerStop(void);
CUresult cuGetProcAddress(const char *symbol, void **pfn, int cudaVersion, cuuint64_t flags);
CUresult cuCtxCreate_v2(CUcontext *pctx, unsigned int flags, CUdevice dev);
CUresult cuEventElapsedTime(float *pMilliseconds, CUevent hStart, CUevent hEnd);
CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice dev);
"""


def cuda_header() -> Header:
    """Return what ``cuda.h`` declares."""
    return read_header("cuda.h", _MORE)


@functools.cache
def load_library(names: tuple[str, ...]) -> ctypes.CDLL:
    """Build and load the library that exports some functions; its table is empty."""
    return ctypes.CDLL(str(build_library(names)), mode=ctypes.RTLD_GLOBAL)


def build_library(names: Iterable[str]) -> Path:
    """Return the path of the library that exports some functions."""
    source = _write_source(list(names))
    include = find_include_folder("cuda.h")
    key = hashlib.sha256(f"{source}{include}".encode()).hexdigest()[:20]
    folder = Path(tempfile.gettempdir(), f"fakecuda-{os.getuid()}", key)
    path = folder / SONAME
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        _compile(source, include, path)
    return path


def _compile(source: str, include: Path, path: Path) -> None:
    with tempfile.TemporaryDirectory(dir=path.parent) as work:
        text = Path(work, "driver.c")
        text.write_text(source)
        made = Path(work, SONAME)
        options = ["-shared", "-fPIC", "-O1", "-w", f"-Wl,-soname,{SONAME}", f"-I{include}"]
        subprocess.run(["gcc", *options, str(text), "-o", str(made)], check=True)
        made.replace(path)  # another process may be building the same file


def _write_source(names: list[str]) -> str:
    functions = cuda_header().functions
    lines = [
        "#include <cuda.h>",
        f"void *fakecuda_table[{len(names)}];",
    ]
    for position, name in enumerate(names):
        parameters = functions[name].parameters
        declared = ", ".join(f"{p.spelling} a{i}" for i, p in enumerate(parameters)) or "void"
        passed = ", ".join(f"a{i}" for i in range(len(parameters)))
        types = ", ".join(p.spelling for p in parameters) or "void"
        lines += [
            f"#undef {name}",
            f"CUresult {name}({declared}) {{",
            f"    CUresult (*found)({types}) = fakecuda_table[{position}];",
            f"    return found ? found({passed}) : CUDA_ERROR_DEINITIALIZED;",
            "}",
        ]
    return "\n".join(lines) + "\n"
