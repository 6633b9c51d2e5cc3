"""Cooperative groups."""

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.cuda import cg
from pygpulib.errors import KernelTypeError, LaunchError, PyGpuLibError, UnsupportedFeatureError


@cuda.jit
def neighbours(a, b, rounds):
    """Add the next element, all at once; numba's usual example of a grid that waits."""
    grid = cg.this_grid()
    i = cuda.grid(1)
    for _ in range(rounds):
        if i < a.size:
            b[i] = a[i] + a[(i + 1) % a.size]
        grid.sync()
        if i < a.size:
            a[i] = b[i]
        cuda.cg.this_grid().sync()


@pytest.mark.parametrize(("blocks", "threads"), [(1, 32), (4, 8), (7, 5), (32, 1)])
def test_the_grid_waits(blocks, threads):
    rng = np.random.default_rng(1)
    a = rng.integers(0, 9, 29)
    expected = a.copy()
    for _ in range(5):
        expected = expected + np.roll(expected, -1)
    neighbours[blocks, threads](a, np.zeros_like(a), 5)
    cuda.synchronize()
    np.testing.assert_array_equal(a, expected)


def test_the_block_waits():
    @cuda.jit
    def rotate(a):
        row = cuda.shared.array(8, np.int64)
        block = cg.this_thread_block()
        i = block.thread_rank()
        row[i] = a[cuda.blockIdx.x, i]
        block.sync()
        a[cuda.blockIdx.x, i] = row[(i + 1) % block.size()]

    a = np.arange(24).reshape(3, 8)
    rotate[3, 8](a)
    cuda.synchronize()
    np.testing.assert_array_equal(a, np.roll(np.arange(24).reshape(3, 8), -1, axis=1))


def test_ranks_and_sizes():
    @cuda.jit
    def number(out):
        grid, block = cg.this_grid(), cg.this_thread_block()
        i = grid.thread_rank()
        out[i, 0] = block.thread_rank()
        out[i, 1] = block.size()
        out[i, 2] = grid.size()

    out = np.zeros((2 * 3 * 2 * 4 * 3 * 2, 3), np.int64)
    number[(2, 3, 2), (4, 3, 2)](out)
    cuda.synchronize()
    np.testing.assert_array_equal(out[:, 0], np.arange(len(out)) % 24)
    assert set(out[:, 1]) == {24}
    assert set(out[:, 2]) == {len(out)}


def test_what_a_specialization_says():
    @cuda.jit("void(int64[:])")
    def plain(a):
        a[0] = 1

    @cuda.jit(device=True)
    def wait():
        cg.this_grid().sync()

    @cuda.jit("void(int64[:])")
    def waiting(a):
        wait()

    (alone,), (together,) = plain.overloads.values(), waiting.overloads.values()
    assert not alone.cooperative
    assert together.cooperative
    small, large = (together.max_cooperative_grid_blocks(*a) for a in [((8, 8),), (256, 1024)])
    assert small >= large >= cuda.get_current_device().MULTIPROCESSOR_COUNT
    with pytest.raises(LaunchError, match="the block of a launch, 4096, has 4096 threads"):
        together.max_cooperative_grid_blocks(4096)


@pytest.mark.cpu_only("on GPUs, threads wait in recursive functions as in others")
def test_recursive_functions_cannot_wait():
    @cuda.jit(device=True)
    def wait(n):
        if n > 0:
            cg.this_grid().sync()
            wait(n - 1)

    def waiting(a):
        wait(a[0])

    with pytest.raises(UnsupportedFeatureError) as caught:
        cuda.jit("void(int64[:])")(waiting)
    first, last = str(caught.value).splitlines()
    assert first.endswith("a barrier in a function that calls itself is not supported on the CPU")
    assert first.startswith(f"{__file__}:")
    assert last == "help: wait in the kernel, or write the recursion as a loop"


def test_arguments_are_refused():
    def with_argument(a):
        cg.this_grid(1)

    def wait_for(a):
        cg.this_grid().sync(a)

    for kernel, name in ((with_argument, "cg.this_grid"), (wait_for, "sync")):
        with pytest.raises(KernelTypeError, match=f"{name} is called with 1 argument"):
            cuda.jit("void(int64[:])")(kernel)


@pytest.mark.parametrize(
    "function",
    [
        cg.this_grid,
        cg.this_thread_block,
        cg.GridGroup.sync,
        cg.GridGroup.size,
        cg.GridGroup.thread_rank,
        cg.ThreadBlock.size,
        cg.ThreadBlock.thread_rank,
    ],
)
def test_groups_exist_in_kernels_only(function):
    with pytest.raises(PyGpuLibError, match=r"cuda\.cg\.this_\w+ has a value only inside a kernel"):
        function()
