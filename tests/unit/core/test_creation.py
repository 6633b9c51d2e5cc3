import numpy as np
import pytest
from hypothesis import given

from pygpulib.core import creation
from pygpulib.core.stream import create_stream
from pygpulib.errors import ArgumentError, ArgumentTypeError, ShapeError
from tests.helpers.arrays import DTYPES, fill, host_layout, layouts

HOST_ARRAYS = [creation.pinned_array, creation.mapped_array, creation.managed_array]
LIKES = [creation.device_array_like, creation.pinned_array_like, creation.mapped_array_like]


def test_to_device_copies():
    host = np.arange(3.0)
    device = creation.to_device(host)
    host[0] = 9
    assert device[0] == 0
    device[1] = 8
    assert host[1] == 1


def test_a_device_array_is_returned_as_it_is():
    device = creation.to_device([1])
    assert creation.to_device(device) is device


def test_to_device_can_fill_an_existing_array():
    device = creation.device_array(3)
    assert creation.to_device(np.arange(3.0), to=device) is device
    assert device.tolist() == [0, 1, 2]
    assert creation.to_device(np.zeros(3), to=device, copy=False) is device
    assert device.tolist() == [0, 1, 2]


def test_without_copy_only_memory_is_allocated():
    device = creation.to_device(np.zeros((2, 3), "f4", "F"), copy=False)
    assert (device.shape, device.dtype, device.strides) == ((2, 3), np.float32, (4, 8))


def test_read_only_arrays_scalars_and_lists_can_be_copied():
    host = np.arange(3)
    host.flags.writeable = False
    device = creation.to_device(host)
    device[0] = 5
    assert device.tolist() == [5, 1, 2]
    assert creation.to_device(2.5).tolist() == 2.5
    assert creation.to_device([[1, 2]]).shape == (1, 2)


def test_to_device_keeps_the_stream():
    stream = create_stream()
    assert creation.to_device([1], stream=stream).stream is stream


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("order", "CF")
@pytest.mark.parametrize("shape", [(), (0,), 5, (2, 3), (3, 0, 2)])
def test_device_array_has_the_layout_of_empty(shape, dtype, order):
    device = creation.device_array(shape, dtype, order=order)
    expected = np.empty(shape, dtype, order)
    assert (device.shape, device.dtype) == (expected.shape, expected.dtype)
    assert device.flags.f_contiguous == expected.flags.f_contiguous
    assert device.flags.c_contiguous == expected.flags.c_contiguous
    assert device.address % 64 == 0


def test_device_array_takes_strides():
    device = creation.device_array((2, 3), np.int16, strides=(2, 8))
    assert device.strides == (2, 8)
    assert device.alloc_size == 20
    assert creation.device_array((), strides=()).strides == ()


@given(layouts(broadcast=True).filter(lambda host: host.size))
def test_likes_have_the_layout_of_empty_like(host):
    for like in LIKES:
        other = like(host)
        expected = np.empty_like(host)
        assert (other.shape, other.strides) == (expected.shape, expected.strides)
    device = creation.to_device(host)[..., ::-1] if host.ndim else creation.to_device(host)
    expected = np.empty_like(host_layout(device))
    assert creation.device_array_like(device).strides == expected.strides


@pytest.mark.parametrize("like", LIKES)
@pytest.mark.parametrize("value", [[1, 2], 3, None, "text"])
def test_only_arrays_are_imitated(like, value):
    with pytest.raises(ArgumentTypeError, match=r"the argument ary is a (list|int|NoneType|str)\n"):
        like(value)


@pytest.mark.parametrize("create", HOST_ARRAYS)
@pytest.mark.parametrize("shape", [(), 0, 7, (3, 4)])
def test_host_arrays_are_aligned_numpy_arrays(create, shape):
    host = create(shape, np.float32)
    assert isinstance(host, np.ndarray)
    assert host.shape == np.empty(shape).shape
    assert host.__array_interface__["data"][0] % 64 == 0
    host[...] = 3
    assert np.all(np.asarray(host) == 3)
    assert create((2, 3), order="F").strides == (8, 16)


def test_host_arrays_take_cudas_options():
    assert creation.mapped_array(3, stream=0, portable=True, wc=True).shape == (3,)
    assert creation.managed_array(3, attach_global=False).shape == (3,)
    assert creation.pinned_array(3, strides=(-8,)).strides == (-8,)


def test_arrays_are_independent():
    arrays = [creation.to_device(fill((n,))) for n in range(20)]
    for n, array in enumerate(arrays):
        np.testing.assert_array_equal(array.copy_to_host(), fill((n,)))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: creation.to_device([1], to=np.zeros(1)),
            ArgumentTypeError,
            "the argument to is a ndarray\nexpected a device array",
        ),
        (
            lambda: creation.device_array((2, 3), order="K"),
            ArgumentError,
            "the argument order is 'K'\n"
            "expected 'C' (rows are contiguous) or 'F' (columns are contiguous)",
        ),
        (
            lambda: creation.device_array((2, 3), strides=(8,)),
            ShapeError,
            "strides not match ndim\nexpected 2 strides, one for each axis, got 1",
        ),
        (
            lambda: creation.managed_array(3, stream="s"),
            ArgumentTypeError,
            "the argument stream is 's'\n"
            "expected a stream, 0 for the default stream, or an object with __cuda_stream__\n"
            "help: create one with cuda.stream()",
        ),
    ],
)
def test_refusal_says_what_is_wrong(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    assert str(raised.value) == message
