"""Questions about types, orders of many dimensions, and functions that mean operators."""

from __future__ import annotations

import enum
import operator
from collections import namedtuple

import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.errors import KernelTypeError
from tests.helpers.bodies import launch, run_both

Pair = namedtuple("Pair", ["left", "right"])


NAME = "size"
RIGHT = "right"


class Color(enum.Enum):
    RED = 1


def test_instances():
    def body(i, pair, a, out):
        out[0] = isinstance(i, int)
        out[1] = isinstance(2.5, (int, float))
        out[2] = isinstance(pair, tuple)
        out[3] = isinstance(pair, Pair)
        out[4] = isinstance(a, np.ndarray)
        out[5] = isinstance("x", str)
        out[6] = isinstance(a[0], np.float32)
        out[7] = isinstance(a[0], np.floating)
        out[8] = isinstance(True, int)
        out[9] = isinstance(i, float)
        out[10] = isinstance(1j, complex)
        out[11] = isinstance(Color.RED, Color)
        out[12] = isinstance(pair, (int, str))
        out[13] = isinstance(a, tuple)

    run_both(body, 1, Pair(1, 2), np.ones(3, np.float32), np.zeros(14))


def test_types_of_the_language():
    def body(i, a, out):
        out[0] = isinstance(a[0], types.float32)
        out[1] = isinstance(i, types.int64)
        out[2] = isinstance(i, types.float32)
        out[3] = type(a[0])(2.75) + type(i)(3)
        out[4] = type(a[0]) is types.float32
        out[5] = type(Color.RED) is Color
        out[6] = type((1, 2)) is tuple

    out = np.zeros(7)
    launch(body, 1, np.ones(3, np.float32), out)
    assert out.tolist() == [1, 1, 0, 5.75, 1, 1, 1]


def test_one_function_for_several_types():
    @cuda.jit(device=True)
    def describe(x):
        if isinstance(x, tuple):
            return len(x)
        if hasattr(x, "shape"):
            return x.shape[0]
        return x

    def body(i, a, out):
        out[i] = describe((1, 2)) + 10 * describe(a) + 100 * describe(5.5)

    out = np.zeros(1)
    launch(body, 1, np.zeros(7), out)
    assert out[0] == 2 + 70 + 550


def test_attributes_by_name():
    def body(i, pair, a, out):
        out[0] = hasattr(pair, "left")
        out[1] = hasattr(pair, "middle")
        out[2] = getattr(pair, RIGHT) + getattr(pair, "middle", 5)
        out[3] = hasattr(a, "shape") + hasattr(a, "shapes")
        out[4] = hasattr(np, "pi") + hasattr(1.5, "real") + hasattr(1j, "imaginary")
        out[5] = getattr(a, NAME)

    run_both(body, 1, Pair(1, 2), np.ones(3), np.zeros(6))


@pytest.mark.parametrize("shape", [(3, 4, 5), (0, 3), (7,), (2, 3, 1, 4)])
def test_indices_of_all_elements(shape):
    def three(i, shape, out):
        for k, index in enumerate(np.ndindex(shape)):
            for axis in range(len(index)):
                out[i] += k * index[axis] * (axis + 1)

    run_both(three, 2, shape, np.zeros(2))


def test_ndindex_of_separate_extents():
    def body(i, a, out):
        for y, x in np.ndindex(a.shape[0], a.shape[1]):
            out[i] += a[y, x] * (x + 1)
        for k, (y, x) in enumerate(np.ndindex(2, 2)):
            out[i] += k * (10 * y + x)

    run_both(body, 2, np.arange(12.0).reshape(3, 4), np.zeros(2))


@pytest.mark.parametrize(
    "array",
    [
        np.arange(24.0).reshape(2, 3, 4),
        np.arange(24.0).reshape(2, 3, 4).T,
        np.arange(24.0).reshape(4, 6)[::2, ::-1],
        np.arange(5.0),
        np.zeros((0, 4)),
    ],
    ids=["C", "F", "A", "1d", "empty"],
)
def test_elements_in_order(array):
    def body(i, a, out):
        for k, x in enumerate(a.flat):
            out[i] += x * k
        for index, x in np.ndenumerate(a):
            out[i] += x * index[0] - x * index[-1]

    expected, out = np.zeros(2), np.zeros(2)
    for thread in range(2):
        body(thread, array, expected)
    launch(body, 2, array, out)
    assert (out == expected).all()


