"""Other libraries' arrays in kernels and ufuncs, and ours in theirs: in order, without waiting."""

from __future__ import annotations

import gc

import ml_dtypes
import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.errors import ArgumentError, DeviceMismatchError, ExportError, LayoutError
from tests.fakecuda.client import Client
from tests.fakecuda.devices import cuda_in_use, names_of_calls
from tests.fakecuda.foreign import Consumed, InterfaceArray, Library, TensorArray

WAITS = {
    "cuStreamSynchronize",
    "cuCtxSynchronize",
    "cuEventSynchronize",
    "cuMemcpyDtoHAsync_v2",
    "cuMemcpyHtoDAsync_v2",
    "cuMemcpyDtoDAsync_v2",
}


@pytest.fixture
def driver(fake_driver):
    with cuda_in_use(fake_driver) as driver:
        yield driver


@pytest.fixture
def library(driver):
    cuda.default_stream().synchronize()  # opens the device
    library = Library(Client())
    yield library
    gc.collect(1)
    library.close()


@pytest.fixture
def make(library):
    """Make arrays of another library, which go at the end."""
    made = []

    def make(kind, shape, dtype):
        made.append(kind(library, shape, dtype))
        return made[-1]

    yield make
    gc.collect(1)
    for array in made:
        array.free()


@pytest.fixture
def double(driver):
    """A kernel; those of other tests are loaded on devices that are gone."""

    @cuda.jit
    def double(values):
        i = cuda.grid(1)
        if i < values.size:
            values[i] += values[i]

    return double


@pytest.fixture
def add(driver):
    return cuda.vectorize(["int32(int32, int32)"])(lambda one, other: one + other)


ONES = 0x01010101


@pytest.mark.parametrize("kind", [InterfaceArray, TensorArray])
def test_a_kernel_works_in_place_after_the_other_library_without_waiting(
    fake_driver, library, make, kind, double
):
    array = make(kind, (40,), np.int32)
    double[1, 64](cuda.device_array(40, np.int32))  # compiles
    fake_driver.calls.clear()
    library.fill(array, 1)
    double[1, 64](array)
    assert not WAITS & set(names_of_calls(fake_driver))
    cuda.synchronize()
    assert (library.read(array) == 2 * ONES).all()


def test_the_other_library_goes_on_after_the_kernel(library, make, double):
    array = make(InterfaceArray, (40,), np.int32)
    library.fill(array, 1)
    double[1, 64](array)
    # On its own stream, which waits for no other by itself.
    assert (library.read(array) == 2 * ONES).all()


def test_a_kernel_on_a_stream_of_ours_waits_too(fake_driver, library, make, double):
    array = make(InterfaceArray, (40,), np.int32)
    stream = cuda.stream()
    for _ in range(3):  # the third goes by the short cut, if there is one
        library.fill(array, 1)
        double[1, 64, stream](array)
    assert (library.read(array) == 2 * ONES).all()
    stream.synchronize()


def test_a_shared_array_is_waited_for_in_launches_until_it_is_ready(
    fake_driver, library, make, double
):
    array = make(InterfaceArray, (40,), np.int32)
    library.fill(array, 1)
    fake_driver.calls.clear()
    shared = cuda.as_cuda_array(array)
    assert not WAITS & set(names_of_calls(fake_driver))
    assert shared.stream.handle == library.stream
    for _ in range(4):
        double[1, 64](shared)
    cuda.synchronize()
    assert shared.buffer.readiness is None or shared.buffer.readiness.is_past()
    assert (library.read(array) == 16 * ONES).all()


