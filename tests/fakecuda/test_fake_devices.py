from __future__ import annotations

import ctypes
import threading

import pytest

from tests.fakecuda.client import CallError, Client
from tests.fakecuda.driver import Code, FakeCuda
from tests.fakecuda.driver.library import cuda_header

ATTRIBUTES = cuda_header().constants


@pytest.fixture
def client(fake_driver: FakeCuda) -> Client:
    return Client()


def test_nothing_works_before_initialization(client: Client) -> None:
    count = ctypes.c_int()
    assert client.status("cuDeviceGetCount", count) is Code.NOT_INITIALIZED
    assert client.get("cuDriverGetVersion") == 13000
    client.call("cuInit", 0)
    assert client.get("cuDeviceGetCount") == 1


@pytest.mark.fake_gpus(device_count=0)
def test_a_machine_without_devices(client: Client) -> None:
    assert client.status("cuInit", 0) is Code.NO_DEVICE


@pytest.mark.fake_gpus(device_count=2, compute_capability=(9, 0), version=12040)
def test_devices_are_as_ordered(client: Client) -> None:
    client.call("cuInit", 0)
    assert client.get("cuDriverGetVersion") == 12040
    assert client.get("cuDeviceGet", 1) == 1
    assert client.status("cuDeviceGet", ctypes.c_int(), 2) is Code.INVALID_DEVICE
    for name, value in {
        "COMPUTE_CAPABILITY_MAJOR": 9,
        "COMPUTE_CAPABILITY_MINOR": 0,
        "WARP_SIZE": 32,
        "MAX_SHARED_MEMORY_PER_BLOCK_OPTIN": 227 * 1024,
    }.items():
        assert (
            client.get("cuDeviceGetAttribute", ATTRIBUTES[f"CU_DEVICE_ATTRIBUTE_{name}"], 0)
            == value
        )
    assert client.status("cuDeviceGetAttribute", ctypes.c_int(), 10_000, 0) is Code.INVALID_VALUE
    assert client.get("cuDeviceTotalMem_v2", 0) == 1 << 28
    text = ctypes.create_string_buffer(8)
    client.call("cuDeviceGetName", text, 8, 0)
    assert text.value == b"Simulat"
    assert client.get("cuDeviceCanAccessPeer", 0, 1) == 1
    uuids = {bytes(client.get("cuDeviceGetUuid_v2", device)) for device in (0, 1)}
    assert len(uuids) == 2


@pytest.mark.fake_gpus(compute_capability=[(8, 0), (9, 0)])
def test_devices_may_differ(client: Client) -> None:
    client.call("cuInit", 0)
    number = ATTRIBUTES["CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR"]
    assert [client.get("cuDeviceGetAttribute", number, device) for device in (0, 1)] == [8, 9]


def test_errors_have_names(client: Client) -> None:
    for function in ("cuGetErrorName", "cuGetErrorString"):
        text = client.get(function, 700, at=1)
        assert b"illegal" in ctypes.string_at(text).lower()
        assert client.status(function, 12345, ctypes.c_void_p()) is Code.INVALID_VALUE


def test_the_primary_context_lives_as_long_as_it_is_retained(client: Client) -> None:
    first = client.start()
    assert client.get("cuDevicePrimaryCtxRetain", 0) == first
    address = client.allocate(100)
    client.call("cuDevicePrimaryCtxRelease_v2", 0)
    client.call("cuMemsetD8_v2", address, 1, 100)
    client.call("cuDevicePrimaryCtxRelease_v2", 0)
    assert client.status("cuMemFree_v2", address) is Code.CONTEXT_IS_DESTROYED
    assert client.status("cuDevicePrimaryCtxRelease_v2", 0) is Code.INVALID_CONTEXT
    assert client.start() != first
    assert client.status("cuMemFree_v2", address) is Code.INVALID_VALUE


def test_threads_have_stacks_of_contexts_of_their_own(client: Client) -> None:
    context = client.start()
    seen: list[object] = []

    def look() -> None:
        seen.append(client.get("cuCtxGetCurrent"))
        seen.append(client.status("cuMemAlloc_v2", ctypes.c_uint64(), 16))
        client.call("cuCtxPushCurrent_v2", context)
        seen.append(client.get("cuCtxPopCurrent_v2"))
        seen.append(client.status("cuCtxPopCurrent_v2", None))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [None, Code.INVALID_CONTEXT, context, Code.INVALID_CONTEXT]
    assert client.get("cuCtxGetCurrent") == context


