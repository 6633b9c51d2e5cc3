"""Slices and other views against NumPy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pygpulib.jit import types
from pygpulib.jit.signature import typeof
from tests.helpers.evaluation import result_type
from tests.helpers.kernels import check, compile_for, interpret

CUBE = np.arange(4 * 3 * 5).reshape(4, 3, 5)
LAYOUTS = {"C": CUBE, "F": np.asfortranarray(CUBE), "A": CUBE[::-1, :, ::2]}


def dynamic(a, start, stop, step, out):
    view = a[start[0] : stop[0] : step[0]]
    out[0] = view.shape[0]
    for i in range(view.shape[0]):
        out[1 + i] = view[i]


BOUND = st.integers(-9, 9)


@given(size=st.integers(0, 7), start=BOUND, stop=BOUND, step=BOUND.filter(bool))
@settings(max_examples=150, deadline=None)
def test_slices_at_run_time(size, start, stop, step):
    a, out, wanted = np.arange(10, 10 + size), np.zeros(9, np.int64), np.zeros(9, np.int64)
    bounds = [np.array([one]) for one in (start, stop, step)]
    run_dynamic(a, *bounds, out)
    dynamic(a, *bounds, wanted)
    np.testing.assert_array_equal(out, wanted)


_COMPILED = {}


def run_dynamic(*args):
    from pygpulib.jit.backends.interp.launch import run

    if not _COMPILED:
        _COMPILED[0] = compile_for(dynamic, *args)
    assert run(_COMPILED[0], 1, 1, args).fault is None


def literal_bounds(a, out):
    at = 0
    for view in (
        a[2:], a[:2], a[-2:], a[:-2], a[1:4:2], a[::-1], a[::-2], a[5:1:-1], a[-1:-4:-1],
        a[100:], a[:100], a[-100:2], a[3:1], a[1:3:-1], a[None:None:None], a[2::3], a[:],
        a[slice(1, 4)], a[slice(3)], a[slice(None, None, -2)],
    ):  # fmt: skip
        out[at] = view.shape[0]
        at += 1
        for i in range(view.shape[0]):
            out[at] = view[i]
            at += 1


@pytest.mark.parametrize("size", [0, 1, 2, 5, 8])
def test_slices_with_literal_bounds(size):
    check(literal_bounds, np.arange(size) + 100, np.zeros(200, np.int64))


@pytest.mark.parametrize("source", LAYOUTS.values(), ids=LAYOUTS)
def test_views_of_three_dimensions(source):
    def kernel(a, n, out):
        k = n[0]
        out[0] = a[k, 1:, ::2][1, 1]
        out[1] = a[:, k][2, -1]
        out[2] = a[..., k][1, 2]
        out[3] = a[k, ...][2, 0]
        out[4] = a[..., 0, k][3]
        out[5] = a[None, k, :, None, 1][0, 2, 0]
        out[6] = a[k:, ::-1, k][1, 0]
        out[7] = a[1:3][k].T[2, 1]
        out[8] = a[1:, 1:][k - 2, 1, 1]
        out[9] = a[-1][-1][-1]
        out[10] = a.T[1][2][3]
        out[11] = a[:, :, k:][3, 2, 1]
        out[12], out[13], out[14], out[15] = a[None, 1:, None, ..., 2].shape

    check(kernel, source, np.array([1]), np.zeros(16, np.int64))


@pytest.mark.parametrize(
    ("body", "layout", "expected"),
    [
        (lambda a: a[1], "C", "C"),
        (lambda a: a[1:], "C", "C"),
        (lambda a: a[1, 1:], "C", "C"),
        (lambda a: a[:, 1], "C", "A"),
        (lambda a: a[:, 1:], "C", "A"),
        (lambda a: a[::2], "C", "A"),
        (lambda a: a[::-1], "C", "A"),
        (lambda a: a.T, "C", "F"),
        (lambda a: a.T[..., 1:], "C", "F"),
        (lambda a: a[..., 1], "F", "F"),
        (lambda a: a[:, :, 1:], "F", "F"),
        (lambda a: a[1], "F", "A"),
        (lambda a: a[1], "A", "A"),
        (lambda a: a.T, "A", "A"),
    ],
)
def test_contiguous_views_are_known_to_be(body, layout, expected):
    array = types.ArrayType(types.float64.dtype, 3, layout)
    assert result_type(body, array).layout == expected


def test_views_of_views_write_through():
    def kernel(a):
        block = a[1:, 1:]
        for i in range(2):
            row = block[i]
            row[0] = 10 * i
            row[-1] += 1
        column = a[:, 0]
        column[::2][1] = -5
        a.T[2][3] = 8

    check(kernel, np.arange(12.0).reshape(4, 3))
    check(kernel, np.asfortranarray(np.arange(12.0).reshape(4, 3)))


def test_complex_views():
    def kernel(z, out):
        out[0] = z[1:, 1][0] + z[::-1].T[0][0]
        z[:, 1].imag[0] = 9
        z.T.real[0, 1] = -9

    for dtype in (np.complex64, np.complex128):
        z = (np.arange(4) + 1j * np.arange(4)[::-1]).reshape(2, 2).astype(dtype)
        check(kernel, z, np.zeros(1, dtype))


def test_arrays_of_size_zero():
    def kernel(a, out):
        out[0] = a.size + 1
        out[1] = a[1:].shape[0]
        out[2] = a[:, ::-1].shape[1]
        a[:] = 5

    check(kernel, np.zeros((0, 3)), np.zeros(3, np.int64))


def test_slices_stay_inside_the_array():
    def kernel(a, n, out):
        view = a[n[0] :]
        out[0] = view.shape[0]

    for start in (-(2**40), -3, 0, 3, 2**40):
        out = np.zeros(1, np.int64)
        interpret(kernel, np.arange(5), np.array([start]), out)
        assert out[0] == len(np.arange(5)[start:])
    assert typeof(np.zeros(3)).layout == "C"