@pytest.mark.parametrize("stream", [None, 1, "ours"])
def test_arrays_that_are_ready_on_the_stream_are_taken_the_short_way(
    fake_driver, library, make, stream, double, monkeypatch
):
    ours = cuda.stream()
    number = ours.handle if stream == "ours" else stream

    class Ready(InterfaceArray):
        @property
        def __cuda_array_interface__(self):
            return {**super().__cuda_array_interface__, "stream": number}

    array, other = make(Ready, (40,), np.int32), make(Ready, (40,), np.int64)
    library.fill(array, 1)
    library.read(array)
    launch = double[1, 64, ours] if stream == "ours" else double[1, 64]
    for _ in range(2):
        launch(array)
    with monkeypatch.context() as patch:
        patch.setattr(type(launch), "launch", None)
        patch.setattr(launch.kernel, "find", None)
        fake_driver.calls.clear()
        launch(array)
        assert {"cuLaunchKernel"} == set(names_of_calls(fake_driver)) - {"cuCtxSetCurrent"}
    launch(other)  # of another type
    double[1, 64](array)
    cuda.synchronize()
    assert (library.read(array) == 16 * ONES).all()


def test_the_short_way_leaves_messages_to_the_long_way(library, make, double):
    class Broken(InterfaceArray):
        is_broken = False

        @property
        def __cuda_array_interface__(self):
            data = {"data": (0, False)} if self.is_broken else {}
            return {**super().__cuda_array_interface__, "stream": None, **data}

    array = make(Broken, (4,), np.int32)
    for _ in range(3):
        double[1, 64](array)
    array.is_broken = True
    with pytest.raises(
        LayoutError, match=r"the argument 'values' \(position 1\) is a Broken whose"
    ):
        double[1, 64](array)
    cuda.synchronize()


def test_views_of_a_shared_array_are_waited_for(library, make, double):
    array = make(InterfaceArray, (40,), np.int32)
    library.fill(array, 1)
    half = cuda.as_cuda_array(array)[20:]
    double[1, 64](half)
    cuda.synchronize()
    result = library.read(array)
    assert (result[:20] == ONES).all()
    assert (result[20:] == 2 * ONES).all()


def test_sync_false_leaves_the_order_to_the_user(fake_driver, library, make):
    array = make(InterfaceArray, (4,), np.int32)
    shared = cuda.as_cuda_array(array, sync=False)
    assert shared.buffer.readiness is None
    assert "cuEventRecord" not in names_of_calls(fake_driver)


def test_an_array_that_names_no_stream_is_not_waited_for(fake_driver, library, make):
    array = make(InterfaceArray, (4,), np.int32)
    array.names_stream = False
    fake_driver.calls.clear()
    assert cuda.as_cuda_array(array).stream == 0
    assert "cuEventRecord" not in names_of_calls(fake_driver)


@pytest.mark.parametrize("kind", [InterfaceArray, TensorArray])
def test_a_ufunc_takes_them_and_writes_to_them(fake_driver, library, make, kind, add):
    one, result = make(kind, (40,), np.int32), make(kind, (40,), np.int32)
    add(cuda.device_array(1, np.int32), cuda.device_array(1, np.int32))
    library.fill(one, 1)
    fake_driver.calls.clear()
    add(one, one, out=result)
    assert not WAITS & set(names_of_calls(fake_driver))
    if kind is TensorArray:
        cuda.synchronize()  # which nobody told the stream of
    assert (library.read(result) == 2 * ONES).all()


def test_a_generalized_ufunc_hands_its_arrays_back(fake_driver, library, make):
    @cuda.guvectorize(["void(int32[:], int32, int32[:])"], "(n),()->(n)")
    def shift(values, by, result):
        for i in range(values.size):
            result[i] = values[i] + by

    one, result = make(InterfaceArray, (3, 4), np.int32), make(InterfaceArray, (3, 4), np.int32)
    library.fill(one, 1)
    shift(one, cuda.to_device(np.ones(3, np.int32)), out=result)
    assert (library.read(result) == ONES + 1).all()
    total = cuda.reduce(lambda a, b: a + b)
    tensor = make(TensorArray, (3,), np.int32)
    library.fill(tensor, 1)
    assert total(tensor) == 3 * ONES


def test_the_other_library_may_overwrite_what_was_copied(library, make):
    array = make(InterfaceArray, (40,), np.int32)
    library.fill(array, 1)
    stream, mine = cuda.stream(), cuda.device_array(40, np.int32)
    mine.copy_to_device(array, stream=stream)
    library.fill(array, 2)
    library.read(array)
    stream.synchronize()
    assert (mine.copy_to_host() == ONES).all()


