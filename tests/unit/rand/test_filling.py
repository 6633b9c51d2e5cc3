"""Arrays of any layout get the numbers in the order of their indices."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError
from pygpulib.rand.engine import make_engine
from pygpulib.rand.filling import fill_array
from pygpulib.rand.kinds import Kind
from pygpulib.rand.request import Distribution, make_request
from tests.helpers.curand_host import HostGenerator

UNIFORM = make_request(Distribution.UNIFORM, "float32")
KINDS = [Kind.XORWOW, Kind.PHILOX4_32_10]


def misaligned(shape):
    size = int(np.prod(shape)) * 4
    return np.zeros(size + 1, np.uint8)[1:].view(np.float32).reshape(shape)


LAYOUTS = {
    "plain": lambda: np.zeros(24, np.float32),
    "C": lambda: np.zeros((2, 3, 4), np.float32),
    "F": lambda: np.zeros((2, 3, 4), np.float32, order="F"),
    "strided": lambda: np.zeros((4, 12), np.float32)[:, ::2],
    "backwards": lambda: np.zeros(24, np.float32)[::-1],
    "transposed": lambda: np.zeros((3, 8), np.float32).T,
    "misaligned": lambda: misaligned((4, 6)),
    "matrix": lambda: np.asmatrix(np.zeros((4, 6), np.float32)),
    "masked": lambda: np.ma.zeros((4, 6), np.float32),
    "no axes": lambda: np.zeros((), np.float32),
    "empty": lambda: np.zeros((3, 0), np.float32),
}


def expected_of(kind, count):
    return HostGenerator(kind).generate(UNIFORM, count)


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_host_arrays(kind, layout):
    out = LAYOUTS[layout]()
    fill_array(make_engine(kind), UNIFORM, out)
    np.testing.assert_array_equal(out, expected_of(kind, out.size).reshape(out.shape))


def test_only_the_array_is_written():
    whole = np.full((4, 12), 7, np.float32)
    fill_array(make_engine(Kind.XORWOW), UNIFORM, whole[1:3, 2:10:2])
    assert np.count_nonzero(whole != 7) == 8


def test_device_arrays():
    for shape, order in (((24,), "C"), ((4, 6), "C"), ((4, 6), "F")):
        out = cuda.device_array(shape, np.float32, order=order)
        fill_array(make_engine(Kind.PHILOX4_32_10), UNIFORM, out)
        expected = expected_of(Kind.PHILOX4_32_10, 24).reshape(shape)
        np.testing.assert_array_equal(out.copy_to_host(), expected)
    out = cuda.to_device(np.zeros(48, np.float32))
    fill_array(make_engine(Kind.PHILOX4_32_10), UNIFORM, out[::2])
    host = out.copy_to_host()
    np.testing.assert_array_equal(host[::2], expected_of(Kind.PHILOX4_32_10, 24))
    assert not host[1::2].any()


def test_what_cannot_be_filled():
    engine = make_engine(Kind.XORWOW)
    fixed = np.zeros(4, np.float32)
    fixed.flags.writeable = False
    with pytest.raises(ArgumentError, match="array for random numbers is read-only"):
        fill_array(engine, UNIFORM, fixed)
    with pytest.raises(ArgumentTypeError, match="were to be written to a list\nexpected an array"):
        fill_array(engine, UNIFORM, [0.0])
    wrong = r"for uniform random numbers holds .*\nexpected float"
    for dtype in (np.float64, ">f4", np.int32):
        out = np.zeros(4, dtype)
        with pytest.raises(DTypeError, match=wrong):
            fill_array(engine, UNIFORM, out)
        assert not out.any()
    # Nothing was generated.
    out = np.zeros(4, np.float32)
    fill_array(engine, UNIFORM, out)
    np.testing.assert_array_equal(out, expected_of(Kind.XORWOW, 4))
