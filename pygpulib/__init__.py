"""CUDA kernels and CUDA's libraries from Python, on NVIDIA GPUs and natively on the CPU."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pygpulib import blas, cuda, errors, linalg, rand, types
    from pygpulib.jit.backends.cpu.pool import get_num_threads, set_num_threads
    from pygpulib.types import (
        bfloat16,
        boolean,
        complex64,
        complex128,
        float16,
        float32,
        float64,
        int8,
        int16,
        int32,
        int64,
        uint8,
        uint16,
        uint32,
        uint64,
        void,
    )
    from pygpulib.ufuncs import guvectorize, vectorize

__version__ = "0.1.0.dev0"

__all__ = [
    "bfloat16",
    "blas",
    "boolean",
    "complex64",
    "complex128",
    "cuda",
    "errors",
    "float16",
    "float32",
    "float64",
    "get_num_threads",
    "guvectorize",
    "int8",
    "int16",
    "int32",
    "int64",
    "linalg",
    "rand",
    "set_num_threads",
    "types",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "vectorize",
    "void",
]

_SUBMODULES = ("blas", "cuda", "errors", "linalg", "rand", "types")
_HOMES = {
    "get_num_threads": "pygpulib.jit.backends.cpu.pool",
    "set_num_threads": "pygpulib.jit.backends.cpu.pool",
    "guvectorize": "pygpulib.ufuncs",
    "vectorize": "pygpulib.ufuncs",
}


def __getattr__(name: str) -> object:
    """Import what is asked for, so that importing the package stays cheap."""
    if name in _SUBMODULES:
        return import_module(f"pygpulib.{name}")
    if name not in __all__:
        raise AttributeError(f"module 'pygpulib' has no attribute {name!r}")
    found: object = getattr(import_module(_HOMES.get(name, "pygpulib.types")), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