@pytest.mark.parametrize("kind", [InterfaceArray, TensorArray])
def test_copies_come_after_the_other_library(library, make, kind):
    array = make(kind, (40,), np.int32)
    library.fill(array, 1)
    assert (cuda.to_device(array).copy_to_host() == ONES).all()
    library.fill(array, 2)
    mine = cuda.device_array(40, np.int32)
    stream = cuda.stream()
    mine.copy_to_device(array, stream=stream)
    stream.synchronize()
    assert (mine.copy_to_host() == 2 * ONES).all()
    library.fill(array, 3)
    mine[:] = array
    assert (mine.copy_to_host() == 3 * ONES).all()


def test_a_kernel_waits_for_a_captured_array(library, make):
    array = make(InterfaceArray, (4,), np.int32)
    library.fill(array, 1)

    @cuda.jit
    def take(values):
        values[cuda.grid(1)] = array[cuda.grid(1)]

    result = cuda.device_array(4, np.int32)
    take[1, 4](result)
    assert (result.copy_to_host() == ONES).all()


# ----------------------------------------------------------------------------------- our arrays


def read_on(library, address, count):
    """Read our memory on the stream of the other library."""
    host = np.empty(count, np.int32)
    library.client.call(
        "cuMemcpyDtoHAsync_v2", host.ctypes.data, address, host.nbytes, library.stream
    )
    library.client.call("cuStreamSynchronize", library.stream)
    return host


def wait_on(library, stream):
    """Let the other library's stream wait for one that an interface names."""
    event = library.client.event(flags=2)
    library.client.call("cuEventRecord", event, stream)
    library.client.call("cuStreamWaitEvent", library.stream, event, 0)
    library.client.call("cuEventDestroy_v2", event)


@pytest.mark.parametrize("home", ["default", "own", "per_thread"])
@pytest.mark.parametrize("used", ["default", "own"])
def test_the_interface_names_a_stream_that_comes_after_all_work(
    fake_driver, library, home, used, double
):
    streams = {"default": 0, "own": cuda.stream(), "per_thread": cuda.per_thread_default_stream()}
    array = cuda.to_device(np.ones(40, np.int32)).bind(streams[home])
    double[1, 64](cuda.device_array(40, np.int32))
    fake_driver.calls.clear()
    double[1, 64, streams[used]](array)
    interface = array.__cuda_array_interface__
    assert not WAITS & set(names_of_calls(fake_driver))
    assert interface["stream"] == {"default": 1, "own": int(streams["own"]), "per_thread": 2}[home]
    assert interface["data"] == (array.address, False)
    wait_on(library, interface["stream"])
    assert (read_on(library, array.address, 40) == 2).all()
    cuda.synchronize()


@pytest.mark.parametrize("options", [{}, {"max_version": (1, 0)}], ids=str)
@pytest.mark.parametrize("used", ["default", "own"])
def test_a_capsule_is_ready_for_the_consumers_stream(fake_driver, library, options, used, double):
    array = cuda.to_device(np.ones((10, 4), np.int32))
    stream = 0 if used == "default" else cuda.stream()
    double[1, 64](cuda.device_array(40, np.int32))
    fake_driver.calls.clear()
    double[1, 64, stream](array.reshape(40))
    assert array.__dlpack_device__() == (2, 0)
    taken = Consumed(array.T.__dlpack__(stream=library.stream, **options))
    assert not WAITS & set(names_of_calls(fake_driver))
    assert (taken.tensor.device_type, taken.tensor.device_id) == (2, 0)
    assert (taken.tensor.data, taken.tensor.byte_offset) == (array.address, 0)
    assert (taken.shape, taken.strides) == ([4, 10], [1, 4])
    assert taken.name == (b"dltensor_versioned" if options else b"dltensor")
    assert (read_on(library, array.address, 40) == 2).all()
    address = array.address
    del array
    assert fake_driver.system.blocks.containing(address) is not None
    cuda.synchronize()
    taken.close()
    cuda.synchronize()
    cuda.close()
    assert fake_driver.system.blocks.containing(address) is None


