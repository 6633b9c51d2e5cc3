import gc
import itertools
import struct
import sys
import threading
import weakref

import ml_dtypes
import numpy as np
import pytest

from pygpulib import cuda, types
from pygpulib._record import replace
from pygpulib.core.array import ndarray
from pygpulib.core.driver import LaunchShape
from pygpulib.jit.backends.cpu import layouts as layouts_module
from pygpulib.jit.backends.cpu.entry import make_entry
from pygpulib.jit.backends.cpu.layouts import enable_layouts, object_layouts, probe_layouts
from pygpulib.jit.backends.cpu.pool import get_num_threads, set_num_threads, shared_pool
from pygpulib.jit.backends.cpu.reports import PRINT_WORD, RECORD_WORDS
from pygpulib.jit.backends.protocol import HEADER_WORDS
from pygpulib.jit.launch import pack_arguments
from pygpulib.jit.overloads import find_conversion
from pygpulib.jit.signature import typeof
from tests.helpers.native_kernels import COUNT_TEXT, copy_words_text, count_blocks, load_kernel

pytestmark = pytest.mark.skipif(
    sys.implementation.name != "cpython"
    or object.__basicsize__ != 16
    or hasattr(sys, "gettotalrefcount"),
    reason="not for objects of free-threaded, tracing and 32-bit interpreters, and of others",
)

SHAPE = LaunchShape((1, 1, 1), (64, 2, 1), 48)


class Recorder:
    """A launch that records its argument words, and the calls that went the long way."""

    def __init__(self, argument_types, parameter_types=None, shape=SHAPE):
        parameter_types = parameter_types or argument_types
        # One more parameter says where the words are copied to.
        self.count = HEADER_WORDS + 1 + sum(len(type_.flat()) for type_ in parameter_types)
        self.words = np.zeros(self.count, np.int64)
        self.slow = []
        self.entry = make_entry(
            shape,
            load_kernel(copy_words_text(self.count)),
            (*argument_types, types.int64),
            (*parameter_types, types.int64),
            self._fallback,
        )

    def _fallback(self, *args, **kwargs):
        self.slow.append((args, kwargs))
        return "slow"

    def __call__(self, *args, **kwargs):
        self.words.fill(0)
        result = self.entry(*args, self.words.ctypes.data, **kwargs)
        return "fast" if result is None else result


ARRAYS = [
    np.arange(6.0),
    np.arange(6.0)[::2],
    np.arange(6.0)[::-1],
    np.zeros((2, 3)),
    np.zeros((2, 3)).T,
    np.zeros((4, 3))[::2],
    np.zeros(6, np.float32),
    np.zeros(6, np.int8),
    np.zeros(6, bool),
    np.zeros(6, np.complex128),
    np.zeros((0, 3)),
    np.array(1.0),
    np.zeros((2, 1, 3, 1)),
]


def readonly(array):
    copy = array.copy()
    copy.flags.writeable = False
    return copy


NUMBERS = [1.5, -0.0, float("nan"), 7, -1, 2**63 - 1, -(2**63), True, False]
NUMBERS += [np.float64(2.5), np.int64(-3), np.float32(0.5), np.uint8(200), np.int16(-7)]
NUMBERS += [np.uint64(2**63 + 1), np.uint32(5)]
COMPLEX = [1.5 - 2j, complex(-0.0, float("nan")), np.complex128(3j), np.complex64(0.1 + 7j)]
SMALL = [np.float16(1.5), ml_dtypes.bfloat16(-2.5), ml_dtypes.float8_e5m2(3)]

MAPPED = [cuda.mapped_array(6, np.int8), cuda.managed_array((4, 3))[::2]]

VALUES = [*ARRAYS, readonly(ARRAYS[0]), *map(cuda.to_device, ARRAYS), *MAPPED, *NUMBERS]
VALUES += [*SMALL, *COMPLEX]


def _name(value):
    # Never what is in new memory: each process would name the test in another way.
    text = str(value.shape) if isinstance(value, np.ndarray | ndarray) else f"{value!r:.30}"
    return f"{type(value).__name__}-{text}"


