"""Initialization, versions, errors' names, devices and contexts."""

from __future__ import annotations

import ctypes
import os
from typing import Any

from tests.fakecuda.driver.entries import entry
from tests.fakecuda.driver.state import Context, Device, System
from tests.fakecuda.driver.status import SPELLINGS, Code, RefusedError, require

NAME = b"Simulated GPU"


class DeviceEntries:
    """Entry points that need no context."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._texts = {
            code: (
                name.encode(),
                name.removeprefix("CUDA_ERROR_").replace("_", " ").lower().encode(),
            )
            for code, name in SPELLINGS.items()
        }

    @entry("cuInit", needs="nothing")
    def init(self, flags: int) -> None:
        require(flags == 0, Code.INVALID_VALUE, "flags must be 0")
        require(self.system.devices, Code.NO_DEVICE)
        self.system.require_no_fork()
        self.system.started_in = os.getpid()

    @entry("cuDriverGetVersion", needs="nothing")
    def driver_version(self, version: Any) -> None:
        require(version, Code.INVALID_VALUE)
        version[0] = self.system.version

    @entry("cuGetErrorName", needs="nothing")
    def error_name(self, code: int, text: Any) -> None:
        self._tell(code, text, 0)

    @entry("cuGetErrorString", needs="nothing")
    def error_string(self, code: int, text: Any) -> None:
        self._tell(code, text, 1)

    def _tell(self, code: int, text: Any, which: int) -> None:
        if code not in self._texts:
            text[0] = None
            raise RefusedError(Code.INVALID_VALUE, f"no error has the number {code}")
        text[0] = ctypes.cast(ctypes.c_char_p(self._texts[code][which]), ctypes.c_void_p).value

    @entry("cuDeviceGetCount", needs="initialization")
    def count(self, count: Any) -> None:
        require(count, Code.INVALID_VALUE)
        count[0] = len(self.system.devices)

    @entry("cuDeviceGet", needs="initialization")
    def get(self, device: Any, ordinal: int) -> None:
        device[0] = self.system.device(ordinal).ordinal

    @entry("cuDeviceGetName", needs="initialization")
    def name(self, text: int, length: int, device: int) -> None:
        self.system.device(device)
        require(text and length > 0, Code.INVALID_VALUE)
        _write_text(text, NAME, length)

    @entry("cuDeviceGetUuid_v2", "cuDeviceGetUuid", needs="initialization")
    def uuid(self, uuid: Any, device: int) -> None:
        self.system.device(device)
        value = bytes([0xFA, 0xCE, *range(13), device])
        ctypes.memmove(uuid, value, len(value))

    @entry("cuDeviceTotalMem_v2", needs="initialization")
    def total_memory(self, size: Any, device: int) -> None:
        size[0] = self.system.device(device).memory_bytes

    @entry("cuDeviceGetAttribute", needs="initialization")
    def attribute(self, value: Any, attribute: int, device: int) -> None:
        found = self.system.device(device).attributes.get(attribute)
        require(found is not None, Code.INVALID_VALUE, f"no attribute {attribute}")
        value[0] = found

    @entry("cuDeviceGetPCIBusId", needs="initialization")
    def pci_bus_id(self, text: int, length: int, device: int) -> None:
        self.system.device(device)
        require(text and length > 0, Code.INVALID_VALUE)
        _write_text(text, b"0000:%02X:00.0" % (0x10 + device), length)

    @entry("cuDeviceGetByPCIBusId", needs="initialization")
    def by_pci_bus_id(self, device: Any, text: int) -> None:
        wanted = ctypes.string_at(text).upper()
        for candidate in self.system.devices:
            if wanted == b"0000:%02X:00.0" % (0x10 + candidate.ordinal):
                device[0] = candidate.ordinal
                return
        raise RefusedError(Code.INVALID_DEVICE)

    @entry("cuDeviceCanAccessPeer", needs="initialization")
    def can_access_peer(self, answer: Any, device: int, peer: int) -> None:
        answer[0] = int(self.system.device(device) is not self.system.device(peer))


def _write_text(address: int, text: bytes, length: int) -> None:
    kept = text[: length - 1] + b"\0"
    ctypes.memmove(address, kept, len(kept))


class ContextEntries:
    """Entry points about contexts."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._limits: dict[int, int] = {0: 1024, 1: 1 << 20, 2: 8 << 20}

    # -------------------------------------------------------------------------------- primary

    @entry("cuDevicePrimaryCtxRetain", needs="initialization")
    def retain(self, context: Any, ordinal: int) -> None:
        device = self.system.device(ordinal)
        if device.primary is None:
            device.primary = self._make(device, is_primary=True, flags=device.primary_flags)
        device.primary_count += 1
        context[0] = device.primary.handle

    @entry("cuDevicePrimaryCtxRelease_v2", needs="initialization")
    def release(self, ordinal: int) -> None:
        device = self.system.device(ordinal)
        require(device.primary_count > 0, Code.INVALID_CONTEXT, "released more often than retained")
        device.primary_count -= 1
        if device.primary_count == 0:
            self._drop_primary(device)

    @entry("cuDevicePrimaryCtxReset_v2", needs="initialization")
    def reset(self, ordinal: int) -> None:
        self._drop_primary(self.system.device(ordinal))

    def _drop_primary(self, device: Device) -> None:
        if device.primary is not None:
            self.system.destroy_context(device.primary)
            device.primary = None

    @entry("cuDevicePrimaryCtxSetFlags_v2", needs="initialization")
    def set_primary_flags(self, ordinal: int, flags: int) -> None:
        require(flags & 7 in (0, 1, 2, 4), Code.INVALID_VALUE, "unknown flags")
        self.system.device(ordinal).primary_flags = flags

    @entry("cuDevicePrimaryCtxGetState", needs="initialization")
    def primary_state(self, ordinal: int, flags: Any, active: Any) -> None:
        device = self.system.device(ordinal)
        flags[0] = device.primary_flags
        active[0] = int(device.primary is not None)

    def _make(self, device: Device, *, is_primary: bool, flags: int) -> Context:
        context = Context(device, is_primary=is_primary, flags=flags)
        context.handle = self.system.handles.add(context)
        return context

    # --------------------------------------------------------------------------------- others

    @entry("cuCtxCreate_v2", needs="initialization")
    def create(self, context: Any, flags: int, ordinal: int) -> None:
        made = self._make(self.system.device(ordinal), is_primary=False, flags=flags)
        self.system.stack().append(made)
        context[0] = made.handle

    @entry("cuCtxCreate_v4", needs="initialization")
    def create_with_parameters(self, context: Any, _: Any, flags: int, ordinal: int) -> None:
        self.create(context, flags, ordinal)

    @entry("cuCtxDestroy_v2", needs="initialization")
    def destroy(self, handle: int | None) -> None:
        context = self.system.context(handle)
        require(not context.is_primary, Code.INVALID_CONTEXT, "the primary context is released")
        self.system.destroy_context(context)
        if context in self.system.stack():
            self.system.stack().remove(context)

    # -------------------------------------------------------------------------------- current

    @entry("cuCtxSetCurrent", needs="initialization")
    def set_current(self, handle: int | None) -> None:
        stack = self.system.stack()
        if not handle:
            del stack[-1:]
        else:
            stack[-1:] = [self.system.context(handle)]

    @entry("cuCtxGetCurrent", needs="initialization")
    def get_current(self, context: Any) -> None:
        stack = self.system.stack()
        context[0] = stack[-1].handle if stack else None

    @entry("cuCtxPushCurrent_v2", needs="initialization")
    def push(self, handle: int | None) -> None:
        self.system.stack().append(self.system.context(handle))

    @entry("cuCtxPopCurrent_v2", needs="initialization")
    def pop(self, context: Any) -> None:
        stack = self.system.stack()
        require(stack, Code.INVALID_CONTEXT, "no context is current")
        popped = stack.pop()
        if context:
            context[0] = popped.handle

    @entry("cuCtxGetDevice", needs="initialization")
    def get_device(self, device: Any) -> None:
        device[0] = self.system.current().device.ordinal

    @entry("cuCtxGetFlags", needs="initialization")
    def get_flags(self, flags: Any) -> None:
        flags[0] = self.system.current().flags

    @entry("cuCtxGetApiVersion", needs="initialization")
    def api_version(self, handle: int | None, version: Any) -> None:
        self.system.context(handle)
        version[0] = 3020

    @entry("cuCtxSynchronize")
    def synchronize(self) -> None:
        self.system.work.synchronize_context(self.system.current())

    @entry("cuCtxGetStreamPriorityRange")
    def priority_range(self, least: Any, greatest: Any) -> None:
        if least:
            least[0] = 0
        if greatest:
            greatest[0] = -5

    @entry("cuCtxSetLimit")
    def set_limit(self, limit: int, value: int) -> None:
        require(limit in self._limits, Code.UNSUPPORTED_LIMIT)
        self._limits[limit] = value

    @entry("cuCtxGetLimit")
    def get_limit(self, value: Any, limit: int) -> None:
        require(limit in self._limits, Code.UNSUPPORTED_LIMIT)
        value[0] = self._limits[limit]

    # ----------------------------------------------------------------------------------- peers

    @entry("cuCtxEnablePeerAccess")
    def enable_peer(self, handle: int | None, flags: int) -> None:
        peer = self.system.context(handle)
        current = self.system.current()
        require(flags == 0, Code.INVALID_VALUE, "flags must be 0")
        require(peer.device is not current.device, Code.INVALID_DEVICE, "a device is not its peer")
        ordinal = peer.device.ordinal
        require(ordinal not in current.peers, Code.PEER_ACCESS_ALREADY_ENABLED)
        current.peers.add(ordinal)

    @entry("cuCtxDisablePeerAccess")
    def disable_peer(self, handle: int | None) -> None:
        ordinal = self.system.context(handle).device.ordinal
        current = self.system.current()
        require(ordinal in current.peers, Code.PEER_ACCESS_NOT_ENABLED)
        current.peers.remove(ordinal)

    # -------------------------------------------------------------------------------- profiler

    @entry("cuProfilerStart")
    def start_profiler(self) -> None:
        self.system.current()

    @entry("cuProfilerStop")
    def stop_profiler(self) -> None:
        self.system.current()
