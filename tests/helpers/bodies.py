"""Functions of a thread number and arrays, run by CPython and, compiled, by a kernel."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np

from pygpulib import cuda

Body = Callable[..., None]


def run_both(body: Body, threads: int, *args: Any) -> list[Any]:
    """Return the arguments after both ways, which must agree bit by bit.

    Parameters
    ----------
    body : callable
        Takes the number of the thread and the arguments; in the kernel language.
    threads : int
        How many threads.
    *args
        One to four arguments; arrays among them may change.
    """
    expected = copy.deepcopy(args)
    for thread in range(threads):
        body(thread, *expected)
    actual = copy.deepcopy(args)
    launch(body, threads, *actual)
    for one, other in zip(expected, actual, strict=True):
        compare(one, other)
    return list(actual)


def launch(body: Body, threads: int, *args: Any, debug: bool = False) -> None:
    """Run a body in a kernel of so many threads."""
    device = cuda.jit(device=True)(body)
    kernel = cuda.jit(_KERNELS[len(args)](device, threads), debug=debug, opt=not debug)
    kernel[-(-threads // 32), 32](*args)


def compare(expected: Any, actual: Any) -> None:
    """Check that two arguments are the same, arrays bit by bit."""
    if isinstance(expected, tuple):
        for one, other in zip(expected, actual, strict=True):
            compare(one, other)
    elif isinstance(expected, np.ndarray) and expected.dtype.names:
        # Padding does not count.
        for name in expected.dtype.names:
            compare(expected[name], actual[name])
    elif isinstance(expected, np.ndarray):
        assert expected.dtype == actual.dtype
        np.testing.assert_array_equal(actual, expected)


def _one(device: Any, threads: int) -> Body:
    def kernel(a):
        i = cuda.grid(1)
        if i < threads:
            device(i, a)

    return kernel


def _two(device: Any, threads: int) -> Body:
    def kernel(a, b):
        i = cuda.grid(1)
        if i < threads:
            device(i, a, b)

    return kernel


def _three(device: Any, threads: int) -> Body:
    def kernel(a, b, c):
        i = cuda.grid(1)
        if i < threads:
            device(i, a, b, c)

    return kernel


def _four(device: Any, threads: int) -> Body:
    def kernel(a, b, c, d):
        i = cuda.grid(1)
        if i < threads:
            device(i, a, b, c, d)

    return kernel


_KERNELS = {1: _one, 2: _two, 3: _three, 4: _four}
