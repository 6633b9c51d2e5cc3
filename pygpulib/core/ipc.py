"""Device arrays that several processes of a machine use."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from pygpulib._record import record
from pygpulib.core.array import ndarray
from pygpulib.core.device import Device, current_driver
from pygpulib.core.dtypes import storage_dtype
from pygpulib.core.layout import (
    Layout,
    as_integers,
    byte_span,
    contiguous_strides,
    normalize_shape,
    normalize_strides,
)
from pygpulib.core.ordering import at_home
from pygpulib.errors import ArgumentError, DeviceMismatchError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import DTypeLike

    from pygpulib.core.layout import Shape


@record(eq=True)
class IpcHandle:
    """What another process needs to open device memory.

    Attributes
    ----------
    handle : bytes
        The driver's name of the memory.
    size : int
        Bytes.
    offset : int
        How far they are from the start of the memory that the handle names.
    """

    handle: bytes
    size: int
    offset: int = 0


class IpcArrayHandle:
    """An array for other processes: pickle it, and open it there.

    As a context manager it gives the array and closes it at the end.

    Parameters
    ----------
    handle : IpcHandle
        The memory; its offset is that of the array's first byte.
    shape, strides : tuple of int
        The layout.
    dtype : numpy.dtype
        Type of the elements.
    uuid : str
        The device.
    """

    def __init__(
        self,
        handle: IpcHandle,
        shape: Shape,
        strides: Shape,
        dtype: np.dtype[np.generic],
        uuid: str,
    ) -> None:
        self.handle = handle
        self.shape = shape
        self.strides = strides
        self.dtype = dtype
        self.uuid = uuid
        self._opened: ndarray | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return IpcArrayHandle, (self.handle, self.shape, self.strides, self.dtype, self.uuid)

    def open(self) -> ndarray:
        """Return the array; not in the process that made the handle.

        Raises
        ------
        DeviceMismatchError
            If this process does not see the device.
        ArgumentError
            If the handle is open already.
        """
        if self._opened is not None:
            raise ArgumentError("the handle of a shared array is open already")
        with _device_of(self.uuid):
            self._opened = _open(self.handle, self.shape, self.strides, self.dtype)
        return self._opened

    def close(self) -> None:
        """Let go of the array; the memory is closed when no view of it is left."""
        self._opened = None

    def __enter__(self) -> ndarray:
        return self.open()

    def __exit__(self, *exception: object) -> None:
        self.close()


def get_ipc_handle(array: ndarray) -> IpcArrayHandle:
    """Return what other processes need to use an array; see `ndarray.get_ipc_handle`."""
    driver = array.buffer.driver
    with at_home(array.buffer):
        handle, offset = driver.ipc_handle(array.buffer.address)
        # Other processes see what is done, not what is queued.
        driver.synchronize()
    low, high = byte_span(array.shape, array.strides, array.itemsize)
    offset += array.address - array.buffer.address + low
    uuid = driver.device_properties(array.buffer.ordinal).uuid
    memory = IpcHandle(handle, high - low, offset)
    return IpcArrayHandle(memory, array.shape, array.strides, array.dtype, uuid)


@contextmanager
def open_ipc_array(
    handle: object, shape: object, dtype: DTypeLike, strides: object = None, offset: int = 0
) -> Iterator[ndarray]:
    """Return a context that gives an array over another process's device memory.

    Parameters
    ----------
    handle : bytes, or sequence of int
        The driver's name of the memory.
    shape : int or tuple of int
        Length of each axis.
    dtype : dtype-like
        Type of the elements.
    strides : tuple of int, optional
        Bytes from one element to the next along each axis; default: packed.
    offset : int
        Bytes from the start of the memory to the first element.

    Yields
    ------
    ndarray
        The array, on the calling thread's device.
    """
    lengths, element = normalize_shape(shape), storage_dtype(dtype)
    steps = (
        contiguous_strides(lengths, element.itemsize)
        if strides is None
        else normalize_strides(strides, len(lengths))
    )
    low, high = byte_span(lengths, steps, element.itemsize)
    name = bytes(number % 256 for number in as_integers(handle))
    array: ndarray | None = _open(
        IpcHandle(name, high - low, offset + low), lengths, steps, element
    )
    assert array is not None
    yield array
    array = None


def _open(handle: IpcHandle, shape: Shape, strides: Shape, dtype: np.dtype[np.generic]) -> ndarray:
    buffer = current_driver().open_ipc(handle.handle, handle.offset + handle.size)
    low = byte_span(shape, strides, dtype.itemsize)[0]
    return ndarray.from_buffer(buffer, Layout(shape, strides, handle.offset - low), dtype)


def _device_of(uuid: str) -> Device:
    driver = current_driver()
    for ordinal in range(driver.device_count()):
        if driver.device_properties(ordinal).uuid == uuid:
            return Device(driver, ordinal)
    raise DeviceMismatchError(
        "a shared array is on a device that this process does not see",
        detail=f"its device is {uuid}",
        help="CUDA_VISIBLE_DEVICES must name the same devices in both processes",
    )
