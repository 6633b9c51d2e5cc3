import copy
import gc
import operator
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array, to_device
from pygpulib.core.device import current_driver
from pygpulib.core.memory import Buffer
from pygpulib.core.stream import create_stream
from pygpulib.errors import (
    ArgumentError,
    ArgumentTypeError,
    AxisError,
    CopyNeededError,
    DTypeError,
    LayoutError,
    ShapeError,
)
from tests.helpers.arrays import DTYPES, fill, host_layout, indices, layouts


def same(device, host):
    """Check values, shape and dtype, and that `host_view`, if any, shows the same array."""
    result = device.copy_to_host()
    assert type(result) is np.ndarray
    assert result.dtype == host.dtype
    assert device.shape == host.shape
    np.testing.assert_array_equal(result, host)
    view = device.host_view
    if view is None:
        # The memory of a GPU is seen through copies only.
        return
    assert type(view) is np.ndarray
    assert (view.shape, view.dtype) == (device.shape, device.dtype)
    assert view.strides == device.strides
    if view.size:
        assert view.__array_interface__["data"][0] == device.address
    np.testing.assert_array_equal(view, host)


@given(st.data(), layouts(), st.sampled_from(DTYPES))
def test_indexing_gives_numpys_view_or_scalar(data, host, dtype):
    with np.errstate(invalid="ignore"):
        host = host.astype(dtype)
    key = data.draw(indices(host.shape))
    got, expected = to_device(host)[key], host[key]
    if isinstance(expected, np.generic):
        assert type(got) is type(expected)
        np.testing.assert_equal(got, expected)
    else:
        same(got, expected)


@given(st.data(), layouts())
def test_an_index_of_a_view_is_numpys(data, host):
    first = data.draw(indices(host.shape))
    if np.ndim(host[first]) == 0:
        return
    second = data.draw(indices(host[first].shape))
    got, expected = to_device(host)[first][second], host[first][second]
    np.testing.assert_array_equal(np.asarray(got), expected)


@given(st.data(), layouts())
def test_assignment_through_an_index_is_numpys(data, host):
    host = host.copy()
    device = to_device(host)
    key = data.draw(indices(host.shape))
    target = host[key]
    value = fill(np.shape(target)) + 100
    if np.ndim(target) and data.draw(st.booleans()):
        value = value[:1] if value.shape[0] else value
    host[key] = value
    device[key] = to_device(value) if data.draw(st.booleans()) else value
    same(device, host)


@given(st.data(), layouts(max_side=3))
def test_a_reshape_is_numpys_or_says_that_it_would_copy(data, host):
    device = to_device(host)[(*(slice(None, None, -1) for _ in host.shape), ...)]
    host = host[(*(slice(None, None, -1) for _ in host.shape), ...)]
    order = data.draw(st.sampled_from("CF"))
    for shape in [(host.size,), (1, host.size), host.shape[::-1], (*host.shape, 1)]:
        try:
            got = device.reshape(shape, order=order)
        except CopyNeededError:
            continue
        same(got, host.reshape(shape, order=order))


def test_reshape_takes_lengths_or_one_tuple():
    device = to_device(fill((4, 6)))
    assert device.reshape(3, 8).shape == (3, 8)
    assert device.reshape((3, -1)).shape == (3, 8)
    assert device.reshape([24]).shape == (24,)
    assert device.reshape(-1).shape == (24,)
    fortran = np.asfortranarray(fill((4, 6)))
    same(to_device(fortran).reshape(6, 4, order="A"), fortran.reshape(6, 4, order="A"))


@pytest.mark.parametrize("order", ["C", "A"])
def test_ravel_is_a_view_of_a_packed_array(order):
    device = to_device(fill((2, 3)))
    flat = device.ravel(order)
    same(flat, fill((2, 3)).ravel())
    flat[0] = 9
    assert device[0, 0] == 9


