"""Copies from one device to another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pygpulib.core.array import ndarray
from pygpulib.core.device import Device
from pygpulib.core.driver import DEFAULT_STREAM
from pygpulib.core.layout import Layout, byte_span, element_count, strides_like
from pygpulib.core.memory import Buffer

if TYPE_CHECKING:
    from pygpulib.core.driver import StridedMemory
    from pygpulib.core.driver_cuda.driver import CudaDriver


def copy_between_devices(
    driver: CudaDriver, target: StridedMemory, source: StridedMemory, stream: int
) -> None:
    """Copy an array of another device to an array of the calling thread's device.

    What is not packed is packed there first, and what has another layout or dtype here is unpacked
    here: between the devices all bytes are copied as they are.

    Parameters
    ----------
    driver : CudaDriver
        The driver.
    target, source : array
        Arrays of the same shape.
    stream : int
        A stream of the calling thread's device.
    """
    size_bytes = element_count(source.shape) * source.dtype.itemsize
    if not size_bytes:
        return
    there = source.device_ordinal
    with Device(driver, there):
        packed = _packed_in_order_of(driver, source, source)
        if packed is not source:
            driver.copy_on_device(packed, source, DEFAULT_STREAM)
    arrived = target
    if target.dtype != source.dtype or target.strides != packed.strides:
        arrived = _new_array(driver, packed, stream)
    low = byte_span(source.shape, packed.strides, source.dtype.itemsize)[0]
    driver.wait_for_device(there, stream)
    driver.copy_bytes_from(there, arrived.address + low, packed.address + low, size_bytes, stream)
    if arrived is not target:
        driver.copy_on_device(target, arrived, stream)
    driver.end_access(there, stream)


def _packed_in_order_of(
    driver: CudaDriver, source: StridedMemory, order: StridedMemory
) -> StridedMemory:
    """Return the array if nothing lies between its elements, else a new one that is packed."""
    itemsize = source.dtype.itemsize
    low, high = byte_span(source.shape, source.strides, itemsize)
    if high - low == element_count(source.shape) * itemsize and 0 not in source.strides:
        return source
    return _new_array(driver, order, DEFAULT_STREAM)


def _new_array(driver: CudaDriver, like: StridedMemory, stream: int) -> ndarray:
    strides = strides_like(like.shape, like.strides, like.dtype.itemsize)
    low, high = byte_span(like.shape, strides, like.dtype.itemsize)
    buffer = Buffer.allocate(driver, high - low, stream)
    return ndarray.from_buffer(buffer, Layout(like.shape, strides, -low), like.dtype, stream)
