"""Constants from Python, conditional expressions, and what is refused."""

from __future__ import annotations

import math
from types import SimpleNamespace

import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError, UndefinedNameError, UnsupportedSyntaxError
from pygpulib.jit import types
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk
from tests.helpers.evaluation import over, result_type, scalar
from tests.helpers.kernels import check, compile_for

SETTINGS = SimpleNamespace(gain=2.5, taps=np.array([1, 2, 3]), nested=((1, 2), "x", None))
BIG = 2**63
HUGE = 2**70
OBJECTS = np.array([None, 1])
HALF = np.float16(0.5)


RECORDS = np.array([(1, 2.5), (3, 4.5), (5, 6.5)], [("n", np.int64), ("x", np.float64)])
FIRST, SECOND, THIRD = RECORDS
MASKED = np.ma.array([1, 2], mask=[False, True])


def test_records_are_told_apart():
    assert scalar(lambda k: k + 100 * FIRST.n + 10 * SECOND.n + THIRD.n, 0) == 135
    assert scalar(lambda k: k + FIRST.x + 10 * SECOND.x + 100 * THIRD.x, 0) == 697.5


def test_masked_arrays_are_refused():
    with pytest.raises(KernelTypeError, match="'MASKED' is a masked array, and kernels do not"):
        scalar(lambda k: MASKED[k], 0)


@pytest.mark.parametrize("dtype", dtypes.ALL_DTYPES, ids=str)
def test_numpy_scalars_keep_their_dtype(dtype):
    value = dtype.numpy.type(1)
    assert result_type(lambda: value) == types.scalar_type(dtype)
    assert scalar(lambda x: x if value else 0, 5) == 5


def test_python_objects():
    assert scalar(lambda x: x * SETTINGS.gain + SETTINGS.taps[1], 2) == 7.0
    assert scalar(lambda x: SETTINGS.nested[0][1] + x, 2) == 4
    assert result_type(lambda: BIG) == types.uint64
    assert result_type(lambda: SETTINGS.nested[2]) == types.none
    assert scalar(lambda x: HALF + x, np.float16(1)) == 1.5
    with pytest.raises(KernelTypeError, match="does not fit into 64 bits"):
        result_type(lambda: HUGE)
    with pytest.raises(KernelTypeError, match="the array 'OBJECTS' has dtype object"):
        result_type(lambda: OBJECTS[0])


def test_captured_variables():
    scale, table = 3, np.array([1.5, 2.5])
    assert scalar(lambda x: x * scale + table[1], 2) == 8.5
    assert scalar(lambda x: (x, 1, 2)[scale * 2 - 4], 7) == 2


def test_conditional_expressions():
    a = np.array([-2, 0, 3])
    assert over(lambda x: x if x > 0 else -x, a).tolist() == [2, 0, 3]
    assert over(lambda x: 1.5 if x else x, a).tolist() == [1.5, 0.0, 1.5]
    assert result_type(lambda x: x or 1.5, types.int64) == types.float64
    assert result_type(lambda x: x if BIG else "a", types.int64) == types.int64


def test_conditions_known_now_compile_one_side():
    assert scalar(lambda x: x if SETTINGS.nested[1] == "x" else undefined, 3) == 3  # noqa: F821
    assert scalar(lambda x: SETTINGS.nested[2] is None or x.nothing, 3)


def test_cheap_sides_need_no_branch():
    def kernel(a, out):
        first = a[0]
        out[0] = (0 < first < 5 and a[1] > 2) or not first > 7

    ops = list(walk(compile_for(kernel, np.zeros(2), np.zeros(1, bool)).body))
    assert sum(isinstance(op, ir.If) for op in ops) == 1  # for a[1], which is read on demand

    def pure(a, b, out):
        out[0] = (0 < a < 5 and b > 2) or not a > 7

    ops = list(walk(compile_for(pure, 1.0, 2.0, np.zeros(1, bool)).body))
    assert not any(isinstance(op, ir.If) for op in ops)


def test_starred_tuples():
    assert scalar(lambda a: (*(a, 2), 3)[2] + len((*(), *(1, 2))), 1) == 5


def test_operations_carry_their_place():
    def kernel(a, b, out):
        out[0] = (
            a
            + b
            * 2
        )  # fmt: skip

    first = kernel.__code__.co_firstlineno
    for op in walk(compile_for(kernel, 1.0, 2.0, np.zeros(1)).body):
        if isinstance(op, ir.Binary):
            assert op.span.filename == __file__
            assert op.span.line == first + (2 if op.kind is ir.BinaryKind.ADD else 3)


@pytest.mark.parametrize(
    "body",
    [
        lambda a: [a],
        lambda a: {a: 1},
        lambda a: [x for x in (1, 2)],
        lambda a: a @ a,
        lambda a: {1, 2},
    ],
)
def test_constructs_that_are_not_in_the_language(body):
    with pytest.raises(UnsupportedSyntaxError) as caught:
        result_type(body, types.int64)
    assert f"{__file__}:" in caught.value.problem
    assert caught.value.help


def test_undefined_names():
    with pytest.raises(UndefinedNameError, match="name 'nothing' is not defined"):
        result_type(lambda: nothing)  # noqa: F821
    assert math.pi == scalar(lambda x: math.pi + x, 0.0)


def test_the_order_of_evaluation():
    def kernel(a, out):
        i = 0
        out[0] = (i := i + 1) * 10 + (i := i + 1)
        out[1] = (a[(i := 0)], a[(i := i + 1)])[1] + i

    check(kernel, np.array([3.0, 4.0]), np.zeros(2))