@pytest.mark.parametrize("order", ["F", "A"])
def test_ravel_of_a_fortran_array_counts_columns(order):
    host = np.asfortranarray(fill((2, 3)))
    same(to_device(host).ravel(order), host.ravel(order))


def test_ravel_of_an_empty_array_is_empty():
    assert to_device(np.zeros((0, 3))).ravel().shape == (0,)


@given(st.data(), layouts())
def test_transpose_is_numpys(data, host):
    device = to_device(host)
    axes = data.draw(st.permutations(range(host.ndim)))
    same(device.T, host.T)
    same(device.transpose(axes), host.transpose(axes))
    same(device.transpose(*axes), host.transpose(*axes))
    same(np.transpose(device, axes), host.transpose(axes))


@given(layouts())
def test_squeeze_is_numpys(host):
    device = to_device(host)
    same(device.squeeze(), host.squeeze())
    same(device[None].squeeze(0), host)


@pytest.mark.parametrize("dtype", ["i4", "u4", "i8", "f8", "i1", "u2"])
def test_view_reads_the_same_bytes(dtype):
    host = np.arange(12, dtype="i2").reshape(3, 4)
    same(to_device(host).view(dtype), host.view(dtype))


def test_view_of_equal_size_takes_any_strides():
    host = np.arange(32, dtype="i2").reshape(4, 8)
    same(to_device(host)[:, ::2].view("u2"), host[:, ::2].view("u2"))


def test_split_gives_views_of_consecutive_pieces():
    device = to_device(np.arange(10))
    pieces = list(device.split(4))
    assert [piece.copy_to_host().tolist() for piece in pieces] == [
        [0, 1, 2, 3],
        [4, 5, 6, 7],
        [8, 9],
    ]
    pieces[1][0] = 40
    assert device[4] == 40


@pytest.mark.parametrize("dtype", DTYPES)
def test_attributes_are_numpys(dtype):
    host = fill((3, 4), dtype)
    device = to_device(host)
    for name in ("shape", "strides", "dtype", "ndim", "size", "itemsize", "nbytes"):
        assert getattr(device, name) == getattr(host, name)
    assert len(device) == 3
    assert device.alloc_size == host.nbytes
    assert int(device.gpu_data) == device.address
    assert device.address % 64 == 0


@given(layouts(broadcast=True))
def test_flags_are_numpys(host):
    device = to_device(host)
    device = device[(*(slice(None, None, 2) for _ in host.shape), ...)]
    flags = host_layout(device).flags
    assert device.is_c_contiguous() == device.flags["C_CONTIGUOUS"] == flags.c_contiguous
    assert device.is_f_contiguous() == device.flags["F_CONTIGUOUS"] == flags.f_contiguous
    assert device.flags.c_contiguous == flags.c_contiguous
    assert device.flags.f_contiguous == flags.f_contiguous


def test_iteration_gives_rows_or_scalars():
    host = fill((2, 3))
    assert [row.copy_to_host().tolist() for row in to_device(host[:, :2])] == host[:, :2].tolist()
    assert list(to_device(np.arange(3))) == [0, 1, 2]
    assert 2 in to_device(np.arange(3))


def test_repr_is_numpys_with_another_name():
    assert repr(to_device([1.5, 2])) == "ndarray([1.5, 2. ])"
    assert repr(to_device(np.zeros(2, "f4"))) == "ndarray([0., 0.], dtype=float32)"


def test_arrays_of_size_one_convert_to_python_numbers():
    one = to_device(np.array([[3.0]]))
    assert (int(one), float(one), complex(one), bool(one)) == (3, 3.0, 3 + 0j, True)
    assert one.item() == 3.0
    assert type(one.item()) is float
    assert operator.index(to_device(np.array(7))) == 7
    assert not to_device([0])
    assert to_device([[1, 2]]).tolist() == [[1, 2]]


def test_numpy_gets_a_copy():
    device = to_device(np.arange(3))
    host = np.asarray(device)
    device[0] = 9
    assert host.tolist() == [0, 1, 2]
    assert np.array(device, dtype=np.float32).dtype == np.float32


