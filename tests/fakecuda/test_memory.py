"""Device memory of the simulated GPU."""

from __future__ import annotations

import numpy as np
import pytest

from tests.fakecuda.memory import DeviceMemory, OutOfDeviceMemoryError


def test_what_is_written_can_be_read():
    memory = DeviceMemory(1 << 16)
    address = memory.allocate(10)
    memory.write(address, b"0123456789")
    assert memory.read(address + 3, 4) == b"3456"
    memory.view(address, 10)[0] = 65
    assert memory.read(address, 2) == b"A1"
    # An address is that of the host's memory.
    import ctypes

    assert ctypes.string_at(address, 3) == b"A12"


def test_accesses_must_lie_in_one_allocation():
    memory = DeviceMemory(1 << 16)
    first, second = memory.allocate(10), memory.allocate(10)
    for address, size in (
        (first, 11),
        (first - 1, 2),
        (first + 10, 1),
        (first, second - first + 1),
    ):
        with pytest.raises(IndexError, match="not in one allocation"):
            memory.view(address, size)
    assert memory.read(first, 0) == b""
    assert memory.find(first + 9) == (first, 10)
    assert memory.find(first + 10) is None
    assert memory.find(0) is None


def test_allocations_are_aligned_and_apart():
    memory = DeviceMemory(1 << 20)
    random = np.random.default_rng(0)
    live: dict[int, int] = {}
    for _ in range(300):
        if live and random.random() < 0.4:
            address = list(live)[int(random.integers(len(live)))]
            memory.free(address)
            del live[address]
            continue
        size, align = int(random.integers(0, 5000)), int(2 ** random.integers(0, 13))
        address = memory.allocate(size, align)
        assert address % align == 0
        for other, length in live.items():
            assert address + size < other or other + length < address
        live[address] = size
    assert memory.allocations == live
    assert memory.used_bytes == sum(live.values())
    for address in live:
        memory.free(address)
    # All is whole again.
    memory.allocate((1 << 20) - 4096)


def test_full_memory_and_wrong_frees():
    memory = DeviceMemory(4096)
    with pytest.raises(OutOfDeviceMemoryError, match="5000 bytes do not fit"):
        memory.allocate(5000)
    address = memory.allocate(100)
    with pytest.raises(KeyError):
        memory.free(address + 1)
    memory.free(address)
    with pytest.raises(KeyError):
        memory.free(address)


def test_the_first_wrong_access_is_found():
    memory = DeviceMemory(1 << 16)
    first, second = memory.allocate(64), memory.allocate(64)
    good = np.array([first, second + 60, first + 60], np.uint64)
    assert memory.first_outside(good, 4) is None
    assert memory.first_outside(good + np.uint64(1), 4) == 1
    wild = np.array([first, 2**64 - 2, 0], np.uint64)
    assert memory.first_outside(wild, 4) == 1
    assert memory.first_outside(good[:0], 4) is None
