"""Entry points about memory: device, managed, page-locked, shared between processes."""

from __future__ import annotations

import ctypes
from typing import Any

from tests.fakecuda.driver.entries import entry
from tests.fakecuda.driver.library import cuda_header
from tests.fakecuda.driver.state import Block, Context, System
from tests.fakecuda.driver.status import Code, RefusedError, require

_HOST, _DEVICE, _UNIFIED = 1, 2, 4
_MANAGED_FLAGS = (1, 2, 4)


class MemoryEntries:
    """Entry points that allocate and free at once."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._shared: dict[bytes, int] = {}
        self._opened: dict[int, int] = {}

    def _allocate(self, size: int, kind: str, flags: int = 0) -> Block:
        require(size > 0, Code.INVALID_VALUE, "nothing to allocate")
        context = self.system.current()
        if kind != "host":
            self._make_room(context, size)
            context.device.reserve(size)
        return self.system.blocks.allocate(size, kind, context, flags)

    def _make_room(self, context: Context, size: int) -> None:
        """Let pending work free memory where there is too little."""
        if context.device.used_bytes + size > context.device.memory_bytes:
            self.system.work.finish(context)

    @entry("cuMemAlloc_v2")
    def allocate(self, address: Any, size: int) -> None:
        require(address, Code.INVALID_VALUE)
        address[0] = self._allocate(size, "device").address

    @entry("cuMemAllocPitch_v2")
    def allocate_pitch(
        self, address: Any, pitch: Any, width: int, height: int, element: int
    ) -> None:
        require(element in (4, 8, 16), Code.INVALID_VALUE, "elements of 4, 8 or 16 bytes")
        pitch[0] = -(-width // 512) * 512
        address[0] = self._allocate(pitch[0] * height, "device").address

    @entry("cuMemAllocManaged")
    def allocate_managed(self, address: Any, size: int, flags: int) -> None:
        require(flags in _MANAGED_FLAGS, Code.INVALID_VALUE, "unknown flags")
        address[0] = self._allocate(size, "managed", flags).address

    @entry("cuMemFree_v2")
    def free(self, address: int) -> None:
        if address == 0:
            return
        block = self.system.blocks.at(address)
        if block is None or block.kind not in ("device", "managed") or address in self._opened:
            raise RefusedError(Code.INVALID_VALUE, f"nothing to free at {address:#x}")
        self._settle(block.context)
        if self.system.blocks.at(address) is not block:
            raise RefusedError(Code.INVALID_VALUE, f"{block} was freed by a stream already")
        self.system.free_block(block)
        self.system.current().observe()

    def _settle(self, context: Context) -> None:
        """Wait for the device, as freeing does."""
        self.system.work.finish(context)

    @entry("cuMemGetInfo_v2")
    def info(self, free: Any, total: Any) -> None:
        device = self.system.current().device
        free[0] = device.memory_bytes - device.used_bytes
        total[0] = device.memory_bytes

    @entry("cuMemGetAddressRange_v2")
    def address_range(self, start: Any, size: Any, address: int) -> None:
        block = self.system.blocks.containing(address)
        if block is None:
            raise RefusedError(Code.NOT_FOUND, f"no memory at {address:#x}")
        if start:
            start[0] = block.address
        if size:
            size[0] = block.size

    # ------------------------------------------------------------------------------------ host

    @entry("cuMemHostAlloc")
    def allocate_host(self, address: Any, size: int, flags: int) -> None:
        require(0 <= flags < 8, Code.INVALID_VALUE, "unknown flags")
        address[0] = self._allocate(size, "host", flags).address

    @entry("cuMemAllocHost_v2")
    def allocate_host_plain(self, address: Any, size: int) -> None:
        self.allocate_host(address, size, 0)

    @entry("cuMemFreeHost")
    def free_host(self, address: int | None) -> None:
        block = self.system.blocks.at(address or 0)
        found = block is not None and block.kind == "host"
        if block is None or not found:
            raise RefusedError(Code.INVALID_VALUE, "not from cuMemHostAlloc, or freed")
        self._settle(block.context)
        self.system.free_block(block)

    @entry("cuMemHostRegister_v2")
    def register(self, address: int | None, size: int, flags: int) -> None:
        require(address and size > 0, Code.INVALID_VALUE, "nothing to register")
        require(0 <= flags < 16, Code.INVALID_VALUE, "unknown flags")
        start = address or 0
        overlapping = any(b.address < start + size and start < b.end for b in self.system.blocks)
        require(not overlapping, Code.HOST_MEMORY_ALREADY_REGISTERED)
        self.system.blocks.adopt(Block(start, size, "registered", self.system.current(), flags))

    @entry("cuMemHostUnregister")
    def unregister(self, address: int | None) -> None:
        block = self.system.blocks.at(address or 0)
        if block is None or block.kind != "registered":
            raise RefusedError(Code.HOST_MEMORY_NOT_REGISTERED)
        self._settle(block.context)
        self.system.free_block(block)

    @entry("cuMemHostGetDevicePointer_v2")
    def device_pointer(self, address: Any, host: int | None, flags: int) -> None:
        require(flags == 0, Code.INVALID_VALUE, "flags must be 0")
        block = self.system.blocks.containing(host or 0)
        if block is None or not block.is_host:
            raise RefusedError(Code.INVALID_VALUE, "not page-locked memory")
        address[0] = host

    @entry("cuMemHostGetFlags")
    def host_flags(self, flags: Any, host: int | None) -> None:
        block = self.system.blocks.at(host or 0)
        if block is None or block.kind != "host":
            raise RefusedError(Code.INVALID_VALUE, "not from cuMemHostAlloc")
        flags[0] = block.flags

    # ----------------------------------------------------------------------- between processes

    @entry("cuIpcGetMemHandle")
    def share(self, handle: Any, address: int) -> None:
        block = self.system.blocks.at(address)
        if block is None or block.kind != "device" or block.pool is not None:
            raise RefusedError(Code.INVALID_VALUE, "not from cuMemAlloc")
        name = address.to_bytes(8, "little").ljust(64, b"\x11")
        self._shared[name] = address
        ctypes.memmove(handle, name, 64)

    @entry("cuIpcOpenMemHandle_v2")
    def open_shared(self, address: Any, handle: Any, flags: int) -> None:
        require(flags == 1, Code.INVALID_VALUE, "the only flag is that of lazy peer access")
        found = self._shared.get(ctypes.string_at(ctypes.addressof(handle), 64))
        if found is None or self.system.blocks.at(found) is None:
            raise RefusedError(Code.INVALID_VALUE, "no such memory")
        self._opened[found] = self._opened.get(found, 0) + 1
        address[0] = found

    @entry("cuIpcCloseMemHandle")
    def close_shared(self, address: int) -> None:
        require(address in self._opened, Code.INVALID_VALUE, "not from cuIpcOpenMemHandle")
        self._opened[address] -= 1
        if not self._opened[address]:
            del self._opened[address]

    # --------------------------------------------------------------------------------- managed

    @entry("cuMemAdvise_v2")
    def advise(self, address: int, size: int, advice: int, location: Any) -> None:
        self._require_managed(address, size)

    @entry("cuMemPrefetchAsync_v2")
    def prefetch(
        self, address: int, size: int, location: Any, flags: int, stream: int | None
    ) -> None:
        self._require_managed(address, size)
        self.system.stream(stream)

    def _require_managed(self, address: int, size: int) -> None:
        block = self.system.blocks.containing(address, size)
        if block is None or block.kind != "managed":
            raise RefusedError(Code.INVALID_VALUE, "not managed memory")


class PointerEntries:
    """Entry points that tell what an address is."""

    def __init__(self, system: System) -> None:
        self.system = system
        numbers = cuda_header().enums["CUpointer_attribute"]
        prefix = "CU_POINTER_ATTRIBUTE_"
        self._names = {value: name.removeprefix(prefix) for name, value in numbers.items()}

    @entry("cuPointerGetAttribute", needs="initialization")
    def attribute(self, data: int | None, attribute: int, address: int) -> None:
        block = self.system.blocks.containing(address)
        if block is None:
            raise RefusedError(Code.INVALID_VALUE, f"{address:#x} is no memory that CUDA knows")
        self._store(data, attribute, block, address)

    @entry("cuPointerGetAttributes", needs="initialization")
    def attributes(self, count: int, attributes: Any, data: Any, address: int) -> None:
        block = self.system.blocks.containing(address)
        for position in range(count):
            if block is None:
                ctypes.memset(data[position], 0, 4)
            else:
                self._store(data[position], attributes[position], block, address)

    def _store(self, data: int | None, attribute: int, block: Block, address: int) -> None:
        require(data, Code.INVALID_VALUE)
        pointer, integer, word = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint
        values: dict[str, tuple[Any, int]] = {
            "CONTEXT": (pointer, block.context.handle),
            "MEMORY_TYPE": (word, _HOST if block.is_host else _DEVICE),
            "DEVICE_POINTER": (pointer, address),
            "IS_MANAGED": (word, int(block.kind == "managed")),
            "DEVICE_ORDINAL": (integer, block.context.device.ordinal),
            "RANGE_START_ADDR": (pointer, block.address),
            "RANGE_SIZE": (ctypes.c_size_t, block.size),
            "MAPPED": (ctypes.c_bool, 1),
            "BUFFER_ID": (ctypes.c_ulonglong, block.address),
            "SYNC_MEMOPS": (ctypes.c_bool, 0),
            "MEMPOOL_HANDLE": (pointer, block.pool.handle if block.pool else 0),
            "IS_LEGACY_CUDA_IPC_CAPABLE": (integer, int(block.kind == "device" and not block.pool)),
            "HOST_POINTER": (pointer, address),
        }
        name = self._names.get(attribute, "")
        on_host = block.is_host or block.kind == "managed"
        require(name in values, Code.INVALID_VALUE, f"attribute {attribute}")
        require(name != "HOST_POINTER" or on_host, Code.INVALID_VALUE, "no address for the host")
        ctype, value = values[name]
        ctype.from_address(data).value = value