def test_operations_go_to_the_arrays_stream():
    stream = create_stream()
    device = device_array((3, 3), stream=stream)
    assert device.stream is stream
    assert device.bind(stream).stream is stream
    assert device[1:].stream is stream
    assert device.T.stream is stream
    assert device.bind().stream == 0
    other = create_stream()
    assert device.getitem(slice(1, 2), other).stream is other
    assert device.ravel(stream=other).stream is other
    assert device.squeeze(stream=other).stream is other
    assert next(device.reshape(-1).split(3, other)).stream is other


def test_setitem_and_getitem_take_a_stream():
    device, stream = to_device(np.zeros(3)), create_stream()
    device.setitem(1, 5, stream=stream)
    assert device.getitem(1, stream=stream) == 5


def test_a_view_keeps_the_memory_alive():
    view = to_device(np.arange(1000))[10:20]
    gc.collect()
    filler = to_device(np.zeros(1000, int))
    assert view.copy_to_host().tolist() == list(range(10, 20))
    assert filler[0] == 0


@pytest.mark.cpu_only("only the CPU back end counts its bytes itself")
def test_no_array_leaks():
    pool = current_driver().pool
    gc.collect()
    before = pool.used_bytes
    for n in range(200):
        device = to_device(np.zeros((n, 3)))
        device[1:2].T.copy_to_host()
        device[...] = 1
    del device
    assert pool.used_bytes == before


def test_pickle_and_copy_move_the_values():
    device = to_device(np.asfortranarray(fill((2, 3))))
    for other in (pickle.loads(pickle.dumps(device)), copy.copy(device), copy.deepcopy(device)):
        same(other, fill((2, 3)))
        assert other.strides == device.strides
        assert other.address != device.address


