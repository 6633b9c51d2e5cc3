"""The same work in blocks and grids of all shapes."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygpulib import cuda
from tests.helpers.sizes import scaled
from tests.helpers.ways import each_thread, run_interpreted, run_python

SMALL_BLOCKS = list(itertools.product(range(1, 10), range(1, 5), range(1, 4)))
LARGE_BLOCKS = [
    *((33, 1, 1), (5, 7, 3), (1, 64, 1), (1, 1, 64), (1024, 1, 1), (32, 32, 1), (1, 1024, 1)),
    *((31, 33, 1), (2, 512, 1), (512, 1, 2), (16, 1, 64), (7, 11, 13), (63, 1, 1), (17, 3, 20)),
]


@cuda.jit
def count(visits, where):
    """Count the visits of every thread, and note all that it knows about its place."""
    t, b, n, g = cuda.threadIdx, cuda.blockIdx, cuda.blockDim, cuda.gridDim
    thread = t.x + n.x * (t.y + n.y * t.z)
    block = b.x + g.x * (b.y + g.y * b.z)
    at = thread + block * (n.x * n.y * n.z)
    visits[at] += 1
    x, y, z = cuda.grid(3)
    w, h, d = cuda.gridsize(3)
    where[at, 0], where[at, 1], where[at, 2] = x, y, z
    where[at, 3], where[at, 4], where[at, 5] = w, h, d
    where[at, 6] = cuda.grid(1) + cuda.gridsize(1)
    where[at, 7] = cuda.laneid + cuda.warpsize


def expected_places(grid, block):
    """Return what `count` notes, from the definition of the numbering."""
    bz, by, bx, tz, ty, tx = (
        axis.ravel() for axis in np.indices((*reversed(grid), *reversed(block)))
    )
    x, y, z = tx + block[0] * bx, ty + block[1] * by, tz + block[2] * bz
    size = [np.full(x.shape, n * g) for n, g in zip(block, grid, strict=True)]
    lane = (tx + block[0] * (ty + block[1] * tz)) % 32
    return np.stack([x, y, z, *size, x + size[0], lane + 32], axis=1)


def check_numbering(grid, block):
    threads = math.prod(grid) * math.prod(block)
    visits, where = np.zeros(threads, np.int32), np.zeros((threads, 8), np.int64)
    count[grid, block](visits, where)
    assert (visits == 1).all(), (grid, block)
    np.testing.assert_array_equal(where, expected_places(grid, block), err_msg=f"{grid} {block}")


@pytest.mark.parametrize("grid", [(1, 1, 1), (3, 1, 2)])
def test_every_small_block_numbers_its_threads(grid):
    for block in SMALL_BLOCKS:
        check_numbering(grid, block)


@pytest.mark.parametrize("block", LARGE_BLOCKS)
def test_large_blocks_number_their_threads(block):
    check_numbering((2, 1, 1), block)


@pytest.mark.parametrize(
    ("grid", "block"),
    [
        *(((n, 1, 1), (1, 1, 1)) for n in (2, 1000, 100_000)),
        *(((n, 1, 1), (33, 1, 1)) for n in (2, 7, 3000)),
        *(((100, 90, 1), (3, 2, 1)), ((9, 10, 11), (5, 1, 2)), ((1, 65535, 1), (2, 1, 1))),
        ((1, 1, 65535), (1, 1, 2)),
    ],
)
def test_large_grids_number_their_threads(grid, block):
    check_numbering(grid, block)


def test_very_many_blocks():
    @cuda.jit
    def mark(out):
        i = cuda.blockIdx.x * cuda.blockDim.x + cuda.threadIdx.x
        out[i] += i % 251

    count = scaled(1_000_000)
    for block in (1, 4):
        out = np.zeros(count * block, np.uint8)
        mark[count, block](out)
        np.testing.assert_array_equal(out, np.arange(len(out)) % 251)


# ------------------------------------------------------------------------- the same work everywhere


@cuda.jit(fma=False)
def collatz(starts, steps, peaks):
    """Divergent loops, early returns and a stride over the whole grid, whatever its shape."""
    t, b, n, g = cuda.threadIdx, cuda.blockIdx, cuda.blockDim, cuda.gridDim
    thread = (t.z * n.y + t.y) * n.x + t.x
    first = thread + n.x * n.y * n.z * (b.x + g.x * (b.y + g.y * b.z))
    if first >= starts.size:
        return
    for i in range(first, starts.size, n.x * n.y * n.z * g.x * g.y * g.z):
        value, peak, count = starts[i], 0.0, 0
        if value < 0:
            steps[i] = -1
            continue
        while value > 1:
            value = 3 * value + 1 if value % 2 else value // 2
            peak = max(peak, value / 7)
            count += 1
            if count == 60:
                break
        else:
            peak += 0.25
        steps[i], peaks[i] = count, peak


def results_of_collatz(starts, grid, block):
    steps, peaks = np.zeros(len(starts), np.int64), np.zeros(len(starts))
    collatz[grid, block](starts, steps, peaks)
    return steps, peaks


@pytest.mark.parametrize("size", [1, 5, 200])
def test_results_are_the_same_for_all_shapes(size):
    starts = np.random.default_rng(size).integers(-5, 100, size)
    wanted = np.zeros(size, np.int64), np.zeros(size)
    run_python(collatz.py_func, 1, 1, starts, *wanted)
    grids = [(1, 1, 1), (3, 1, 1), (2, 1, 3)]
    for grid, block in itertools.product(grids, [*SMALL_BLOCKS[::5], *LARGE_BLOCKS]):
        found = results_of_collatz(starts, grid, block)
        np.testing.assert_array_equal(found, wanted, err_msg=f"{grid} {block}")


@given(st.tuples(*[st.integers(1, 40)] * 3), st.tuples(*[st.integers(1, 4)] * 3))
def test_results_are_the_same_for_random_shapes(block, grid):
    x, y, z = block
    block = x, min(y, 1024 // x), min(z, 1024 // x // min(y, 1024 // x))
    starts = np.arange(-3, 50)
    wanted = results_of_collatz(starts, 1, 1)
    np.testing.assert_array_equal(results_of_collatz(starts, grid, block), wanted)
    check_numbering(grid, block)


def test_the_interpreter_numbers_threads_alike():
    for grid, block in (((2, 1, 2), (5, 2, 3)), ((3, 1, 1), (33, 1, 1))):
        threads = math.prod(grid) * math.prod(block)
        visits, where = np.zeros(threads, np.int32), np.zeros((threads, 8), np.int64)
        run_interpreted(count.py_func, grid, block, visits, where)
        assert (visits == 1).all()
        np.testing.assert_array_equal(where, expected_places(grid, block))


def test_the_threads_of_python_come_in_the_order_of_their_numbers():
    seen = []
    for thread in each_thread((2, 1, 2), (2, 3)):
        with thread:
            seen.append((*cuda.grid(3), *cuda.gridsize(2)))
    places = expected_places((2, 1, 2), (2, 3, 1))
    assert seen == list(map(tuple, places[:, :5].tolist()))


@pytest.mark.parametrize("size", [1, 2, 3, 63, 64, 65, 127, 255, 257, 1023, 4097])
@pytest.mark.parametrize("dtype", ["i1", "f8"])
def test_sizes_around_the_width_of_vectors(size, dtype):
    @cuda.jit
    def twice(a):
        i = cuda.grid(1)
        if i < a.size:
            a[i] += a[i]

    base = np.arange(size + 64).astype(dtype)
    for block in (1, 3, 8, 32, 100, 256):
        a = base.copy()
        twice[-(-size // block), block](a[32:-32])
        wanted = base.copy()
        wanted[32:-32] *= 2
        np.testing.assert_array_equal(a, wanted)
    a = base.copy()
    twice.forall(size)(a[32:-32])
    np.testing.assert_array_equal(a, wanted)


def test_two_dimensional_tiles_cover_an_image_of_any_size():
    @cuda.jit
    def paint(image, scale=1):
        x, y = cuda.grid(2)
        if x < image.shape[1] and y < image.shape[0]:
            image[y, x] = scale * (1000 * y + x)

    for height, width in ((1, 1), (17, 3), (3, 70), (33, 65)):
        rows, columns = np.indices((height, width))
        for block in ((1, 1), (8, 8), (16, 2), (3, 5), (32, 32), (1, 7)):
            frame = np.zeros((height + 2, width + 2), np.int64)
            grid = -(-width // block[0]), -(-height // block[1])
            paint[grid, block](frame[1:-1, 1:-1])
            wanted = np.zeros_like(frame)
            wanted[1:-1, 1:-1] = 1000 * rows + columns
            np.testing.assert_array_equal(frame, wanted, err_msg=f"{block}")
