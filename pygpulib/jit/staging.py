"""Host arrays of a launch that the device cannot use in place.

A device that does not address the memory of the host can use none, and others those whose elements
are aligned. Each array to copy is copied before the launch, and back after it. An array that comes
twice is copied once, and views that overlap are copied to memory that overlaps in the same way, so
that what the kernel writes to one is in the others.
"""

from __future__ import annotations

import ctypes
import operator
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.creation import to_device
from pygpulib.core.device import current_driver
from pygpulib.core.layout import Layout, byte_span
from pygpulib.core.mapped import MappedArray
from pygpulib.core.memory import Buffer
from pygpulib.core.settings import settings
from pygpulib.errors import PerformanceWarning
from pygpulib.jit.signature import address_of_record
from pygpulib.jit.transfers import HostArgument, Out

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

_Key = tuple[object, ...]

# Of new memory, at least.
_ALIGNMENT = 64


class Staging:
    """The copies of one launch.

    Parameters
    ----------
    stream : int
        The stream of the launch, which copies.
    copies_all : bool
        Whether the device can use no host array in place.
    """

    def __init__(self, stream: int, copies_all: bool) -> None:
        self._stream = stream
        self._copies_all = copies_all
        self._copies: dict[_Key, tuple[np.ndarray[Any, Any], ndarray]] = {}
        self._filled: set[_Key] = set()
        self._count = 0

    def replace_all(self, given: Sequence[object], values: Sequence[object]) -> list[object]:
        """Return the arguments with the host memory copied to the device that has to be.

        Parameters
        ----------
        given : sequence
            The arguments as the user gave them; they may say what the kernel does to them.
        values : sequence
            The arguments as the kernel takes them.
        """
        if self._copies_all and len(values) > 1:
            self._lay_out(values)
        replaced = []
        for argument, value in zip(given, values, strict=True):
            count = self._count
            replaced.append(self._replace(value, is_read=not isinstance(argument, Out)))
            if self._count > count and not isinstance(argument, HostArgument):
                _warn_of_copies()
        return replaced

    def _lay_out(self, values: Sequence[object]) -> None:
        """Give host arrays that overlap memory that overlaps in the same way."""
        hosts = list({_key(host): host for host in _host_arrays(values) if host.size}.values())
        group: list[np.ndarray[Any, Any]] = []
        end = 0
        for host in sorted(hosts, key=lambda host: _span(host)[0]):
            low, high = _span(host)
            if low >= end:
                self._allocate_together(group)
                group = []
            group.append(host)
            end = max(end, high)
        self._allocate_together(group)

    def _allocate_together(self, hosts: Sequence[np.ndarray[Any, Any]]) -> None:
        """Allocate one piece of memory for several arrays, at the same distances as here."""
        if len(hosts) < 2:
            return
        spans = [_span(host) for host in hosts]
        start = min(low for low, _ in spans)
        start -= start % _ALIGNMENT
        size = max(high for _, high in spans) - start
        buffer = Buffer.allocate(current_driver(), size, self._stream)
        for host in hosts:
            layout = Layout(host.shape, host.strides, host.ctypes.data - start)
            device = ndarray.from_buffer(buffer, layout, host.dtype, self._stream)
            self._copies[_key(host)] = host, device

    def _replace(self, value: object, is_read: bool) -> object:
        match value:
            case MappedArray(is_mapped=True) if self._copies_all:
                return value.as_device_array()
            case np.ndarray() if self._copies_all or not value.flags.aligned:
                return self._copy(value, is_read)
            case np.void() if self._copies_all:
                return self._copy(_array_over(value), is_read)
            case tuple():
                items = tuple([self._replace(item, is_read) for item in value])
                is_same = all(map(operator.is_, items, value))
                return value if is_same else items
            case _:
                return value

    def _copy(self, host: np.ndarray[Any, Any], is_read: bool) -> ndarray:
        key = _key(host)
        self._count += 1
        if key not in self._copies:
            self._copies[key] = host, to_device(host, self._stream, copy=False)
        _, device = self._copies[key]
        if is_read and key not in self._filled:
            self._filled.add(key)
            device.copy_to_device(host, self._stream)
        return device

    def copy_back(self) -> None:
        """Copy what the kernel may have written to the host; it is there when this returns."""
        written = [pair for pair in self._copies.values() if pair[0].flags.writeable]
        for host, device in written:
            device.copy_to_host(host, self._stream)
        if written:
            current_driver().synchronize_stream(self._stream)


def _key(host: np.ndarray[Any, Any]) -> _Key:
    """Return what arrays over the same memory have in common."""
    return host.ctypes.data, host.shape, host.strides, host.dtype, host.flags.writeable


def _span(host: np.ndarray[Any, Any]) -> tuple[int, int]:
    """Return the addresses of the first byte of an array and of the one after its last."""
    low, high = byte_span(host.shape, host.strides, host.itemsize)
    return host.ctypes.data + low, host.ctypes.data + high


def _host_arrays(values: Iterable[object]) -> Iterator[np.ndarray[Any, Any]]:
    """Yield the arrays and records in some arguments that are not on the device."""
    for value in values:
        match value:
            case MappedArray(is_mapped=True):
                continue
            case np.ndarray():
                yield value
            case np.void():
                yield _array_over(value)
            case tuple():
                yield from _host_arrays(value)
            case _:
                continue


def _array_over(record: np.void) -> np.ndarray[Any, Any]:
    """Return an array without axes over the memory of a record, which it keeps alive."""
    size = record.dtype.itemsize
    memory = (ctypes.c_char * size).from_address(address_of_record(record))
    memory.owner = record  # type: ignore[attr-defined]
    array: np.ndarray[Any, Any] = np.ndarray((), record.dtype, memoryview(memory).cast("B"))
    array.flags.writeable = record.flags.writeable
    return array


def _warn_of_copies() -> None:
    if settings.CUDA_WARN_ON_IMPLICIT_COPY:
        warnings.warn(
            "an array of the host is copied to the device and back for this launch\n"
            "help: copy it once with cuda.to_device(...), or wrap it in cuda.In, cuda.Out or "
            "cuda.InOut",
            PerformanceWarning,
            stacklevel=6,
        )