@pytest.mark.parametrize("value", VALUES, ids=_name)
def test_words_are_those_of_the_long_way(value):
    type_ = typeof(value)
    recorder = Recorder([type_])
    assert recorder(value) == "fast"
    expected = np.array(pack_arguments([type_], [value]), np.uint64).view(np.int64)
    size = HEADER_WORDS + len(type_.flat())
    header = [*SHAPE.grid, *SHAPE.block, 0, SHAPE.shared_bytes]
    assert recorder.words[:HEADER_WORDS].tolist() == header
    if isinstance(type_, types.ScalarType):
        # Only the low bytes of a number's word mean something.
        width = type_.dtype.component.size_bytes
        for word in range(HEADER_WORDS, size):
            found, wanted = (words[word].tobytes()[:width] for words in (recorder.words, expected))
            assert found == wanted
    else:
        assert recorder.words[HEADER_WORDS:size].tolist() == expected[HEADER_WORDS:].tolist()


def test_only_arguments_of_the_right_type_take_the_short_cut():
    for wanted in VALUES[::2]:
        recorder = Recorder([typeof(wanted)])
        for given in VALUES:
            expected = "fast" if typeof(given) == typeof(wanted) else "slow"
            assert recorder(given) == expected, (wanted, given)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        pair
        for pair in itertools.product(NUMBERS, ["i1", "i4", "i8", "u2", "u8", "f4", "f8"])
        if find_conversion(typeof(pair[0]), getattr(types, pair[1])) is not None
        and not (typeof(pair[0]).dtype.is_float and pair[1][0] in "iu")
    ],
)
def test_numbers_convert_to_the_parameter(source, target):
    parameter = getattr(types, target)
    recorder = Recorder([typeof(source)], [parameter])
    assert recorder(source) == "fast"
    size = parameter.dtype.size_bytes
    found = recorder.words[HEADER_WORDS:].tobytes()[:size]
    with np.errstate(over="ignore"):
        assert found == bytes(pack_arguments([parameter], [source]))[8 * HEADER_WORDS :][:size]


@pytest.mark.parametrize("source", COMPLEX, ids=repr)
@pytest.mark.parametrize("target", [types.complex64, types.complex128], ids=str)
def test_complex_numbers_convert_to_the_parameter(source, target):
    recorder = Recorder([typeof(source)], [target])
    assert recorder(source) == "fast"
    found = recorder.words[HEADER_WORDS : HEADER_WORDS + 2].view(np.uint64)
    expected = np.array(pack_arguments([target], [source]), np.uint64)[HEADER_WORDS:]
    mask = np.uint64(2**target.dtype.component.bits - 1)
    assert (found & mask).tolist() == (expected & mask).tolist()


def test_what_an_entry_does_not_expect_goes_the_long_way():
    recorder = Recorder([types.float64[::1], types.int64])
    host = np.zeros(3)
    assert recorder(host, 1) == "fast"
    surprises = [
        (host,),
        (host, 1, 2),
        (host, 2**63),
        (host, -(2**70)),
        (host, 1.0),
        (None, 1),
        (host.tolist(), 1),
        (host.astype(">f8"), 1),
        (host.view(np.matrix), 1),
        (np.zeros(25, "u1")[1:].view("f8"), 1),
        (host, True),
        (memoryview(host), 1),
        (host, np.int32(1)),
    ]
    for arguments in surprises:
        assert recorder(*arguments) == "slow", arguments
    assert [args[:-1] for args, kwargs in recorder.slow] == surprises
    assert recorder.entry(host, n=1) == "slow"
    assert recorder.slow[-1] == ((host,), {"n": 1})


def test_an_exception_of_the_long_way_arrives():
    def refuse(*args):
        raise ValueError("no")

    address = load_kernel(copy_words_text(HEADER_WORDS + 1))
    entry = make_entry(SHAPE, address, (types.int64,), (types.int64,), refuse)
    with pytest.raises(ValueError, match="no"):
        entry("text")


