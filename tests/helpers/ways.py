"""The ways to run one kernel: by CPython, by the interpreter of the IR, by a back end."""

from __future__ import annotations

import copy
import linecache
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from types import SimpleNamespace
from typing import Any
from unittest import mock

import numpy as np

from pygpulib import cuda
from pygpulib.jit.backends.interp.launch import run
from pygpulib.jit.ir.verifier import verify
from pygpulib.jit.options import CompileOptions
from tests.helpers.kernels import Kernel, compare, compile_for

Extent = int | Sequence[int]


def run_native(kernel: Kernel, grid: Extent, block: Extent, *args: object, **options: Any) -> None:
    """Compile a kernel with multiply and add apart, and launch it on the current device."""
    cuda.jit(**{"fma": False, **options})(kernel)[grid, block](*args)
    cuda.synchronize()


def run_interpreted(kernel: Kernel, grid: Extent, block: Extent, *args: object) -> None:
    """Compile a kernel and run it in the interpreter."""
    function = compile_for(kernel, *args, options=CompileOptions(fma=False))
    verify(function)
    assert run(function, grid, block, args).fault is None


def run_python(kernel: Kernel, grid: Extent, block: Extent, *args: object) -> None:
    """Run a kernel by CPython, one thread after the other."""
    for thread in each_thread(grid, block):
        with thread:
            kernel(*args)


def each_thread(grid: Extent, block: Extent) -> Iterator[Any]:
    """Yield for each thread a context in which ``cuda.grid`` and its kind have its values."""
    blocks, threads = _three(grid), _three(block)
    for bz, by, bx in product(*map(range, blocks[::-1])):
        for tz, ty, tx in product(*map(range, threads[::-1])):
            yield _as_thread(blocks, threads, (bx, by, bz), (tx, ty, tz))


def _three(extent: Extent) -> tuple[int, int, int]:
    axes = (extent,) if isinstance(extent, int) else tuple(extent)
    x, y, z = (*axes, 1, 1)[:3]
    return x, y, z


@contextmanager
def _as_thread(
    grid: tuple[int, ...], block: tuple[int, ...], at: tuple[int, ...], thread: tuple[int, ...]
) -> Iterator[None]:
    position = [b * n + t for b, n, t in zip(at, block, thread, strict=True)]
    size = [g * n for g, n in zip(grid, block, strict=True)]

    def first(values: list[int]) -> Callable[[int], Any]:
        return lambda count: values[0] if count == 1 else tuple(values[:count])

    vectors = {
        name: SimpleNamespace(**dict(zip("xyz", values, strict=True)))
        for name, values in (
            ("gridDim", grid),
            ("blockDim", block),
            ("blockIdx", at),
            ("threadIdx", thread),
        )
    }
    with mock.patch.multiple(cuda, grid=first(position), gridsize=first(size), **vectors):
        yield


def check_everywhere(kernel: Kernel, grid: Extent, block: Extent, *args: object) -> None:
    """Check that CPython, the interpreter and the back end leave the same in all arrays."""
    expected = copy.deepcopy(args)
    run_python(kernel, grid, block, *expected)
    for run_one in (run_interpreted, run_native):
        actual = copy.deepcopy(args)
        run_one(kernel, grid, block, *actual)
        compare(expected, actual)


def define(text: str, name: str, **scope: object) -> Any:
    """Define a function from text whose source can be found, and return it."""
    filename = f"<made {abs(hash(text))}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(True), filename)
    names: dict[str, Any] = {"cuda": cuda, "np": np, **scope}
    exec(compile(text, filename, "exec"), names)
    return names[name]
