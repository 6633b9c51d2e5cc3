"""Small programs of the kinds that people write, from end to end."""

import cmath
import math
from collections import namedtuple

import numpy as np
import pytest

from pygpulib import cuda
from tests.helpers.ways import check_everywhere, run_interpreted, run_native

WEIGHTS = np.array([0.25, 0.5, 0.25])
BOARD = np.arange(12, dtype=np.int16).reshape(3, 4)
PAIRS = ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0))
EXTENTS = (2, 4, 8)
SCALE = 1.5

Window = namedtuple("Window", "low high factor")


def test_a_sum_of_vectors_leaves_the_rest_of_the_memory_alone():
    @cuda.jit
    def add(x, y, out):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = x[i] + y[i]

    rng = np.random.default_rng(0)
    for size in (1, 127, 1003):
        x, y = rng.random(size).astype("f4"), rng.random(size).astype("f4")
        memory = cuda.to_device(np.full(size + 200, -3, "f4"))
        add[-(-size // 128), 128](cuda.to_device(x), cuda.to_device(y), memory[100 : size + 100])
        found = memory.copy_to_host()
        np.testing.assert_array_equal(found[100:-100], x + y)
        assert (found[:100] == -3).all()
        assert (found[-100:] == -3).all()


def test_a_kernel_of_two_dimensions_launched_with_one():
    def mark(c):
        i, j = cuda.grid(2)
        if i < c.shape[0] and j < c.shape[1]:
            c[i, j] += 1

    marks = np.zeros((6, 4), np.int64)
    run_native(mark, 3, 4, marks)
    assert marks.tolist() == [[1, 0, 0, 0]] * 6
    check_everywhere(mark, 3, 4, np.zeros((6, 4)))


def test_bytes_widen_when_added_and_wrap_when_stored():
    def brighten(a, b, clamped, wrapped, mean):
        i = cuda.grid(1)
        if i < a.size:
            clamped[i] = min(255, a[i] + b[i])
            wrapped[i] = a[i] + b[i]
            mean[i] = (a[i] + b[i] + 1) // 2

    a, b = (axis.ravel() for axis in np.meshgrid(*[np.arange(0, 256, 5, dtype=np.uint8)] * 2))
    total = a.astype(int) + b
    for run in (run_native, run_interpreted):
        outs = [np.zeros(len(a), np.uint8) for _ in range(3)]
        run(brighten, 22, 128, a, b, *outs)
        expected = np.minimum(total, 255), total % 256, (total + 1) // 2
        np.testing.assert_array_equal(outs, expected)


def test_rounded_numbers_index_tables():
    def sample(x, table, out):
        i = cuda.grid(1)
        if i < x.size:
            out[i, 0] = table[math.floor(x[i])]
            out[i, 1] = table[math.ceil(x[i])]
            out[i, 2] = table[round(x[i])]
            out[i, 3] = table[math.trunc(x[i])]
            out[i, 4] = table[-math.ceil(x[i] + 0.25)]
            for k in range(math.floor(x[i])):
                out[i, 5] += table[k]

    x = np.array([0.0, 0.5, 1.5, 2.2, 2.9])
    check_everywhere(sample, 1, 8, x, np.array([10, 20, 30, 40]), np.zeros((5, 6)))


def test_escape_times_of_complex_numbers():
    @cuda.jit(device=True)
    def escape(c, limit):
        z = 0j
        for n in range(limit):
            z = z * z + c
            if z.real * z.real + z.imag * z.imag >= 4:
                return n
        return limit

    def picture(x0, x1, y0, y1, image, limit):
        i, j = cuda.grid(2)
        h, w = image.shape
        if i < h and j < w:
            image[i, j] = escape(complex(x0 + j * (x1 - x0) / w, y0 + i * (y1 - y0) / h), limit)

    check_everywhere(picture, (2, 3), (8, 8), -2.0, 1.0, -1.0, 1.0, np.zeros((14, 21), "u1"), 25)


@pytest.mark.parametrize(("complex_type", "float_type"), [("c8", "f4"), ("c16", "f8")])
def test_signals_of_both_complex_types(complex_type, float_type):
    def mix(x, w, y, size, angle):
        i = cuda.grid(1)
        if i < x.size:
            v = x[i] * w[i].conjugate() + cmath.exp(1j * x[i].real) - cmath.sqrt(w[i])
            y[i] = v
            size[i] = abs(v)
            angle[i] = cmath.phase(v)
            y[i] += 2 * w[i].imag - x[i] / (2 - 1j)

    rng = np.random.default_rng(7)
    x, w = ((rng.normal(size=50) + 1j * rng.normal(size=50)).astype(complex_type) for _ in "xw")
    first = x * w.conj() + np.exp(1j * x.real) - np.sqrt(w)
    last = first + 2 * w.imag - x / (2 - 1j)
    tolerance = 20 * float(np.finfo(float_type).eps)
    terms = abs(x * w) + 1 + abs(np.sqrt(w)) + 2 * abs(w.imag) + abs(x)
    for run in (run_native, run_interpreted):
        y, size, angle = (np.zeros(50, dtype) for dtype in (complex_type, float_type, float_type))
        run(mix, 2, 32, x, w, y, size, angle)
        assert (abs(y - last) <= tolerance * terms).all()
        assert (abs(size - abs(first)) <= tolerance * terms).all()
        # The smaller the sum, the more its angle depends on the rounding of the terms.
        turned = abs(size * np.exp(1j * angle) - first)
        assert (turned <= tolerance * terms).all()


def test_half_floats_are_read_combined_and_compared():
    def axpy(a, x, y, is_larger):
        i = cuda.grid(1)
        if i < x.size:
            y[i] = np.float16(np.float32(a) * np.float32(x[i]) + np.float32(y[i]))
            is_larger[i] = y[i] > x[i]

    rng = np.random.default_rng(6)
    x, y = rng.random(100).astype("f2"), rng.random(100).astype("f2")
    wanted = (np.float32(0.25) * x.astype("f4") + y.astype("f4")).astype("f2")
    for run in (run_native, run_interpreted):
        out, is_larger = y.copy(), np.zeros(100, bool)
        run(axpy, 4, 32, np.float32(0.25), x, out, is_larger)
        np.testing.assert_array_equal(out, wanted)
        np.testing.assert_array_equal(is_larger, wanted > x)


def test_tuples_of_everything():
    def use(window, pair, arrays, out):
        i = cuda.grid(1)
        if i < 3:
            first, second = PAIRS[i]
            a, b, c = EXTENTS
            back = EXTENTS[::-1]
            out[i] = (window.high - window.low) * window.factor + pair[1] * arrays[0][i]
            out[i] += arrays[1][i] + first * second + 1000 * (a + b + c) + 100000 * back[0]
            head, (x, y) = window.low, (pair[0], PAIRS[-1][i % 2])
            out[i] += head * x + y + len(arrays) + EXTENTS[i - 3]

    arrays = (np.array([1.0, 2.0, 3.0]), np.array([7, 8, 9]))
    check_everywhere(use, 1, 4, Window(1, 3, 0.5), (4, 2.5), arrays, np.zeros(3))
    out = cuda.to_device(np.zeros(3))
    cuda.jit(use)[1, 4](Window(1, 3, 0.5), (4, 2.5), tuple(map(cuda.to_device, arrays)), out)
    expected = np.zeros(3)
    run_native(use, 1, 4, Window(1, 3, 0.5), (4, 2.5), arrays, expected)
    np.testing.assert_array_equal(out.copy_to_host(), expected)


def test_global_and_captured_arrays_are_constants():
    taps, count = np.array([1.0, -2.0, 1.0]), 3

    def convolve(x, y):
        i = cuda.grid(1)
        if 0 < i < x.size - 1:
            for k in range(count):
                y[i] += WEIGHTS[k] * x[i + k - 1] + taps[k] * BOARD[k, i % 4] * SCALE

    x = np.random.default_rng(9).random(40)
    check_everywhere(convolve, 2, 32, x, np.zeros(40))
    kernel = cuda.jit(convolve)
    before, after = np.zeros(40), np.zeros(40)
    kernel[2, 32](x, before)
    taps[:] = 77
    kernel[2, 32](x, after)
    np.testing.assert_array_equal(after, before)


def test_keywords_and_defaults_of_kernels_and_device_functions():
    @cuda.jit(device=True)
    def shift(v, by=10, *rest, sign=1):
        for each in rest:
            v += each
        return v + sign * by

    def kernel(out, scale=2.0, flag=True):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = shift(i) * scale if flag else shift(i, by=1, sign=-1) + shift(i, 1, 2, 3)

    for args in ((), (3.0,), (3.0, False)):
        check_everywhere(kernel, 1, 8, np.zeros(5), *args)
    out = np.zeros(5)
    cuda.jit(kernel)[1, 8](flag=False, out=out)
    np.testing.assert_array_equal(out, 2 * np.arange(5) + 5)


def test_views_select_what_a_block_works_on():
    def kernel(src, dst, column, info):
        b = cuda.blockIdx.x
        mine = src[2 * b :]
        for m in range(2):
            for r in range(src.shape[1]):
                for c in range(src.shape[2]):
                    dst[2 * b + m, r, c] = mine[m, r, c]
        if b == 0:
            back = src[::-1, 1, 0]
            for k in range(back.size):
                column[k] = back[k]
            info[0], info[1] = src[-3:].shape[0], src[2:100].shape[0]
            info[2], info[3] = src[5:2].shape[0], src[6:2:-3].shape[0]

    src = np.random.default_rng(0).random((8, 2, 3))
    check_everywhere(kernel, 4, 1, src, np.zeros_like(src), np.zeros(8), np.zeros(4, np.int64))


def test_mapped_and_managed_memory_is_seen_by_both_sides():
    @cuda.jit
    def triangle(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += i * (i + 1) // 2

    wanted = np.cumsum(np.arange(20))
    for made in (cuda.managed_array(20, np.int64), cuda.mapped_array(20, np.int64)):
        made[:] = 5
        triangle[1, 32](made)
        cuda.synchronize()
        np.testing.assert_array_equal(np.asarray(made), wanted + 5)
    host = cuda.pinned_array(20, np.int64)
    host[:] = 1
    with cuda.pinned(host):
        triangle[1, 32](host)
    np.testing.assert_array_equal(host, wanted + 1)


def test_numpy_functions_and_constants():
    def kernel(x, y, facts):
        i = cuda.grid(1)
        if i < len(x):
            y[i] = np.sqrt(x[i]) + np.sin(np.pi * x[i]) + np.exp(-x[i]) + np.maximum(x[i], 0.5)
            y[i] += np.float32(0.5) + np.floor(x[i]) + np.arctan2(x[i], 2.0) + np.abs(-x[i])
            y[i] += np.hypot(x[i], 1.0) if np.isfinite(x[i]) else np.e
        if i == 0:
            facts[0], facts[1], facts[2] = x.ndim, x.shape[0], x.size
            facts[3] = np.int32(7.9) + np.int64(True)

    x = np.random.default_rng(6).random(50) * 3
    wanted = np.sqrt(x) + np.sin(np.pi * x) + np.exp(-x) + np.maximum(x, 0.5) + 0.5
    wanted = wanted + np.floor(x) + np.arctan2(x, 2.0) + x + np.hypot(x, 1.0)
    for run in (run_native, run_interpreted):
        y, facts = np.zeros(50), np.zeros(4, np.int64)
        run(kernel, 2, 32, x, y, facts)
        np.testing.assert_allclose(y, wanted, rtol=1e-14)
        assert facts.tolist() == [1, 50, 50, 8]


def test_the_statements_of_python_together():
    @cuda.jit(device=True)
    def ends(row):
        low, high = row[0], row[0]
        for v in row:
            low, high = min(low, v), max(high, v)
        return low, high

    def kernel(a, out, is_prime):
        i = cuda.grid(1)
        if i >= a.shape[0]:
            return
        low, high = ends(a[i])
        s = 0
        for k, (v, w) in enumerate(zip(a[i], (1, -2, 3))):  # noqa: B905
            if v in (4, 5) or not 0 <= v < 9:
                continue
            s += k * w * v
        q, r = divmod(high - low, 3)
        n, d = i + 2, 2
        while d * d <= n:
            if n % d == 0:
                is_prime[i] = False
                break
            d += 1
        else:
            is_prime[i] = True
        out[i] = s * 1000 + (q * 10 + r if s > 0 else -(q * 10 + r))

    a = np.random.default_rng(7).integers(0, 12, (20, 3))
    check_everywhere(kernel, 1, 32, a, np.zeros(20, np.int64), np.zeros(20, bool))


def test_generations_of_life_on_a_torus():
    def step(a, b):
        i, j = cuda.grid(2)
        h, w = a.shape
        if i < h and j < w:
            n = 0
            for p in (i - 1, i, (i + 1) % h):
                for q in (j - 1, j, (j + 1) % w):
                    n += a[p, q]
            n -= a[i, j]
            b[i, j] = 1 if n == 3 or (n == 2 and a[i, j] == 1) else 0

    host = (np.random.default_rng(9).random((17, 13)) < 0.4).astype(np.int64)
    check_everywhere(step, (3, 2), (8, 8), host, np.zeros_like(host))
    kernel, old = cuda.jit(step), cuda.to_device(host)
    new = cuda.device_array_like(old)
    for _ in range(5):
        kernel[(3, 2), (8, 8)](old, new)
        old, new = new, old
        shifts = [np.roll(host, (p, q), (0, 1)) for p in (-1, 0, 1) for q in (-1, 0, 1)]
        n = sum(shifts) - host
        host = ((n == 3) | ((n == 2) & (host == 1))).astype(np.int64)
    np.testing.assert_array_equal(old.copy_to_host(), host)


def test_sparse_rows_times_a_vector():
    def multiply(start, column, value, x, y):
        r = cuda.grid(1)
        if r < y.size:
            s = 0.0
            for k in range(start[r], start[r + 1]):
                s += value[k] * x[column[k]]
            y[r] = s

    rng = np.random.default_rng(10)
    dense = rng.random((90, 40)) * (rng.random((90, 40)) < 0.1)
    dense[::7] = 0
    rows, columns = np.nonzero(dense)
    start = np.searchsorted(rows, np.arange(91)).astype(np.int32)
    x = rng.random(40)
    args = (start, columns.astype(np.int32), dense[rows, columns], x)
    check_everywhere(multiply, 3, 32, *args, np.full(90, np.nan))
    y = np.zeros(90)
    run_native(multiply, 3, 32, *args, y)
    np.testing.assert_allclose(y, dense @ x, rtol=1e-13)


def test_conversions_between_integers_and_floats_keep_the_value():
    def convert(source, out, cast):
        i = cuda.grid(1)
        if i < source.size:
            out[i] = source[i]
            cast[i] = np.float64(source[i])

    cases = [
        *(("u1", [200, 0, 255], "f8"), ("u2", [60000, 1, 2], "f4"), ("i1", [-56, 127, 0], "f8")),
        *(("u4", [3_000_000_000, 7, 2**32 - 1], "f8"), ("i4", [-1, -(2**31), 7], "i8")),
        *(("f8", [3e9, 1.0, 0.0], "u4"), ("f8", [-2.9, 2.9, -0.5], "i4")),
        *(("u8", [2**63, 1, 2], "f8"), ("f8", [1.8e19, 2.5, 0.0], "u8"), ("?", [1, 0, 1], "f4")),
    ]
    for source_type, values, target in cases:
        source = np.array(values, source_type)
        for run in (run_native, run_interpreted):
            out, cast = np.zeros(3, target), np.zeros(3)
            run(convert, 1, 32, source, out, cast)
            np.testing.assert_array_equal(out, source.astype(target))
            np.testing.assert_array_equal(cast, source.astype(float))


def test_pi_by_a_sum_over_the_whole_grid():
    def partial_sums(out, terms):
        first, step = cuda.grid(1), cuda.gridsize(1)
        total = 0.0
        for k in range(first, terms, step):
            total += (4.0 if k % 2 == 0 else -4.0) / (2 * k + 1)
        out[first] = total

    out = np.zeros(96)
    check_everywhere(partial_sums, 3, 32, out, 2000)
    run_native(partial_sums, 3, 32, out, 1_000_000)
    assert abs(out.sum() - math.pi) < 2e-6


def test_a_sort_of_each_row_by_one_thread():
    def sort_rows(a):
        i = cuda.grid(1)
        if i < a.shape[0]:
            row = a[i]
            for last in range(row.size - 1, 0, -1):
                swapped = False
                for k in range(last):
                    if row[k] > row[k + 1]:
                        row[k], row[k + 1] = row[k + 1], row[k]
                        swapped = True
                if not swapped:
                    break

    rng = np.random.default_rng(2)
    for a in (rng.integers(-9, 9, (21, 6)), rng.random((6, 21)).T, rng.random((1, 1))):
        expected = np.sort(a, axis=1)
        check_everywhere(sort_rows, 2, 12, a)
        run_native(sort_rows, 2, 12, a)
        np.testing.assert_array_equal(a, expected)