def test_several_blocks_run_on_the_pool():
    recorder = Recorder([types.float64], shape=LaunchShape((3, 2, 1), (1, 1, 1)))
    pool = shared_pool()
    if pool is None:
        assert recorder(2.5) == "fast"
        return
    # Python has to start the threads first, and again after their number changed.
    pool.invalidate()
    assert recorder(2.5) == "slow"
    count_blocks(pool.run, load_kernel(COUNT_TEXT), 2)
    assert recorder(2.5) == "fast"
    assert recorder.words[:8].tolist() == [3, 2, 1, 1, 1, 1, 0, 0]
    assert recorder.words[8] == struct.unpack("=q", struct.pack("=d", 2.5))[0]
    set_num_threads(get_num_threads())
    assert recorder(2.5) == "slow"


@pytest.mark.parametrize("type_", [types.UniTuple(types.f4, 2), types.none], ids=str)
def test_types_that_entries_do_not_take_apart(type_):
    assert make_entry(SHAPE, 0, (type_,), (type_,), print) is None


def test_numbers_that_become_complex_take_the_long_way():
    assert make_entry(SHAPE, 0, (types.float64,), (types.complex128,), print) is None


@pytest.mark.parametrize("number", SMALL, ids=lambda number: type(number).__name__)
def test_entries_do_not_convert_small_floats(number):
    given, wide = typeof(number), types.float32
    assert make_entry(SHAPE, 0, (given,), (wide,), print) is None
    assert make_entry(SHAPE, 0, (wide,), (given,), print) is None


def test_references_are_neither_lost_nor_kept():
    # A literal would belong to the code of this function too, which others may hold.
    host, number, device = np.zeros(3), float("2.5"), cuda.to_device(np.zeros(3))
    recorder = Recorder([types.float64[::1], types.float64, types.float64[::1]])
    objects = (host, number, device)
    recorder(host, number, device)
    before = [sys.getrefcount(obj) for obj in objects]
    for _ in range(1000):
        recorder(host, number, device)
        recorder(host, number, 5)
    recorder.slow.clear()
    gc.collect()
    assert [sys.getrefcount(obj) for obj in objects] == before


def test_entries_can_be_collected():
    class Fallback:
        def __call__(self, *args):
            return "slow"

    # An entry holds its fallback, which may hold the entry.
    fallback = Fallback()
    address = load_kernel(copy_words_text(HEADER_WORDS + 1))
    fallback.entry = make_entry(SHAPE, address, (types.int64,), (types.int64,), fallback)
    reference = weakref.ref(fallback)
    del fallback
    gc.collect()
    assert reference() is None


def test_the_lock_of_the_interpreter_is_free_during_a_launch():
    # The kernel spins until a word that only another Python thread writes changes.
    text = """
    define void @kernel(ptr %words, i64 %first, i64 %end, i64 %worker) {
    entry:
      %flag_at = getelementptr i64, ptr %words, i64 8
      %flag = load ptr, ptr %flag_at
      br label %loop
    loop:
      %value = load atomic i64, ptr %flag monotonic, align 8
      %is_set = icmp ne i64 %value, 0
      br i1 %is_set, label %done, label %loop
    done:
      ret void
    }"""
    flag = np.zeros(1, np.int64)
    type_ = types.int64[::1]
    entry = make_entry(SHAPE, load_kernel(text), (type_,), (type_,), print)
    setter = threading.Thread(target=lambda: flag.fill(1))
    setter.start()
    assert entry(flag) is None
    setter.join()


def test_without_layouts_there_is_no_entry():
    enable_layouts(False)
    try:
        assert object_layouts() is None
        assert make_entry(SHAPE, 0, (types.int64,), (types.int64,), print) is None
    finally:
        enable_layouts(True)
    assert object_layouts() is not None


