"""New device arrays, and host arrays that devices reach."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.device import current_driver
from pygpulib.core.dtypes import storage_dtype
from pygpulib.core.layout import (
    Layout,
    byte_span,
    contiguous_strides,
    normalize_shape,
    normalize_strides,
    strides_like,
)
from pygpulib.core.mapped import MappedArray
from pygpulib.core.memory import Buffer
from pygpulib.core.stream import stream_handle
from pygpulib.core.transfer import host_array, share_foreign
from pygpulib.errors import ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import DTypeLike, NDArray

    from pygpulib.core.driver import HostArray
    from pygpulib.core.layout import Shape
    from pygpulib.core.stream import StreamLike


class ArrayLike(Protocol):
    """A host or device array, as far as its shape, dtype and strides go."""

    @property
    def shape(self) -> Shape:
        """Length of each axis."""
        ...

    @property
    def strides(self) -> Shape:
        """Bytes from one element to the next along each axis."""
        ...

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """Element type."""
        ...


def to_device(
    obj: object, stream: StreamLike = 0, copy: bool = True, to: ndarray | None = None
) -> ndarray:
    """Copy a host array to the device.

    Parameters
    ----------
    obj : array_like
        What to copy; any strides. A device array is returned as it is, and another library's is
        shared.
    stream : Stream or 0
        The stream that copies, and that operations on the result go to.
    copy : bool
        If false, only allocate.
    to : ndarray, optional
        Where to; default: a new array.

    Returns
    -------
    ndarray
        `to`, or a new array, packed in the memory order of `obj`.

    Raises
    ------
    DTypeError
        If `obj` holds Python objects.
    ShapeError, DTypeError
        If `to` has another shape or dtype.

    Notes
    -----
    The result never shares memory with a host array, on any back end.

    Examples
    --------
    >>> to_device(np.arange(4.0))
    ndarray([0., 1., 2., 3.])
    """
    if to is not None:
        if not isinstance(to, ndarray):
            raise ArgumentTypeError(
                f"the argument to is a {type(to).__name__}", detail="expected a device array"
            )
        if copy:
            to.copy_to_device(obj, stream)
        return to
    shared = share_foreign(obj)
    if isinstance(shared, ndarray):
        return shared
    host = host_array(obj)
    result = device_array_like(host, stream)
    if copy:
        result.copy_to_device(host, stream)
    return result


def device_array(
    shape: object,
    dtype: DTypeLike = np.float64,
    strides: object = None,
    order: str = "C",
    stream: StreamLike = 0,
) -> ndarray:
    """Return a new device array with arbitrary contents.

    Parameters
    ----------
    shape : int or tuple of int
        Length of each axis.
    dtype : dtype-like
        Type of the elements.
    strides : tuple of int, optional
        Bytes from one element to the next along each axis; default: packed.
    order : str
        ``"C"`` (rows are contiguous) or ``"F"`` (columns are), where `strides` is not given.
    stream : Stream or 0
        Where operations on the array go that name no stream.

    Returns
    -------
    ndarray
        The array.

    Raises
    ------
    ArgumentTypeError, ShapeError
        If the shape is not made of integers of zero or more.
    DTypeError
        If the dtype cannot be stored on a device.
    DeviceMemoryError
        If there is no memory left.
    """
    lengths, element = normalize_shape(shape), storage_dtype(dtype)
    steps = _strides(lengths, element, strides, order)
    low, high = byte_span(lengths, steps, element.itemsize)
    buffer = Buffer.allocate(current_driver(), high - low, stream_handle(stream))
    return ndarray.from_buffer(buffer, Layout(lengths, steps, -low), element, stream)


def device_array_like(ary: ArrayLike, stream: StreamLike = 0) -> ndarray:
    """Return a new device array of the shape, dtype and memory order of another array.

    Parameters
    ----------
    ary : array
        Host or device array to imitate.
    stream : Stream or 0
        Where operations on the array go that name no stream.

    Returns
    -------
    ndarray
        The array, with arbitrary contents.
    """
    _check_is_array(ary)
    dtype = storage_dtype(ary.dtype)
    shape = tuple(ary.shape)
    if 0 in shape:
        # Nothing lies anywhere: the strides can stay as they are.
        layout = Layout(shape, tuple(ary.strides))
    else:
        layout = Layout(shape, strides_like(shape, tuple(ary.strides), dtype.itemsize))
    low, high = byte_span(layout.shape, layout.strides, dtype.itemsize)
    buffer = Buffer.allocate(current_driver(), high - low, stream_handle(stream))
    return ndarray.from_buffer(buffer, layout, dtype, stream)


def pinned_array(
    shape: object, dtype: DTypeLike = np.float64, strides: object = None, order: str = "C"
) -> HostArray:
    """Return a new host array in memory that the device copies from and to fastest.

    Parameters
    ----------
    shape : int or tuple of int
        Length of each axis.
    dtype : dtype-like
        Type of the elements.
    strides : tuple of int, optional
        Bytes from one element to the next along each axis; default: packed.
    order : str
        ``"C"`` or ``"F"``, where `strides` is not given.

    Returns
    -------
    numpy.ndarray
        The array, aligned to 64 bytes, with arbitrary contents.
    """
    return _host_memory(current_driver().allocate_host, shape, dtype, strides, order)[1]


def _host_memory(
    allocate: Callable[[int], NDArray[np.uint8]],
    shape: object,
    dtype: DTypeLike,
    strides: object,
    order: str,
) -> tuple[NDArray[np.uint8], HostArray]:
    """Return memory that the device addresses, and an array over it."""
    lengths, element = normalize_shape(shape), storage_dtype(dtype)
    steps = _strides(lengths, element, strides, order)
    low, high = byte_span(lengths, steps, element.itemsize)
    memory = allocate(high - low)
    return memory, np.ndarray(lengths, element, memory, -low, steps)


def pinned_array_like(ary: ArrayLike) -> HostArray:
    """Return `pinned_array` of the shape, dtype and memory order of another array."""
    _check_is_array(ary)
    strides = strides_like(tuple(ary.shape), tuple(ary.strides), ary.dtype.itemsize)
    return pinned_array(ary.shape, ary.dtype, strides)


def _check_is_array(ary: object) -> None:
    if not all(hasattr(ary, name) for name in ("shape", "strides", "dtype")):
        raise ArgumentTypeError(
            f"the argument ary is a {type(ary).__name__}",
            detail="expected a host or device array to imitate",
            help="make it an array first, with numpy.asarray(...)",
        )


def mapped_array(
    shape: object,
    dtype: DTypeLike = np.float64,
    strides: object = None,
    order: str = "C",
    stream: StreamLike = 0,
    portable: bool = False,  # noqa: ARG001
    wc: bool = False,  # noqa: ARG001
) -> MappedArray:
    """Return a new host array whose memory kernels use in place.

    Parameters
    ----------
    shape, dtype, strides, order
        As in `device_array`.
    stream : Stream or 0
        What other libraries that share the memory wait for; a launch names its own.
    portable, wc : bool
        Hints that have no meaning on the CPU.

    Returns
    -------
    numpy.ndarray
        The array, aligned to 64 bytes, with arbitrary contents.
    """
    stream_handle(stream)
    allocate = current_driver().allocate_host
    return MappedArray.over(*_host_memory(allocate, shape, dtype, strides, order), stream)


def mapped_array_like(
    ary: ArrayLike, stream: StreamLike = 0, portable: bool = False, wc: bool = False
) -> MappedArray:
    """Return `mapped_array` of the shape, dtype and memory order of another array."""
    _check_is_array(ary)
    strides = strides_like(tuple(ary.shape), tuple(ary.strides), ary.dtype.itemsize)
    return mapped_array(ary.shape, ary.dtype, strides, "C", stream, portable, wc)


def managed_array(
    shape: object,
    dtype: DTypeLike = np.float64,
    strides: object = None,
    order: str = "C",
    stream: StreamLike = 0,
    attach_global: bool = True,  # noqa: ARG001
) -> MappedArray:
    """Return a new array that host and kernels both use in place.

    Parameters
    ----------
    shape, dtype, strides, order
        As in `device_array`.
    stream : Stream or 0
        What other libraries that share the memory wait for; a launch names its own.
    attach_global : bool
        A hint that has no meaning on the CPU.

    Returns
    -------
    numpy.ndarray
        The array, aligned to 64 bytes, with arbitrary contents.
    """
    stream_handle(stream)
    allocate = current_driver().allocate_managed
    return MappedArray.over(*_host_memory(allocate, shape, dtype, strides, order), stream)


def _strides(shape: Shape, dtype: np.dtype[np.generic], strides: object, order: str) -> Shape:
    """Return the given strides, or packed ones; ``()`` counts as not given, as in numba."""
    if strides is None or strides == ():
        return contiguous_strides(shape, dtype.itemsize, order)
    return normalize_strides(strides, len(shape))
