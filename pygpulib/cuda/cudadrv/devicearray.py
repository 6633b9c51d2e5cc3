"""The names of numba's ``numba.cuda.cudadrv.devicearray`` that programs use."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np

from pygpulib.core.array import ndarray as DeviceNDArray  # noqa: N812  (numba's name)
from pygpulib.core.creation import to_device
from pygpulib.core.interop import as_cuda_array, is_cuda_array
from pygpulib.errors import ArgumentTypeError

if TYPE_CHECKING:
    from pygpulib.core.stream import StreamLike

AnyArray = TypeVar("AnyArray", DeviceNDArray, np.ndarray[Any, Any])

__all__ = [
    "DeviceNDArray",
    "array_core",
    "auto_device",
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
