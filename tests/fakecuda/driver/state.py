"""What the fake driver keeps: devices, contexts, handles and allocations."""

from __future__ import annotations

import bisect
import ctypes
import itertools
import os
import threading
from typing import TYPE_CHECKING, Any, TypeVar

from tests.fakecuda.driver.status import Code, DeviceFaultError, RefusedError, require
from tests.fakecuda.driver.unified import UnifiedMemory
from tests.fakecuda.driver.work import LEGACY, PER_THREAD, Scheduler, Stream

if TYPE_CHECKING:
    from collections.abc import Iterator

T = TypeVar("T")

POISON = 0xA5
QUARANTINE_BYTES = 1 << 24
ALIGNMENT = 512  # of cuMemAlloc, as drivers do it
_numbers = itertools.count(0x5000_0000_0010, 0x10)  # also those of different drivers differ
PENDING, LIVE, FREED = "pending", "live", "freed"


class Handles:
    """Opaque handles of a driver's objects; none is ever used for a second object."""

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}

    def add(self, thing: object) -> int:
        """Return a new handle."""
        handle = next(_numbers)
        self._objects[handle] = thing
        return handle

    def find(self, kind: type[T], handle: int | None, code: int = Code.INVALID_HANDLE) -> T:
        """Return the object of a kind behind a handle."""
        found = self._objects.get(handle or 0)
        if not isinstance(found, kind):
            raise RefusedError(code, f"{handle!r} is no {kind.__name__.lower()}")
        return found

    def remove(self, kind: type[T], handle: int | None, code: int = Code.INVALID_HANDLE) -> T:
        """Return the object of a kind behind a handle and forget the handle."""
        found = self.find(kind, handle, code)
        del self._objects[handle or 0]
        return found

    def of_kind(self, kind: type[T]) -> Iterator[tuple[int, T]]:
        """Yield handles and objects of a kind."""
        return ((h, x) for h, x in list(self._objects.items()) if isinstance(x, kind))


class Block:
    """A piece of memory that the device can use.

    `kind` is "device", "managed", "host" (page-locked) or "registered" (the program's own, made
    page-locked). Registered memory has the same address for the host and the device.
    """

    def __init__(
        self, address: int, size: int, kind: str, context: Context, flags: int = 0
    ) -> None:
        self.address = address
        self.size = size
        self.kind = kind
        self.context = context
        self.flags = flags
        self.state = LIVE
        self.is_leaving = False  # a stream has still to free it
        self.pool: Any = None

    @property
    def end(self) -> int:
        return self.address + self.size

    @property
    def is_host(self) -> bool:
        return self.kind in ("host", "registered")

    def __repr__(self) -> str:
        return f"{self.kind} memory of {self.size} bytes at {self.address:#x}"


class Blocks:
    """All allocations, ordered by address."""

    def __init__(self, memory: UnifiedMemory) -> None:
        self.memory = memory
        self._starts: list[int] = []
        self._blocks: dict[int, Block] = {}
        self._quarantine: list[Block] = []  # freed memory that nobody gets yet
        self._quarantine_bytes = 0
        self.late_writes: list[str] = []

    def __iter__(self) -> Iterator[Block]:
        return iter(list(self._blocks.values()))

    def allocate(self, size: int, kind: str, context: Context, flags: int = 0) -> Block:
        """Return new memory, full of garbage."""
        try:
            address = self.memory.allocate(size, ALIGNMENT)
        except MemoryError:
            self.empty_quarantine()
            try:
                address = self.memory.allocate(size, ALIGNMENT)
            except MemoryError as error:
                raise RefusedError(Code.OUT_OF_MEMORY, "the arena is full") from error
        ctypes.memset(address, POISON, size)
        return self.adopt(Block(address, size, kind, context, flags))

    def adopt(self, block: Block) -> Block:
        """Add memory that exists already."""
        if block.address not in self.memory.allocations:
            self.memory.adopt(block.address, block.size)
        bisect.insort(self._starts, block.address)
        self._blocks[block.address] = block
        return block

    def release(self, block: Block) -> None:
        """Forget memory, and spoil what it held."""
        self.forget(block)
        ctypes.memset(block.address, POISON, block.size)
        self._quarantine.append(block)
        self._quarantine_bytes += block.size
        if self._quarantine_bytes > QUARANTINE_BYTES:
            self.empty_quarantine()

    def empty_quarantine(self) -> None:
        """Let freed memory be used again; note what was written to it meanwhile."""
        for block in self._quarantine:
            held = self.memory.bytes[block.address - self.memory.base :][: block.size]
            if not (held == POISON).all():
                self.late_writes.append(f"{block} was written to after it was freed")
            self.memory.adopt(block.address, block.size)
            self.memory.free(block.address)
        self._quarantine.clear()
        self._quarantine_bytes = 0

    def forget(self, block: Block) -> None:
        """Take memory away from the device; the program may own it."""
        self.memory.disown(block.address)
        block.state = FREED
        self._starts.remove(block.address)
        del self._blocks[block.address]

    def at(self, address: int) -> Block | None:
        """Return what starts at an address."""
        return self._blocks.get(address)

    def containing(self, address: int, size: int = 1) -> Block | None:
        """Return the block in which a whole range lies."""
        position = bisect.bisect_right(self._starts, address) - 1
        if position < 0:
            return None
        block = self._blocks[self._starts[position]]
        return block if address + size <= block.end else None

    def check_now(self, address: int, size: int) -> None:
        """Fault unless a range can be used at this moment of the device's time."""
        block = self.containing(address, size)
        if block is None:
            message = f"{size} bytes at {address:#x} are outside of every allocation or freed"
            raise DeviceFaultError(Code.ILLEGAL_ADDRESS, message)
        if block.state == PENDING:
            message = f"{block} is used before the stream that allocates it got there"
            raise DeviceFaultError(Code.ILLEGAL_ADDRESS, message)


