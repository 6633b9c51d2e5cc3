"""Devices and contexts under numba's names."""

from __future__ import annotations

import operator
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from pygpulib.core.device import (
    Device,
    current_device,
    current_driver,
    get_device,
)
from pygpulib.core.device import select_device as _select_device
from pygpulib.core.stream import (
    Event,
    Stream,
    create_event,
    create_stream,
    default_stream,
    external_stream,
    legacy_default_stream,
    per_thread_default_stream,
)
from pygpulib.errors import NoDeviceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pygpulib.core.driver import MemoryInfo

_P = ParamSpec("_P")
_R = TypeVar("_R")

__all__ = [
    "Context",
    "Device",
    "close",
    "cuda_error",
    "current_backend",
    "current_context",
    "detect",
    "get_current_device",
    "gpus",
    "is_available",
    "is_bfloat16_supported",
    "is_float16_supported",
    "is_fp8_supported",
    "is_supported_version",
    "list_devices",
    "require_context",
    "select_device",
]


class Context:
    """A device as numba's programs see it: the owner of memory, streams and events.

    Parameters
    ----------
    device : Device
        The device.
    """

    __slots__ = ("device",)

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


class DeviceList:
    """The devices of this machine, as ``cuda.gpus``."""

    @property
    def lst(self) -> list[Device]:
        """The devices, in order."""
        return [get_device(ordinal) for ordinal in range(len(self))]

    @property
    def current(self) -> Device:
        """The device that the calling thread uses."""
        return current_device()

    def __getitem__(self, devnum: int) -> Device:
        return get_device(operator.index(devnum))

    def __iter__(self) -> Iterator[Device]:
        return iter(self.lst)

    def __len__(self) -> int:
        return current_driver().device_count()

    def __repr__(self) -> str:
        return f"<{', '.join(repr(device) for device in self)}>"


gpus = DeviceList()


def list_devices() -> DeviceList:
    """Return the devices of this machine."""
    return gpus


def get_current_device() -> Device:
    """Return the device that the calling thread uses."""
    return current_device()


def select_device(device_id: int) -> Device:
    """Let the calling thread use another device.

    Parameters
    ----------
    device_id : int
        Number of the device, from zero.

    Returns
    -------
    Device
        The device.

    Raises
    ------
    DeviceIndexError
        If there is no such device.
    """
    return _select_device(operator.index(device_id))


def current_context(devnum: int | None = None) -> Context:
    """Return the context of the current device, or of the one with the given number."""
    return Context(current_device() if devnum is None else select_device(devnum))


def close() -> None:
    """Return cached memory to the system; arrays in use stay valid."""
    current_driver().trim()


def current_backend() -> str:
    """Return the name of the back end that runs kernels, for example ``"cpu"``."""
    return current_driver().name


def is_available() -> bool:
    """Return whether kernels can run here.

    Returns
    -------
    bool
        True also without a GPU; ``get_current_device().is_cpu`` tells the two apart.
    """
    try:
        return current_driver().device_count() > 0
    except NoDeviceError:
        return False


def is_supported_version() -> bool:
    """Return whether the installed CUDA version is supported; no CUDA is needed on the CPU."""
    return True


def is_float16_supported() -> bool:
    """Return whether kernels can use 16-bit floats on the current device."""
    return current_device().supports_float16


def is_bfloat16_supported() -> bool:
    """Return whether kernels can use bfloat16 on the current device."""
    return current_device().supports_bfloat16


def is_fp8_supported() -> bool:
    """Return whether kernels can use 8-bit floats on the current device."""
    return current_device().supports_fp8


def detect() -> bool:
    """Print the devices of this machine.

    Returns
    -------
    bool
        Whether there is one that kernels can run on.
    """
    devices = list(gpus)
    lines = [f"Found {len(devices)} CUDA devices"]
    for device in devices:
        major, minor = device.compute_capability
        kind = "the processor itself" if device.is_cpu else "a GPU"
        lines += [
            f"id {device.id}    {device.name:>20} {'[SUPPORTED]':>40}",
            f"{'Kind':>40}: {kind}",
            f"{'Compute Capability':>40}: {major}.{minor}",
            f"{'Multiprocessors':>40}: {device.MULTIPROCESSOR_COUNT}",
            f"{'UUID':>40}: {device.uuid}",
            f"{'FP16 Support':>40}: {'Yes' if device.supports_float16 else 'No'}",
        ]
    lines += ["Summary:", f"\t{len(devices)}/{len(devices)} devices are supported"]
    sys.stdout.write("\n".join(lines) + "\n")
    return bool(devices)


def cuda_error() -> NoDeviceError | None:
    """Return why there is no device, None if there is one."""
    try:
        current_driver().device_count()
    except NoDeviceError as error:
        return error
    return None


def require_context(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function that it is safe to call first in a thread; here all are."""
    return function
