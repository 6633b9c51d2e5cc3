"""Devices as the driver uses them: one primary context for each, current in the calling thread.

The primary context is the one that the CUDA runtime and with it most libraries use, so that
memory, streams and events can be exchanged with them. It is opened when a device is first used.
Which device a thread uses is for `pygpulib.core.device` to say; before each operation the driver
is told, whatever other libraries have told it in between.
"""

from __future__ import annotations

import ctypes
from contextlib import ExitStack, contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from pygpulib._config import config
from pygpulib.core.device import Device, current_driver, selected_ordinal
from pygpulib.core.driver import DEFAULT_STREAM, MemoryInfo
from pygpulib.core.driver_cuda.api import device_attribute
from pygpulib.core.driver_cuda.pending import PendingWork
from pygpulib.core.driver_cuda.pools import CachingPool, StreamOrderedPool, out_of_memory
from pygpulib.core.driver_cuda.reports import Reports
from pygpulib.core.driver_cuda.retirement import Retirement
from pygpulib.core.locks import Lock
from pygpulib.core.memory_managers import find_plugin
from pygpulib.errors import DeviceMemoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pygpulib._bindings.library import Library
    from pygpulib.core.driver_cuda.pools import DevicePool


class Context:
    """What belongs to one device.

    Parameters
    ----------
    library : Library
        The driver library.
    device : int
        The driver's number of the device.
    ordinal : int
        The package's number of it.
    retirement : Retirement
        Where things are given back.

    Attributes
    ----------
    handle : int
        The driver's handle of the primary context.
    reference : ctypes.c_void_p
        The same for C.
    pending : PendingWork
        What the device may still be working on.
    reports : Reports
        What to call after the next wait for a stream.
    """

    def __init__(self, library: Library, device: int, ordinal: int, retirement: Retirement) -> None:
        self.device = device
        self.ordinal = ordinal
        self.retirement = retirement
        self.pending = PendingWork(library)
        self.reports = Reports()
        self._library = library
        self._pool: DevicePool | None = None
        self._plugin: object = None
        # Those that gave memory before the user chose a plug-in.
        self._older_pools: list[DevicePool] = []
        self._pool_lock = Lock()
        handle = ctypes.c_void_p()
        library.cuDevicePrimaryCtxRetain(ctypes.byref(handle), device)
        self.handle = handle.value or 0
        self.reference = handle

    @property
    def pool(self) -> DevicePool:
        """The device's memory, made when it is first needed; the device is current."""
        plugin = find_plugin()
        if self._pool is None or self._plugin is not plugin:
            with self._pool_lock:
                if self._pool is None or self._plugin is not plugin:
                    self._change_pool(plugin)
        assert self._pool is not None
        return self._pool

    def _change_pool(self, plugin: object) -> None:
        older, self._pool = self._pool, self._new_pool(plugin)
        self._plugin = plugin
        if older is not None:
            self._older_pools.append(older)

    def _new_pool(self, plugin: Any) -> DevicePool:  # noqa: ANN401
        if plugin is not None:
            from pygpulib.core.context import Context as Face
            from pygpulib.core.driver_cuda.plugin_pool import PluginPool

            face = Face(Device(current_driver(), self.ordinal))
            return PluginPool(plugin(context=face), self.pending)
        # Enough to reuse the arrays of a working set, with room for other programs.
        cap_bytes = self.memory_info().total // 4
        has_pools = device_attribute(self._library, self.device, "MEMORY_POOLS_SUPPORTED")
        if has_pools and config.memory_pool:
            return StreamOrderedPool(self._library, self.device, self.pending, cap_bytes)
        return CachingPool(self._library, self.pending, cap_bytes, self._run_locked)

    def _run_locked(self, function: Callable[[], int]) -> int:
        with self.retirement.lock:
            self.retirement.work_off_locked()
            return function()

    def allocate(self, size_bytes: int, stream: int) -> int:
        """Return the address of new memory; the device is current."""
        self.retirement.work_off()
        pool = self.pool
        try:
            return pool.allocate(size_bytes, stream)
        except DeviceMemoryError:
            # Memory that is given back behind work that still runs is there once it is done.
            self.synchronize()
            pool.trim()
        try:
            return pool.allocate(size_bytes, stream)
        except DeviceMemoryError as error:
            info = self.memory_info()
            raise out_of_memory(size_bytes, info.free, info.total, error) from error

    def free(self, address: int) -> None:
        """Give memory back; safe in finalizers."""
        self.retirement.add(self.handle, lambda: self._pool_of(address).free(address))

    def _pool_of(self, address: int) -> DevicePool:
        for pool in self._older_pools:
            if pool.owns(address):
                return pool
        assert self._pool is not None
        return self._pool

    @contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """Return a context in which nothing is given back; the device is current."""
        with self._pool.defer_cleanup() if self._pool is not None else nullcontext():
            yield

    def memory_info(self) -> MemoryInfo:
        """Return free and total memory; the device is current."""
        known = self._pool.memory_info() if self._pool is not None else None
        if known is not None:
            return known
        free, total = ctypes.c_size_t(), ctypes.c_size_t()
        self._library.cuMemGetInfo_v2(ctypes.byref(free), ctypes.byref(total))
        return MemoryInfo(free.value, total.value)

    def trim(self) -> None:
        """Return cached memory to the system; the device is current."""
        if self.reports:
            # What kernels printed is memory of the device until it is read.
            self.synchronize()
        self.retirement.work_off()
        for pool in (*self._older_pools, self._pool):
            if pool is not None:
                pool.trim()

    def synchronize(self) -> None:
        """Wait for all work and report what kernels had to say; the device is current."""
        self.pending.settle_all()
        self._library.cuCtxSynchronize()
        self.pending.release_kept()
        self.retirement.work_off()
        self.reports.run_all()

    @contextmanager
    def after_pending(self) -> Iterator[None]:
        """Return a context that starts once all that was queued so far is done.

        It also starts where waiting fails, and raises at its end: then nothing is going to
        happen any more.
        """
        try:
            self._library.cuStreamSynchronize(self.pending.find_order(DEFAULT_STREAM))
        finally:
            yield

    def synchronize_stream(self, stream: int) -> None:
        """Wait for a stream and report what its kernels had to say; the device is current."""
        self.pending.settle(stream)
        self._library.cuStreamSynchronize(stream)
        self.pending.release_kept()
        self.retirement.work_off()
        self.reports.run(stream)

    def close(self) -> None:
        """Drop what this package made; the device is current, and nobody uses it any more."""
        with ExitStack() as stack:
            stack.callback(self.pending.close)
            for pool in (*self._older_pools, self._pool):
                if pool is not None:
                    stack.callback(pool.close)
            stack.callback(self.synchronize)
        self._pool = None
        self._older_pools.clear()