def test_other_contexts_are_destroyed_with_what_they_own(
    client: Client, fake_driver: FakeCuda
) -> None:
    primary = client.start()
    other = client.get("cuCtxCreate_v2", 0, 0)
    assert client.get("cuCtxGetCurrent") == other != primary
    client.allocate(1000)
    client.call("cuCtxDestroy_v2", other)
    assert client.get("cuCtxGetCurrent") == primary
    assert fake_driver.leaks() == []
    assert client.status("cuCtxDestroy_v2", primary) is Code.INVALID_CONTEXT
    assert client.status("cuCtxSetCurrent", other) is Code.CONTEXT_IS_DESTROYED
    assert client.status("cuCtxSetCurrent", 4711) is Code.INVALID_CONTEXT


@pytest.mark.fake_gpus(device_count=2)
def test_peer_access_is_switched_on_once(client: Client) -> None:
    other = client.start(1)
    own = client.start(0)
    assert client.status("cuCtxEnablePeerAccess", own, 0) is Code.INVALID_DEVICE
    client.call("cuCtxEnablePeerAccess", other, 0)
    assert client.status("cuCtxEnablePeerAccess", other, 0) is Code.PEER_ACCESS_ALREADY_ENABLED
    client.call("cuCtxDisablePeerAccess", other)
    assert client.status("cuCtxDisablePeerAccess", other) is Code.PEER_ACCESS_NOT_ENABLED


def test_calls_fail_when_a_test_wants_it(client: Client, fake_driver: FakeCuda) -> None:
    client.start()
    fake_driver.fail("cuMemAlloc", Code.OUT_OF_MEMORY, on_call=2)
    client.allocate(16)
    with pytest.raises(CallError, match="cuMemAlloc_v2 returned OUT_OF_MEMORY"):
        client.allocate(16)
    client.allocate(16)
    fake_driver.fail("cuCtxSynchronize", Code.LAUNCH_FAILED, on_call=0)
    assert client.status("cuCtxSynchronize") is Code.LAUNCH_FAILED
    assert client.status("cuCtxSynchronize") is Code.LAUNCH_FAILED
    with pytest.raises(KeyError, match="no function cuTypo"):
        fake_driver.fail("cuTypo", 1)


def test_calls_are_recorded(client: Client, fake_driver: FakeCuda) -> None:
    client.start()
    address = client.allocate(48)
    stream = client.stream()
    client.call("cuMemsetD8Async", address, 7, 48, stream)
    client.status("cuMemFree_v2", 4711)
    (made,) = fake_driver.calls.named("cuMemAlloc")
    assert made.arguments == {"dptr": address, "bytesize": 48}
    assert made.thread == threading.get_ident()
    (fill,) = fake_driver.calls.on_stream(stream)
    assert fill.name == "cuMemsetD8Async"
    (failed,) = fake_driver.calls.failed()
    assert (
        str(failed)
        == "cuMemFree_v2(dptr=4711) -> CUDA_ERROR_INVALID_VALUE nothing to free at 0x1267"
    )
    assert fake_driver.calls.names()[:2] == ["cuInit", "cuDevicePrimaryCtxRetain"]


@pytest.mark.fake_gpus(version=12040)
@pytest.mark.parametrize(
    ("name", "version", "exported"),
    [
        ("cuMemAlloc", 12040, "cuMemAlloc_v2"),
        ("cuInit", 2000, "cuInit"),
        ("cuEventElapsedTime", 13000, "cuEventElapsedTime"),
        ("cuMemAllocAsync", 11020, "cuMemAllocAsync"),
    ],
)
def test_functions_are_found_by_name_and_version(
    client: Client, name: str, version: int, exported: str
) -> None:
    found = client.get("cuGetProcAddress", name.encode(), version, 0, at=1)
    library = ctypes.CDLL("libcuda.so.1")
    assert found == ctypes.cast(library[exported], ctypes.c_void_p).value


def test_functions_that_are_too_new_or_unknown_are_not_found(client: Client) -> None:
    found, status = ctypes.c_void_p(1), ctypes.c_int()
    for name, version, told in ((b"cuMemAllocAsync", 11010, 2), (b"cuTypo", 13000, 1)):
        code = client.status("cuGetProcAddress_v2", name, found, version, 0, status)
        assert code is Code.NOT_FOUND
        assert (found.value, status.value) == (None, told)


def test_the_last_installed_driver_answers() -> None:
    client = Client()
    with FakeCuda(version=12000):
        with FakeCuda(version=11000):
            assert client.get("cuDriverGetVersion") == 11000
        assert client.get("cuDriverGetVersion") == 12000
    assert client.status("cuInit", 0) is Code.NO_DEVICE
