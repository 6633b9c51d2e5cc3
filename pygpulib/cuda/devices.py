"""Devices and contexts under numba's names."""

from __future__ import annotations

import operator
import sys
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from pygpulib.core.context import Context
from pygpulib.core.device import (
    Device,
    current_device,
    current_driver,
    get_device,
)
from pygpulib.core.device import select_device as _select_device
from pygpulib.errors import NoDeviceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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
    """Return cached memory to the system, and show what kernels printed; arrays stay valid."""
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
