"""Python's built-in functions against CPython."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from tests.helpers.evaluation import over, result_type, scalar
from tests.helpers.kernels import check, interpret

N = 2


def test_rounding_to_whole_numbers():
    a = np.array([0.5, 1.5, 2.5, -0.5, -1.5, 2.4999, 1e15 + 0.5, -7.7])
    assert over(lambda x: round(x), a).tolist() == [round(x) for x in a.tolist()]
    assert over(lambda x: int(x), a).tolist() == [int(x) for x in a.tolist()]
    assert scalar(lambda x: round(x), 7) == 7
    assert scalar(lambda x: round(x), True) == 1
    assert scalar(lambda x: round(x, N), 7) == 7
    assert over(lambda x: round(x), a.astype(np.float32)).dtype == np.int64


def test_rounding_of_numpy_gives_floats():
    a = np.array([0.5, 1.5, 2.675, -7.7])
    found = over(lambda x: np.round(x), a)
    assert found.dtype == np.float64
    np.testing.assert_array_equal(found, np.round(a))
    np.testing.assert_array_equal(over(lambda x: np.around(x, decimals=1), a), np.round(a, 1))
    assert scalar(lambda x: np.round(x), 7) == 7


@pytest.mark.parametrize("digits", [0, 1, 2, 5, 15, -1, -3, 400, -400])
def test_rounding_to_digits(digits):
    rng = np.random.default_rng(5)
    a = np.concatenate(
        [
            rng.uniform(-1e4, 1e4, 200),
            rng.integers(-(10**6), 10**6, 200) / 8,
            rng.integers(-(10**5), 10**5, 200) / 1000,
            [2.675, 1.005, 0.145, 1.115, -2.675, 25.0, 15.0, 0.0, math.inf, 1e300],
        ]
    )
    wanted = [round(x, digits) for x in a.tolist()]
    np.testing.assert_allclose(over(lambda x, n: round(x, n), a, np.full(len(a), digits)), wanted)
    if digits == N:
        np.testing.assert_array_equal(over(lambda x: round(x, N), a), wanted)
    single = over(lambda x: round(x, ndigits=1), a[:9].astype(np.float32))
    assert single.dtype == np.float32


def test_floor_ceil_and_trunc_serve_as_indices():
    def kernel(x, table, out):
        for i in range(x.size):
            out[i] = table[math.floor(x[i])] + table[math.ceil(x[i])] + table[math.trunc(x[i])]
            out[i] += table[round(x[i])] + table[np.int64(np.floor(x[i]))]
            k = math.floor(x[i]) if x[i] > 1 else math.ceil(x[i])
            out[i] += table[k] + table[abs(-k)] + table[min(k, math.floor(2.5))]
            for j in range(math.ceil(x[i])):
                out[i] += j

    check(kernel, np.array([0.0, 0.5, 1.5, 2.2]), np.array([10, 20, 30, 40]), np.zeros(4, int))
    assert result_type(lambda x: math.floor(x), types.float32) == types.float32
    assert result_type(lambda x: math.floor(x), types.int32) == types.int64


def test_absolute_values():
    for dtype in dtypes.ALL_DTYPES[1:9]:
        info = np.iinfo(dtype.numpy)
        a = np.array([info.min + (info.min < -(2**62)), 0, info.max], dtype.numpy)
        assert over(lambda x: abs(x), a).tolist() == [abs(x) for x in a.tolist()]
    assert over(lambda x: abs(x), np.array([-0.0, -2.5])).tolist() == [0.0, 2.5]


def test_extremes_follow_comparisons():
    a = np.array([1.0, math.nan, 2.0, -0.0, 0.0])
    b = np.array([math.nan, 1.0, 1.0, 0.0, -0.0])
    for body in (lambda x, y: min(x, y), lambda x, y: max(x, y), lambda x, y: max(y, 0.5, x)):
        found = over(body, a, b)
        wanted = [body(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
        np.testing.assert_array_equal(found.view(np.int64), np.array(wanted).view(np.int64))
    assert scalar(lambda x: max((x, 7, 3)), 5) == 7
    assert scalar(lambda x: min(x, 2**63), np.int64(-1)) == -1.0

    def kernel(v, out):
        out[0] = min(v)
        out[1] = max(v)
        out[2] = sum(v)
        out[3] = sum(v[1:], 10)
        out[4] = sum((v[0], 2, 3.5))
        out[5] = sum((1, 2), 4)

    check(kernel, np.array([3.0, -1.5, 4.0]), np.zeros(6))


def test_divmod_and_pow():
    a, b = np.array([7, -7, 7, -7]), np.array([2, 2, -2, -2])
    pairs = [divmod(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    assert over(lambda x, y: divmod(x, y)[0], a, b).tolist() == [q for q, _ in pairs]
    assert over(lambda x, y: divmod(x, y)[1], a, b).tolist() == [r for _, r in pairs]
    assert scalar(lambda x, y: pow(x, y), 3, 4) == 81
    assert scalar(lambda x: pow(x, exp=2), 1.5) == 2.25


def test_conversions():
    assert scalar(lambda x: 0 + x, 2) == 2
    assert scalar(lambda x: float(x) / 4, 2) == 0.5
    assert scalar(lambda x: 0.0 + x, 2) == 2.0
    assert scalar(lambda x: max(x, float("-inf")), 2.0) == 2.0
    assert np.isnan(scalar(lambda x: float("nan") + x, 2.0))
    assert scalar(lambda x: bool(x) + False + bool((x,)), 2) == 2
    assert result_type(lambda x: int(x), types.float32) == types.int64
    assert result_type(lambda x: float(x), types.boolean) == types.float64


def test_len_and_ranges():
    def kernel(a, out):
        out[0] = len(a) + len(a[0]) + len((1, 2)) + len("abc")
        at = 1
        for i in range(len(a)):
            for j in range(a.shape[1] - 1, -1, -2):
                out[at] = 10 * i + j
                at += 1
        for i in range(np.uint8(2), 9, 3):
            out[at] = i
            at += 1

    check(kernel, np.zeros((2, 5)), np.zeros(12, np.int64))


def test_lengths_of_ranges():
    def kernel(bounds, out):
        for i in range(bounds.shape[0]):
            out[i] = len(range(bounds[i, 0], bounds[i, 1], bounds[i, 2]))
        out[-1] = len(range(3, 20, 4)) * 10 + len(range(5))

    bounds = [(a, b, c) for a in (-3, 0, 4) for b in (-4, 0, 7) for c in (-3, -1, 1, 2)]
    check(kernel, np.array(bounds), np.zeros(len(bounds) + 1, np.int64))


def test_unsigned_ranges():
    def kernel(n, out):
        for i in range(n[0], n[1]):
            out[0] += 1
            out[1] = i == n[1] - 1

    out = np.zeros(2, np.int64)
    interpret(kernel, np.array([2**63 - 2, 2**63 + 3], np.uint64), out)
    assert out.tolist() == [5, 0]


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (lambda x: abs(), "abs is called with 0 arguments"),
        (lambda x: abs(x, x), "abs is called with 2 arguments"),
        (lambda x: abs(y=x), "abs is called with a keyword argument 'y'"),
        (lambda x: abs("x"), "abs does not take (the string 'x')"),
        (lambda x: len(x), "float32 has no length"),
        (lambda x: min(x), "min does not take (float32)"),
        (lambda x: max(()), "max does not take (a tuple ())"),
        (lambda x: min(x, 1j), "min does not take (float32, complex128)"),
        (lambda x: min(x, x, key=x), "min does not take (float32, float32, float32)"),
        (lambda x: sum(x), "sum does not take float32"),
        (lambda x: range(x), "range does not take float32"),
        (lambda x: range(0, 5, 0), "the step of a range cannot be zero"),
        (lambda x: range(), "range is called with 0 arguments"),
        (lambda x: round(x, x), "round does not take (float32, float32)"),
        (lambda x: round(N, int(x)), "round does not take (int64, int64)"),
        (lambda x: int("7"), "the string '7' cannot be converted to int64"),
        (lambda x: int(1j), "complex128 cannot be converted to int64"),
        (lambda x: complex("1"), "complex does not take (the string '1')"),
        (lambda x: pow(x, 2, 3), "pow is called with 3 arguments"),
        (lambda x: divmod(1j, 2), "the operator // does not take complex128 and int64"),
        (lambda x: slice("a"), "a bound of a slice is the string 'a'"),
        (lambda x: bool(math), "the module math has no truth value"),
    ],
)
def test_arguments_that_are_refused(body, problem):
    with pytest.raises(KernelTypeError) as caught:
        result_type(body, types.float32)
    assert problem in caught.value.problem
    assert f"{__file__}:" in caught.value.problem
    assert caught.value.help
