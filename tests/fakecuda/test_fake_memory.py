from __future__ import annotations

import ctypes

import pytest

from tests.fakecuda.client import Client
from tests.fakecuda.driver import Code, FakeCuda
from tests.fakecuda.driver.library import cuda_header

TYPES = cuda_header().types
CONSTANTS = cuda_header().constants
WORDS = bytes(range(256))


@pytest.fixture
def client(fake_driver: FakeCuda) -> Client:
    client = Client()
    client.start()
    return client


def test_new_memory_holds_garbage_and_old_memory_is_gone(
    client: Client, fake_driver: FakeCuda
) -> None:
    address = client.allocate(1000)
    assert address % 256 == 0
    assert client.download(address, 1000) == b"\xa5" * 1000
    client.call("cuMemcpyHtoD_v2", address, WORDS, 256)
    client.call("cuMemFree_v2", address)
    assert client.status("cuMemFree_v2", address) is Code.INVALID_VALUE
    target = ctypes.create_string_buffer(4)
    assert client.status("cuMemcpyDtoH_v2", target, address, 4) is Code.INVALID_VALUE
    assert ctypes.string_at(address, 256) == b"\xa5" * 256
    assert fake_driver.leaks() == []


@pytest.mark.parametrize("shift", [0, 1, 250])
def test_copies_move_bytes_between_all_places(client: Client, shift: int) -> None:
    size = 256 - shift
    first, second = client.allocate(256), client.allocate(256)
    client.call("cuMemcpyHtoD_v2", first + shift, WORDS, size)
    client.call("cuMemcpyDtoD_v2", second, first + shift, size)
    assert client.download(second, size) == WORDS[:size]
    client.call("cuMemcpy", first, second, size)
    assert client.download(first, size) == WORDS[:size]


def test_copies_that_leave_an_allocation_are_refused(client: Client) -> None:
    address = client.allocate(64)
    for start, size in ((address, 65), (address + 60, 5), (address - 1, 2), (4096, 1)):
        assert client.status("cuMemcpyHtoD_v2", start, WORDS, size) is Code.INVALID_VALUE
        assert client.status("cuMemsetD8_v2", start, 0, size) is Code.INVALID_VALUE
    assert client.status("cuMemcpyHtoD_v2", address, None, 8) is Code.INVALID_VALUE
    client.call("cuMemcpyHtoD_v2", 0, None, 0)


def test_memory_ends(client: Client) -> None:
    address = ctypes.c_uint64()
    assert client.status("cuMemAlloc_v2", address, 0) is Code.INVALID_VALUE
    assert client.status("cuMemAlloc_v2", address, 1 << 40) is Code.OUT_OF_MEMORY
    total = ctypes.c_size_t()
    free = ctypes.c_size_t()
    first = client.allocate(1 << 20)
    client.call("cuMemGetInfo_v2", free, total)
    assert (free.value, total.value) == ((1 << 28) - (1 << 20), 1 << 28)
    client.call("cuMemFree_v2", first)
    client.call("cuMemGetInfo_v2", free, total)
    assert free.value == total.value


