"""Dates and spans of time against NumPy's, "not a time" included."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib.errors import KernelTypeError
from tests.helpers.bodies import launch, run_both

NAT = np.iinfo(np.int64).min
DAYS = np.dtype("M8[D]")


def dates(unit, seed=1, kind="M8", count=40):
    rng = np.random.default_rng(seed)
    numbers = rng.integers(-50, 50, count)
    numbers[rng.random(count) < 0.2] = NAT
    return numbers.view(f"{kind}[{unit}]")


def spans(unit, seed=2, count=40):
    return dates(unit, seed, "m8", count)


def apply(operation):
    def body(i, x, y, out):
        out[i] = operation(x[i], y[i])

    return body


UNITS = [("s", "s"), ("s", "ms"), ("h", "D"), ("W", "D"), ("M", "Y"), ("25s", "2m"), ("ns", "us")]


@pytest.mark.parametrize(("left", "right"), UNITS)
def test_sums_and_differences(left, right):
    a, b, d, e = dates(left), dates(right, 3), spans(left), spans(right, 5)
    for one, other, operation in [
        (a, b, lambda x, y: x - y),
        (a, e, lambda x, y: x + y),
        (a, e, lambda x, y: x - y),
        (d, b, lambda x, y: x + y),
        (d, e, lambda x, y: x + y),
        (d, e, lambda x, y: x - y),
        (d, e, lambda x, y: x % y),
    ]:
        expected = operation(one, other)
        out = np.zeros(len(a), expected.dtype)
        launch(apply(cuda.jit(device=True)(operation)), len(a), one, other, out)
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(("left", "right"), UNITS)
@pytest.mark.parametrize("kind", ["M8", "m8"])
def test_comparisons(left, right, kind):
    def body(i, a, b, out):
        out[i, 0] = a[i] == b[i]
        out[i, 1] = a[i] != b[i]
        out[i, 2] = a[i] < b[i]
        out[i, 3] = a[i] <= b[i]
        out[i, 4] = a[i] > b[i]
        out[i, 5] = a[i] >= b[i]
        out[i, 6] = np.isnat(a[i])

    a, b = dates(left, 1, kind), dates(right, 2, kind)
    b[:5] = a[:5]
    run_both(body, 40, a, b, np.zeros((40, 7), np.bool_))


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_spans_with_numbers():
    def body(i, d, e, out, floats):
        out[i, 0] = d[i] * 3
        out[i, 1] = -2 * d[i]
        out[i, 2] = d[i] * 1.5
        out[i, 3] = d[i] / 2.5
        out[i, 4] = d[i] // 7
        out[i, 5] = -d[i]
        out[i, 6] = +d[i]
        out[i, 7] = abs(d[i])
        out[i, 8] = d[i] // 2.5
        floats[i, 0] = d[i] / e[i]

    e = spans("m", 9)
    e[e == np.timedelta64(0, "m")] = np.timedelta64(1, "m")
    run_both(body, 40, spans("s"), e, np.zeros((40, 9), "m8[s]"), np.zeros((40, 1)))


@pytest.mark.parametrize("divisor", [2, 3, -2, 0])
@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_quotients_of_spans_by_integers(divisor):
    @cuda.jit
    def kernel(d, out):
        i = cuda.grid(1)
        if i < d.size:
            out[i, 0] = d[i] / divisor
            out[i, 1] = d[i] // divisor

    d = spans("s")
    out = np.zeros((40, 2), "m8[s]")
    kernel[2, 32](d, out)
    np.testing.assert_array_equal(out[:, 0], d / divisor)
    np.testing.assert_array_equal(out[:, 1], d // divisor)


@pytest.mark.filterwarnings("ignore:divide by zero", "ignore:invalid value")
def test_whole_quotients_of_spans():
    def body(i, d, e, out):
        out[i] = d[i] // e[i]

    e = spans("m", 9)
    run_both(body, 40, spans("s"), e, np.zeros(40, np.int64))


START = np.datetime64("2020-02-28")
STEP = np.timedelta64(36, "h")


# NumPy is about to give up numbers of no unit; until then they mean the other operand's.
unitless = pytest.mark.filterwarnings("ignore:The 'generic' unit:DeprecationWarning")


@unitless
def test_constants_and_integers():
    def body(i, out, flags):
        out[i] = START + i * STEP
        out[i] += np.timedelta64(2, "D")
        flags[i] = out[i] > np.datetime64("2020-03-02T12")
        if out[i] < START + 3:
            out[i] = np.datetime64("NaT")

    run_both(body, 9, np.zeros(9, "M8[h]"), np.zeros(9, np.bool_))


@unitless
def test_times_are_arguments():
    def body(i, date, span, out):
        out[i] = date + i * span

    run_both(body, 5, np.datetime64("1999-12-31"), np.timedelta64(1, "D"), np.zeros(5, "M8[s]"))
    run_both(body, 5, np.datetime64("1999-12-31", "s"), np.timedelta64(9), np.zeros(5, "M8[s]"))


def test_times_as_integers():
    def body(i, a, numbers, spans):
        numbers[i] = a[i].view(np.int64) + a.view(np.int64)[i]
        spans.view(np.int64)[i] = i
        spans[i] = (spans[i].view(np.int64) + 1).view(np.dtype("m8[s]"))

    a = dates("s")
    numbers, spans = np.zeros(40, np.int64), np.zeros(40, "m8[s]")
    launch(body, 40, a, numbers, spans)
    with np.errstate(over="ignore"):
        assert (numbers == 2 * a.view(np.int64)).all()
    assert (spans.view(np.int64) == np.arange(40) + 1).all()


def test_variables_join_units():
    def body(i, a, b, out):
        t = a[i] if i % 2 else b[i]
        for k in range(2):
            if k == i % 3:
                t = t + np.timedelta64(1, "ms")
        out[i] = t

    run_both(body, 40, dates("s"), dates("D", 4), np.zeros(40, "M8[ms]"))


def test_types_of_times():
    assert str(types.NPDatetime("s")[:]) == "array(datetime64[s], 1d, A)"
    assert types.from_dtype(np.dtype("m8[25us]")) == types.NPTimedelta("25us")
    assert isinstance(types.NPDatetime("s"), types.NPDatetime)
    assert not isinstance(types.NPDatetime("s"), types.NPTimedelta)


@pytest.mark.parametrize(
    ("body", "words"),
    [
        (lambda i, a, b: a[i] + b[i], "+ does not take datetime64[M] and datetime64[D]"),
        (lambda i, a, b: a[i] < b[i], "< does not take datetime64[M] and datetime64[D]"),
        (lambda i, a, b: a[i] * 2, "* does not take datetime64[M] and int64"),
        (lambda i, a, b: -a[i], "- does not take datetime64[M]"),
        (lambda i, a, b: np.datetime64(i), "numpy.datetime64 does not take (int64)"),
        (lambda i, a, b: np.datetime64("x"), "numpy.datetime64 does not take 'x'"),
        (lambda i, a, b: np.timedelta64(1, "q"), "numpy.timedelta64 does not take"),
        (lambda i, a, b: np.isnat(i), "numpy.isnat does not take (int64)"),
        (lambda i, a, b: a[i].view(np.int32), "datetime64[M] cannot be viewed as int32"),
    ],
)
def test_what_times_do_not_take(body, words):
    with pytest.raises(KernelTypeError) as caught:
        launch(body, 1, dates("M"), dates("D"))
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("body", "advice"),
    [
        (lambda i, a, b: a[i] + np.timedelta64(1, "D"), "bring both to one unit"),
        (lambda i, a, b: a[i] + a[i], "add and subtract times, multiply and divide spans"),
        (lambda i, a, b: (b[i] - b[i]) * (b[i] - b[i]), "add and subtract times, multiply"),
    ],
)
def test_advice_about_units_is_given_where_they_are_the_reason(body, advice):
    with pytest.raises(KernelTypeError) as caught:
        launch(body, 1, dates("M"), dates("D"))
    assert caught.value.help.startswith(advice)


def test_a_date_in_a_unit_that_the_array_does_not_have():
    def body(i, a):
        a[i] = np.datetime64("2020-01-01T00:00:01")

    with pytest.raises(KernelTypeError, match=r"datetime64\[s\] cannot be converted to .*\[D\]"):
        launch(body, 1, dates("D"))
