"""Host arrays of every layout and dtype."""

import numpy as np
from hypothesis import strategies as st

from pygpulib.core.device import current_driver
from pygpulib.core.dtypes import ALL_DTYPES

DTYPES = [row.name for row in ALL_DTYPES]


def fill(shape, dtype="float64"):
    """Return a packed array of distinct values where the dtype has as many; one NaN if it can."""
    count = int(np.prod(shape))
    host = np.arange(count).astype(dtype).reshape(shape)
    if host.dtype.kind in "fc" and count > 2:
        host.reshape(-1)[2] = np.nan
    return host


def host_layout(device):
    """Return a host array laid out like a device array; its elements are not to be used."""
    nothing = np.zeros(0, device.dtype)
    return np.lib.stride_tricks.as_strided(nothing, device.shape, device.strides)


def default_stream():
    """Return what the array interface says of arrays without a stream of their own."""
    # On the processor they are always ready; on GPUs they are in the order of CUDA's stream 1.
    return None if current_driver().name == "cpu" else 1


@st.composite
def layouts(draw, *, dtype="float64", max_dims=4, max_side=4, broadcast=False):
    """Draw an array that is a transposed, sliced, reversed view; empty and 0-d ones included."""
    shape = draw(st.lists(st.integers(0, max_side), max_size=max_dims))
    host = fill(shape, dtype).transpose(draw(st.permutations(range(len(shape)))))
    steps = draw(st.lists(st.sampled_from([1, 2, -1, -2]), min_size=host.ndim, max_size=host.ndim))
    host = host[(*(slice(None, None, step) for step in steps), ...)]
    if broadcast and draw(st.booleans()):
        host = np.broadcast_to(host, (2, *host.shape))
    return host


def _one_index(length):
    bounds = st.none() | st.integers(-length - 2, length + 2)
    steps = st.none() | st.sampled_from([1, 2, 3, -1, -2, -5])
    slices = st.builds(slice, bounds, bounds, steps)
    return slices | st.integers(-length, length - 1) if length else slices


@st.composite
def indices(draw, shape):
    """Draw a valid basic index: integers, slices, at most one ellipsis, newaxis."""
    used = draw(st.integers(0, len(shape)))
    head = draw(st.integers(0, used))
    tail_axes = range(len(shape) - (used - head), len(shape))
    items = [draw(_one_index(shape[axis])) for axis in range(head)]
    if used > head or draw(st.booleans()):
        items.append(Ellipsis)
    items += [draw(_one_index(shape[axis])) for axis in tail_axes]
    for _ in range(draw(st.integers(0, 2))):
        items.insert(draw(st.integers(0, len(items))), None)
    return tuple(items)
