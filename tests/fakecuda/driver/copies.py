"""Entry points that copy and fill memory.

Host memory that is not page-locked is read when a copy is issued, and a copy into it is complete
when the call returns; page-locked memory is read and written when the stream gets there.
"""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

from tests.fakecuda.driver.entries import entry
from tests.fakecuda.driver.state import System, read_bytes, write_bytes
from tests.fakecuda.driver.status import Code, RefusedError, require

HOST, DEVICE, ARRAY, UNIFIED = 1, 2, 3, 4


class Side(NamedTuple):
    """One side of a copy: equally long rows of memory, planes of rows apart."""

    address: int
    pitch: int
    plane: int
    on_device: bool


class Extent(NamedTuple):
    """How much is copied."""

    width: int
    height: int = 1
    depth: int = 1


def rows_of(side: Side, extent: Extent) -> list[int]:
    """Return the addresses of all rows."""
    return [
        side.address + plane * side.plane + row * side.pitch
        for plane in range(extent.depth)
        for row in range(extent.height)
    ]


class CopyEntries:
    """Entry points that copy."""

    def __init__(self, system: System) -> None:
        self.system = system

    # ---------------------------------------------------------------------------- one dimension

    @entry("cuMemcpyHtoD_v2")
    def to_device(self, target: int, source: int | None, size: int) -> None:
        self._copy(_host(source), _device(target), size, None, wait=True)

    @entry("cuMemcpyDtoH_v2")
    def to_host(self, target: int | None, source: int, size: int) -> None:
        self._copy(_device(source), _host(target), size, None, wait=True)

    @entry("cuMemcpyDtoD_v2")
    def on_device(self, target: int, source: int, size: int) -> None:
        self._copy(_device(source), _device(target), size, None, wait=False)

    @entry("cuMemcpyHtoDAsync_v2")
    def to_device_async(
        self, target: int, source: int | None, size: int, stream: int | None
    ) -> None:
        self._copy(_host(source), _device(target), size, stream, wait=False)

    @entry("cuMemcpyDtoHAsync_v2")
    def to_host_async(self, target: int | None, source: int, size: int, stream: int | None) -> None:
        self._copy(_device(source), _host(target), size, stream, wait=False)

    @entry("cuMemcpyDtoDAsync_v2")
    def on_device_async(self, target: int, source: int, size: int, stream: int | None) -> None:
        self._copy(_device(source), _device(target), size, stream, wait=False)

    @entry("cuMemcpy")
    def any_way(self, target: int, source: int, size: int) -> None:
        sides = self._unified(source), self._unified(target)
        self._copy(*sides, size, None, wait=not all(side.on_device for side in sides))

    @entry("cuMemcpyAsync")
    def any_way_async(self, target: int, source: int, size: int, stream: int | None) -> None:
        self._copy(self._unified(source), self._unified(target), size, stream, wait=False)

    @entry("cuMemcpyPeer")
    def peer(self, target: int, to: int | None, source: int, origin: int | None, size: int) -> None:
        self._require_owner(target, to)
        self._require_owner(source, origin)
        self._copy(_device(source), _device(target), size, None, wait=False)

    @entry("cuMemcpyPeerAsync")
    def peer_async(
        self,
        target: int,
        to: int | None,
        source: int,
        origin: int | None,
        size: int,
        stream: int | None,
    ) -> None:
        self._require_owner(target, to)
        self._require_owner(source, origin)
        self._copy(_device(source), _device(target), size, stream, wait=False)

    def _require_owner(self, address: int, context: int | None) -> None:
        block = self.system.blocks.containing(address)
        owner = self.system.context(context)
        owned = block is not None and block.context.device is owner.device
        require(owned, Code.INVALID_VALUE, "the memory is not that context's")

    # --------------------------------------------------------------------------- more dimensions

    @entry("cuMemcpy2D_v2", "cuMemcpy2DUnaligned_v2")
    def in_rows(self, copy: Any) -> None:
        self._copy_rows(copy, None, wait=True)

    @entry("cuMemcpy2DAsync_v2")
    def in_rows_async(self, copy: Any, stream: int | None) -> None:
        self._copy_rows(copy, stream, wait=False)

    def _copy_rows(self, copy: Any, stream: int | None, *, wait: bool) -> None:
        require(copy, Code.INVALID_VALUE)
        wanted = copy[0]
        self._copy_structure(wanted, Extent(wanted.WidthInBytes, wanted.Height), stream, wait=wait)

    @entry("cuMemcpy3D_v2")
    def in_planes(self, copy: Any) -> None:
        self._copy_planes(copy, None, wait=True)

    @entry("cuMemcpy3DAsync_v2")
    def in_planes_async(self, copy: Any, stream: int | None) -> None:
        self._copy_planes(copy, stream, wait=False)

    def _copy_planes(self, copy: Any, stream: int | None, *, wait: bool) -> None:
        require(copy, Code.INVALID_VALUE)
        wanted = copy[0]
        extent = Extent(wanted.WidthInBytes, wanted.Height, wanted.Depth)
        self._copy_structure(wanted, extent, stream, wait=wait)

    def _copy_structure(
        self, wanted: Any, extent: Extent, stream: int | None, *, wait: bool
    ) -> None:
        source, target = (self._pitched(wanted, prefix, extent) for prefix in ("src", "dst"))
        self._copy_extent(source, target, extent, stream, wait=wait)

    def _pitched(self, wanted: Any, prefix: str, extent: Extent) -> Side:
        """Return one side of a copy as the C structure describes it."""

        def field(name: str, default: int = 0) -> int:
            return getattr(wanted, prefix + name, default) or 0

        kind = field("MemoryType")
        require(kind in (HOST, DEVICE, UNIFIED), Code.INVALID_VALUE, f"memory type {kind}")
        address = field("Host") if kind == HOST else field("Device")
        pitch = field("Pitch")
        if extent.height * extent.depth > 1:
            require(pitch >= field("XInBytes") + extent.width, Code.INVALID_VALUE, "pitch < width")
        height = field("Height") or extent.height
        if extent.depth > 1:
            require(height >= field("Y") + extent.height, Code.INVALID_VALUE, "plane too low")
        start = address + field("Z") * height * pitch + field("Y") * pitch + field("XInBytes")
        on_device = kind == DEVICE or (kind == UNIFIED and self._unified(start).on_device)
        require(address, Code.INVALID_VALUE, "null pointer")
        return Side(start, pitch, pitch * height, on_device)

    # ----------------------------------------------------------------------------------- common

    def _unified(self, address: int) -> Side:
        block = self.system.blocks.containing(address)
        return Side(address, 0, 0, block is not None and not block.is_host)

    def _copy(
        self, source: Side, target: Side, size: int, stream: int | None, *, wait: bool
    ) -> None:
        self._copy_extent(source, target, Extent(size), stream, wait=wait)

    def _copy_extent(
        self, source: Side, target: Side, extent: Extent, stream: int | None, *, wait: bool
    ) -> None:
        queue = self.system.stream(stream)
        if 0 in extent:
            return
        reads, writes = rows_of(source, extent), rows_of(target, extent)
        width = extent.width
        staged = None
        if not self._is_locked(source, reads, width):
            staged = [read_bytes(row, width) for row in reads]
        locked = self._is_locked(target, writes, width)

        def run() -> None:
            data = staged or [self._read(row, width, source.on_device) for row in reads]
            for row, piece in zip(writes, data, strict=True):
                if target.on_device or locked:
                    self.system.blocks.check_now(row, width)
                write_bytes(row, piece)

        self.system.work.submit(queue, "copy", run)
        if wait or not locked:
            self.system.work.synchronize(queue)

    def _read(self, row: int, width: int, on_device: bool) -> bytes:
        self.system.blocks.check_now(row, width)
        return read_bytes(row, width)

    def _is_locked(self, side: Side, rows: list[int], width: int) -> bool:
        """Return whether the device can reach a side itself; refuse what nobody can."""
        require(side.address, Code.INVALID_VALUE, "null pointer")
        for row in rows:
            block = self.system.blocks.containing(row, width)
            if block is None:
                if side.on_device or self.system.blocks.containing(row) is not None:
                    message = f"{width} bytes at {row:#x} are not in one allocation"
                    raise RefusedError(Code.INVALID_VALUE, message)
                return False
            if not side.on_device and block.kind == "device":
                raise RefusedError(Code.INVALID_VALUE, f"{row:#x} is given as the host's memory")
        return True

    # ------------------------------------------------------------------------------------- fill

    @entry("cuMemsetD8_v2")
    def fill_bytes(self, target: int, value: int, count: int) -> None:
        self._fill(target, ctypes.c_uint8(value), Extent(count), 0, None)

    @entry("cuMemsetD16_v2")
    def fill_halves(self, target: int, value: int, count: int) -> None:
        self._fill(target, ctypes.c_uint16(value), Extent(count), 0, None)

    @entry("cuMemsetD32_v2")
    def fill_words(self, target: int, value: int, count: int) -> None:
        self._fill(target, ctypes.c_uint32(value), Extent(count), 0, None)

    @entry("cuMemsetD8Async")
    def fill_bytes_async(self, target: int, value: int, count: int, stream: int | None) -> None:
        self._fill(target, ctypes.c_uint8(value), Extent(count), 0, stream)

    @entry("cuMemsetD16Async")
    def fill_halves_async(self, target: int, value: int, count: int, stream: int | None) -> None:
        self._fill(target, ctypes.c_uint16(value), Extent(count), 0, stream)

    @entry("cuMemsetD32Async")
    def fill_words_async(self, target: int, value: int, count: int, stream: int | None) -> None:
        self._fill(target, ctypes.c_uint32(value), Extent(count), 0, stream)

    @entry("cuMemsetD2D8_v2")
    def fill_rows(self, target: int, pitch: int, value: int, width: int, height: int) -> None:
        self._fill(target, ctypes.c_uint8(value), Extent(width, height), pitch, None)

    @entry("cuMemsetD2D8Async")
    def fill_rows_async(
        self, target: int, pitch: int, value: int, width: int, height: int, stream: int | None
    ) -> None:
        self._fill(target, ctypes.c_uint8(value), Extent(width, height), pitch, stream)

    @entry("cuMemsetD2D32_v2")
    def fill_word_rows(self, target: int, pitch: int, value: int, width: int, height: int) -> None:
        self._fill(target, ctypes.c_uint32(value), Extent(width, height), pitch, None)

    @entry("cuMemsetD2D32Async")
    def fill_word_rows_async(
        self, target: int, pitch: int, value: int, width: int, height: int, stream: int | None
    ) -> None:
        self._fill(target, ctypes.c_uint32(value), Extent(width, height), pitch, stream)

    def _fill(
        self, target: int, value: Any, elements: Extent, pitch: int, stream: int | None
    ) -> None:
        queue = self.system.stream(stream)
        if 0 in elements:
            return
        pattern = bytes(value)
        require(target % len(pattern) == 0, Code.INVALID_VALUE, "misaligned address")
        extent = Extent(elements.width * len(pattern), elements.height)
        if extent.height > 1:
            require(pitch >= extent.width, Code.INVALID_VALUE, "pitch < width")
        side = Side(target, pitch, 0, True)
        rows = rows_of(side, extent)
        self._is_locked(side, rows, extent.width)

        def run() -> None:
            for row in rows:
                self.system.blocks.check_now(row, extent.width)
                write_bytes(row, pattern * elements.width)

        self.system.work.submit(queue, "fill", run)


def _host(address: int | None) -> Side:
    return Side(address or 0, 0, 0, False)


def _device(address: int) -> Side:
    return Side(address, 0, 0, True)
