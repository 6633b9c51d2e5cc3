import collections
import ctypes
import struct

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.core.driver import LaunchShape
from pygpulib.errors import ArgumentTypeError, LaunchError, LaunchTypeError
from pygpulib.jit import types
from pygpulib.jit.backends.protocol import HEADER_WORDS
from pygpulib.jit.launch import make_config, pack_arguments

Pair = collections.namedtuple("Pair", "left right")


@pytest.mark.parametrize(
    ("grid", "block", "expected"),
    [
        (4, 32, LaunchShape((4, 1, 1), (32, 1, 1))),
        ((4,), [32], LaunchShape((4, 1, 1), (32, 1, 1))),
        ((2, 3), (4, 5), LaunchShape((2, 3, 1), (4, 5, 1))),
        ((2, 3, 4), (8, 4, 2), LaunchShape((2, 3, 4), (8, 4, 2))),
        (np.int64(7), np.uint8(9), LaunchShape((7, 1, 1), (9, 1, 1))),
        (np.array([2, 3]), (np.int32(4), 5), LaunchShape((2, 3, 1), (4, 5, 1))),
        (np.array(2), np.array(6, np.uint8), LaunchShape((2, 1, 1), (6, 1, 1))),
        (2**31 - 1, 1024, LaunchShape((2**31 - 1, 1, 1), (1024, 1, 1))),
        ((1, 65535, 65535), (4, 4, 64), LaunchShape((1, 65535, 65535), (4, 4, 64))),
    ],
)
def test_sizes_become_three_lengths(grid, block, expected):
    assert make_config(grid, block).shape == expected


@pytest.mark.parametrize(
    ("grid", "block", "words"),
    [
        (1, 1025, ["block", "1025 threads", "at most 1024"]),
        (1, (64, 64), ["block", "4096 threads", "1024"]),
        (1, (1, 1, 65), ["block", "65 along dimension z", "at most 64"]),
        (1, 0, ["block", "0 along dimension x", "at least 1"]),
        (1, (4, -4), ["block", "-4 along dimension y"]),
        (0, 1, ["grid", "0 along dimension x"]),
        (-1, 32, ["grid", "-1 along dimension x"]),
        (2**31, 1, ["grid", "along dimension x", "2147483647"]),
        ((1, 65536), 1, ["grid", "65536 along dimension y", "65535"]),
        ((1, 1, 65536), 1, ["grid", "65536 along dimension z"]),
        ((1, 1, 1, 1), 1, ["griddim must be a sequence of 1, 2 or 3 integers, got [1, 1, 1, 1]"]),
        ((), 1, ["griddim must be a sequence of 1, 2 or 3 integers, got []"]),
        (1, (), ["blockdim must be a sequence of 1, 2 or 3 integers, got []"]),
    ],
)
def test_sizes_out_of_range_are_refused(grid, block, words):
    with pytest.raises(LaunchError) as caught:
        make_config(grid, block)
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    ("grid", "block", "words"),
    [
        (1.0, 32, ["grid", "1.0, which is not an integer", "divide with //"]),
        (1, (32, 2.5), ["block", "2.5", "not an integer"]),
        (1, "32", ["blockdim must be a sequence of 1, 2 or 3 integers, got ['3', '2']"]),
        (None, 32, ["grid", "None", "not an integer"]),
        (1, {"x": 3}, ["block", "not an integer"]),
    ],
)
def test_sizes_that_are_no_integers_are_refused(grid, block, words):
    with pytest.raises(LaunchTypeError) as caught:
        make_config(grid, block)
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_streams_and_shared_memory():
    class Foreign:
        def __cuda_stream__(self):
            return (0, 77)

    stream = cuda.stream()
    assert make_config(1, 1, stream).stream == stream.handle
    assert make_config(1, 1, 0).stream == 0
    assert make_config(1, 1, Foreign()).stream == 77
    assert make_config(1, 1, 0, np.int32(100)).shape.shared_bytes == 100
    with pytest.raises(ArgumentTypeError, match="the argument stream is 'x'"):
        make_config(1, 1, "x")
    with pytest.raises(LaunchError, match="memory of a block is -1 bytes\nexpected 0 to"):
        make_config(1, 1, 0, -1)
    with pytest.raises(LaunchError, match="memory of a block is 1073741824 bytes"):
        make_config(1, 1, 0, 1 << 30)
    with pytest.raises(LaunchTypeError, match=r"memory of a block is 1\.5\nexpected an integer"):
        make_config(1, 1, 0, 1.5)


def words_of(type_, value):
    return list(pack_arguments([type_], [value]))[HEADER_WORDS:]


@pytest.mark.parametrize(
    ("type_", "value", "expected"),
    [
        (types.int64, -1, struct.pack("=q", -1)),
        (types.int32, -2, struct.pack("=q", -2)),
        (types.int32, 2**32 + 5, struct.pack("=q", 2**32 + 5)),
        (types.uint64, 2**64 - 1, struct.pack("=Q", 2**64 - 1)),
        (types.uint8, np.uint8(200), struct.pack("=q", 200)),
        (types.boolean, True, struct.pack("=q", 1)),
        (types.boolean, np.bool_(False), struct.pack("=q", 0)),
        (types.float64, 2.5, struct.pack("=d", 2.5)),
        (types.float64, 3, struct.pack("=d", 3.0)),
        (types.float32, 0.1, struct.pack("=fi", 0.1, 0)),
        (types.float32, 1e300, struct.pack("=fi", float("inf"), 0)),
        (types.float16, 1.5, struct.pack("=ehi", 1.5, 0, 0)),
        (types.complex128, 1 - 2j, struct.pack("=dd", 1, -2)),
        (types.complex64, 3.5, struct.pack("=fifi", 3.5, 0, 0, 0)),
        (types.none, None, b""),
        (types.TupleType((types.int64, types.float64)), (7, 0.5), struct.pack("=qd", 7, 0.5)),
        (
            types.TupleType((types.TupleType((types.int64,)), types.int64), Pair),
            Pair((1,), 2),
            struct.pack("=qq", 1, 2),
        ),
    ],
)
def test_numbers_and_tuples_become_words(type_, value, expected):
    block = pack_arguments([type_], [value])
    assert bytes(block)[8 * HEADER_WORDS :] == expected
    assert len(block) == HEADER_WORDS + len(type_.flat())


def test_arrays_become_address_shape_and_strides():
    host = np.zeros((4, 6), np.int16)[::-2, 1:]
    assert words_of(types.ArrayType(types.int16.dtype, 2, "A"), host) == [
        host.ctypes.data,
        2,
        5,
        2**64 - 24,
        2,
    ]
    device = cuda.to_device(np.arange(5.0))
    assert words_of(types.float64[::1], device) == [device.address, 5, 8]
    assert ctypes.c_double.from_address(device.address + 8).value == 1.0
    assert words_of(types.ArrayType(types.float64.dtype, 0, "C"), np.array(1.0))[1:] == []