@pytest.mark.parametrize(
    ("where", "attribute", "value"),
    [
        (layouts_module.sys.implementation, "name", "pypy"),
        (layouts_module, "_WORD", 4),
        (layouts_module.sys, "gettotalrefcount", int),
        (layouts_module, "_find_word", lambda *arguments: None),
        (layouts_module, "_is_array_layout", lambda *arguments: False),
    ],
)
def test_unknown_interpreters_are_not_read(monkeypatch, where, attribute, value):
    assert probe_layouts() is not None
    monkeypatch.setattr(where, attribute, value, raising=False)
    assert probe_layouts() is None


def test_a_wrong_offset_is_noticed():
    found = probe_layouts()
    array = np.zeros((3, 4), np.int16)
    assert layouts_module._is_array_layout(found, array)
    for name in ("type", "array_data", "array_ndim", "array_dtype", "array_flags", "array_shape"):
        moved = replace(found, **{name: getattr(found, name) + (8 if name != "type" else -8)})
        assert not layouts_module._is_array_layout(moved, array), name


REPORTING = f"""
define void @kernel(ptr %words, i64 %first, i64 %end, i64 %worker) {{
entry:
  %record_at = getelementptr i64, ptr %words, i64 6
  %record = load ptr, ptr %record_at
  %place_at = getelementptr i64, ptr %words, i64 8
  %place = load i64, ptr %place_at
  %is_inside = icmp slt i64 %place, {RECORD_WORDS}
  br i1 %is_inside, label %write, label %done
write:
  %target = getelementptr i64, ptr %record, i64 %place
  store i64 77, ptr %target
  br label %done
done:
  ret void
}}"""


def test_only_faults_and_printed_lines_are_reported():
    records = []
    address = load_kernel(REPORTING)
    entry = make_entry(SHAPE, address, (types.int64,), (types.int64,), print, records.append)
    for place in range(RECORD_WORDS + 1):
        assert entry(place) is None
    claimed, printed = (np.frombuffer(record, np.int64).tolist() for record in records)
    assert [claimed.pop(0), printed.pop(PRINT_WORD)] == [77, 77]
    assert set(claimed) == set(printed) == {0}


def test_what_the_report_raises_is_what_the_launch_raises():
    def report(record):
        raise LookupError(len(record))

    address = load_kernel(REPORTING)
    entry = make_entry(SHAPE, address, (types.int64,), (types.int64,), print, report)
    before = sys.getrefcount(report)
    for _ in range(3):
        with pytest.raises(LookupError, match=str(8 * RECORD_WORDS)):
            entry(0)
    assert entry(RECORD_WORDS) is None
    assert sys.getrefcount(report) == before


@pytest.mark.parametrize("blocks", [1, 3])
def test_faults_are_the_same_on_the_short_cut(blocks):
    @cuda.jit(debug=True)
    def kernel(source, target):
        i = cuda.grid(1)
        target[i] = source[i] + 1

    configured = kernel[blocks, 8]
    good, short = np.arange(8.0 * blocks), np.arange(5.0)
    result = np.zeros_like(good)
    with pytest.raises(IndexError) as slow:
        configured(short, result)
    for _ in range(3):
        result.fill(0)
        configured(good, result)
        np.testing.assert_array_equal(result, good + 1)
    assert is_native(configured)
    for _ in range(3):
        with pytest.raises(IndexError, match=r"index . is out of bounds for the array 'source'"):
            configured(short, result)
    if blocks == 1:
        with pytest.raises(IndexError) as fast:
            configured(short, result)
        assert str(fast.value) == str(slow.value)
    configured(good, result)


def test_kernels_with_barriers_take_the_short_cut():
    @cuda.jit
    def turn(array):
        shared = cuda.shared.array(16, np.float64)
        i = cuda.threadIdx.x
        shared[i] = array[i]
        cuda.syncthreads()
        array[i] = shared[15 - i]

    array = np.arange(16.0)
    for _ in range(4):
        turn[1, 16](array)
    assert is_native(turn[1, 16])
    np.testing.assert_array_equal(array, np.arange(16.0))


def is_native(configured):
    """Return whether launches of a configuration go straight to machine code."""
    return type(configured._short_cut) is type(print)
