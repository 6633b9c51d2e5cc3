import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array, to_device
from pygpulib.core.device import use_driver
from pygpulib.core.driver_null import NullDriver
from pygpulib.core.interop import map_host
from pygpulib.core.stream import create_stream
from pygpulib.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    LayoutError,
    ShapeError,
)
from tests.helpers.arrays import DTYPES, fill, layouts


@given(layouts(broadcast=True), st.sampled_from(DTYPES))
def test_any_layout_and_dtype_makes_the_round_trip(host, dtype):
    with np.errstate(invalid="ignore"):
        host = host.astype(dtype)
    result = to_device(host).copy_to_host()
    np.testing.assert_array_equal(result, host)
    assert result.dtype == host.dtype
    lengths = zip(host.shape, result.strides, np.empty_like(host).strides, strict=True)
    assert all(got == want for length, got, want in lengths if length > 1 and host.size)
    assert not np.shares_memory(result, host)


@given(st.data(), layouts())
def test_host_and_device_targets_may_have_any_layout(data, host):
    steps = [data.draw(st.sampled_from([1, 2, -1, -3])) for _ in host.shape]
    key = (*(slice(None, None, step) for step in steps), ...)
    roomy = [length * abs(step) for length, step in zip(host.shape, steps, strict=True)]
    target = np.zeros(roomy)[key]
    assert to_device(host).copy_to_host(target) is target
    np.testing.assert_array_equal(target, host)
    device = to_device(np.zeros(roomy))[key]
    device.copy_to_device(host)
    np.testing.assert_array_equal(device.copy_to_host(), host)
    device = to_device(np.zeros(roomy))[key]
    device.copy_to_device(to_device(host))
    np.testing.assert_array_equal(device.copy_to_host(), host)


def test_axes_of_length_one_do_not_matter():
    host = fill((1, 3))
    device = device_array((3, 1))
    device.copy_to_device(host)
    np.testing.assert_array_equal(device.copy_to_host(), host.T)
    target = np.zeros((3, 1, 1))
    device.copy_to_host(target)
    np.testing.assert_array_equal(target[:, 0, 0], host[0])


class Labelled(np.ndarray):
    """An array with a name of its own."""


@pytest.mark.parametrize("shape", [(1, 1), (1, 3), (2, 1), (2, 3)])
@pytest.mark.parametrize("kind", [np.matrix, Labelled])
def test_subclasses_of_arrays_are_copied_and_keep_their_class(shape, kind):
    device = to_device(fill(shape).view(kind))
    target = np.zeros(shape).view(kind)
    assert device.copy_to_host(target) is target
    np.testing.assert_array_equal(np.asarray(target), fill(shape))
    device.copy_to_device((2 * fill(shape)).view(kind))
    np.testing.assert_array_equal(device.copy_to_host(), 2 * fill(shape))


def test_empty_arrays_copy_whatever_their_strides():
    device = ndarray((0,), (8,), np.int8)
    host = np.ndarray((0,), strides=(0,), dtype=np.int8)
    device.copy_to_host(host)
    device.copy_to_device(host)
    other = to_device(host)
    assert (other.shape, other.strides) == ((0,), host.strides)
    device.copy_to_device(other)


def test_an_overlapping_copy_reads_before_it_writes():
    device = to_device(np.arange(6))
    device[1:] = device[:-1]
    assert device.tolist() == [0, 0, 1, 2, 3, 4]
    device[::-1] = device
    assert device.tolist() == [4, 3, 2, 1, 0, 0]


@pytest.mark.parametrize("stored", DTYPES)
@pytest.mark.parametrize("given_dtype", DTYPES)
@pytest.mark.parametrize("on_device", [False, True])
def test_a_store_converts_as_a_c_cast(stored, given_dtype, on_device):
    values = np.array([0, 1, 100], given_dtype)
    device = to_device(np.zeros(3, stored))
    if np.dtype(given_dtype).kind == "c" and np.dtype(stored).kind != "c":
        with pytest.raises(DTypeError, match=r"^cannot store complex"):
            device[:] = values
        return
    device[:] = to_device(values) if on_device else values
    np.testing.assert_array_equal(device.copy_to_host(), values.astype(stored))


def test_a_store_wraps_as_in_a_kernel():
    device = to_device(np.zeros(3, np.uint8))
    device[0] = 300
    device[1] = -1
    assert device.tolist() == [44, 255, 0]
    device[2] = np.nan  # some value, and no warning


def test_values_broadcast():
    host = fill((4, 3))
    device = to_device(host)
    for value in (5, [1, 2, 3], [[7], [8], [9], [10]], np.float32(2), fill((1, 1, 3))):
        device[...] = value
        np.testing.assert_array_equal(
            device.copy_to_host(),
            np.broadcast_to(np.squeeze(value) if np.ndim(value) > 2 else value, (4, 3)),
        )
    device[...] = to_device(np.array([4.0, 5, 6]))
    np.testing.assert_array_equal(device.copy_to_host(), [[4, 5, 6]] * 4)


