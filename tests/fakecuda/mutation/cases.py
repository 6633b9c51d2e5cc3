"""Kernels of all kinds, each with a check of its results on random inputs."""

# ruff: noqa: T201

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from contextlib import redirect_stdout
from unittest.mock import patch

import numpy as np

from pygpulib import cuda
from pygpulib.cuda import cg
from pygpulib.jit.backends.cuda import launch_record

Check = Callable[[np.random.Generator], None]
CASES: dict[str, Check] = {}


def case(check: Check) -> Check:
    CASES[check.__name__] = check
    return check


def same(found: np.ndarray, expected: np.ndarray) -> None:
    """Check that all is equal to the bit; NaN is equal to NaN."""
    np.testing.assert_array_equal(found, expected, strict=True)


def close(found: np.ndarray, expected: np.ndarray, rtol: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol)


def run(kernel, grid, block, *arguments, shared_bytes=0):
    """Launch with copies of the arrays; return those, and check that the others stay."""
    copies = [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]
    kernel[grid, block, 0, shared_bytes](*copies)
    cuda.synchronize()
    return copies


# ------------------------------------------------------------------------------------ plain ones


@cuda.jit
def saxpy_kernel(a, x, y):
    i = cuda.grid(1)
    if i < x.size:
        y[i] = a * x[i] + y[i]


@case
def saxpy(rng):
    count = int(rng.integers(65, 160))
    x, y = rng.normal(size=(2, count)).astype("f4")
    a = np.float32(rng.normal())
    _, x_after, y_after = run(saxpy_kernel, 3, 64, a, x, y)
    same(x_after, x)
    same(y_after, (np.longdouble(a) * x + y).astype("f4"))


def escape(x, y, limit):
    """Return after how many steps a point is seen to leave, at most `limit`."""
    c = complex(x, y)
    z = 0.0j
    for i in range(limit):
        z = z * z + c
        if z.real * z.real + z.imag * z.imag >= 4:
            return i
    return limit


escape_on_device = cuda.jit(device=True)(escape)


@cuda.jit
def mandelbrot_kernel(region, image, limit):
    x, y = cuda.grid(2)
    if y < image.shape[0] and x < image.shape[1]:
        real = region[0] + x * (region[1] - region[0]) / image.shape[1]
        imag = region[2] + y * (region[3] - region[2]) / image.shape[0]
        image[y, x] = escape_on_device(real, imag, limit)


@case
def mandelbrot(rng):
    height, width = rng.integers(9, 17, 2)
    region = np.array([-2.0, 1.0, -1.0, 1.0]) + rng.uniform(-0.1, 0.1, 4)
    for limit in (int(rng.integers(7, 30)), 1, 0):
        image = np.full((height, width), 255, np.uint8)
        region_after, image, _ = run(mandelbrot_kernel, (2, 3), (8, 8), region, image, limit)
        same(region_after, region)
        expected = np.empty_like(image)
        for y in range(height):
            for x in range(width):
                real = region[0] + x * (region[1] - region[0]) / width
                imag = region[2] + y * (region[3] - region[2]) / height
                expected[y, x] = escape(real, imag, limit)
        # A fused multiplication can move a point of the border.
        assert (image != expected).mean() <= 0.005


PARTICLE = np.dtype([("x", "f4"), ("v", "f8"), ("n", "i2"), ("hits", "u1", (3,))], align=True)


@cuda.jit
def records_kernel(a, dt):
    i = cuda.grid(1)
    if i < a.size:
        p = a[i]
        p["x"] = p["x"] + p["v"] * dt
        p["n"] -= 1
        p["hits"][p["n"] % 3] += 7


@case
def records(rng):
    a = np.zeros(int(rng.integers(33, 50)), PARTICLE)
    a["x"], a["v"] = rng.normal(size=(2, a.size))
    a["n"] = rng.integers(-900, 900, a.size)
    a["hits"] = rng.integers(0, 256, (a.size, 3))
    after, _ = run(records_kernel, 2, 32, a, 0.25)
    close(after["x"], (a["x"] + a["v"] * 0.25).astype("f4"), 1e-6)
    same(after["v"], a["v"])
    same(after["n"], (a["n"] - 1).astype("i2"))
    hits = a["hits"].copy()
    hits[np.arange(a.size), (a["n"] - 1) % 3] += 7
    same(after["hits"], hits)


@cuda.jit
def halves_kernel(a, b, c):
    i = cuda.grid(1)
    if i < c.size:
        if a[i] < b[i]:
            c[i] = a[i] * b[i] - a[i]
        else:
            c[i] = -b[i] / a[i]


@case
def halves(rng):
    count = 2 * int(rng.integers(17, 30))
    a, b = rng.uniform(0.5, 4, (2, count)).astype("f2")
    a[::7] = -a[::7]
    a_after, b_after, c = run(halves_kernel, 2, 32, a, b, np.zeros(count, "f2"))
    same(a_after, a)
    same(b_after, b)
    less = a < b
    # A multiplication and a subtraction may be rounded once or twice.
    x, y = a[less].astype("f4"), b[less].astype("f4")
    close(c[less].astype("f4"), x * y - x, 4e-3)
    same(c[~less], -b[~less] / a[~less])


