import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygpulib.core import layout
from pygpulib.errors import ArgumentError, ArgumentTypeError, AxisError, ShapeError
from tests.helpers.arrays import layouts

shapes = st.lists(st.integers(1, 4), max_size=4).map(tuple)


@given(shapes, st.sampled_from("CF"))
def test_contiguous_strides_are_numpys(shape, order):
    assert layout.contiguous_strides(shape, 8, order) == np.empty(shape, order=order).strides


@given(layouts(broadcast=True))
def test_contiguity_is_numpys(host):
    c, f = host.flags.c_contiguous, host.flags.f_contiguous
    assert layout.is_c_contiguous(host.shape, host.strides, 8) == c
    assert layout.is_f_contiguous(host.shape, host.strides, 8) == f


@given(layouts(broadcast=True).filter(lambda host: host.size))
def test_strides_like_are_those_of_empty_like(host):
    assert layout.strides_like(host.shape, host.strides, 8) == np.empty_like(host).strides


@given(layouts(broadcast=True))
def test_byte_span_is_numpys(host):
    low, high = np.lib.array_utils.byte_bounds(host)
    address = host.__array_interface__["data"][0]
    expected = (low - address, high - address) if host.size else (0, 0)
    assert layout.byte_span(host.shape, host.strides, 8) == expected


@given(st.lists(shapes, max_size=3))
def test_broadcast_shapes_are_numpys(several):
    try:
        expected = np.broadcast_shapes(*several)
    except ValueError:
        with pytest.raises(ShapeError, match=r"^shapes do not broadcast together: "):
            layout.broadcast_shapes(*several)
    else:
        assert layout.broadcast_shapes(*several) == expected


@given(layouts(max_dims=3), shapes)
def test_broadcast_strides_are_those_of_an_assignment(host, target):
    accepts = np.zeros(target)
    try:
        accepts[...] = host
    except ValueError:
        with pytest.raises(ShapeError, match=r"^could not broadcast input array from shape \("):
            layout.broadcast_strides(host.shape, host.strides, target)
    else:
        strides = layout.broadcast_strides(host.shape, host.strides, target)
        seen = np.lib.stride_tricks.as_strided(host, target, strides)
        np.testing.assert_array_equal(seen, accepts)


@given(st.data(), layouts())
def test_transpose_is_numpys(data, host):
    axes = data.draw(st.none() | st.permutations(range(-host.ndim, 0)))
    expected = host.transpose(axes)
    got = layout.transpose(host.shape, host.strides, axes)
    assert (got.shape, got.strides) == (expected.shape, expected.strides)


@given(layouts())
def test_squeeze_is_numpys(host):
    got = layout.squeeze(host.shape, host.strides)
    assert (got.shape, got.strides) == (host.squeeze().shape, host.squeeze().strides)


def test_squeeze_removes_the_named_axes_only():
    got = layout.squeeze((1, 2, 1), (16, 8, 8), (0,))
    assert got == layout.Layout((2, 1), (8, 8))
    assert layout.squeeze((1, 2, 1), (16, 8, 8), -1) == layout.Layout((1, 2), (16, 8))


@pytest.mark.parametrize(
    ("given_shape", "expected"),
    [
        (5, (5,)),
        (np.int32(5), (5,)),
        (np.array(5), (5,)),
        ((2, np.uint8(3)), (2, 3)),
        ([2, 3], (2, 3)),
        (np.array([2, 3]), (2, 3)),
        ((), ()),
    ],
)
def test_a_shape_may_be_anything_made_of_integers(given_shape, expected):
    assert layout.normalize_shape(given_shape) == expected


@pytest.mark.parametrize(
    "wrong", [1.23, np.float64(1.23), np.array(1.23), [1.1], (1, 2.5), np.array([1.0]), "3", None]
)
def test_a_shape_of_anything_else_is_refused(wrong):
    message = (
        f"the argument shape is {wrong!r}\n"
        "expected an integer or a tuple of integers\n"
        "help: use // for lengths that come from a division"
    )
    with pytest.raises(ArgumentTypeError, match=f"^{re.escape(message)}$"):
        layout.normalize_shape(wrong)


REFUSALS = [
    (
        lambda: layout.normalize_shape((1,) * 65),
        ShapeError,
        "the argument shape has 65 lengths\nan array has at most 64 axes",
    ),
    (
        lambda: layout.normalize_shape((2, -1)),
        ShapeError,
        "the argument shape has a negative length: (2, -1)\nexpected lengths of zero or more",
    ),
    (
        lambda: layout.normalize_strides((8,), 2),
        ShapeError,
        "strides not match ndim\nexpected 2 strides, one for each axis, got 1",
    ),
    (
        lambda: layout.normalize_strides(1.5, 1),
        ArgumentTypeError,
        "the argument strides is 1.5\nexpected an integer or a tuple of integers, in bytes",
    ),
    (
        lambda: layout.normalize_axis(2, 2),
        AxisError,
        "axis 2 is out of bounds for array of dimension 2\nexpected -2 to 1",
    ),
    (
        lambda: layout.normalize_axis(0, 0),
        AxisError,
        "axis 0 is out of bounds for array of dimension 0\nthe array has no axes",
    ),
    (
        lambda: layout.normalize_axis("x", 2),
        ArgumentTypeError,
        "the argument axis is 'x'\nexpected an integer",
    ),
    (
        lambda: layout.contiguous_strides((2,), 8, "K"),
        ArgumentError,
        "the argument order is 'K'\n"
        "expected 'C' (rows are contiguous) or 'F' (columns are contiguous)",
    ),
    (
        lambda: layout.broadcast_shapes((2, 3), (4,)),
        ShapeError,
        "shapes do not broadcast together: (2,3) (4,)\naxis -1 has lengths 3 and 4\n"
        "help: lengths must be equal, or one of them 1",
    ),
    (
        lambda: layout.broadcast_strides((2,), (8,), (5,)),
        ShapeError,
        "could not broadcast input array from shape (2,) into shape (5,)",
    ),
    (
        lambda: layout.transpose((2, 3), (24, 8), (0, 0)),
        ArgumentError,
        "invalid axes list (0, 0)",
    ),
    (
        lambda: layout.transpose((2, 3), (24, 8), "ab"),
        ArgumentTypeError,
        "the argument axes is 'ab'\nexpected a sequence of integers",
    ),
    (
        lambda: layout.squeeze((2, 1), (8, 8), 0),
        ShapeError,
        "cannot remove axis 0 of length 2\nthe shape is (2, 1)\n"
        "help: only axes of length one can be squeezed out",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSALS)
def test_refusal_says_what_is_wrong(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    assert str(raised.value) == message