def test_a_date_can_be_assigned_from_a_string():
    device = to_device(np.zeros(2, "M8[D]"))
    device[0] = "2020-02-03"
    assert device[0] == np.datetime64("2020-02-03")


def test_only_an_assignment_without_a_stream_synchronizes():
    driver = NullDriver()
    with use_driver(driver):
        device, stream = device_array(3), create_stream()
        device[0] = 1
        assert driver.names().count("synchronize_stream") == 1
        device.setitem(0, 1, stream=stream)
        device.bind(stream)[0] = 1
        assert driver.names().count("synchronize_stream") == 1


def test_copies_name_the_arrays_or_the_given_stream():
    driver = NullDriver()
    with use_driver(driver):
        own, other = create_stream(), create_stream()
        device = device_array((2, 2), stream=own)
        device.copy_to_device(np.zeros((2, 2)))
        device.copy_to_host(stream=other)
        device.copy_to_device(device)
    assert [call.arguments for call in driver.calls if call.name.startswith("copy")] == [
        ((2, 2), (2, 2), own.handle),
        ((2, 2), (2, 2), other.handle),
        ((2, 2), (2, 2), own.handle),
    ]


def zeros(*shape, dtype="f8"):
    return to_device(np.zeros(shape, dtype))


def readonly(*shape):
    host = np.zeros(shape)
    host.flags.writeable = False
    return host


DTYPE_HELP = "help: convert with ary.astype(...)"
SHAPE_HELP = "help: both must be equal, axes of length one aside"
REFUSALS = [
    (
        lambda: zeros(4).copy_to_host(np.zeros(3)),
        ShapeError,
        "incompatible shape: (4,) vs. (3,)\n"
        f"the device array has shape (4,), the argument ary has shape (3,)\n{SHAPE_HELP}",
    ),
    (
        lambda: zeros(4).copy_to_device(np.zeros((2, 2))),
        ShapeError,
        "incompatible shape: (4,) vs. (2, 2)\n"
        f"the device array has shape (4,), the argument ary has shape (2, 2)\n{SHAPE_HELP}",
    ),
    (
        lambda: zeros(4).copy_to_device(zeros(5)),
        ShapeError,
        "incompatible shape: (4,) vs. (5,)\n"
        f"the device array has shape (4,), the argument ary has shape (5,)\n{SHAPE_HELP}",
    ),
    (
        lambda: zeros(4).copy_to_host(np.zeros(4, "f4")),
        DTypeError,
        "incompatible dtype: float64 vs. float32\n"
        f"the device array has dtype float64, the argument ary has dtype float32\n{DTYPE_HELP}",
    ),
    (
        lambda: zeros(4).copy_to_device([1, 2, 3, 4]),
        DTypeError,
        "incompatible dtype: float64 vs. int64\n"
        f"the device array has dtype float64, the argument ary has dtype int64\n{DTYPE_HELP}",
    ),
    (
        lambda: zeros(4).copy_to_host([0, 0, 0, 0]),
        ArgumentTypeError,
        "the argument ary is a list\nexpected a NumPy array to copy into\n"
        "help: leave it out to get a new array",
    ),
    (
        lambda: zeros(4).copy_to_host(readonly(4)),
        ArgumentError,
        "the argument ary is read-only\nhelp: copy into an array that can be written",
    ),
    (
        lambda: map_host(readonly(4)).setitem(0, 1),
        LayoutError,
        "assignment destination is read-only\n"
        "the array shares the memory of a read-only array\n"
        "help: make a device copy of that array: cuda.to_device(...)",
    ),
    (
        lambda: zeros(5).setitem(slice(None), [1, 3]),
        ShapeError,
        "could not broadcast input array from shape (2,) into shape (5,)",
    ),
    (
        lambda: zeros(5).setitem(slice(None), zeros(2, 3)),
        ShapeError,
        "could not broadcast input array from shape (2,3) into shape (5,)",
    ),
    (
        lambda: zeros(5).setitem(0, 1j),
        DTypeError,
        "cannot store complex128 values in an array of dtype float64\n"
        "help: take .real of complex values",
    ),
    (
        lambda: zeros(5).setitem(0, "x"),
        DTypeError,
        "cannot store <U1 values in an array of dtype float64\nhelp: convert the values first",
    ),
    (
        lambda: to_device([object()]),
        DTypeError,
        "a list cannot be stored on a device\nNumPy gives it dtype object; expected numbers\n"
        "help: convert it to an array of numbers first",
    ),
    (
        lambda: to_device(np.ma.array([1, 2], mask=[0, 1])),
        ArgumentTypeError,
        "Masked arrays are not supported\nhelp: fill the masked elements: a.filled(...)",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSALS)
def test_refusal_says_what_is_wrong(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    assert str(raised.value) == message


def test_a_ragged_sequence_is_refused():
    with pytest.raises(ShapeError, match=r"^the rows of a nested sequence have different lengths"):
        to_device([[1, 2], [3]])