class Device:
    """A GPU."""

    def __init__(self, ordinal: int, capability: tuple[int, int], memory_bytes: int) -> None:
        self.ordinal = ordinal
        self.compute_capability = capability
        self.memory_bytes = memory_bytes
        self.used_bytes = 0
        self.attributes: dict[int, int] = {}
        self.primary: Context | None = None
        self.primary_count = 0
        self.primary_flags = 0
        self.pool = 0
        self.default_pool = 0

    def reserve(self, size: int) -> None:
        """Count memory as used."""
        if self.used_bytes + size > self.memory_bytes:
            raise RefusedError(
                Code.OUT_OF_MEMORY, f"device {self.ordinal} has not {size} bytes left"
            )
        self.used_bytes += size


class Context:
    """A context of a device, with its default streams."""

    def __init__(self, device: Device, *, is_primary: bool, flags: int = 0) -> None:
        self.device = device
        self.is_primary = is_primary
        self.flags = flags
        self.handle = 0
        self.fault: DeviceFaultError | None = None
        self.is_spoiled = False
        self.is_destroyed = False
        self.legacy = Stream(self)
        self.streams: set[Stream] = {self.legacy}
        self.dying: set[Stream] = set()
        self.peers: set[int] = set()
        self._per_thread: dict[int, Stream] = {}

    def observe(self) -> None:
        """Tell of a fault, as calls do that wait for the device."""
        if self.fault is not None:
            self.is_spoiled = True
            raise RefusedError(self.fault.code, self.fault.reason)

    def per_thread_stream(self) -> Stream:
        """Return this thread's default stream."""
        ident = threading.get_ident()
        if ident not in self._per_thread:
            self._per_thread[ident] = Stream(self)
            self.streams.add(self._per_thread[ident])
        return self._per_thread[ident]


class System:
    """The state that all entry points share."""

    def __init__(self, devices: list[Device], version: int, *, deferred: bool) -> None:
        self.devices = devices
        self.version = version
        self.started_in: int | None = None  # the process that called cuInit
        self.lock = threading.RLock()
        self.handles = Handles()
        host_bytes = 1 << 28
        self.memory = UnifiedMemory(sum(d.memory_bytes for d in devices) * 2 + host_bytes)
        self.blocks = Blocks(self.memory)
        self.work = Scheduler(self.lock, deferred=deferred)
        self._stacks: dict[int, list[Context]] = {}

    def require_no_fork(self) -> None:
        """Refuse a call in the child of a process that has started the driver."""
        is_child = self.started_in not in (None, os.getpid())
        require(not is_child, Code.NOT_INITIALIZED, "the driver was started before a fork")

    def stack(self) -> list[Context]:
        """Return this thread's contexts, the current one last."""
        return self._stacks.setdefault(threading.get_ident(), [])

    def current(self) -> Context:
        """Return the current context."""
        stack = self.stack()
        require(stack, Code.INVALID_CONTEXT, "no context is current")
        require(not stack[-1].is_destroyed, Code.CONTEXT_IS_DESTROYED)
        return stack[-1]

    def device(self, ordinal: int) -> Device:
        """Return a device by its number."""
        require(0 <= ordinal < len(self.devices), Code.INVALID_DEVICE, f"no device {ordinal}")
        return self.devices[ordinal]

    def context(self, handle: int | None) -> Context:
        """Return a context by its handle."""
        found = self.handles.find(Context, handle, Code.INVALID_CONTEXT)
        require(not found.is_destroyed, Code.CONTEXT_IS_DESTROYED)
        return found

    def stream(self, handle: int | None) -> Stream:
        """Return a stream by its handle, or a default stream of the current context."""
        if handle in (None, 0, LEGACY):
            return self.current().legacy
        if handle == PER_THREAD:
            return self.current().per_thread_stream()
        return self.handles.find(Stream, handle)

    def destroy_context(self, context: Context) -> None:
        """Drop a context and all that belongs to it."""
        self.work.finish(context)
        context.is_destroyed = True
        for block in self.blocks:
            if block.context is context:
                self.free_block(block)

    def free_block(self, block: Block) -> None:
        """Give memory back."""
        if block.kind == "registered":
            self.blocks.forget(block)
            return
        if not block.is_host:
            block.context.device.used_bytes -= block.size
        if block.pool is not None:
            block.pool.used -= block.size
        self.blocks.release(block)


def read_bytes(address: int, size: int) -> bytes:
    """Return what the host's memory holds."""
    return ctypes.string_at(address, size)


def write_bytes(address: int, data: bytes) -> None:
    """Write to the host's memory."""
    ctypes.memmove(address, data, len(data))
