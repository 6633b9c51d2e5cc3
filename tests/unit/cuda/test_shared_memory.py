"""Programs with shared, local and constant memory."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pygpulib import cuda, float32, int32, types
from pygpulib.core.dtypes import ALL_DTYPES
from tests.helpers.cooperation import run_both

N = 16


@pytest.mark.parametrize("dtype", ALL_DTYPES, ids=str)
def test_every_dtype_fits_into_shared_and_local_memory(dtype):
    row = dtype.numpy

    def kernel(a, out):
        s = cuda.shared.array(N, row)
        v = cuda.local.array((2, 2), row)
        t = cuda.threadIdx.x
        s[t] = a[t]
        cuda.syncthreads()
        v[1, 0] = s[N - 1 - t]
        v[0, 1] = v[1, 0]
        out[t] = v[0, -1]

    a = np.arange(N).astype(row)
    if dtype.is_complex:
        a = a * (1 - 2j)
    _, out = run_both(kernel, 1, N, a.astype(row), np.zeros(N, row))
    np.testing.assert_array_equal(out, a[::-1])


@pytest.mark.parametrize("threads", [1, 5, 32, 100, 256])
def test_tree_reduction(threads):
    size = 256

    def kernel(a, out):
        s = cuda.shared.array(size, types.float64)
        t = cuda.threadIdx.x
        i = cuda.grid(1)
        s[t] = a[i] if i < a.size else 0.0
        cuda.syncthreads()
        half = size // 2
        while half > 0:
            if t < half and t + half < cuda.blockDim.x:
                s[t] += s[t + half]
            cuda.syncthreads()
            half //= 2
        if t == 0:
            out[cuda.blockIdx.x] = s[0]

    a = np.random.default_rng(threads).integers(-50, 50, 3 * threads - 1).astype(float)
    _, out = run_both(kernel, 3, threads, a, np.zeros(3))
    assert out.tolist() == [a[i * threads : (i + 1) * threads].sum() for i in range(3)]


@pytest.mark.parametrize("threads", [1, 7, 33, 64])
def test_scan(threads):
    size = 64

    def kernel(a):
        s = cuda.shared.array((2, size), np.int64)
        t = cuda.threadIdx.x
        this = 0
        s[this, t] = a[t]
        cuda.syncthreads()
        step = 1
        while step < cuda.blockDim.x:
            value = s[this, t]
            if t >= step:
                value += s[this, t - step]
            this = 1 - this
            s[this, t] = value
            cuda.syncthreads()
            step *= 2
        a[t] = s[this, t]

    a = np.random.default_rng(threads).integers(-9, 9, threads)
    (scanned,) = run_both(kernel, 1, threads, a)
    np.testing.assert_array_equal(scanned, np.cumsum(a))


@pytest.mark.parametrize("shape", [(1, 1), (8, 8), (13, 21), (30, 5)])
def test_transpose_through_a_padded_tile(shape):
    tile, rows = 8, 4

    def kernel(a, out):
        s = cuda.shared.array((tile, tile + 1), a.dtype)
        x = cuda.blockIdx.x * tile + cuda.threadIdx.x
        y = cuda.blockIdx.y * tile + cuda.threadIdx.y
        for j in range(0, tile, rows):
            if x < a.shape[1] and y + j < a.shape[0]:
                s[cuda.threadIdx.y + j, cuda.threadIdx.x] = a[y + j, x]
        cuda.syncthreads()
        x = cuda.blockIdx.y * tile + cuda.threadIdx.x
        y = cuda.blockIdx.x * tile + cuda.threadIdx.y
        for j in range(0, tile, rows):
            if x < out.shape[1] and y + j < out.shape[0]:
                out[y + j, x] = s[cuda.threadIdx.x, cuda.threadIdx.y + j]

    a = np.random.default_rng(0).random(shape).astype(np.float32)
    grid = (-(-shape[1] // tile), -(-shape[0] // tile))
    _, out = run_both(kernel, grid, (tile, rows), a, np.zeros(shape[::-1], np.float32))
    np.testing.assert_array_equal(out, a.T)


@pytest.mark.parametrize(
    ("rows", "inner", "columns"), [(1, 1, 1), (4, 4, 4), (7, 9, 5), (3, 13, 6)]
)
def test_tiled_matrix_product(rows, inner, columns):
    tile = 4

    def kernel(a, b, c):
        sa = cuda.shared.array((tile, tile), dtype="int64"), cuda.shared.array((tile, tile), "i8")
        x, y = cuda.grid(2)
        i, j = cuda.threadIdx.y, cuda.threadIdx.x
        total = 0
        for first in range(0, a.shape[1], tile):
            sa[0][i, j] = a[y, first + j] if y < a.shape[0] and first + j < a.shape[1] else 0
            sa[1][i, j] = b[first + i, x] if first + i < b.shape[0] and x < b.shape[1] else 0
            cuda.syncthreads()
            for k in range(tile):
                total += sa[0][i, k] * sa[1][k, j]
            cuda.syncthreads()
        if y < c.shape[0] and x < c.shape[1]:
            c[y, x] = total

    rng = np.random.default_rng(rows)
    a, b = rng.integers(-9, 9, (rows, inner)), rng.integers(-9, 9, (inner, columns))
    grid = (-(-columns // tile), -(-rows // tile))
    *_, c = run_both(kernel, grid, (tile, tile), a, b, np.zeros((rows, columns), np.int64))
    np.testing.assert_array_equal(c, a @ b)


@pytest.mark.parametrize("size", [1, 15, 16, 50])
def test_stencil_with_a_halo(size):
    block = 16

    def kernel(a, out):
        s = cuda.shared.array(block + 2, float32)
        i, t = cuda.grid(1), cuda.threadIdx.x
        inside = i < a.size
        if inside:
            s[t + 1] = a[i]
            if t == 0:
                s[0] = a[i - 1] if i > 0 else 0.0
            if t == block - 1 or i == a.size - 1:
                s[t + 2] = a[i + 1] if i + 1 < a.size else 0.0
        cuda.syncthreads()
        if not inside:
            return
        out[i] = s[t] + 2 * s[t + 1] + s[t + 2]

    a = np.random.default_rng(size).integers(0, 9, size).astype(np.float32)
    _, out = run_both(kernel, -(-size // block), block, a, np.zeros(size, np.float32))
    wide = np.pad(a, 1)
    np.testing.assert_array_equal(out, wide[:-2] + 2 * a + wide[2:])


def test_barriers_after_early_returns():
    def kernel(a, out):
        s = cuda.shared.array(32, int32)
        t = cuda.threadIdx.x
        if t >= a.size:
            return
        s[t] = a[t]
        cuda.syncthreads()
        for _ in range(3):
            value = s[(t + 1) % a.size]
            cuda.syncthreads()
            s[t] = value
            cuda.syncthreads()
        out[t] = s[t]

    a = np.arange(19, dtype=np.int32)
    _, out = run_both(kernel, 2, 32, a, np.zeros(19, np.int32))
    np.testing.assert_array_equal(out, np.roll(a, -3))


def test_votes_count_what_is_not_zero():
    def kernel(a, out):
        t = cuda.threadIdx.x
        out[0, t] = cuda.syncthreads_count(a[t])
        out[1, t] = cuda.syncthreads_and(a[t] < 100)
        out[2, t] = cuda.syncthreads_or(a[t] == 3)
        out[3, t] = cuda.syncthreads_and(a[t])
        out[4, t] = cuda.syncthreads_or(np.uint8(0))

    for dtype in (np.int8, np.uint64, np.int64):
        a = np.array([0, 3, 7, 0, 9], dtype)
        if dtype == np.int64:
            a[4] = 1 << 40  # whose low 32 bits are zero
            a[1] = 2
        _, out = run_both(kernel, 1, 5, a, np.zeros((5, 5), np.int32))
        holds = (a < 100).all(), (a == 3).any(), a.all(), False
        assert out.tolist() == [[n] * 5 for n in ((a != 0).sum(), *map(int, holds))]


def test_arrays_of_one_line_are_apart():
    def kernel(out):
        a, b = cuda.shared.array(4, int32), cuda.shared.array(4, int32)
        t = cuda.threadIdx.x
        a[t], b[t] = t, 10 + t
        cuda.syncthreads()
        out[t] = a[3 - t] * 100 + b[3 - t]

    (out,) = run_both(kernel, 1, 4, np.zeros(4, np.int32))
    assert out.tolist() == [313, 212, 111, 10]


@cuda.jit(device=True)
def scratch(value):
    s = cuda.shared.array(4, int32)
    t = cuda.threadIdx.x
    old = s[t]
    cuda.syncthreads()
    s[3 - t] = value
    cuda.syncthreads()
    return old


def test_a_device_function_has_one_shared_array_for_all_calls():
    def kernel(out):
        t = cuda.threadIdx.x
        scratch(t)
        out[0, t] = scratch(10 + t)
        out[1, t] = scratch(0)

    (out,) = run_both(kernel, 1, 4, np.zeros((2, 4), np.int32))
    assert out.tolist() == [[3, 2, 1, 0], [13, 12, 11, 10]]


def test_functions_of_one_factory_have_arrays_of_their_own():
    def make():
        @cuda.jit(device=True)
        def cell():
            return cuda.shared.array(1, int32)

        return cell

    first, second = make(), make()

    def kernel(out):
        a, b, c = first(), second(), first()
        if cuda.threadIdx.x == 0:
            a[0] = 1
            b[0] = 2
        cuda.syncthreads()
        out[cuda.threadIdx.x] = 10 * c[0] + b[0]

    (out,) = run_both(kernel, 1, 3, np.zeros(3, np.int32))
    assert out.tolist() == [12, 12, 12]


def test_a_local_array_is_the_thread_s_own_in_every_call():
    @cuda.jit(device=True)
    def digits(number):
        v = cuda.local.array(3, np.int8)
        for k in range(3):
            v[k] = number // 10**k % 10
        return v

    def kernel(out):
        i = cuda.grid(1)
        a, b = digits(i), digits(2 * i)
        out[i] = 100 * a[0] + 10 * b[0] + b[1]

    (out,) = run_both(kernel, 2, 20, np.zeros(40, np.int64))
    assert out.tolist() == [
        100 * (i % 10) + 10 * (2 * i % 10) + 2 * i // 10 % 10 for i in range(40)
    ]


def test_shared_and_local_arrays_meet_in_one_variable():
    def kernel(a, out):
        s = cuda.shared.array(8, np.float64)
        v = cuda.local.array(8, np.float64)
        t = cuda.threadIdx.x
        s[t] = a[t]
        for k in range(8):
            v[k] = k
        cuda.syncthreads()
        w = s if t % 2 else v
        if t == 6:
            w = a
        out[t] = w[7 - t]

    a = np.arange(8) * 0.5
    _, out = run_both(kernel, 1, 8, a, np.zeros(8))
    assert out.tolist() == [7, 3, 5, 2, 3, 1, 0.5, 0]


# ------------------------------------------------------------------------------- dynamic memory


def test_dynamic_arrays_of_several_dtypes_share_their_memory():
    def kernel(n, ints, floats, sizes):
        whole = cuda.shared.array(0, np.uint8)
        i = cuda.shared.array(0, np.int32)[:n]
        f = cuda.shared.array(0, "float64")[n // 2 :]
        t = cuda.threadIdx.x
        i[t] = t
        f[t] = 0.5 * t
        cuda.syncthreads()
        ints[t] = i[n - 1 - t]
        floats[t] = f[n - 1 - t]
        if t == 0:
            sizes[0] = whole.size
            sizes[1] = i.size
            sizes[2] = f.shape[0]
            sizes[3] = len(cuda.shared.array(0, np.complex128))

    n = 8
    size = 4 * n + 8 * n + 3
    arguments = (n, np.zeros(n, np.int32), np.zeros(n), np.zeros(4, np.int64))
    _, ints, floats, sizes = run_both(kernel, 1, n, *arguments, shared_bytes=size)
    assert ints.tolist() == list(range(n))[::-1]
    assert floats.tolist() == [0.5 * t for t in range(n)][::-1]
    assert sizes.tolist() == [size, n, size // 8 - n // 2, size // 16]


def test_dynamic_memory_in_rows():
    def kernel(out, rows):
        s = cuda.shared.array((0, 3), int32)
        t = cuda.threadIdx.x
        if t == 0:
            rows[0] = s.shape[0]
            rows[1] = s.shape[1]
        for k in range(3):
            s[t, k] = 10 * t + k
        cuda.syncthreads()
        out[t] = s[-1 - t, 1]

    out, rows = run_both(
        kernel, 2, 5, np.zeros(5, np.int32), np.zeros(2, np.int64), shared_bytes=5 * 12 + 5
    )
    assert out.tolist() == [41, 31, 21, 11, 1]
    assert rows.tolist() == [5, 3]


def test_without_dynamic_memory_its_array_is_empty():
    def kernel(size):
        size[0] = cuda.shared.array(0, int32).size

    (size,) = run_both(kernel, 1, 1, np.full(1, -1))
    assert size[0] == 0


@settings(max_examples=8)
@given(st.data())
def test_dynamic_slices_next_to_static_memory(data):
    counts = data.draw(st.lists(st.integers(1, 9), min_size=3, max_size=3))
    threads = max(counts)
    one, two, three = counts

    def kernel(n, m, out):
        fixed = cuda.shared.array(three, np.int16)
        dynamic = cuda.shared.array(0, np.int64)
        a = dynamic[:n]
        b = dynamic[n : n + m]
        t = cuda.threadIdx.x
        if t < a.size:
            a[t] = 100 + t
        if t < b.size:
            b[t] = 200 + t
        if t < fixed.size:
            fixed[t] = 300 + t
        cuda.syncthreads()
        out[0, t] = a[t % n]
        out[1, t] = b[t % m]
        out[2, t] = fixed[t % fixed.size]

    start = np.zeros((3, threads), np.int64)
    *_, out = run_both(kernel, 1, threads, one, two, start, shared_bytes=8 * (one + two))
    t = np.arange(threads)
    np.testing.assert_array_equal(out, [100 + t % one, 200 + t % two, 300 + t % three])


# ------------------------------------------------------------------------------ constant memory


def test_constant_arrays_keep_the_values_of_compilation():
    table = np.arange(12.0).reshape(3, 4)
    fortran = np.asfortranarray(table) + 100j

    def kernel(out, z):
        c = cuda.const.array_like(table)
        f = cuda.const.array_like(fortran)
        i = cuda.threadIdx.x
        out[i] = c[i, -1] + c[-1, i] + c.size
        z[i] = f[i, 1]

    out, z = run_both(kernel, 1, 3, np.zeros(3), np.zeros(3, complex))
    assert out.tolist() == [3 + 8 + 12, 7 + 9 + 12, 11 + 10 + 12]
    assert z.tolist() == fortran[:, 1].tolist()
    compiled = cuda.jit(kernel)
    compiled[1, 3](out, z)
    table[:] = 0
    compiled[1, 3](out, z)
    assert out.tolist() == [23, 28, 33]
