"""Values that may be None."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.errors import KernelTypeError
from tests.helpers.bodies import launch, run_both
from tests.helpers.kernels import Device


@Device
def positive(x):
    if x > 0:
        return x * 2


@Device
def find(a, wanted):
    for k in range(len(a)):
        if a[k] == wanted:
            return k
    return None


@Device
def or_default(x, default=None):
    return 100 if default is None else x + default


def test_results_that_may_be_none():
    def body(i, a, out):
        y = positive(a[i])
        if y is None:
            out[i] = -1
        else:
            out[i] = y + 1
        k = find(a, 3.0)
        out[i] += 1000 * k if k is not None else 0

    run_both(body, 6, np.array([-2.0, 3, 0, 5, -1, 8]), np.zeros(6))
    run_both(body, 6, np.array([-2.0, 7, 0, 5, -1, 8]), np.zeros(6))


def test_variables_that_may_be_none():
    def body(i, a, out):
        best = None
        for k in range(len(a)):
            if a[k] > i and (best is None or a[k] < best):
                best = a[k]
        out[i, 0] = best is None
        out[i, 1] = 7.5 if best is None else best
        out[i, 2] = best == None  # noqa: E711
        out[i, 3] = best != 5
        out[i, 4] = 1 if best else 2
        out[i, 5] = best or 3
        other = best if i % 2 else None
        out[i, 6] = other == best

    run_both(body, 9, np.array([4.0, 5, 7]), np.zeros((9, 7)))


@pytest.mark.parametrize("value", [None, 3, 2.5, np.float32(1)])
def test_arguments_that_may_be_none(value):
    def body(i, value, out):
        out[i] = 1 if value is None else value + i
        out[i] += or_default(i) + or_default(i, i)

    run_both(body, 4, value, np.zeros(4))


def test_default_arguments_of_kernels():
    @cuda.jit
    def kernel(out, scale=None):
        i = cuda.grid(1)
        if i < out.size:
            out[i] = i if scale is None else scale * i

    out = np.zeros(4)
    kernel[1, 4](out)
    assert out.tolist() == [0, 1, 2, 3]
    kernel[1, 4](out, 2.5)
    assert out.tolist() == [0, 2.5, 5, 7.5]
    kernel[1, 4](out, scale=None)
    assert out.tolist() == [0, 1, 2, 3]


def test_signatures_with_optional_types():
    @cuda.jit((types.optional(types.float32), types.float64[:]))
    def kernel(x, out):
        out[0] = -1 if x is None else x

    out = np.zeros(1)
    for given, wanted in [(None, -1), (np.float32(2.5), 2.5), (3, 3), (None, -1)]:
        kernel[1, 1](given, out)
        assert out[0] == wanted


def test_arrays_and_tuples_that_may_be_none():
    def body(i, a, out):
        view = a[1:] if i % 2 else None
        pair = (i, 2.5) if i > 1 else None
        out[i] = 0 if view is None else view[i]
        if pair is not None:
            out[i] += pair[0] + pair[1]

    run_both(body, 4, np.arange(9.0), np.zeros(4))


def test_none_where_a_value_is_needed_is_reported_with_debug():
    def body(i, a, out):
        out[i] = positive(a[i]) + 1

    launch(body, 2, np.ones(2), np.zeros(2), debug=True)
    with pytest.raises(TypeError, match="expected a value, got None"):
        launch(body, 2, np.array([1.0, -1.0]), np.zeros(2), debug=True)


def test_none_and_what_exists_only_while_compiling_do_not_join():
    def body(i, out):
        f = np.sin if i else None
        out[i] = f(1.0)

    with pytest.raises(KernelTypeError, match=r"is (none|sin) on one path"):
        launch(body, 1, np.zeros(3))
