"""Kernels that raise and print, and one that calls itself."""

# ruff: noqa: T201

from __future__ import annotations

import io
import warnings
from contextlib import redirect_stdout
from unittest.mock import patch

import numpy as np

from pygpulib import cuda
from pygpulib.jit.backends.cuda import launch_record
from tests.fakecuda.mutation.checks import case, run, same


@cuda.jit(debug=True)
def checked_kernel(a, places, out):
    grid, block = cuda.gridDim, cuda.blockDim
    at, inside = cuda.blockIdx, cuda.threadIdx
    number = at.x + grid.x * (at.y + grid.y * at.z)
    thread = inside.x + block.x * (inside.y + block.y * inside.z)
    i = number * block.x * block.y * block.z + thread
    if i < out.size:
        out[i] = a[places[i]] // places[i]


GRID, BLOCK = (2, 2, 3), (3, 2, 4)


def _told(a, places, count):
    """Return the first two lines of what the kernel raises."""
    try:
        run(checked_kernel, GRID, BLOCK, a, places, np.zeros(count, "i4"))
    except (IndexError, ZeroDivisionError) as fault:
        return str(fault).partition(", at ")[0].splitlines()
    return []


def _expected(i, problem):
    block, thread = divmod(i, 24)
    at = block % 2, block // 2 % 2, block // 4
    inside = thread % 3, thread // 3 % 2, thread // 6
    return [problem, f"in the kernel checked_kernel, block {at}, thread {inside}"]


@case
def checked_indices(rng):
    count = int(rng.integers(200, 280))
    a = rng.integers(-(1 << 31), 1 << 31, 70).astype("i4")
    places = rng.integers(1, 70, count)
    negative = rng.random(count) < 0.5
    places[negative] -= 70
    *inputs, out = run(checked_kernel, GRID, BLOCK, a, places, np.zeros(count, "i4"))
    same(inputs[0], a)
    same(inputs[1], places)
    same(out, (a[places] // places).astype("i4"))
    outside = "index {} is out of bounds for the array 'a' with shape (70,)"
    for value, problem in (
        (70, outside.format(70)),
        (-71, outside.format(-71)),
        (0, "division by zero"),
    ):
        wrong = int(rng.integers(count))
        changed = places.copy()
        changed[wrong] = value
        told = _told(a, changed, count)
        assert told == _expected(wrong, problem), told
    problem = f"index {count - 1} is out of bounds for the array 'places' with shape ({count - 1},)"
    told = _told(a, places[: count - 1], count)
    assert told == _expected(count - 1, problem), told
    # Of several threads that fail, one tells all.
    wrong = rng.choice(count, 6, replace=False)
    places[wrong] = 80 + np.arange(6)
    told = _told(a, places, count)
    all_of_them = [_expected(int(i), outside.format(80 + n)) for n, i in enumerate(wrong)]
    assert told in all_of_them, told


@cuda.jit
def print_kernel(a, b):
    grid, at = cuda.gridDim, cuda.blockIdx
    block = at.x + grid.x * (at.y + grid.y * at.z)
    i = block * cuda.blockDim.x + cuda.threadIdx.x
    if i < a.size and a[i] > 50:
        print("block", block, "has", a[i], b[i])


def _print(a, b, *, words):
    """Return the printed lines, and what was said about lines that did not fit."""
    with (
        patch.object(launch_record, "PRINT_WORDS", words),
        redirect_stdout(io.StringIO()) as printed,
        warnings.catch_warnings(record=True) as warned,
    ):
        warnings.simplefilter("always")
        run(print_kernel, (2, 2, 2), 8, a, b)
    return printed.getvalue().splitlines(), [str(each.message) for each in warned]


@case
def printing(rng):
    a = rng.integers(0, 100, int(rng.integers(57, 64))) << rng.integers(0, 40)
    b = rng.integers(-9, 9, a.size) / 4
    a[rng.random(a.size) < 0.3] *= -1
    chosen = np.flatnonzero(a > 50)
    expected = [f"block {i // 8} has {a[i]} {b[i]}" for i in chosen]
    for words in (6 * len(chosen), 6 * len(chosen) + 5, 1 << 10):
        lines, warned = _print(a, b, words=words)
        # In the order of blocks, and in any order within a block.
        assert [line.split()[1] for line in lines] == [line.split()[1] for line in expected]
        assert sorted(lines) == sorted(expected)
        assert warned == []
    for words in (6 * len(chosen) - 1, 17, 6, 3):
        lines, warned = _print(a, b, words=words)
        assert len(lines) == words // 6
        assert set(lines) <= set(expected)
        assert [text.split()[0] for text in warned] == [str(len(expected) - words // 6)]


@cuda.jit(device=True)
def paths(m, n):
    if m == 0 or n == 0:
        return m - n + 1
    return paths(m - 1, n) * 3 - paths(m, n - 1) * m


@cuda.jit
def recursion_kernel(m, n, out):
    i = cuda.grid(1)
    if i < out.size:
        out[i] = paths(m[i], n[i])


def _paths(m, n):
    if m == 0 or n == 0:
        return m - n + 1
    return _paths(m - 1, n) * 3 - _paths(m, n - 1) * m


@case
def recursion(rng):
    count = int(rng.integers(17, 31))
    m, n = rng.integers(0, 6, (2, count))
    m[0], n[0] = 0, 1 << 40
    *inputs, out = run(recursion_kernel, 2, 16, m, n, np.zeros(count, np.int64))
    same(inputs[0], m)
    same(inputs[1], n)
    same(out, np.array([_paths(*pair) for pair in zip(m.tolist(), n.tolist(), strict=True)]))