@cuda.jit
def division_kernel(a, b, quotient, remainder):
    i = cuda.grid(1)
    if i < a.size:
        quotient[i] = a[i] // b[i]
        remainder[i] = a[i] % b[i]


@case
def division(rng):
    count = int(rng.integers(65, 90))
    a, b = (rng.integers(-(1 << 62), 1 << 62, count) >> rng.integers(0, 62, count) for _ in "ab")
    edges = np.array([-(1 << 63), -1, 0, 1, (1 << 32) - 1, 1 << 32, (1 << 63) - 1])
    a[:20], b[10:30] = rng.choice(edges, 20), rng.choice(edges, 20)
    b[30:40] = rng.integers(1, 9, 10)
    ones = np.ones(count, np.int64)
    a_after, b_after, quotient, remainder = run(division_kernel, 3, 32, a, b, ones, ones)
    same(a_after, a)
    same(b_after, b)
    with np.errstate(all="ignore"):
        same(quotient, a // b)
        same(remainder, a % b)


@cuda.jit
def complexes_kernel(a, b, out):
    i = cuda.grid(1)
    if i < a.size:
        z = a[i] * b[i] + b[i].conjugate()
        if z.real > 0:
            z = z - a[i] * 2j
        out[i] = z


@case
def complexes(rng):
    count = int(rng.integers(33, 60))
    a, b = (rng.normal(size=(2, count)) + 1j * rng.normal(size=(2, count))).astype("c8")
    a_after, b_after, out = run(complexes_kernel, 2, 32, a, b, np.zeros(count, "c16"))
    same(a_after, a)
    same(b_after, b)
    z = a.astype("c16") * b + b.conj()
    near_zero = abs(z.real) < 1e-3
    expected = np.where(z.real > 0, z - a * 2j, z)
    close(out[~near_zero], expected[~near_zero], 3e-6)


@cuda.jit
def local_kernel(a, out):
    i = cuda.grid(1)
    if i < a.shape[0]:
        counts = cuda.local.array(6, np.int32)
        for j in range(6):
            counts[j] = j * 70000
        for j in range(a.shape[1]):
            counts[a[i, j]] += 1
        for j in range(6):
            out[i, j] = counts[a[i, j]]


@case
def local_arrays(rng):
    for width in (6, 8, int(rng.integers(9, 12))):
        a = rng.integers(-6, 6, (int(rng.integers(9, 16)), width))
        a_after, out = run(local_kernel, 1, 16, a, np.zeros((a.shape[0], 6), np.int64))
        same(a_after, a)
        counts = np.array([np.bincount(row % 6, minlength=6) for row in a]) + np.arange(6) * 70000
        same(out, np.take_along_axis(counts, a[:, :6] % 6, axis=1))


# ------------------------------------------------------------------------------------ together


@cuda.jit
def reduction_kernel(x, out):
    partial = cuda.shared.array(64, np.float64)
    t = cuda.threadIdx.x
    total = 0.0
    for i in range(cuda.grid(1), x.size, cuda.gridsize(1)):
        total += x[i]
    partial[t] = total
    cuda.syncthreads()
    half = 32
    while half > 0:
        if t < half:
            partial[t] += partial[t + half]
        cuda.syncthreads()
        half //= 2
    if t == 0:
        out[cuda.blockIdx.x] = partial[0]


@case
def reduction(rng):
    for size in (int(rng.integers(65, 90)), int(rng.integers(200, 300))):
        x = rng.integers(-999, 999, size).astype("f8")
        x_after, out = run(reduction_kernel, 2, 64, x, np.zeros(2))
        same(x_after, x)
        block = np.arange(x.size) // 64 % 2
        same(out, np.array([x[block == 0].sum(), x[block == 1].sum()]))


@cuda.jit
def histogram_kernel(values, bins, largest):
    counts = cuda.shared.array(16, np.int32)
    t = cuda.threadIdx.x
    if t < 16:
        counts[t] = 0
    cuda.syncthreads()
    i = cuda.grid(1)
    if i < values.size:
        cuda.atomic.add(counts, values[i] & 15, 1)
        cuda.atomic.max(largest, 0, values[i])
    cuda.syncthreads()
    if t < 16:
        cuda.atomic.add(bins, t, counts[t])


@case
def histogram(rng):
    values = rng.integers(0, 256, int(rng.integers(97, 128))).astype("u1")
    bins = rng.integers(0, 9, 16)
    largest = np.array([0, 77], np.int32)
    values_after, counted, most = run(histogram_kernel, 2, 64, values, bins, largest)
    same(values_after, values)
    same(counted, bins + np.bincount(values & 15, minlength=16))
    same(most, np.array([values.max(), 77], np.int32))


@cuda.jit
def scan_kernel(a, out):
    i = cuda.grid(1)
    lane = cuda.laneid
    value = a[i] if i < a.size else 0
    for shift in (1, 2, 4, 8, 16):
        other = cuda.shfl_up_sync(0xFFFFFFFF, value, shift)
        if lane >= shift:
            value += other
    odd = cuda.ballot_sync(0xFFFFFFFF, value % 2 != 0)
    if i < a.size:
        out[i, 0] = value
        out[i, 1] = cuda.popc(odd)


@case
def warp_scan(rng):
    a = rng.integers(-99, 99, int(rng.integers(65, 128))).astype("i4")
    a_after, out = run(scan_kernel, 2, 64, a, np.zeros((a.size, 2), np.int64))
    same(a_after, a)
    warps = np.zeros(128, np.int64)
    warps[: a.size] = a
    sums = warps.reshape(4, 32).cumsum(axis=1)
    odd = np.repeat((sums % 2 != 0).sum(axis=1), 32)
    same(out, np.stack([sums.ravel(), odd], axis=1)[: a.size])


@cuda.jit
def matmul_kernel(a, b, c):
    left = cuda.shared.array((8, 8), np.float32)
    right = cuda.shared.array((8, 8), np.float32)
    x, y = cuda.grid(2)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    total = np.float32(0)
    for tile in range((a.shape[1] + 7) // 8):
        left[ty, tx] = 0
        right[ty, tx] = 0
        if y < a.shape[0] and tile * 8 + tx < a.shape[1]:
            left[ty, tx] = a[y, tile * 8 + tx]
        if x < b.shape[1] and tile * 8 + ty < b.shape[0]:
            right[ty, tx] = b[tile * 8 + ty, x]
        cuda.syncthreads()
        for k in range(8):
            total += left[ty, k] * right[k, tx]
        cuda.syncthreads()
    if y < c.shape[0] and x < c.shape[1]:
        c[y, x] = total


@case
def tiled_matmul(rng):
    rows, columns = rng.integers(9, 20, 2)
    for inner in (8 * int(rng.integers(1, 3)) + 1, int(rng.integers(9, 20)), 0):
        a = rng.integers(-9, 9, (rows, inner)).astype("f4")
        b = rng.integers(-9, 9, (inner, columns)).astype("f4")
        c = np.ones((rows, columns), "f4")
        a_after, b_after, c = run(matmul_kernel, (3, 3), (8, 8), a, b, c)
        same(a_after, a)
        same(b_after, b)
        same(c, a @ b)


@cuda.jit
def dynamic_kernel(a, out):
    row = cuda.shared.array(0, np.int32)
    t = cuda.threadIdx.x
    i = cuda.grid(1)
    row[t] = a[i] * 3
    cuda.syncthreads()
    out[i] = row[-1 - t] - row[t]


@case
def dynamic_shared(rng):
    block = int(rng.choice([32, 64, 96]))
    a = rng.integers(-(1 << 28), 1 << 28, (2, block)).astype("i4")
    flat, out = run(
        dynamic_kernel, 2, block, a.ravel(), np.zeros(2 * block, "i8"), shared_bytes=4 * block
    )
    same(flat, a.ravel())
    same(out, (a[:, ::-1] - a.astype("i8")).ravel() * 3)


@cuda.jit
def grid_kernel(a, b, delays, waste):
    grid = cg.this_grid()
    i = cuda.grid(1)
    last = cuda.blockIdx.x == cuda.gridDim.x - 1
    for step in range(3):
        if step == 2 and last:
            return  # what ends need not be waited for
        for _ in range(delays[cuda.blockIdx.x, 2 * step]):
            cuda.atomic.add(waste, i, 1)
        # Every element depends on another block's.
        b[i] = a[i] + a[(i + cuda.blockDim.x) % a.size]
        grid.sync()
        for _ in range(delays[cuda.blockIdx.x, 2 * step + 1]):
            cuda.atomic.add(waste, i, 1)
        a[i] = b[i]
        grid.sync()


@case
def grid_barrier(rng):
    blocks, threads = int(rng.integers(3, 6)), int(rng.choice([8, 16, 40]))
    a = rng.integers(-(1 << 50), 1 << 50, blocks * threads)
    delays = np.where(rng.random((blocks, 6)) < 0.5, rng.integers(0, 40, (blocks, 6)), 0)
    expected = a.copy()
    for step in range(3):
        kept = (blocks - 1) * threads if step == 2 else a.size
        expected[:kept] = (expected + np.roll(expected, -threads))[:kept]
    waste = rng.integers(0, 9, a.size).astype("i4")
    after, _, _, wasted = run(grid_kernel, blocks, threads, a, np.zeros_like(a), delays, waste)
    same(after, expected)
    delays[-1, 4:] = 0
    same(wasted, (waste + np.repeat(delays.sum(axis=1), threads)).astype("i4"))


# ------------------------------------------------------------------------------------- reports


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
