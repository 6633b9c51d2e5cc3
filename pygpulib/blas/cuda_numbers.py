"""Numbers as cuBLAS reads them: all of a call on the host, or all in device memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from pygpulib._bindings.cublas import POINTER_MODE_DEVICE, POINTER_MODE_HOST
from pygpulib._record import record
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.core.ordering import order_after

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pygpulib.blas.engine import DType
    from pygpulib.core.driver_cuda import CudaDriver


@record
class DeviceNumber:
    """A number in device memory, or a few.

    Attributes
    ----------
    array : ndarray
        Where it is.
    dtype : numpy.dtype
        What the library reads.
    """

    array: ndarray
    dtype: DType


@record
class PlacedNumbers:
    """The numbers of a call.

    Attributes
    ----------
    mode : int
        The library's number of where they are.
    addresses : tuple of int
        Where each is.
    memory : tuple
        The arrays, which have to live until the call is queued.
    """

    mode: int
    addresses: tuple[int, ...]
    memory: tuple[object, ...]


def read_number(value: Any, dtype: DType) -> np.ndarray[Any, Any] | DeviceNumber:
    """Return a number, or what an array holds, for a library that reads a dtype."""
    if isinstance(value, ndarray):
        return DeviceNumber(value, dtype)
    return read_host_number(value, dtype)


def read_host_number(value: Any, dtype: DType) -> np.ndarray[Any, Any]:
    """Return a number as an array; what is too large for float32 is infinite."""
    with np.errstate(over="ignore"):
        return np.array(value, dtype)


def is_zero(number: np.ndarray[Any, Any] | DeviceNumber) -> bool:
    """Return whether a number is known to be 0; of those on the device nothing is known."""
    return not isinstance(number, DeviceNumber) and not number


def place_numbers(
    numbers: Iterable[np.ndarray[Any, Any] | DeviceNumber], stream: int
) -> PlacedNumbers:
    """Return numbers in one place; one on the device brings the others there."""
    given = tuple(numbers)
    host = [number for number in given if not isinstance(number, DeviceNumber)]
    if len(host) == len(given):
        addresses = tuple([number.ctypes.data for number in host])
        return PlacedNumbers(POINTER_MODE_HOST, addresses, tuple(host))
    arrays = [_on_device(number, stream) for number in given]
    addresses = tuple([array.address for array in arrays])
    return PlacedNumbers(POINTER_MODE_DEVICE, addresses, tuple(arrays))


def _on_device(number: np.ndarray[Any, Any] | DeviceNumber, stream: int) -> ndarray:
    if not isinstance(number, DeviceNumber):
        return send(number, stream)
    array = number.array
    order_after([array.buffer], stream)
    is_aligned = not array.address % number.dtype.alignment
    if array.dtype == number.dtype and array.flags["C_CONTIGUOUS"] and is_aligned:
        return array
    made = device_array(array.shape, number.dtype, stream=stream)
    convert(array, made, stream)
    return made


def send(source: np.ndarray[Any, Any], stream: int) -> ndarray:
    """Return a packed host array, which nobody changes any more, in device memory."""
    made = device_array(source.shape, source.dtype, stream=stream)
    driver = cast("CudaDriver", made.buffer.driver)
    driver.send(made.address, source, stream)
    return made


def convert(source: ndarray, target: ndarray, stream: int) -> None:
    """Copy between arrays of one shape on a stream, without waiting for it."""
    order_after([source.buffer, target.buffer], stream)
    target.buffer.driver.copy_on_device(target, source, stream)
