"""Devices as numba's programs see them: contexts, which own memory, streams and events."""

from __future__ import annotations

import operator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pygpulib.core.device import get_device
from pygpulib.core.stream import (
    create_event,
    create_stream,
    default_stream,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pygpulib.core.device import Device
    from pygpulib.core.driver import MemoryInfo
    from pygpulib.core.stream import Event, Stream


class Context:
    """A device as numba's programs see it: the owner of memory, streams and events.

    Parameters
    ----------
    device : Device
        The device.
    """

    __slots__ = ("__weakref__", "device")

    def __init__(self, device: Device) -> None:
        self.device = device

    def get_memory_info(self) -> MemoryInfo:
        """Return free and total memory in bytes."""
        return self.device.memory_info()

    @property
    def deallocations(self) -> Deallocations:
        """The memory that arrays gave back: ``deallocations.clear()`` gives it to the system."""
        return Deallocations(self.device)

    def synchronize(self) -> None:
        """Wait until all work of the device is done."""
        self.device.synchronize()

    def reset(self) -> None:
        """Return cached memory to the system; arrays in use stay valid."""
        self.device.reset()

    def push(self) -> None:
        """Make the device current for the calling thread."""
        self.device.__enter__()

    def pop(self) -> None:
        """Undo the last `push`."""
        self.device.__exit__()

    @contextmanager
    def defer_cleanup(self) -> Iterator[None]:
        """Return a context in which freeing memory never waits for the device."""
        with self.device.driver.defer_cleanup():
            yield

    def create_stream(self) -> Stream:
        """Return a new stream."""
        return create_stream()

    def create_event(self, timing: bool = True) -> Event:
        """Return a new event."""
        return create_event(timing)

    def create_external_stream(self, ptr: object) -> Stream:
        """Return a stream that somebody else made."""
        return external_stream(ptr)

    def get_default_stream(self) -> Stream:
        """Return the stream that work without a ``stream=`` goes to."""
        return default_stream()

    def get_legacy_default_stream(self) -> Stream:
        """Return CUDA's legacy default stream."""
        return legacy_default_stream()

    def get_per_thread_default_stream(self) -> Stream:
        """Return CUDA's default stream of the calling thread."""
        return per_thread_default_stream()

    def can_access_peer(self, peer_device: int) -> bool:
        """Return whether kernels can use another device's memory in place."""
        peer = get_device(operator.index(peer_device)).id
        return self.device.driver.can_access_peer(self.device.id, peer)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Context) and other.device == self.device

    def __hash__(self) -> int:
        return hash(self.device)

    def __repr__(self) -> str:
        return f"<Context of {self.device!r}>"


class Deallocations:
    """The memory of a device that arrays gave back, and that is kept for the next ones.

    Parameters
    ----------
    device : Device
        The device.
    """

    __slots__ = ("device",)

    def __init__(self, device: Device) -> None:
        self.device = device

    def clear(self) -> None:
        """Return the memory to the system."""
        self.device.reset()
