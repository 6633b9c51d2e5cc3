"""Tuples and namedtuples against CPython."""

from __future__ import annotations

from collections import namedtuple
from typing import NamedTuple

import numpy as np
import pytest

from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk
from tests.helpers.evaluation import result_type, scalar
from tests.helpers.kernels import check, compile_for, interpret

Box = namedtuple("Box", ["lo", "hi", "scale"])


class Point(NamedTuple):
    x: float
    y: float = 2.5


ROWS = ((1.0, 2.0), (3.0, 4.0), (5.0, 6.0))
SHAPE = (2, 4, 8)
WEIGHTS = tuple(float(i * i) for i in range(20))
ORIGIN = Point(1.0)
N = 3


def test_indexing_and_slicing():
    def kernel(out):
        t = (1, 2.5, 3, 4)
        out[0] = t[0] + t[-1] + t[N - 1]
        out[1] = len(t[1:]) + len(t[::-2]) + t[::-1][0] + t[:-1][2]
        out[2] = (t + (5, 6))[5] + len(t * 2) + (2 * t)[4] + len(())
        a, (b, c), d = 7, (8, 9), SHAPE[::-1]
        out[3] = a + b * c + d[0]
        out[4] = (*t, 10)[4] + tuple(t)[1]

    check(kernel, np.zeros(5))


def test_index_at_run_time():
    def kernel(n, out):
        i = n[0]
        row = ROWS[i]
        out[0] = row[0] + row[1]
        out[1] = SHAPE[i]
        out[2] = WEIGHTS[i * 4]
        out[3] = (n[0], n[1])[i % 2] + (7, 7, 7)[i]
        out[4] = (1j, 2j, 3j)[i].imag

    for i in (0, 1, -1, -2):
        check(kernel, np.array([i, 5]), np.zeros(5))


def test_arrays_in_a_tuple_at_run_time():
    def kernel(arrays, n, out):
        for i in range(2):
            picked = arrays[n[i]]
            out[i] = picked[0] + picked.shape[0]

    check(kernel, (np.array([1.0, 2.0]), np.array([5.0])), np.array([1, 0]), np.zeros(2))


def test_long_tuples_of_constants_become_tables():
    def kernel(n, out):
        out[0] = WEIGHTS[n[0]]

    ops = list(walk(compile_for(kernel, np.array([3]), np.zeros(1)).body))
    assert sum(isinstance(op, ir.ConstantData) for op in ops) == 1


def test_namedtuples():
    def kernel(box, out):
        out[0] = (box.hi - box.lo) * box.scale + box[0]
        moved = Point(box.lo, y=box.hi)
        out[1] = moved.x * 10 + moved.y
        out[2] = Point(4.0).y + ORIGIN.x + ORIGIN.y
        x, y = moved
        out[3] = x - y + len(moved)
        out[4] = Point(*(1.0, 2.0)).y + Box(1, 2, 3)[1:][1]
        out[5] = 1 if moved == (box.lo, box.hi) else 0

    check(kernel, Box(1, 3, 0.5), np.zeros(6))


def test_index_out_of_range_with_debug():
    def kernel(n, out):
        out[0] = SHAPE[n[0]]

    assert interpret(kernel, np.array([-3]), np.zeros(1), debug=True) is None
    error = interpret(kernel, np.array([3]), np.zeros(1), debug=True)
    assert error.exception is IndexError
    assert error.message.format(3, 3) == "tuple index out of range: 3 in a tuple of 3"


def test_membership_of_tuples_in_tuples():
    assert scalar(lambda a: 1 if (a, 2.0) in ROWS else 0, 1.0) == 1
    assert scalar(lambda a: 1 if (a, 2.0) in ROWS else 0, 3.0) == 0


def unpack(a):
    x, y = (a, a, a)
    return x + y


def unpack_number(a):
    x, y = a
    return x + y


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (lambda a: (1, 2)[2], "index 2 is out of range for a tuple of 2 items"),
        (lambda a: (1, 2)[-3], "index -3 is out of range for a tuple of 2 items"),
        (lambda a: ()[0], "index 0 is out of range for a tuple of 0 items"),
        (lambda a: (1, 2.5)[a], "a tuple (int64, float64) is indexed with a number that is not"),
        (lambda a: (1, 2)[a:], "the bounds of a slice of a tuple must be compile-time constants"),
        (lambda a: (1, 2)[::0], "a slice step cannot be zero"),
        (lambda a: SHAPE["x"], "a tuple cannot be indexed with the string 'x'"),
        (lambda a: (1, 2) * a, "repeated a number of times that is a compile-time constant"),
        (lambda a: ORIGIN.z, "has no field 'z'"),
        (lambda a: SHAPE.x, "has no field 'x'"),
        (lambda a: Point(), "Point is called without a value for 'x'"),
        (lambda a: Point(1, 2, 3), "Point is called with 3 arguments"),
        (lambda a: Point(1, x=3), "Point is called with an unexpected argument 'x'"),
        (lambda a: (*a, 1), "int64 cannot be unpacked into a tuple"),
        (lambda a: tuple(a), "tuple does not take int64"),
        (unpack, "a tuple of 3 items is unpacked into 2 variables"),
        (unpack_number, "int64 cannot be unpacked"),
    ],
)
def test_uses_that_are_refused(body, problem):
    with pytest.raises(KernelTypeError) as caught:
        result_type(body, types.int64)
    assert problem in caught.value.problem
    assert f"{__file__}:" in caught.value.problem
    assert caught.value.help
