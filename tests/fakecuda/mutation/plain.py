"""Kernels in which each thread works on its own."""

from __future__ import annotations

import numpy as np

from pygpulib import cuda
from tests.fakecuda.mutation.checks import case, close, run, same


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
