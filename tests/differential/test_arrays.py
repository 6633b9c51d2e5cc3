"""Arrays of all dtypes, layouts and numbers of dimensions in kernels, on the back end.

Every array is a part of a larger one, and the larger one is compared as a whole.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygpulib import cuda
from pygpulib.core.dtypes import ALL_DTYPES
from tests.helpers import arrays
from tests.helpers.guarded import LAYOUTS, guarded
from tests.helpers.ways import check_everywhere, define, run_interpreted, run_native

DTYPES = [row.numpy for row in ALL_DTYPES]
SHAPES = {
    0: [()],
    1: [(0,), (1,), (2,), (37,)],
    2: [(0, 3), (3, 0), (1, 1), (5, 7), (3, 33)],
    3: [(2, 0, 3), (1, 1, 1), (3, 2, 5), (2, 5, 9)],
    4: [(1, 1, 1, 1), (2, 3, 1, 4), (3, 1, 2, 2)],
}


@cuda.jit
def copy0(a, out, mirrored):
    if cuda.grid(1) == 0:
        out[()] = a[()]
        mirrored[...] = a[()]


@cuda.jit
def copy1(a, out, mirrored):
    i = cuda.grid(1)
    if i < a.size:
        out[i] = a[i]
        mirrored[-1 - i] = a[i - a.shape[0]]


@cuda.jit
def copy2(a, out, mirrored):
    i, j = cuda.grid(2)
    if i < a.shape[0] and j < a.shape[1]:
        out[i, j] = a[i][j]
        mirrored[-1 - i, -1 - j] = a[i, j - a.shape[1]]


@cuda.jit
def copy3(a, out, mirrored):
    i, j, k = cuda.grid(3)
    if i < a.shape[0] and j < a.shape[1] and k < a.shape[2]:
        out[i, j, k] = a[i, j, k]
        mirrored[~i, ~j, ~k] = a[i][j, k - a.shape[2]]


@cuda.jit
def copy4(a, out, mirrored):
    i, j, k = cuda.grid(3)
    if i < a.shape[0] and j < a.shape[1] and k < a.shape[2]:
        for m in range(len(a[i, j, k])):
            out[i, j, k, m] = a[i, j][k, m]
            mirrored[~i, ~j, ~k][~m] = a[i, j, k, m]


COPY = (copy0, copy1, copy2, copy3, copy4)
BLOCKS = (1, 16, (4, 4), (4, 2, 2), (2, 2, 4))


def launch(kernel, shape, *args):
    """Launch with at least one thread along each axis of the shape, the fourth apart."""
    extents = [max(1, extent) for extent in shape[:3]] or [1]
    block = BLOCKS[len(shape)]
    threads = (block,) if isinstance(block, int) else block
    grid = tuple(-(-extent // length) for extent, length in zip(extents, threads, strict=False))
    kernel[grid, threads](*args)


def check_copies(shape, dtype, source, target, *, on_device=False):
    a = guarded(source, shape, dtype, on_device=on_device)
    out, mirrored = (
        guarded(target, shape, dtype, on_device=on_device, first=100) for _ in range(2)
    )
    launch(COPY[len(shape)], shape, a.array, out.array, mirrored.array)
    out.expected[...] = a.expected
    mirrored.expected[...] = a.expected[(*(slice(None, None, -1) for _ in shape), ...)]
    for each in (a, out, mirrored):
        each.check()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("ndim", [1, 2])
def test_every_dtype(ndim, dtype):
    for shape, (source, target) in itertools.product(
        SHAPES[ndim], [("packed", "backward"), ("stepped", "packed"), ("fortran", "permuted")]
    ):
        check_copies(shape, dtype, source, target)


@pytest.mark.parametrize("dtype", ["i1", "f8", "c16"])
@pytest.mark.parametrize("ndim", range(5))
def test_every_layout(ndim, dtype):
    for shape, source, target in itertools.product(SHAPES[ndim], LAYOUTS, LAYOUTS):
        check_copies(shape, np.dtype(dtype), source, target)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_device_arrays(layout):
    for shape in itertools.chain(*SHAPES.values()):
        check_copies(shape, np.dtype("f4"), layout, layout, on_device=True)


@pytest.mark.parametrize("shape", [(5,), (3, 4), (2, 3, 4)])
def test_broadcast_and_readonly_inputs(shape):
    row = np.arange(1.0, shape[-1] + 1)
    frozen = np.arange(math.prod(shape)).reshape(shape).astype(float)
    frozen.flags.writeable = False
    sources = [
        np.broadcast_to(row, shape),
        np.broadcast_to(np.float64(7), shape),
        frozen,
        frozen[::-1],
        np.broadcast_to(frozen[..., :1], shape),
    ]
    for source in sources:
        assert not source.flags.writeable
        out, mirrored = (guarded("inner", shape, np.dtype("f8")) for _ in range(2))
        launch(COPY[len(shape)], shape, source, out.array, mirrored.array)
        out.expected[...] = source
        mirrored.expected[...] = source[(*(slice(None, None, -1) for _ in shape), ...)]
        out.check()
        mirrored.check()


def test_overlapping_views_of_one_array():
    def shift(a, b, n):
        if cuda.grid(1) == 0:
            for i in range(n):
                b[i] = a[i] * 2

    for lag in (-3, -1, 0, 1, 2):
        base = np.arange(40.0)
        a, b = base[8:24], base[8 + lag : 24 + lag]
        wanted = base.copy()
        for i in range(16):
            wanted[8 + lag + i] = wanted[8 + i] * 2
        run_native(shift, 1, 4, a, b, 16)
        np.testing.assert_array_equal(base, wanted)


# ------------------------------------------------------------------------------- views in kernels


def spell(key):
    """Return an index as it stands in brackets."""

    def one(part):
        if isinstance(part, slice):
            bounds = (part.start, part.stop, part.step)
            return ":".join("" if bound is None else str(bound) for bound in bounds)
        return "..." if part is Ellipsis else str(part)

    return ", ".join(map(one, key)) + ("," if len(key) == 1 else "") if key else "()"


@given(st.data(), arrays.layouts(dtype="int64", max_dims=4, broadcast=True))
def test_a_basic_index_in_a_kernel_selects_what_numpy_selects(data, host):
    """Bounds are literals in one run and values of run time in the other."""
    key = data.draw(arrays.indices(host.shape))
    expected = np.asarray(host[key])
    numbers = [
        bound
        for part in key
        for bound in ((part.start, part.stop) if isinstance(part, slice) else (part,))
        if isinstance(bound, int)
    ]
    names = iter(f"b[{at}]" for at in range(len(numbers)))

    def named(bound):
        return next(names) if isinstance(bound, int) else bound

    varying = [
        slice(named(part.start), named(part.stop), part.step)
        if isinstance(part, slice)
        else named(part)
        for part in key
    ]
    for parts in (key, varying):
        kernel = _listing(expected.ndim, spell(parts))
        for run in (run_native, run_interpreted):
            out = np.full(expected.size + 8, -1)
            shape = np.full(8, -1)
            run(kernel, 1, 3, host, np.array([*numbers, 0]), shape, out)
            assert shape[: expected.ndim].tolist() == list(expected.shape)
            assert out[:-8].tolist() == expected.ravel().tolist()
            assert (out[-8:] == -1).all()


def _listing(ndim, key):
    """Return a kernel that lists the shape and the elements of ``a[key]``."""
    lines = [
        "def kernel(a, b, shape, out):",
        "    if cuda.grid(1) != 1:",
        "        return",
        f"    view = a[{key}]",
    ]
    if ndim == 0:
        return define("\n".join([*lines, "    out[0] = view"]) + "\n", "kernel")
    lines.append("    n = 0")
    lines += [f"    shape[{axis}] = view.shape[{axis}]" for axis in range(ndim)]
    pad = "    "
    for axis in range(ndim):
        lines.append(f"{pad}for i{axis} in range(view.shape[{axis}]):")
        pad += "    "
    index = ", ".join(f"i{axis}" for axis in range(ndim))
    lines += [f"{pad}out[n] = view[{index}]", f"{pad}n += 1"]
    return define("\n".join(lines) + "\n", "kernel")


@cuda.jit(device=True)
def total(row):
    result = 0.0
    for value in row:
        result += value
    return result


@cuda.jit(device=True)
def scale(row, factor):
    for i in range(row.shape[0]):
        row[i] *= factor
    return row[::-1]


@cuda.jit(device=True)
def ends(pair, at=-1):
    first, second = pair
    return first[0], second[at]


def test_device_functions_take_arrays_rows_slices_and_tuples():
    def kernel(a, out):
        i = cuda.grid(1)
        if i < a.shape[0]:
            row = a[i]
            out[i, 0] = total(row) + total(row[1:]) + total(row[::-2])
            back = scale(row[1:-1], 3)
            out[i, 1] = back[0] - back[-1]
            out[i, 2], out[i, 3] = ends((row, back))
            out[i, 4] = ends(pair=(a[i, :2], row), at=1)[1] + total(a[i, ::-1][:2])
            out[i, 5] = total((1, 2.5, i)) + (total(a[:, 0][i:i]) if a.shape[0] else 1)

    rng = np.random.default_rng(1)
    for a in (rng.integers(0, 50, (9, 6)).astype(float), np.ones((6, 9)).T, np.ones((3, 5))[::-1]):
        check_everywhere(kernel, 2, 6, a, np.zeros((len(a), 6)))


def test_attributes_of_arrays():
    def kernel(a, b, out):
        if cuda.grid(1) == 0:
            out[0], out[1], out[2] = a.ndim, a.size, len(a)
            out[3], out[4], out[5] = a.shape[1], a.strides[0], a.itemsize
            out[6], out[7] = a.nbytes, a.T.shape[0]
            out[8], out[9] = b.size, b.shape[0]
            h, w = a.shape
            out[10], out[11] = h, w
            out[12] = a[1:].size + a[0].size

    for a in (np.zeros((3, 4), "f4"), np.zeros((4, 3), "i2").T, np.zeros((6, 8))[::-2, ::2]):
        check_everywhere(kernel, 1, 2, a, np.zeros(0), np.zeros(13, np.int64))


def test_assignment_to_parts():
    def kernel(a, b, value):
        i = cuda.grid(1)
        if i < a.shape[0]:
            a[i, 1:3] = value
            a[i][::-2] = i
            b[i, ...] = 7
            b[i, 2] += a[i, -1]
            b[i, :2] = b[i, 2]

    check_everywhere(kernel, 3, 4, np.zeros((11, 6)), np.zeros((11, 3), order="F"), 2.5)
