import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygpulib.core.indexing import apply_index
from pygpulib.errors import AxisError
from tests.helpers.arrays import indices, layouts


@given(st.data(), layouts(max_side=5))
def test_a_basic_index_selects_what_numpy_selects(data, host):
    key = data.draw(indices(host.shape))
    expected = host[key]
    layout, is_element = apply_index(host.shape, host.strides, key)
    assert layout.shape == np.shape(expected)
    assert is_element == (not isinstance(expected, np.ndarray))
    if not is_element and expected.size:
        start = expected.__array_interface__["data"][0] - host.__array_interface__["data"][0]
        assert layout.offset == start
        lengths = zip(layout.shape, layout.strides, expected.strides, strict=True)
        assert all(got == want for length, got, want in lengths if length > 1)


@pytest.mark.parametrize(
    ("key", "message"),
    [
        (4, "index 4 is out of bounds for axis 0 with size 4"),
        ((0, -7), "index -7 is out of bounds for axis 1 with size 6"),
        (
            (0, 0, 0),
            "too many indices for array: array is 2-dimensional, but 3 were indexed",
        ),
        ((..., 0, ...), "an index can only have a single ellipsis ('...')"),
        (
            slice(None, None, 0),
            "the slice slice(None, None, 0) cannot be used as an index\n"
            "expected integers or nothing for start, stop and step, and a step that is not zero",
        ),
        (
            slice(0.5, None),
            "the slice slice(0.5, None, None) cannot be used as an index\n"
            "expected integers or nothing for start, stop and step, and a step that is not zero",
        ),
        (
            True,
            "a device array cannot be indexed with bool True\n"
            "expected integers, slices, ... or None (newaxis)\n"
            "help: for masks and index arrays, copy to the host first, or use a kernel",
        ),
        (
            [0, 1],
            "a device array cannot be indexed with list [0, 1]\n"
            "expected integers, slices, ... or None (newaxis)\n"
            "help: for masks and index arrays, copy to the host first, or use a kernel",
        ),
    ],
)
def test_a_wrong_index_is_refused(key, message):
    with pytest.raises(AxisError) as raised:
        apply_index((4, 6), (48, 8), key)
    assert str(raised.value) == message
    assert isinstance(raised.value, IndexError)
