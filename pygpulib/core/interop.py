"""Exchange of memory with other libraries, without copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.cuda_interface import from_cuda_array_interface
from pygpulib.core.device import current_driver
from pygpulib.core.dlpack import export_array, import_array
from pygpulib.core.dtypes import storage_dtype
from pygpulib.core.layout import Layout
from pygpulib.core.mapped import MappedArray
from pygpulib.errors import ArgumentTypeError, DeviceMismatchError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pygpulib.core.driver import HostArray
    from pygpulib.core.stream import StreamLike


def map_host(array: HostArray, stream: StreamLike = 0) -> ndarray:
    """Return a device array that shares the memory of a host array.

    Parameters
    ----------
    array : numpy.ndarray
        Any strides; kept alive.
    stream : Stream or 0
        Stream of the result.

    Returns
    -------
    ndarray
        A view of the host memory.
    """
    dtype = storage_dtype(array.dtype)
    buffer, offset = current_driver().map_host(array)
    return ndarray.from_buffer(buffer, Layout(array.shape, array.strides, offset), dtype, stream)


def export_dlpack(array: ndarray, options: Mapping[str, object]) -> object:
    """Return a DLPack capsule of an array; see ``__dlpack__`` in the DLPack protocol."""
    if array.host_view is None:
        raise DeviceMismatchError(
            "this back end cannot hand its memory to other libraries",
            help="copy to the host first, with copy_to_host()",
        )
    given = {name: value for name, value in options.items() if value is not None}
    return export_array(array.host_view, given)


def from_dlpack(x: object) -> ndarray:
    """Return a device array that shares the memory of another library's array.

    Parameters
    ----------
    x : object with ``__dlpack__``
        For example a NumPy array, or a CPU tensor of PyTorch.

    Returns
    -------
    ndarray
        A view of the same memory, which stays alive.

    Raises
    ------
    ArgumentTypeError
        If `x` does not speak DLPack.
    DeviceMismatchError
        If the memory of `x` is on another device.

    Examples
    --------
    >>> host = np.zeros(2)
    >>> from_dlpack(host)[0] = 5
    >>> host
    array([5., 0.])
    """
    if isinstance(x, ndarray):
        return x.bind(x.stream)
    if not hasattr(x, "__dlpack__") or not hasattr(x, "__dlpack_device__"):
        raise ArgumentTypeError(
            f"the argument x is a {type(x).__name__}",
            detail="expected an object with __dlpack__ and __dlpack_device__",
            help="use to_device(x) for anything that NumPy understands",
        )
    wanted, given = current_driver().dlpack_device(0), tuple(x.__dlpack_device__())
    if given[0] != wanted[0]:
        raise DeviceMismatchError(
            "the argument x is on another device",
            detail=f"expected DLPack device {wanted}, got {given}",
            help="move it to the host with its own library first",
        )
    return map_host(import_array(x))


def is_cuda_array(obj: object) -> bool:
    """Return whether an object is an array on a device.

    Parameters
    ----------
    obj : object
        Anything.

    Returns
    -------
    bool
        True for device arrays, for mapped and managed arrays, and for objects with
        ``__cuda_array_interface__``.
    """
    if isinstance(obj, ndarray):
        return True
    if isinstance(obj, MappedArray):
        return obj.is_mapped
    return not isinstance(obj, type) and hasattr(obj, "__cuda_array_interface__")


def as_cuda_array(obj: object, sync: bool = True) -> ndarray:
    """Return a device array that shares the memory of another device array.

    Parameters
    ----------
    obj : ndarray or object with ``__cuda_array_interface__`` or ``__dlpack__``
        The array.
    sync : bool
        Whether to wait for the stream that `obj` names.

    Returns
    -------
    ndarray
        A view of the same memory.

    Raises
    ------
    ArgumentTypeError
        If `obj` is no device array; a NumPy array is none.
    DeviceMismatchError
        If the memory of `obj` is on another device.
    """
    if isinstance(obj, ndarray):
        return obj.bind(obj.stream)
    if isinstance(obj, MappedArray) and obj.is_mapped:
        return obj.as_device_array()
    if not isinstance(obj, np.ndarray | np.generic):
        if hasattr(obj, "__cuda_array_interface__"):
            return from_cuda_array_interface(obj.__cuda_array_interface__, obj, sync)
        if hasattr(obj, "__dlpack__"):
            return from_dlpack(obj)
    raise ArgumentTypeError(
        "*obj* doesn't implement the cuda array interface.",
        detail=f"obj is a {type(obj).__name__}",
        help="use to_device(obj) to copy host data, or from_dlpack(obj) to share it",
    )
