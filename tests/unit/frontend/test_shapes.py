"""Reshaping arrays in kernels."""

import itertools

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import KernelTypeError, KernelValueError
from tests.helpers.kernels import check, compile_for, interpret

SHAPES = [(24,), (4, 6), (2, 3, 4), (1, 24, 1), (-1,), (-1, 6), (4, -1), (2, -1, 4)]


def to_one(a, shape, out):
    b = a.reshape(shape)
    out[0], out[1] = b.shape[0], b.strides[0]
    for i in range(b.shape[0]):
        out[2 + i] = b[i]


def to_two(a, shape, out):
    b = a.reshape(shape)
    out[0], out[1] = b.shape[0], b.strides[0]
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            out[2 + i * b.shape[1] + j] = b[i, j]


def to_three(a, shape, out):
    b = a.reshape(shape)
    out[0], out[1] = b.shape[1], b.strides[1]
    k = 2
    for x in range(b.shape[0]):
        for y in range(b.shape[1]):
            for z in range(b.shape[2]):
                out[k] = b[x, y, z]
                k += 1


@pytest.mark.parametrize("source", [(24,), (6, 4), (2, 2, 6), (1, 1, 24)])
@pytest.mark.parametrize("shape", SHAPES)
def test_packed_arrays(source, shape):
    a = np.arange(24.0).reshape(source)
    check((to_one, to_two, to_three)[len(shape) - 1], a, shape, np.zeros(26))


@pytest.mark.parametrize("step", [2, 3, -1, -2])
@pytest.mark.parametrize("shape", SHAPES)
def test_elements_at_equal_distances(step, shape):
    a = np.arange(24.0 * abs(step))[::step]
    out, expected = np.zeros(26), np.zeros(26)
    kernel = (to_one, to_two, to_three)[len(shape) - 1]
    interpret(kernel, a, shape, out)
    kernel(a, shape, expected)
    # NumPy may or may not copy; the view has strides of its own.
    np.testing.assert_array_equal(np.delete(out, 1), np.delete(expected, 1))


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_empty_arrays(shape):
    kernel = (to_one, to_two)[len(shape) - 1]
    for source in itertools.chain([(0,)], [(2, 0), (0, 5)]):
        out = np.zeros(26)
        interpret(kernel, np.zeros(source), shape, out)
        assert out[0] == shape[0]


def test_shapes_that_are_known():
    def kernel(a, out):
        b = a.reshape(2, 3)
        c = b.reshape(6)
        d = a.reshape(-1).reshape((3, 2))
        out[0] = b[1, 0] + c[4] * 10 + d[2, 1] * 100
        b[0, 0] = 9
        out[1] = a[0]

    check(kernel, np.arange(6.0), np.zeros(2))


def test_shared_and_local_arrays():
    def kernel(out):
        tile = cuda.local.array(6, np.float64).reshape(2, 3)
        for i in range(6):
            tile[i // 3, i % 3] = i
        flat = tile.reshape(-1)
        out[0] = flat[4] + flat.size

    out = np.zeros(1)
    interpret(kernel, out)
    assert out[0] == 10


def test_other_sizes_with_debug():
    def kernel(a, shape):
        a.reshape(shape)[0, 0] = 1

    for shape in [(2, 3), (-1, 3), (5, 1)]:
        entry = interpret(kernel, np.zeros(4), shape, debug=True)
        assert entry.exception is ValueError
        assert entry.message == "the array 'a' has {} elements, and the new shape has {}"
    assert interpret(kernel, np.zeros(4), (-1, 2), debug=True) is None


def column_order(a):
    a.reshape(4)


def several(a):
    a.reshape(-1, -1)


def no_shape(a):
    a.reshape()


def float_shape(a):
    a.reshape(2.0)


def known_size(a):
    a[0, 0:0].reshape(0)
    a.reshape((2, None))


@pytest.mark.parametrize(
    ("kernel", "array", "error", "words"),
    [
        (column_order, np.zeros((2, 2)).T, KernelTypeError, "because it is not C-contiguous"),
        (column_order, np.zeros((4, 4))[::2, ::2], KernelTypeError, "reshape it on the host"),
        (several, np.zeros(4), KernelValueError, "only find out one extent, and several are -1"),
        (no_shape, np.zeros(4), KernelTypeError, "reshape is called without a shape"),
        (float_shape, np.zeros(4), KernelTypeError, "float64 is no shape for reshape"),
        (known_size, np.zeros((2, 2)), KernelTypeError, "is no shape for reshape"),
    ],
)
def test_what_is_refused(kernel, array, error, words):
    with pytest.raises(error, match=words):
        compile_for(kernel, array)
