"""Entry points about memory that streams allocate and free in the order of their work."""

from __future__ import annotations

import ctypes
from typing import Any

from tests.fakecuda.driver.entries import entry
from tests.fakecuda.driver.library import cuda_header
from tests.fakecuda.driver.state import LIVE, PENDING, Block, Device, System
from tests.fakecuda.driver.status import Code, DeviceFaultError, RefusedError, require
from tests.fakecuda.driver.work import Stream


class Pool:
    """Memory of a device that streams share out."""

    def __init__(self, device: Device, limit: int = 0, *, is_created: bool = False) -> None:
        self.device = device
        self.is_created = is_created  # by the program; each device has one from the start
        self.limit = limit
        self.handle = 0
        self.used = 0
        self.used_high = 0
        self.reserved = 0
        self.reserved_high = 0
        self.values = {"RELEASE_THRESHOLD": 0}
        self.values |= dict.fromkeys(_REUSE, 1)

    def take(self, size: int) -> None:
        """Count memory as used."""
        require(not self.limit or self.used + size <= self.limit, Code.OUT_OF_MEMORY, "full pool")
        self.used += size
        self.used_high = max(self.used, self.used_high)
        self.reserved = max(self.reserved, self.used)
        self.reserved_high = max(self.reserved, self.reserved_high)

    def trim(self, keep: int) -> None:
        """Give unused memory back to the system."""
        self.reserved = max(self.used, min(self.reserved, keep))


_REUSE = (
    "REUSE_FOLLOW_EVENT_DEPENDENCIES",
    "REUSE_ALLOW_OPPORTUNISTIC",
    "REUSE_ALLOW_INTERNAL_DEPENDENCIES",
)