class Contexts:
    """The contexts of this process, opened when they are first used.

    Parameters
    ----------
    library : Library
        The driver library.
    devices : sequence of int
        The driver's numbers of the devices, in this package's order.
    """

    def __init__(self, library: Library, devices: Sequence[int]) -> None:
        self.library = library
        self.devices = tuple(devices)
        self.retirement = Retirement(library)
        self._opened: dict[int, Context] = {}
        self._lock = Lock()
        self._set_current = library.raw("cuCtxSetCurrent")

    def current(self) -> Context:
        """Return the calling thread's device, after making it current for the driver."""
        context = self._opened.get(selected_ordinal()) or self._open(selected_ordinal())
        status = self._set_current(context.reference)
        if status:
            self.library.check("cuCtxSetCurrent", status)
        return context

    def _open(self, ordinal: int) -> Context:
        with self._lock:
            context = self._opened.get(ordinal)
            if context is None:
                context = Context(self.library, self.devices[ordinal], ordinal, self.retirement)
                self._opened[ordinal] = context
        return context

    @contextmanager
    def of(self, ordinal: int) -> Iterator[Context]:
        """Return a context in which a certain device is current for the driver."""
        context = self._opened.get(ordinal) or self._open(ordinal)
        self.library.cuCtxPushCurrent_v2(context.handle)
        try:
            yield context
        finally:
            self.library.cuCtxPopCurrent_v2(ctypes.byref(ctypes.c_void_p()))

    @contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """Return a context in which memory is not given back."""
        with ExitStack() as stack:
            for ordinal in self.opened():
                with self.of(ordinal) as context:
                    stack.enter_context(context.defer_cleanup())
            stack.enter_context(self.retirement.pause())
            yield

    def opened(self) -> tuple[int, ...]:
        """Return the numbers of the devices that were used so far."""
        return tuple(self._opened)

    def close(self) -> None:
        """Give all devices back; nobody uses them any more."""
        with ExitStack() as stack:
            for ordinal in self.opened():
                context = self._opened[ordinal]
                stack.callback(self.library.cuDevicePrimaryCtxRelease_v2, context.device)
                stack.enter_context(self.of(ordinal))
                stack.callback(context.close)
        self._opened.clear()