def test_flat_views_are_written():
    def body(i, a):
        a.flat[i] = i
        a.flat[-1 - i] += 1

    run_both(body, 6, np.zeros((3, 4)))


def test_functions_that_are_operators():
    def body(i, a, t, out):
        x, y = a[i], a[i] + 3
        out[i, 0] = operator.add(x, y) - operator.sub(x, y) * operator.mul(x, y)
        out[i, 1] = operator.truediv(x, y) + operator.floordiv(x, y) + operator.mod(x, y)
        out[i, 2] = operator.pow(x, 2) + operator.neg(x) + operator.pos(x) + operator.abs(-x)
        out[i, 3] = operator.and_(x, y) + operator.or_(x, y) + operator.xor(x, y)
        out[i, 4] = operator.lshift(x, 2) + operator.rshift(y, 1) + operator.invert(x)
        out[i, 5] = operator.lt(x, y) + 2 * operator.ge(x, y) + 4 * operator.ne(x, y)
        out[i, 6] = operator.contains(t, x) + operator.getitem(t, 1) + operator.index(x)
        out[i, 7] = operator.not_(x) + operator.truth(y) + operator.is_(x, None)
        out[i, 8] = operator.concat(t, (i, 9))[4] + len(operator.concat(t, t))
        operator.setitem(out, (i, 9), x)

    a = np.arange(-3, 3)
    a[a == -3] = -5
    run_both(body, 6, a, (1, 2, 3), np.zeros((6, 10)))


def test_parts_of_complex_arrays():
    def body(i, z, out):
        z.real[i] += 1
        z.imag[i] = z.real[i] * 2
        out[i] = z[i].real - z[::-1].imag[i]

    z = np.arange(5) + 2j
    expected, out, wanted = z.copy(), np.zeros(5), np.zeros(5)
    for k in range(5):
        body(k, expected, wanted)
    device = cuda.jit(device=True)(body)

    def all_of(i, z, out):
        for k in range(5):
            device(k, z, out)

    launch(all_of, 1, z, out)
    assert (z == expected).all()
    assert (out == wanted).all()


def test_views_as_other_types():
    def body(i, a, b, out):
        wide = b.view(np.int64)
        out[i, 0] = a.view(np.int32)[i]
        out[i, 1] = b.view(np.uint8)[i]
        out[i, 2] = a[i].view(np.int32)
        out[i, 3] = wide[i % 2] + len(wide)
        a.view(np.uint32)[i] |= np.uint32(1)

    a, b = np.linspace(-1, 1, 6, dtype=np.float32), np.arange(8, dtype=np.int16)
    run_both(body, 6, a, b, np.zeros((6, 4), np.int64))


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda i, a: isinstance(i, 3), "isinstance does not take int64 as a class"),
        (lambda i, a: hasattr(a, i), "hasattr does not take int64 as a name"),
        (lambda i, a: type(a), "type does not take array(float64, 2d, C)"),
        (lambda i, a: getattr(a, NAME + "s"), "has no attribute 'sizes'"),
        (lambda i, a: np.ndindex(2.5), "numpy.ndindex does not take (float64)"),
        (lambda i, a: np.ndenumerate(i), "numpy.ndenumerate does not take int64"),
        (lambda i, a: operator.index(2.5), "operator.index does not take (float64)"),
        (lambda i, a: a.T.view(np.float32), "the sizes differ, and it is not C-contiguous"),
        (lambda i, a: a.view("f4x"), "the method 'view' of array(float64, 2d, C) does not take"),
        (lambda i, a: a[0, 0].view(np.int32), "float64 cannot be viewed as int32"),
        (lambda i, a: np.dtype("nothing"), "numpy.dtype does not take the string 'nothing'"),
    ],
)
def test_what_is_refused(body, words):
    with pytest.raises(KernelTypeError) as caught:
        launch(body, 1, np.zeros((2, 3)))
    assert words in str(caught.value)
