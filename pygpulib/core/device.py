"""Devices, and which one the calling thread uses."""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pygpulib._config import config
from pygpulib.core.locks import Lock
from pygpulib.errors import DeviceError, DeviceIndexError, counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pygpulib.core.driver import DeviceProperties, Driver, MemoryInfo


class Device:
    """A processor that runs kernels.

    Every ``CU_DEVICE_ATTRIBUTE_...`` of CUDA that the back end knows is an attribute without
    that prefix, for example ``MULTIPROCESSOR_COUNT``.

    Parameters
    ----------
    driver : Driver
        The back end.
    ordinal : int
        Number of the device, from zero.

    Notes
    -----
    As a context manager a device is the current one inside the block.

    Examples
    --------
    >>> current_device().WARP_SIZE
    32
    """

    __slots__ = ("driver", "id")

    def __init__(self, driver: Driver, ordinal: int) -> None:
        self.driver = driver
        self.id = ordinal

    @property
    def properties(self) -> DeviceProperties:
        """Everything the back end says about the device."""
        return self.driver.device_properties(self.id)

    @property
    def name(self) -> str:
        """Name of the product."""
        return self.properties.name

    @property
    def uuid(self) -> str:
        """An identifier in CUDA's form that stays the same between processes."""
        return self.properties.uuid

    @property
    def compute_capability(self) -> tuple[int, int]:
        """Generation of CUDA hardware that the device is, or behaves like."""
        return self.properties.compute_capability

    @property
    def is_cpu(self) -> bool:
        """Whether the device is the host processor."""
        return self.properties.is_cpu

    @property
    def supports_float16(self) -> bool:
        """Whether kernels can use 16-bit floats."""
        return True

    @property
    def supports_bfloat16(self) -> bool:
        """Whether kernels can use bfloat16."""
        return "bfloat16" in self.properties.extra_dtypes

    @property
    def supports_fp8(self) -> bool:
        """Whether kernels can use 8-bit floats."""
        return "float8" in self.properties.extra_dtypes

    def memory_info(self) -> MemoryInfo:
        """Return free and total memory in bytes."""
        return self.driver.memory_info(self.id)

    def synchronize(self) -> None:
        """Wait until all work of the device is done."""
        with self:
            self.driver.synchronize()

    def reset(self) -> None:
        """Wait for all work and return cached memory to the system; arrays in use stay valid."""
        self.synchronize()
        self.driver.trim()

    def __getattr__(self, name: str) -> int:
        # Private names are never CUDA's; asking the driver about them would recurse in copies
        # and pickles that look at objects before their slots are set.
        if not name.startswith("_"):
            attributes = self.properties.attributes
            if name in attributes:
                return attributes[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __enter__(self) -> Device:
        _thread.outer.append(_thread.ordinal)
        _thread.ordinal = self.id
        return self

    def __exit__(self, *exception: object) -> None:
        if not _thread.outer:
            raise DeviceError("pop() was called more often than push()", help="call push() first")
        _thread.ordinal = _thread.outer.pop()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Device) and other.id == self.id and other.driver is self.driver

    def __hash__(self) -> int:
        return hash((self.driver.name, self.id))

    def __repr__(self) -> str:
        return f"<{self.driver.name.upper()} device {self.id} '{self.name}'>"


class _ThreadState(threading.local):
    """Which device a thread uses, and which ones enclosing blocks used."""

    def __init__(self) -> None:
        self.ordinal = 0
        self.outer: list[int] = []


_thread = _ThreadState()
_drivers: list[Driver] = []
_lock = Lock()


def selected_ordinal() -> int:
    """Return the number of the device that the calling thread uses."""
    return _thread.ordinal


def current_driver() -> Driver:
    """Return the back end that this process uses.

    Returns
    -------
    Driver
        The same object in every call.

    Raises
    ------
    NoDeviceError
        If the back end that the environment asks for cannot be had.

    Examples
    --------
    >>> current_driver().name
    'cpu'
    """
    if not _drivers:
        with _lock:
            if not _drivers:
                # Which imports drivers, and the one for CUDA asks for the device of a thread.
                from pygpulib.core.selection import choose_driver

                _drivers.append(choose_driver(config.backend))
    return _drivers[-1]


@contextmanager
def use_driver(driver: Driver) -> Iterator[None]:
    """Let every thread use another back end inside a block; meant for tests.

    Parameters
    ----------
    driver : Driver
        The back end.
    """
    current_driver()
    _drivers.append(driver)
    try:
        yield
    finally:
        _drivers.remove(driver)


def get_device(ordinal: int) -> Device:
    """Return a device by its number.

    Parameters
    ----------
    ordinal : int
        From zero.

    Returns
    -------
    Device
        The device.

    Raises
    ------
    DeviceIndexError
        If there is no such device.
    """
    driver = current_driver()
    count = driver.device_count()
    if not 0 <= ordinal < count:
        raise DeviceIndexError(
            f"there is no device {ordinal}",
            detail=f"this machine has {counted(count, 'device')}, numbered from 0",
            help="cuda.list_devices() shows them",
        )
    return Device(driver, ordinal)


def current_device() -> Device:
    """Return the device that the calling thread uses.

    Returns
    -------
    Device
        Device 0 unless the thread selected another one.

    Raises
    ------
    NoDeviceError
        If the back end that the environment asks for cannot be had.
    """
    return Device(current_driver(), _thread.ordinal)


def select_device(ordinal: int) -> Device:
    """Let the calling thread use another device.

    Parameters
    ----------
    ordinal : int
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
    device = get_device(ordinal)
    _thread.ordinal = ordinal
    return device
