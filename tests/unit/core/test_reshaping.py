import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygpulib.core import reshaping
from pygpulib.errors import ArgumentError, ArgumentTypeError, LayoutError, ShapeError
from tests.helpers.arrays import fill, layouts


@st.composite
def same_size_shapes(draw, size):
    """Draw a shape of so many elements."""
    rest, shape = size, []
    while rest > 1:
        factor = draw(st.sampled_from([n for n in range(2, rest + 1) if rest % n == 0]))
        shape.append(factor)
        rest //= factor
    for _ in range(draw(st.integers(0, 2))):
        shape.insert(draw(st.integers(0, len(shape))), 1)
    return tuple(shape)


@given(st.data(), layouts(broadcast=True).filter(lambda host: host.size), st.sampled_from("CF"))
def test_reshape_views_exactly_what_numpy_can_view(data, host, order):
    shape = data.draw(same_size_shapes(host.size))
    strides = reshaping.reshape_strides(host.shape, host.strides, 8, shape, order)
    expected = host.reshape(shape, order=order)
    assert (strides is not None) == np.shares_memory(expected, host)
    if strides is not None:
        seen = np.lib.stride_tricks.as_strided(host, shape, strides)
        np.testing.assert_array_equal(seen, expected)


@given(layouts(broadcast=True))
def test_order_a_is_fortran_only_for_arrays_that_are_fortran_only(host):
    fortran = host.flags.f_contiguous and not host.flags.c_contiguous
    order = reshaping.resolve_order(host.shape, host.strides, 8, "A")
    assert order == ("F" if fortran else "C")


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ((4, 6), (3, -1), (3, 8)),
        ((4, 6), -1, (24,)),
        ((4, 6), 24, (24,)),
        ((1,), (), ()),
        ((), (1, 1), (1, 1)),
        ((0, 3), (0,), (0,)),
        ((0, 3), (3, -1), (3, 0)),
        ((6,), [2, 3], (2, 3)),
        ((6,), np.array([2, 3]), (2, 3)),
    ],
)
def test_the_unknown_length_is_worked_out(old, new, expected):
    assert reshaping.resolve_shape(old, new) == expected


@pytest.mark.parametrize(
    ("dtype", "shape", "new"),
    [
        ("i2", (3, 4), "i4"),
        ("i2", (3, 4), "f8"),
        ("f8", (3, 4), "u1"),
        ("c16", (2,), "f8"),
        ("i4", (), "f4"),
        ("i4", (3, 0), "i8"),
        ("i4", (0, 4), "i1"),
    ],
)
def test_view_itemsize_is_numpys(dtype, shape, new):
    host = fill(shape, dtype)
    expected = host.view(new)
    sizes = host.itemsize, expected.itemsize
    got = reshaping.view_itemsize(host.shape, host.strides, *sizes)
    assert got[0] == expected.shape
    if host.size:
        assert got[1] == expected.strides


REFUSALS = [
    (
        lambda: reshaping.resolve_shape((4, 6), (4.0, 6)),
        ArgumentTypeError,
        "the argument newshape is (4.0, 6)\nexpected an integer or a tuple of integers",
    ),
    (
        lambda: reshaping.resolve_shape((4, 6), (-1, -1)),
        ShapeError,
        "the new shape (-1, -1) has more than one -1\n"
        "help: only one length can be worked out from the number of elements",
    ),
    (
        lambda: reshaping.resolve_shape((4, 6), (5, -1)),
        ShapeError,
        "cannot reshape array of size 24 into shape (5, -1)\n"
        "expected a shape of 24 elements; the array's shape is (4, 6)",
    ),
    (
        lambda: reshaping.resolve_shape((0,), (0, -1)),
        ShapeError,
        "cannot reshape array of size 0 into shape (0, -1)\n"
        "expected a shape of 0 elements; the array's shape is (0,)",
    ),
    (
        lambda: reshaping.resolve_order((2,), (8,), 8, "K"),
        ArgumentError,
        "the argument order is 'K'\nexpected 'C', 'F' or 'A'",
    ),
    (
        lambda: reshaping.view_itemsize((), (), 4, 8),
        LayoutError,
        "Changing the dtype of a 0d array is only supported if the itemsize is unchanged",
    ),
    (
        lambda: reshaping.view_itemsize((4, 4), (16, 4), 2, 4),
        LayoutError,
        "To change to a dtype of a different size, the last axis must be contiguous\n"
        "the last stride is 4 bytes, the element size 2 bytes",
    ),
    (
        lambda: reshaping.view_itemsize((4, 3), (6, 2), 2, 4),
        LayoutError,
        "When changing to a larger dtype, its size must be a divisor of the total size in bytes "
        "of the last axis of the array.",
    ),
    (
        lambda: reshaping.view_itemsize((4,), (8,), 8, 3),
        LayoutError,
        "When changing to a smaller dtype, its size must be a divisor of the size of original "
        "dtype",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSALS)
def test_refusal_says_what_is_wrong(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    assert str(raised.value) == message
