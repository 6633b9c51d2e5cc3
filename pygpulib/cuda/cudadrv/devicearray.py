"""The names of numba's ``numba.cuda.cudadrv.devicearray`` that programs use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from pygpulib.core.array import ndarray as DeviceNDArray  # noqa: N812  (numba's name)
from pygpulib.core.creation import to_device
from pygpulib.core.interop import as_cuda_array, is_cuda_array
from pygpulib.errors import ArgumentTypeError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pygpulib.core.creation import ArrayLike
    from pygpulib.core.memory import Buffer, MemoryPointer
    from pygpulib.core.stream import StreamLike

AnyArray = TypeVar("AnyArray", DeviceNDArray, np.ndarray[Any, Any])

__all__ = [
    "DeviceNDArray",
    "DeviceRecord",
    "array_core",
    "auto_device",
    "from_array_like",
    "from_record_like",
    "is_contiguous",
    "is_cuda_ndarray",
    "require_cuda_ndarray",
    "verify_cuda_ndarray_interface",
]


def is_cuda_ndarray(obj: object) -> bool:
    """Return whether an object is a device array of this package."""
    return isinstance(obj, DeviceNDArray)


def require_cuda_ndarray(obj: object) -> None:
    """Raise `ArgumentTypeError` unless an object is a device array of this package."""
    if not is_cuda_ndarray(obj):
        raise ArgumentTypeError(f"expected a device array, got a {type(obj).__name__}")


verify_cuda_ndarray_interface = require_cuda_ndarray


def DeviceRecord(  # noqa: N802  (numba's name, of a class there)
    dtype: DTypeLike, stream: StreamLike = 0, gpu_data: Buffer | MemoryPointer | None = None
) -> DeviceNDArray:
    """Return a record on the device: an array without axes.

    Parameters
    ----------
    dtype : dtype-like
        Its fields.
    stream : Stream or 0
        Where operations on it go that name no stream.
    gpu_data : Buffer or MemoryPointer, optional
        Existing memory; default: new memory with arbitrary contents.

    Returns
    -------
    ndarray
        The record; ``record["field"]`` reads a field, ``record["field"] = value`` writes it.

    Examples
    --------
    >>> record = DeviceRecord([("mass", np.float32), ("charge", np.int8)])
    >>> record["charge"] = -1
    >>> record["charge"]
    np.int8(-1)
    """
    return DeviceNDArray((), (), dtype, stream, gpu_data)


def from_array_like(
    ary: ArrayLike, stream: StreamLike = 0, gpu_data: Buffer | MemoryPointer | None = None
) -> DeviceNDArray:
    """Return a device array of the shape, dtype and strides of another array.

    Parameters
    ----------
    ary : array
        Host or device array to imitate; its elements are not copied.
    stream : Stream or 0
        Where operations on the array go that name no stream.
    gpu_data : Buffer or MemoryPointer, optional
        Existing memory; default: new memory with arbitrary contents.
    """
    return DeviceNDArray(ary.shape, ary.strides, ary.dtype, stream, gpu_data)


def from_record_like(
    rec: np.void | DeviceNDArray,
    stream: StreamLike = 0,
    gpu_data: Buffer | MemoryPointer | None = None,
) -> DeviceNDArray:
    """Return a record on the device with the fields of another record, like `DeviceRecord`."""
    return DeviceRecord(rec.dtype, stream, gpu_data)


def auto_device(
    obj: object, stream: StreamLike = 0, copy: bool = True
) -> tuple[DeviceNDArray, bool]:
    """Return a device array for anything that has the shape of one.

    Parameters
    ----------
    obj : array_like or device array
        What to bring to the device.
    stream : Stream or 0
        The stream that copies.
    copy : bool
        If false, only allocate.

    Returns
    -------
    ndarray
        The array on the device.
    bool
        Whether it is new.
    """
    if is_cuda_array(obj):
        return as_cuda_array(obj), False
    return to_device(np.asarray(obj), stream, copy), True


def array_core(ary: AnyArray) -> AnyArray:
    """Return the view of an array with one element along axes that it only repeats along."""
    if not ary.strides or not ary.size:
        return ary
    index = tuple(slice(None) if stride else slice(1) for stride in ary.strides)
    return cast("AnyArray", ary[index])


def is_contiguous(ary: AnyArray) -> bool:
    """Return whether the elements of an array lie packed in C order, repetitions aside."""
    return array_core(ary).flags["C_CONTIGUOUS"]
