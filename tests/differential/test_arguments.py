"""Arguments of every type, alone and in tuples within tuples."""

from __future__ import annotations

from collections import namedtuple

import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.jit.signature import typeof
from tests.helpers.bodies import run_both

Pair = namedtuple("Pair", ["left", "right"])
Nested = namedtuple("Nested", ["scale", "arrays", "inner"])
POINT = np.dtype([("x", "f4"), ("y", "i8")], align=True)


@pytest.mark.parametrize("row", dtypes.ALL_DTYPES, ids=str)
@pytest.mark.parametrize("number", [0, 1, 100])
def test_scalars_of_every_type(row, number):
    def body(i, x, out):
        out[i] = x

    value = row.numpy.type(number)
    assert str(typeof(value)) == row.name
    run_both(body, 2, value, np.zeros(2, row.numpy))
    if number:
        # The second launch with the same types takes the short cut where there is one.
        run_both(
            body, 2, -value if row.is_signed or row.is_float else value, np.zeros(2, row.numpy)
        )


def test_nested_tuples_with_arrays_and_records():
    def body(i, nested, out):
        a, b = nested.arrays
        left = nested.inner.left
        out[i] = nested.scale * a[i] + b[i, 0] + left["x"]
        if i == 0:
            left["y"] = 7
            nested.inner.right[1][2] = 3

    point = np.array([(1.5, 2)], POINT)
    nested = Nested(
        np.float16(2),
        (np.arange(3.0), np.arange(6).reshape(3, 2)),
        Pair(point[0], ((), np.zeros(3, np.int8), None)),
    )
    out = run_both(body, 3, nested, np.zeros(3))[1]
    assert out.tolist() == [1.5, 5.5, 9.5]


def test_types_of_arguments():
    assert str(typeof(np.array([(1, 2)], POINT)[0])) == "Record(x: float32, y: int64)"
    assert str(typeof(np.zeros(3, POINT))) == "array(Record(x: float32, y: int64), 1d, C)"
    assert str(typeof(np.datetime64("2020-01-01"))) == "datetime64[D]"
    assert str(typeof(np.zeros(3, "m8[25us]"))) == "array(timedelta64[25us], 1d, C)"
    assert str(typeof(np.zeros(3, "S5"))) == "array(S5, 1d, C)"
