"""Kernels in which threads work together."""

from __future__ import annotations

import numpy as np

from pygpulib import cuda
from pygpulib.cuda import cg
from tests.fakecuda.mutation.checks import case, run, same


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
