"""Expressions of whole arrays against NumPy."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pygpulib import cuda
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.frontend.compile import compile_function
from pygpulib.jit.intrinsics.memory import local, shared
from pygpulib.jit.options import CompileOptions
from tests.helpers.cooperation import run_both
from tests.helpers.kernels import check, interpret

A, B = np.random.default_rng(0).random((2, 3, 4))
TABLE = np.arange(4.0)


def test_slices_are_updated_in_place():
    def kernel(a, b):
        a[:, 1] += 1
        a[0] -= b[0]
        a[1:, ::2] *= 2
        a[...] /= b
        a[-1, 1:3] = -a[0, :2]

    check(kernel, A, B)


def test_a_variable_that_is_a_view_is_updated_in_place():
    def kernel(a, b):
        row = a[1]
        row += b[1]
        row *= 2
        whole = a
        whole -= 1

    check(kernel, A, B)


def test_expressions_broadcast():
    def kernel(a, b, out):
        out[:] = a + 2 * b - TABLE
        out[0] = a[0] * a[:1, 2]
        out[1:, :] += a[:2, 1:2]
        out[:, 0] = a[:, 0] / b[1, 0]
        out[2] = 7

    check(kernel, A, B, np.zeros((3, 4)))


def test_operators_of_all_kinds():
    def kernel(i, j, out):
        out[0] = i + j
        out[1] = i // (j + 10) % 5
        out[2] = i << (j & 3)
        out[3] = ~i ^ -j
        out[4] = i**2 | +j

    i, j = np.random.default_rng(1).integers(-9, 9, (2, 6))
    check(kernel, i, j, np.zeros((5, 6), np.int64))


def test_values_are_converted_to_the_dtype_of_the_target():
    def kernel(a, out):
        out[:] = a * 1.5 + 0.25
        out[1:] += a[1:]

    out = np.zeros(5, np.int16)
    interpret(kernel, np.arange(5), out)
    np.testing.assert_array_equal(out, [0, 1 + 1, 3 + 2, 4 + 3, 6 + 4])


def test_complex_numbers():
    def kernel(z, a, out):
        out[:] = z * 1j + a
        out[1:] -= z[:-1]

    z = np.random.default_rng(2).random((4, 2)).view(complex)[:, 0]
    check(kernel, z, A[0], np.zeros(4, complex))


def test_functions_of_numpy():
    def kernel(a, b, out):
        out[:] = np.sqrt(a) + np.maximum(a, b - 0.25)
        np.add(a[0], b[0], out[0])
        np.negative(out[1:], out[1:])

    check(kernel, A, B, np.zeros((3, 4)))


def test_shared_and_local_arrays():
    def kernel(a, out):
        s = shared.array(4, np.float64)
        v = local.array((2, 4), np.float64)
        s[:] = a[0]
        v[:] = s + 1
        v[1, 1:] *= s[:-1]
        out[:] = v[0] - v[1]

    a, out = run_both(kernel, 1, 1, A, np.zeros(4))
    expected = np.array([a[0] + 1, a[0] + 1])
    expected[1, 1:] *= a[0, :-1]
    np.testing.assert_array_equal(out, expected[0] - expected[1])


@settings(max_examples=15)
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 3)),
    st.tuples(st.booleans(), st.booleans()),
    st.booleans(),
)
def test_extents_of_one_are_stretched(shape, stretched, by_rows):
    def kernel(a, b, c, out):
        out[:] = (a + b) * c

    small = tuple(1 if one else n for n, one in zip(shape, stretched, strict=True))
    rng = np.random.default_rng(3)
    a, b = rng.random(small), rng.random(shape)
    c = rng.random(shape[1:] if by_rows else (shape[0], 1))
    out = np.zeros(shape)
    assert interpret(kernel, a, b, c, out, debug=True) is None
    np.testing.assert_array_equal(out, (a + b) * c)


# --------------------------------------------------------------------------------------- overlap


@pytest.mark.parametrize("start", [0, 1, 2, 5])
@pytest.mark.parametrize("step", [1, 2, -1])
def test_shifts_within_an_array(start, step):
    def kernel(a, first, second):
        first[:] = second
        a[1:] = a[:-1] * 2
        a[:-1] += a[1:]
        a[2:] = a[1:-1] + a[:-2]

    size = 6
    expected, natively = np.arange(24.0), np.arange(24.0)
    views = [
        (a, a[start * abs(step) :][::step][:size], a[::step][:size]) for a in (expected, natively)
    ]
    if step < 0:
        views = [(a, a[10 - start :: -1][:size], a[10::-1][:size]) for a in (expected, natively)]
    kernel(*views[0])
    cuda.jit(debug=True)(kernel)[1, 1](*views[1])
    np.testing.assert_array_equal(natively, expected)


def test_an_overlap_on_both_sides_is_reported_with_debug():
    def kernel(a):
        a[1:-1] = a[:-2] + a[2:]

    fault = interpret(kernel, np.arange(9.0), debug=True)
    assert fault is not None
    assert fault.exception is ValueError
    assert "overlaps arrays on the right so that no order of the elements is right" in fault.message


@pytest.mark.parametrize("size", [1, 2, 5])
def test_a_view_in_other_steps_is_reported_with_debug(size):
    def kernel(a):
        a[:] = a[::-1]

    fault = interpret(kernel, np.arange(float(size)), debug=True)
    assert (fault is None) == (size == 1)
    assert fault is None or "no order of the elements is right" in fault.message


def test_views_in_other_steps_that_share_nothing():
    def kernel(a):
        a[:4] = a[:3:-1]
        a[::2] = a[::-2]

    a = np.arange(8.0)
    assert interpret(kernel, a.copy(), debug=True) is None
    check(kernel, a)


SIGNS = st.sampled_from([-1, 1])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=2, max_size=3),
    st.lists(st.tuples(st.integers(0, 2), SIGNS), min_size=3, max_size=3),
)
def test_shifts_within_an_array_of_several_axes(shape, shifts):
    def kernel(target, source):
        target[...] = source
        target += source

    whole = [extent + shift for extent, (shift, _) in zip(shape, shifts, strict=False)]
    base = np.arange(float(np.prod(whole)))

    def views(memory, *, is_swapped):
        a = memory.reshape(whole)
        first = tuple(slice(extent) for extent in shape)
        second = tuple(
            slice(shift, shift + extent) for extent, (shift, _) in zip(shape, shifts, strict=False)
        )
        signs = tuple(slice(None, None, sign) for _, (_, sign) in zip(shape, shifts, strict=False))
        pair = (a[first][signs], a[second][signs])
        return pair[::-1] if is_swapped else pair

    native = cuda.jit(kernel)
    for is_swapped in (False, True):
        expected, actual = base.copy(), base.copy()
        kernel(*views(expected, is_swapped=is_swapped))
        native[1, 1](*views(actual, is_swapped=is_swapped))
        np.testing.assert_array_equal(actual, expected)


def test_all_rows_are_changed_by_the_first_or_the_last():
    def kernel(a, b):
        a[:] -= a[0]
        b[:] += b[-1] * 2

    check(kernel, A, B)


# ------------------------------------------------------------------------------- truth values


def test_comparisons_give_truth_values():
    def kernel(a, b, out):
        out[0] = a > b
        out[1] = (a < 0.5) & (b >= 0.5) | (a == a[0])
        out[2] = ~(a <= b) ^ (a < 1)
        out[3] = a != b[0, 0]

    check(kernel, A, B, np.zeros((4, 3, 4), np.int8))
    check(kernel, A, B, np.zeros((4, 3, 4), np.bool_))


def test_absolute_values_of_arrays():
    def kernel(a, b, out):
        out[0] = abs(a - b) + abs(-b)
        out[1] = abs(a)

    check(kernel, A, B, np.zeros((2, 3, 4)))


def test_a_chain_of_comparisons_is_not_one_of_elements():
    def kernel(a, b):
        a[:] = 0 < a + 1 < b

    with pytest.raises(KernelTypeError, match="an expression of whole arrays"):
        interpret(kernel, A.copy(), B)


def test_columns_that_interleave_do_not_overlap():
    def kernel(a):
        a[:, 1] = a[:, 0] + a[:, 2]

    assert interpret(kernel, A.copy(), debug=True) is None
    check(kernel, A)


# ---------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("other", [(2, 4), (3, 3), (5,)])
def test_shapes_that_do_not_fit_are_reported_with_debug(other):
    def kernel(a, b, out):
        out[:] = a + b

    fault = interpret(kernel, A, np.zeros(other), np.zeros((3, 4)), debug=True)
    assert fault is not None
    assert fault.exception is ValueError
    assert "elements do not fit into a view of {} elements" in fault.message


def assigned(a, b):
    x = a + b


def updated(a, b):
    x = 1.0
    x += a


def returned(a, b):
    def double():
        return a * 2

    a[:] = double()


def passed(a, b):
    len(a + b)


def in_a_tuple(a, b):
    x = (a + b, 1)


def chosen(a, b):
    a[:] = a + b if b[0, 0] > 0 else a


@pytest.mark.parametrize("kernel", [assigned, updated, returned, passed, in_a_tuple, chosen])
def test_expressions_must_be_stored_at_once(kernel):
    with pytest.raises(KernelTypeError) as caught:
        compile_function(kernel, (types.float64[:, ::1],) * 2, CompileOptions())
    assert "an expression of whole arrays can only be stored into an array" in caught.value.problem
    assert "out[:] = a + b" in caught.value.help


def too_many_dimensions(a, b):
    a[0] = a + b


def into_an_element(a, b):
    a[0, 0] = a[0] + b[0]


def into_a_constant(a, b):
    TABLE[:] += a[0]


def of_a_tuple(a, b):
    a[:] = a + (1, 2)


def of_text(a, b):
    a[:] = np.sqrt("x") + b


def bits_of_floats(a, b):
    a[:] = a | b


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (too_many_dimensions, "an array of 2 dimensions does not fit into a view of 1 dimension"),
        (into_an_element, "an expression of arrays cannot be stored in an element of the array"),
        (into_a_constant, "the array 'TABLE' is read-only"),
        (of_a_tuple, "+ does not take array(float64, 2d, C) and a tuple"),
        (of_text, "numpy.sqrt does not take (the string 'x')"),
        (bits_of_floats, "the operator | does not take float64 and float64"),
    ],
)
def test_what_is_refused(kernel, words):
    with pytest.raises(KernelTypeError) as caught:
        compile_function(kernel, (types.float64[:, ::1],) * 2, CompileOptions())
    assert words in caught.value.problem
