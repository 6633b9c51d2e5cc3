import gc

import numpy as np

from pygpulib.core.driver_cpu import CpuDriver
from pygpulib.core.driver_null import NullDriver
from pygpulib.core.memory import Buffer, MemoryPointer


def test_memory_goes_back_when_the_buffer_dies():
    driver = CpuDriver()
    buffer = Buffer.allocate(driver, 1000)
    assert driver.pool.used_bytes == 1024
    del buffer
    assert driver.pool.used_bytes == 0


def test_a_numpy_view_keeps_the_memory():
    driver = CpuDriver()
    view = np.asarray(Buffer.allocate(driver, 1000))[10:20]
    gc.collect()
    assert driver.pool.used_bytes == 1024
    assert view.flags.writeable
    del view
    assert driver.pool.used_bytes == 0


def test_borrowed_memory_is_not_given_back_and_its_owner_stays_alive():
    driver, owner = NullDriver(), np.zeros(3)
    buffer = Buffer(driver, 64, 24, owner=owner)
    assert buffer.owner is owner
    del buffer
    assert driver.calls == []


def test_no_allocation_leaks():
    driver = CpuDriver()
    for size in range(2000):
        Buffer.allocate(driver, size)
    assert driver.pool.used_bytes == 0


def test_reprs():
    buffer = Buffer(NullDriver(), 4096, 24, owner=object())
    assert repr(buffer) == "<Buffer of 24 bytes at 0x1000>"
    assert repr(MemoryPointer(buffer, 4104, 16)) == "<MemoryPointer 0x1008, 16 bytes>"


def test_a_pointer_is_its_address():
    buffer = Buffer(NullDriver(), 4096, 24, owner=object())
    pointer = MemoryPointer(buffer, 4104, 16)
    assert int(pointer) == pointer.device_pointer == pointer.handle == 4104
    assert pointer.device_pointer_value == pointer.device_ctypes_pointer.value == 4104
    assert pointer.size == 16
    assert pointer == MemoryPointer(buffer, 4104, 8)
    assert pointer != MemoryPointer(buffer, 4096, 16)
    assert hash(pointer) == hash(MemoryPointer(buffer, 4104, 8))