@pytest.mark.parametrize("stream", [None, 1, 2, -1])
def test_the_protocols_streams(fake_driver, driver, stream):
    array = cuda.to_device(np.ones(3))
    own = cuda.stream()
    array[:].copy_to_host(np.empty(3), stream=own)
    fake_driver.calls.clear()
    array.__dlpack__(stream=stream)
    waits = fake_driver.calls.named("cuStreamWaitEvent")
    assert {call.arguments["hStream"] for call in waits} == (
        set() if stream == -1 else {stream or 1}
    )
    own.synchronize()


@pytest.mark.parametrize("stream", [0, -2, True, "1"])
def test_what_is_no_stream_of_the_protocol_is_refused(driver, stream):
    with pytest.raises(ArgumentError, match=r"the argument stream of __dlpack__ is "):
        cuda.to_device(np.ones(3)).__dlpack__(stream=stream)


def test_a_copy_is_made_on_request(fake_driver, driver):
    array = cuda.to_device(np.arange(3, dtype=np.int32))
    taken = Consumed(array.__dlpack__(copy=True, max_version=(1, 0)))
    assert taken.tensor.data != array.address
    assert taken.managed.flags & 2
    taken.close()
    taken = Consumed(array.__dlpack__(dl_device=(2, 0), copy=False, max_version=(1, 0)))
    assert taken.tensor.data == array.address
    assert taken.managed.flags == 0
    taken.close()


def test_a_copy_on_the_host_is_made_on_request(driver):
    array = cuda.to_device(np.arange(6).reshape(2, 3))
    taken = Consumed(array.__dlpack__(dl_device=(1, 0)))
    assert (taken.tensor.device_type, taken.shape) == (1, [2, 3])
    taken.close()

    class OnHost:
        __dlpack_device__ = lambda self: (1, 0)  # noqa: E731

        def __dlpack__(self, **options):
            return array.__dlpack__(dl_device=(1, 0))

    np.testing.assert_array_equal(np.from_dlpack(OnHost()), np.arange(6).reshape(2, 3))


@pytest.mark.parametrize("options", [{"dl_device": (10, 0)}, {"dl_device": (1, 0), "copy": False}])
def test_other_devices_are_refused(driver, options):
    with pytest.raises(ExportError, match=r"the array is on DLPack's device \(2, 0\), and was ask"):
        cuda.to_device(np.ones(3)).__dlpack__(**options)
    with pytest.raises(BufferError):
        cuda.to_device(np.ones(3)).__dlpack__(**options)


def test_small_floats_go_by_dlpack(driver):
    array = cuda.to_device(np.ones(4, ml_dtypes.bfloat16))
    taken = Consumed(array.__dlpack__())
    assert (taken.tensor.code, taken.tensor.bits, taken.tensor.device_type) == (4, 16, 2)
    assert taken.tensor.data == array.address
    taken.close()
    assert cuda.from_dlpack(array).address == array.address


def test_what_is_imported_by_dlpack_is_given_back(library, make):
    array = make(TensorArray, (2, 3), np.float64)
    shared = cuda.from_dlpack(array)
    assert (shared.shape, shared.dtype, shared.address) == ((2, 3), np.float64, array.address)
    assert (array.asked_stream, library.lent) == (1, 1)
    view = shared[1]
    del shared
    gc.collect(1)
    assert library.lent == 1
    del view
    gc.collect(1)
    assert library.lent == 0


def test_managed_and_pinned_memory_is_shared(library, make):
    for kind, stream in ((13, 1), (3, None)):
        array = make(TensorArray, (3,), np.int32)
        array.device = (kind, 0)
        assert cuda.from_dlpack(array).address == array.address
        assert array.asked_stream == stream