class PoolEntries:
    """Entry points about pools."""

    def __init__(self, system: System) -> None:
        self.system = system
        numbers = cuda_header().enums["CUmemPool_attribute"]
        prefix = "CU_MEMPOOL_ATTR_"
        self._names = {value: name.removeprefix(prefix) for name, value in numbers.items()}
        self._default: dict[int, Pool] = {}
        self._current: dict[int, Pool] = {}

    def _find(self, pool: int | None) -> Pool:
        return self.system.handles.find(Pool, pool, Code.INVALID_VALUE)

    def _add(self, pool: Pool) -> Pool:
        pool.handle = self.system.handles.add(pool)
        return pool

    def _default_pool(self, ordinal: int) -> Pool:
        device = self.system.device(ordinal)
        if ordinal not in self._default:
            self._default[ordinal] = self._add(Pool(device))
        return self._default[ordinal]

    def _current_pool(self, ordinal: int) -> Pool:
        return self._current.get(ordinal) or self._default_pool(ordinal)

    # ---------------------------------------------------------------------------------- memory

    @entry("cuMemAllocAsync")
    def allocate(self, address: Any, size: int, stream: int | None) -> None:
        target = self.system.stream(stream)
        self._allocate(address, size, self._current_pool(target.context.device.ordinal), target)

    @entry("cuMemAllocFromPoolAsync")
    def allocate_from(self, address: Any, size: int, pool: int | None, stream: int | None) -> None:
        self._allocate(address, size, self._find(pool), self.system.stream(stream))

    def _allocate(self, address: Any, size: int, pool: Pool, stream: Stream) -> None:
        require(address, Code.INVALID_VALUE)
        require(size > 0, Code.INVALID_VALUE, "nothing to allocate")
        if pool.device.used_bytes + size > pool.device.memory_bytes:
            self.system.work.finish(stream.context)
        pool.take(size)
        pool.device.reserve(size)
        block = self.system.blocks.allocate(size, "device", stream.context)
        block.pool = pool
        block.state = PENDING

        def begin() -> None:
            block.state = LIVE

        self.system.work.submit(stream, "allocate", begin)
        address[0] = block.address

    @entry("cuMemFreeAsync")
    def free(self, address: int, stream: int | None) -> None:
        target = self.system.stream(stream)
        if address == 0:
            return
        block = self.system.blocks.at(address)
        if block is None or block.kind != "device" or block.is_leaving:
            raise RefusedError(Code.INVALID_VALUE, f"nothing to free at {address:#x}")
        block.is_leaving = True
        self.system.work.submit(target, "free", lambda: self._finish_free(block))

    def _finish_free(self, block: Block) -> None:
        if self.system.blocks.at(block.address) is not block:
            raise DeviceFaultError(Code.ILLEGAL_ADDRESS, f"{block} is freed twice")
        if block.state == PENDING:
            raise DeviceFaultError(Code.ILLEGAL_ADDRESS, f"{block} is freed before it is allocated")
        self.system.free_block(block)
        if block.pool is not None and block.pool.reserved > block.pool.values["RELEASE_THRESHOLD"]:
            block.pool.trim(block.pool.values["RELEASE_THRESHOLD"])

    # ----------------------------------------------------------------------------------- pools

    @entry("cuDeviceGetDefaultMemPool", needs="initialization")
    def default_pool(self, pool: Any, device: int) -> None:
        pool[0] = self._default_pool(device).handle

    @entry("cuDeviceGetMemPool", needs="initialization")
    def current_pool(self, pool: Any, device: int) -> None:
        pool[0] = self._current_pool(device).handle

    @entry("cuDeviceSetMemPool", needs="initialization")
    def set_pool(self, device: int, pool: int | None) -> None:
        found = self._find(pool)
        require(found.device is self.system.device(device), Code.INVALID_VALUE, "another device's")
        self._current[device] = found

    @entry("cuMemPoolCreate", needs="initialization")
    def create(self, pool: Any, properties: Any) -> None:
        require(properties, Code.INVALID_VALUE)
        wanted = properties[0]
        require(wanted.allocType == 1, Code.INVALID_VALUE, "pools hold pinned memory")
        require(wanted.location.type == 1, Code.INVALID_VALUE, "pools lie on devices")
        device = self.system.device(wanted.location.id)
        pool[0] = self._add(Pool(device, wanted.maxSize, is_created=True)).handle

    @entry("cuMemPoolDestroy", needs="initialization")
    def destroy(self, pool: int | None) -> None:
        found = self._find(pool)
        kept = found in self._default.values()
        require(not kept, Code.INVALID_VALUE, "default pools stay")
        self.system.handles.remove(Pool, pool)
        self._current = {k: v for k, v in self._current.items() if v is not found}

    @entry("cuMemPoolTrimTo", needs="initialization")
    def trim(self, pool: int | None, keep: int) -> None:
        self._find(pool).trim(keep)

    @entry("cuMemPoolSetAttribute", needs="initialization")
    def set_attribute(self, pool: int | None, attribute: int, value: int | None) -> None:
        found = self._find(pool)
        name = self._names.get(attribute, "")
        require(value and name, Code.INVALID_VALUE, f"attribute {attribute}")
        if name in found.values:
            found.values[name] = self._slot(name, value).value
            return
        high = name in ("USED_MEM_HIGH", "RESERVED_MEM_HIGH")
        zero = self._slot(name, value).value == 0
        require(high and zero, Code.INVALID_VALUE, "peaks can only be set to 0")
        if name == "USED_MEM_HIGH":
            found.used_high = found.used
        else:
            found.reserved_high = found.reserved

    @entry("cuMemPoolGetAttribute", needs="initialization")
    def get_attribute(self, pool: int | None, attribute: int, value: int | None) -> None:
        found = self._find(pool)
        known = found.values | {
            "RESERVED_MEM_CURRENT": found.reserved,
            "RESERVED_MEM_HIGH": found.reserved_high,
            "USED_MEM_CURRENT": found.used,
            "USED_MEM_HIGH": found.used_high,
        }
        name = self._names.get(attribute, "")
        require(value and name in known, Code.INVALID_VALUE, f"attribute {attribute}")
        self._slot(name, value).value = known[name]

    @staticmethod
    def _slot(name: str, address: int | None) -> Any:
        ctype = ctypes.c_int if name in _REUSE else ctypes.c_uint64
        return ctype.from_address(address or 0)

    @entry("cuMemPoolSetAccess", needs="initialization")
    def set_access(self, pool: int | None, descriptions: Any, count: int) -> None:
        found = self._find(pool)
        for position in range(count):
            location = descriptions[position].location
            require(location.type == 1, Code.INVALID_VALUE, "pools are used by devices")
            device = self.system.device(location.id)
            require(
                device is not found.device or descriptions[position].flags == 3,
                Code.INVALID_VALUE,
                "a device keeps access to its own pools",
            )

    @entry("cuMemPoolGetAccess", needs="initialization")
    def get_access(self, flags: Any, pool: int | None, location: Any) -> None:
        flags[0] = 3 if location[0].id == self._find(pool).device.ordinal else 0
