"""The fake driver as tests use it."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import threading
import traceback
from typing import TYPE_CHECKING, Any

from tests.fakecuda.driver.allocation import MemoryEntries, PointerEntries
from tests.fakecuda.driver.connection import address_of, connect, installed
from tests.fakecuda.driver.copies import CopyEntries
from tests.fakecuda.driver.devices import ContextEntries, DeviceEntries
from tests.fakecuda.driver.entries import (
    Call,
    Calls,
    Entry,
    Failures,
    base_name,
    describe_argument,
    entry,
    find_entries,
)
from tests.fakecuda.driver.hardware import device_attributes
from tests.fakecuda.driver.launches import Launch, LaunchEntries
from tests.fakecuda.driver.library import cuda_header
from tests.fakecuda.driver.links import LinkEntries
from tests.fakecuda.driver.modules import LoadedModule, ModuleEntries
from tests.fakecuda.driver.pools import Pool, PoolEntries
from tests.fakecuda.driver.state import Device, System
from tests.fakecuda.driver.status import Code, RefusedError, require
from tests.fakecuda.driver.streams import EventEntries, GraphEntries, StreamEntries
from tests.fakecuda.driver.symbols import choose_symbol, symbols_of_version
from tests.fakecuda.driver.work import Event, Stream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType


class FakeCuda:
    """A driver and its GPUs, simulated.

    Parameters
    ----------
    device_count, compute_capability, memory_bytes
        The GPUs. A list of compute capabilities orders one GPU of each.
    version
        Version of the driver, as ``cuDriverGetVersion`` tells it.
    deferred
        Whether work of streams runs as late as allowed instead of at once.
    use_assembler
        Whether the vendor's assembler checks the PTX of every module.
    race_check, schedule
        How kernels run; see `tests.fakecuda.ptx.launch`.

    Attributes
    ----------
    calls, launches
        All calls and launches so far.
    internal_errors
        Errors of the simulation itself; a test that ends with some has failed.
    """

    def __init__(
        self,
        device_count: int = 1,
        compute_capability: tuple[int, int] | list[tuple[int, int]] = (8, 0),
        version: int = 13000,
        memory_bytes: int = 1 << 28,
        *,
        deferred: bool = False,
        use_assembler: bool = True,
        race_check: bool = False,
        schedule: str = "lockstep",
    ) -> None:
        given = compute_capability
        each = given if isinstance(given, list) else [given] * device_count
        devices = [Device(i, capability, memory_bytes) for i, capability in enumerate(each)]
        for device in devices:
            device.attributes = device_attributes(device)
        self.system = System(devices, version, deferred=deferred)
        self.calls = Calls()
        self.internal_errors: list[str] = []
        self._failures = Failures()
        self._modules = ModuleEntries(self.system, use_assembler=use_assembler)
        self._launches = LaunchEntries(self.system)
        self._launches.options = {"race_check": race_check, "schedule": schedule}
        self._entries = {
            name: found
            for group in self._groups()
            for found in find_entries(group)
            for name in found.names
        }

    def _groups(self) -> Iterator[object]:
        yield self
        for kind in (
            DeviceEntries,
            ContextEntries,
            MemoryEntries,
            PointerEntries,
            PoolEntries,
            CopyEntries,
            StreamEntries,
            EventEntries,
            GraphEntries,
        ):
            yield kind(self.system)
        yield self._modules
        yield LinkEntries(self.system, self._modules)
        yield self._launches

    # ------------------------------------------------------------------------------- for tests

    @property
    def launches(self) -> list[Launch]:
        """Every launch so far."""
        return self._launches.launches

    @property
    def devices(self) -> list[Device]:
        """The GPUs."""
        return self.system.devices

    @property
    def deferred(self) -> bool:
        """Whether work runs as late as allowed."""
        return self.system.work.deferred

    @property
    def launch_options(self) -> dict[str, Any]:
        """How kernels run: arguments of `tests.fakecuda.ptx.launch`, which may be changed."""
        return self._launches.options

    @property
    def faults(self) -> list[str]:
        """What kernels and other work did wrong so far."""
        return self.system.work.faults

    def fail(self, name: str, code: int, on_call: int = 1) -> None:
        """Let a later call of a function fail: the next for `on_call` 1, all of them for 0."""
        require_known(self._entries, name)
        self._failures.plan(name, code, on_call)

    def accept(self, cubin: bytes, ptx: str) -> None:
        """Let machine code that was assembled from a PTX text be loaded."""
        self._modules.images[cubin] = ptx

    def late_writes(self) -> list[str]:
        """Describe writes of the host to page-locked memory that was freed before."""
        with self.system.lock:
            self.system.blocks.empty_quarantine()
            return self.system.blocks.late_writes

    def run_pending(self) -> None:
        """Do all work that streams still hold back."""
        with self.system.lock:
            for device in self.devices:
                if device.primary is not None:
                    self.system.work.finish(device.primary)

    def revive(self) -> None:
        """Let contexts work again after a fault, as those of a new process do."""
        self.faults.clear()
        for device in self.devices:
            if device.primary is not None:
                device.primary.fault = None
                device.primary.is_spoiled = False

    def leaks(self, *, cached: bool = True) -> list[str]:
        """Describe what is still allocated or alive; pending work is done first.

        Parameters
        ----------
        cached
            Whether also to describe what programs usually keep to their ends: modules and pools.
        """
        self.run_pending()
        found = [repr(block) for block in self.system.blocks if block.kind != "variable"]
        kinds: list[tuple[str, type[Any]]] = [("stream", Stream), ("event", Event)]
        kinds += [("module", LoadedModule), ("pool", Pool)] if cached else []
        for name, kind in kinds:
            for handle, thing in self.system.handles.of_kind(kind):
                if getattr(thing, "is_created", True):
                    prefix = "" if getattr(thing, "is_blocking", True) else "non-blocking "
                    found.append(f"{prefix}{name} {handle:#x}")
        return found

    # --------------------------------------------------------------------------------- install

    def install(self, *, hide_newer: bool = False) -> FakeCuda:
        """Become the process's ``libcuda.so.1``.

        Parameters
        ----------
        hide_newer
            Whether functions newer than the driver's version are not exported. What a process
            has loaded it keeps, so this is for processes that install one driver only.
        """
        names = tuple(sorted(self._entries))
        connect(symbols_of_version(names, self.system.version) if hide_newer else names)
        installed.append(self)
        return self

    def uninstall(self) -> None:
        """Leave the process with the driver that was installed before, if any."""
        installed.remove(self)

    def __enter__(self) -> FakeCuda:
        return self.install()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.uninstall()

    def answer(self, name: str, arguments: tuple[Any, ...]) -> int:
        """Do what an exported function does, and return its status."""
        with self.system.lock, without_collection():
            code, reason = self._perform(name, self._entries[name], arguments)
            names = (parameter.name for parameter in cuda_header().functions[name].parameters)
            given = dict(zip(names, map(describe_argument, arguments), strict=True))
            self.calls.append(Call(name, given, code, reason, threading.get_ident()))
        return code

    def _perform(self, name: str, found: Entry, arguments: tuple[Any, ...]) -> tuple[int, str]:
        if planned := self._failures.take(name):
            return planned, "as the test wants it"
        try:
            self._require(found.needs)
            found.method(*arguments)
        except RefusedError as refusal:
            return refusal.code, refusal.reason
        except Exception as error:
            self.internal_errors.append(f"{name}: {traceback.format_exc()}")
            return int(Code.UNKNOWN), f"the simulation failed: {error!r}"
        return 0, ""

    def _require(self, needs: str) -> None:
        """Refuse a call for which something is missing."""
        if needs == "nothing":
            return
        require(self.system.started_in, Code.NOT_INITIALIZED, "cuInit was not called")
        self.system.require_no_fork()
        if needs == "context":
            inside = self.system.work.in_host_function()
            require(not inside, Code.NOT_PERMITTED, "a call from a function that a stream calls")
            context = self.system.current()
            if context.is_spoiled:
                context.observe()

    # -------------------------------------------------------------------------- entry points

    @entry("cuGetProcAddress_v2", needs="nothing")
    def find_symbol(
        self, symbol: int | None, function: Any, version: int, flags: int, status: Any
    ) -> None:
        """Tell the address of a function that fits a version of CUDA."""
        require(symbol and function, Code.INVALID_VALUE)
        require(flags in (0, 1), Code.NOT_SUPPORTED, "per-thread default streams")
        wanted = ctypes.string_at(symbol or 0).decode()
        usable = min(version, self.system.version)
        found = choose_symbol(self._entries, wanted, usable)
        known = any(base_name(name) == wanted for name in self._entries)
        if status:
            status[0] = 0 if found else 2 if known else 1
        function[0] = None
        if found is None:
            raise RefusedError(Code.NOT_FOUND, wanted)
        function[0] = address_of(found)

    @entry("cuGetProcAddress", needs="nothing")
    def find_symbol_before_12(
        self, symbol: int | None, function: Any, version: int, flags: int
    ) -> None:
        """Tell the address of a function, as drivers before CUDA 12 did."""
        self.find_symbol(symbol, function, version, flags, None)


@contextlib.contextmanager
def without_collection() -> Iterator[None]:
    """Keep finalizers, which may call the driver, from running while its lock is held."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def require_known(entries: dict[str, Entry], name: str) -> None:
    """Complain about functions that the fake driver does not have."""
    if all(base_name(known) != base_name(name) for known in entries):
        raise KeyError(f"the fake driver has no function {name}")