@pytest.mark.parametrize(("bits", "value"), [(8, 0x5A), (16, 0x1234), (32, 0xDEADBEEF)])
def test_memory_is_filled(client: Client, bits: int, value: int) -> None:
    address = client.allocate(64)
    width = bits // 8
    client.call(f"cuMemsetD{bits}_v2", address, 0, 64 // width)
    client.call(f"cuMemsetD{bits}Async", address + width, value, 3, None)
    pattern = value.to_bytes(width, "little")
    expected = bytes(width) + pattern * 3 + bytes(64 - 4 * width)
    assert client.download(address, 64) == expected
    if width > 1:
        assert client.status(f"cuMemsetD{bits}_v2", address + 1, 0, 1) is Code.INVALID_VALUE


def test_rows_are_filled_and_copied(client: Client) -> None:
    address = client.allocate(16 * 4)
    client.call("cuMemsetD8_v2", address, 0, 64)
    client.call("cuMemsetD2D8_v2", address + 1, 16, 9, 3, 4)
    row = b"\0\x09\x09\x09" + bytes(12)
    assert client.download(address, 64) == row * 4
    target = ctypes.create_string_buffer(8 * 3)
    copy = TYPES["CUDA_MEMCPY2D"](
        srcMemoryType=2, srcDevice=address, srcPitch=16, srcXInBytes=2, srcY=1,
        dstMemoryType=1, dstHost=ctypes.addressof(target), dstPitch=8, dstXInBytes=1,
        WidthInBytes=4, Height=3,
    )  # fmt: skip
    client.call("cuMemcpy2D_v2", copy)
    assert target.raw == b"\0\x09\x09\0\0\0\0\0" * 3
    copy.dstPitch = 4
    assert client.status("cuMemcpy2D_v2", copy) is Code.INVALID_VALUE
    copy.dstPitch, copy.srcMemoryType = 8, 3
    assert client.status("cuMemcpy2D_v2", copy) is Code.INVALID_VALUE
    copy.srcMemoryType, copy.Height = 2, 4
    assert client.status("cuMemcpy2D_v2", copy) is Code.INVALID_VALUE


def test_planes_are_copied(client: Client) -> None:
    # A cube of 2 x 3 rows of 4 bytes, out of one of 3 x 4 rows of 8 bytes.
    source = bytes(range(96))
    address = client.upload(source)
    target = ctypes.create_string_buffer(24)
    copy = TYPES["CUDA_MEMCPY3D"](
        srcMemoryType=2, srcDevice=address, srcPitch=8, srcHeight=4,
        srcXInBytes=3, srcY=1, srcZ=1,
        dstMemoryType=1, dstHost=ctypes.addressof(target), dstPitch=4, dstHeight=3,
        WidthInBytes=4, Height=3, Depth=2,
    )  # fmt: skip
    client.call("cuMemcpy3D_v2", copy)
    expected = b"".join(source[z * 32 + y * 8 + 3 :][:4] for z in (1, 2) for y in (1, 2, 3))
    assert target.raw == expected


def test_page_locked_memory_is_the_devices_too(client: Client, fake_driver: FakeCuda) -> None:
    host = client.host(64)
    address = ctypes.addressof(host)
    assert client.get("cuMemHostGetDevicePointer_v2", address, 0) == address
    client.call("cuMemsetD8_v2", address, 3, 64)
    client.call("cuCtxSynchronize")
    assert host.raw == b"\3" * 64
    assert client.status("cuMemFree_v2", address) is Code.INVALID_VALUE
    client.call("cuMemFreeHost", address)
    assert client.status("cuMemFreeHost", address) is Code.INVALID_VALUE
    assert fake_driver.leaks() == []


def test_memory_of_the_program_is_registered(client: Client, fake_driver: FakeCuda) -> None:
    own = ctypes.create_string_buffer(100)
    address = ctypes.addressof(own)
    assert client.status("cuMemHostUnregister", address) is Code.HOST_MEMORY_NOT_REGISTERED
    client.call("cuMemHostRegister_v2", address, 100, 2)
    again = client.status("cuMemHostRegister_v2", address + 50, 10, 0)
    assert again is Code.HOST_MEMORY_ALREADY_REGISTERED
    device = client.get("cuMemHostGetDevicePointer_v2", address + 10, 0)
    client.call("cuMemsetD8_v2", device, 8, 90)
    assert len(fake_driver.leaks()) == 1
    client.call("cuMemHostUnregister", address)
    assert own.raw == bytes(10) + b"\x08" * 90
    assert fake_driver.leaks() == []


def test_managed_memory_has_one_address(client: Client) -> None:
    address = client.get("cuMemAllocManaged", 32, 1)
    ctypes.memmove(address, WORDS, 32)
    assert client.download(address, 32) == WORDS[:32]
    client.call("cuMemFree_v2", address)


@pytest.mark.fake_gpus(device_count=2)
def test_addresses_tell_what_they_are(client: Client) -> None:
    context = client.start(1)
    device = client.allocate(100)
    host = ctypes.addressof(client.host(10))
    managed = client.get("cuMemAllocManaged", 10, 1)

    def ask(name: str, address: int) -> int | None:
        value = ctypes.c_uint64()
        number = CONSTANTS[f"CU_POINTER_ATTRIBUTE_{name}"]
        client.call("cuPointerGetAttribute", ctypes.addressof(value), number, address)
        return value.value

    assert [ask("MEMORY_TYPE", p) for p in (device, host, managed)] == [2, 1, 2]
    assert [ask("IS_MANAGED", p) for p in (device, host, managed)] == [0, 0, 1]
    assert ask("DEVICE_ORDINAL", device + 99) == 1
    assert ask("CONTEXT", device) == context
    assert (ask("RANGE_START_ADDR", device + 5), ask("RANGE_SIZE", device + 5)) == (device, 100)
    value = ctypes.c_uint64()
    for number, address in ((2, 4096), (9999, device), (4, device)):
        code = client.status("cuPointerGetAttribute", ctypes.addressof(value), number, address)
        assert code is Code.INVALID_VALUE
    assert client.get("cuMemGetAddressRange_v2", ctypes.c_size_t(), device + 7) == device


def test_memory_is_shared_between_processes_only_as_a_whole(client: Client) -> None:
    address = client.upload(WORDS)
    handle = client.get("cuIpcGetMemHandle", address)
    opened = client.get("cuIpcOpenMemHandle_v2", handle, 1)
    assert client.download(opened, 256) == WORDS
    assert client.status("cuMemFree_v2", opened) is Code.INVALID_VALUE
    client.call("cuIpcCloseMemHandle", opened)
    assert client.status("cuIpcCloseMemHandle", opened) is Code.INVALID_VALUE
    assert (
        client.status("cuIpcGetMemHandle", TYPES["CUipcMemHandle"](), address + 1)
        is Code.INVALID_VALUE
    )
    client.call("cuMemFree_v2", address)
    assert (
        client.status("cuIpcOpenMemHandle_v2", ctypes.c_uint64(), handle, 1) is Code.INVALID_VALUE
    )


def _pool_value(client: Client, pool: int, name: str) -> int:
    value = ctypes.c_uint64()
    number = CONSTANTS[f"CU_MEMPOOL_ATTR_{name}"]
    client.call("cuMemPoolGetAttribute", pool, number, ctypes.addressof(value))
    return value.value


def test_pools_count_what_streams_use(client: Client, fake_driver: FakeCuda) -> None:
    properties = TYPES["CUmemPoolProps"](allocType=1)
    properties.location.type = 1
    pool = client.get("cuMemPoolCreate", properties)
    keep = ctypes.c_uint64(1 << 20)
    number = CONSTANTS["CU_MEMPOOL_ATTR_RELEASE_THRESHOLD"]
    client.call("cuMemPoolSetAttribute", pool, number, ctypes.addressof(keep))
    stream = client.stream()
    address = client.get("cuMemAllocFromPoolAsync", 5000, pool, stream)
    client.call("cuMemsetD8Async", address, 1, 5000, stream)
    client.call("cuMemFreeAsync", address, stream)
    assert client.status("cuMemFreeAsync", address, stream) is Code.INVALID_VALUE
    client.call("cuStreamSynchronize", stream)
    assert _pool_value(client, pool, "USED_MEM_CURRENT") == 0
    assert _pool_value(client, pool, "USED_MEM_HIGH") == 5000
    assert _pool_value(client, pool, "RESERVED_MEM_CURRENT") == 5000
    client.call("cuMemPoolTrimTo", pool, 0)
    assert _pool_value(client, pool, "RESERVED_MEM_CURRENT") == 0
    client.call("cuStreamDestroy_v2", stream)
    client.call("cuMemPoolDestroy", pool)
    assert client.status("cuMemPoolTrimTo", pool, 0) is Code.INVALID_VALUE
    assert fake_driver.leaks() == []


def test_default_pools_stay(client: Client) -> None:
    pool = client.get("cuDeviceGetDefaultMemPool", 0)
    assert client.get("cuDeviceGetMemPool", 0) == pool
    assert client.status("cuMemPoolDestroy", pool) is Code.INVALID_VALUE
    address = client.get("cuMemAllocAsync", 16, None)
    assert _pool_value(client, pool, "USED_MEM_CURRENT") == 16
    client.call("cuMemFree_v2", address)
    assert _pool_value(client, pool, "USED_MEM_CURRENT") == 0


def test_leaks_are_named(client: Client, fake_driver: FakeCuda) -> None:
    client.allocate(77)
    client.stream()
    client.event()
    found = " ".join(fake_driver.leaks())
    assert "device memory of 77 bytes" in found
    assert "stream 0x" in found
    assert "event 0x" in found


def test_freed_memory_is_not_given_out_again_at_once(client: Client) -> None:
    first = client.allocate(64)
    client.call("cuMemFree_v2", first)
    assert client.allocate(64) != first


def test_writes_of_the_host_to_freed_memory_are_found() -> None:
    with FakeCuda() as fake:
        client = Client()
        client.start()
        kept, freed = client.host(64), client.host(64)
        client.call("cuMemFreeHost", ctypes.addressof(freed))
        assert fake.late_writes() == []
        other = client.host(64)
        client.call("cuMemFreeHost", ctypes.addressof(other))
        kept.raw = other.raw = b"x" * 64
        (found,) = fake.late_writes()
        assert f"host memory of 64 bytes at {ctypes.addressof(other):#x} was written" in found