def test_arrays_that_are_alive_at_exit_die_in_silence():
    code = (
        "from pygpulib.core.creation import to_device, pinned_array\n"
        "import numpy as np\n"
        "a, b = to_device(np.zeros(5)), pinned_array(5)\n"
        "a_cycle = [a]; a_cycle.append(a_cycle); view = np.from_dlpack(a)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


def test_host_view_is_a_slot_that_compiled_code_can_read():
    assert type(ndarray.host_view).__name__ == "member_descriptor"
    assert not hasattr(ndarray(1), "__dict__")


def test_the_constructor_takes_shape_strides_and_dtype():
    device = ndarray((1, 10), (800, 8), np.float64)
    assert device.flags["C_CONTIGUOUS"]
    assert device.flags["F_CONTIGUOUS"]
    assert ndarray(3).dtype == np.float64
    reverse = ndarray(3, -8)
    reverse[:] = [1, 2, 3]
    assert reverse.copy_to_host().tolist() == [1, 2, 3]
    assert reverse.alloc_size == 24


def test_the_constructor_takes_existing_memory():
    device = to_device(np.arange(6))
    again = ndarray((2, 2), dtype=np.int64, gpu_data=device[2:].gpu_data)
    assert again.tolist() == [[2, 3], [4, 5]]
    whole = ndarray(6, dtype=np.int64, gpu_data=device.buffer)
    assert whole.tolist() == list(range(6))


RECORD = np.dtype([("a", "i4"), ("b", "f4", (2,)), ("c", [("x", "f8"), ("s", "U3")])])


def test_a_record_stays_on_the_device():
    device = to_device(np.zeros(3, RECORD))
    device[1]["a"] = 4
    device[1]["b"][0] = 2.5
    device[1]["c"]["x"] = 7
    device[1]["c"]["s"] = "abc"
    expected = np.zeros(3, RECORD)
    expected[1] = (4, (2.5, 0), (7, "abc"))
    np.testing.assert_array_equal(device.copy_to_host(), expected)
    assert device[1]["a"] == 4
    assert device[1]["c"]["s"] == "abc"
    np.testing.assert_array_equal(device["b"].copy_to_host(), expected["b"])
    device[0] = (1, (2, 3), (4, "d"))
    expected[0] = (1, (2, 3), (4, "d"))
    np.testing.assert_array_equal(device.copy_to_host(), expected)


def test_a_record_scalar_travels_both_ways():
    host = np.zeros(1, RECORD)[0]
    host["a"] = 3
    device = to_device(host)
    assert device.shape == ()
    other = np.zeros(1, RECORD)[0]
    assert device.copy_to_host(other) is other
    assert other == host


@pytest.mark.parametrize("dtype", ["M8[s]", "m8[us]", "S4", ">i4"])
def test_dtypes_that_kernels_do_not_know_can_be_stored(dtype):
    host = np.arange(4).astype(dtype)
    same(to_device(host)[::-1], host[::-1])


def host_array_of(shape):
    return to_device(np.zeros(shape))


REFUSALS = [
    (
        lambda: ndarray(4, gpu_data=Buffer.allocate(current_driver(), 8)),
        LayoutError,
        "the argument gpu_data is too small for the array\nexpected 32 bytes, got 8 bytes",
    ),
    (
        lambda: ndarray(4, dtype=object),
        DTypeError,
        "arrays of dtype object cannot be stored on a device\n"
        "expected elements that are plain bytes, without Python objects\n"
        "help: convert with a.astype(...) first",
    ),
    (
        lambda: ndarray(4, dtype="int33"),
        DTypeError,
        "'int33' is not a dtype\n"
        "help: pass a NumPy dtype such as numpy.float32, or its name as a string",
    ),
    (
        lambda: host_array_of((4, 6)).T.reshape(24),
        CopyNeededError,
        "operation requires copying\n"
        "shape (6, 4) with strides (8, 48) has no view of shape (24,)\n"
        "help: make a packed copy first, or reshape before slicing or transposing",
    ),
    (
        lambda: host_array_of(6)[::2].ravel("C"),
        CopyNeededError,
        "operation requires copying\nshape (3,) with strides (16,) is not packed\n"
        "help: make a packed copy first",
    ),
    (
        lambda: host_array_of((2, 2)).split(1),
        ShapeError,
        "only support 1d array\nsplit() was asked of an array of shape (2, 2)",
    ),
    (
        lambda: host_array_of(2).split(0),
        ArgumentError,
        "the argument section is 0\nexpected at least 1",
    ),
    (
        lambda: np.array(host_array_of(2), copy=False),
        ArgumentError,
        "`copy=False` is not supported. A copy is always created.",
    ),
    (
        lambda: len(host_array_of(())),
        ArgumentTypeError,
        "len() of unsized object\nthe array has no axes",
    ),
    (lambda: iter(host_array_of(())), ArgumentTypeError, "iteration over a 0-d array"),
    (
        lambda: int(host_array_of(2)),
        ArgumentTypeError,
        "int() was asked of an array of 2 elements\n"
        "only length-1 arrays can be converted to Python scalars",
    ),
    (
        lambda: bool(host_array_of(0)),
        ShapeError,
        "the truth value of an array with other than one element is ambiguous\nthe shape is (0,)",
    ),
    (
        lambda: operator.index(host_array_of(1)),
        ArgumentTypeError,
        "only arrays with no axes can be used as an index\nthe shape is (1,)",
    ),
    (
        lambda: host_array_of(2)["x"],
        AxisError,
        "the array has no field 'x'\nits dtype is float64",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSALS)
def test_refusal_says_what_is_wrong(call, error, message):
    with pytest.raises(error) as raised:
        call()
    assert type(raised.value) is error
    assert str(raised.value) == message


def test_a_needed_copy_is_what_numba_raises():
    assert issubclass(CopyNeededError, NotImplementedError)


def test_the_address_as_c_functions_take_it():
    array = to_device(np.arange(4.0))
    assert array.device_ctypes_pointer.value == array.address
    assert array[2:].device_ctypes_pointer.value == array.address + 16