def test_host_memory_is_not_shared(driver):
    with pytest.raises(DeviceMismatchError) as raised:
        cuda.from_dlpack(np.zeros(3))
    assert str(raised.value) == (
        "the argument x is on another device\nexpected DLPack device (2, 0), got (1, 0)\n"
        "help: copy it with cuda.to_device(...)"
    )


def test_empty_arrays_are_shared(library, make):
    for kind in (InterfaceArray, TensorArray):
        shared = cuda.as_cuda_array(make(kind, (0, 3), np.int32))
        assert shared.shape == (0, 3)
    taken = Consumed(cuda.device_array((0, 3)).__dlpack__())
    assert taken.shape == [0, 3]
    taken.close()


def test_a_round_trip_by_dlpack_shares_memory(driver):
    class OnlyTensors:
        def __init__(self, array):
            self.__dlpack_device__ = array.__dlpack_device__
            self._array = array

        def __dlpack__(self, **options):
            return self._array.__dlpack__(**options)

    array = cuda.to_device(np.arange(12, dtype=np.float32).reshape(3, 4))
    shared = cuda.from_dlpack(OnlyTensors(array.T))
    assert (shared.address, shared.strides) == (array.address, (4, 16))
    np.testing.assert_array_equal(shared.copy_to_host(), np.arange(12).reshape(3, 4).T)


# -------------------------------------------------------------------------------------- streams


class ForeignStream:
    """A stream object of another library."""

    def __init__(self, handle):
        self.handle = handle

    def __cuda_stream__(self):
        return 0, self.handle


def test_streams_of_other_libraries_are_taken_everywhere(fake_driver, library, make, double, add):
    stream = ForeignStream(library.stream)
    array = make(InterfaceArray, (40,), np.int32)
    library.fill(array, 1)
    double[1, 64, stream](array)
    mine = cuda.device_array(40, np.int32, stream=stream)
    mine.copy_to_device(array, stream=stream)
    event = cuda.event()
    event.record(stream)
    event.wait(stream)
    assert (mine.copy_to_host(stream=stream) == 2 * ONES).all()
    assert cuda.external_stream(library.stream).__cuda_stream__() == (0, library.stream)
    add(mine, mine, out=mine, stream=stream)
    host = np.zeros(40, np.int32)
    mine.copy_to_host(host, stream=stream)
    cuda.external_stream(stream).synchronize()
    assert (host == 4 * ONES).all()


def test_our_streams_are_taken_by_others(driver):
    stream = cuda.stream()
    assert stream.__cuda_stream__() == (0, stream.handle)


def test_memory_of_the_default_stream_is_ready_for_streams_that_do_not_wait_for_it(
    fake_driver, library, double
):
    stream = cuda.external_stream(library.stream)
    old = cuda.to_device(np.ones(4096, np.int32))
    double[16, 256](old)
    del old  # its memory is given back behind the kernel, and may be the next array's
    new = cuda.device_array(4096, np.int32)
    fake_driver.calls.clear()
    double[16, 256, stream](new)
    names = names_of_calls(fake_driver)
    assert names.index("cuStreamWaitEvent") < names.index("cuLaunchKernel")
    fake_driver.calls.clear()
    double[16, 256, stream](new)
    assert "cuStreamWaitEvent" not in names_of_calls(fake_driver)
    stream.synchronize()


def test_memory_of_a_stream_is_ready_for_other_streams(fake_driver, driver, double):
    one, other = cuda.stream(), cuda.stream()
    double[1, 64](cuda.device_array(40, np.int32))
    double[1, 64, one](cuda.device_array(40, np.int32))
    array = cuda.device_array(40, np.int32, stream=one)
    fake_driver.calls.clear()
    double[1, 64, other](array)
    names = names_of_calls(fake_driver)
    if fake_driver.deferred:
        assert names.index("cuStreamWaitEvent") < names.index("cuLaunchKernel")
    fake_driver.calls.clear()
    double[1, 64, one](array)
    assert "cuStreamWaitEvent" not in names_of_calls(fake_driver)
    cuda.synchronize()
    double[1, 64, other](array)
    assert array.buffer.readiness is None
