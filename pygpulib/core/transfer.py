"""Copies between host and device arrays: what fits, and in which layout."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

import numpy as np

from pygpulib.core.dtypes import find_small, is_number
from pygpulib.core.layout import (
    Layout,
    broadcast_strides,
    is_c_contiguous,
    is_f_contiguous,
    squeeze,
    strides_like,
)
from pygpulib.core.ordering import at_home, hand_back, order_after
from pygpulib.core.stream import default_stream, stream_handle
from pygpulib.errors import (
    ArgumentError,
    ArgumentTypeError,
    DTypeError,
    LayoutError,
    ShapeError,
)

if TYPE_CHECKING:
    from pygpulib.core.array import ndarray
    from pygpulib.core.driver import HostArray
    from pygpulib.core.layout import Shape
    from pygpulib.core.stream import StreamLike


def empty_on_host(shape: Shape, strides: Shape, dtype: np.dtype[np.generic]) -> HostArray:
    """Return a new host array, packed, with its axes in the memory order of the given strides."""
    if is_c_contiguous(shape, strides, dtype.itemsize):
        return np.empty(shape, dtype)
    if is_f_contiguous(shape, strides, dtype.itemsize):
        return np.empty(shape, dtype, "F")
    return np.ndarray(shape, dtype, strides=strides_like(shape, strides, dtype.itemsize))


def download(source: ndarray, target: object, stream: StreamLike) -> HostArray:
    """Copy a device array to the host; see `ndarray.copy_to_host`."""
    handle = stream_handle(stream)
    if target is None:
        result = empty_on_host(source.shape, source.strides, source.dtype)
        _copy_to_host(result, source, handle)
        return result
    if isinstance(target, np.void):
        _download_record(source, target, handle)
        return target  # type: ignore[return-value]
    if not isinstance(target, np.ndarray):
        raise ArgumentTypeError(
            f"the argument ary is a {type(target).__name__}",
            detail="expected a NumPy array to copy into",
            help="leave it out to get a new array",
        )
    _check_match("ary", target, source)
    if not target.flags.writeable:
        raise ArgumentError(
            "the argument ary is read-only", help="copy into an array that can be written"
        )
    squeezed = source.with_layout(squeeze(source.shape, source.strides))
    # As an array without more ado: a matrix has two axes whatever happens to it.
    _copy_to_host(np.asarray(target).squeeze(), squeezed, handle)
    return target


def _copy_to_host(target: HostArray, source: ndarray, handle: int) -> None:
    with at_home(source.buffer):
        order_after([source.buffer], handle)
        source.buffer.driver.copy_to_host(target, source, handle)


def _copy_to_device(target: ndarray, source: HostArray, handle: int) -> None:
    with at_home(target.buffer):
        order_after([target.buffer], handle)
        target.buffer.driver.copy_to_device(target, source, handle)


def _copy_on_device(target: ndarray, source: ndarray, handle: int) -> None:
    with at_home(target.buffer):
        order_after([target.buffer, source.buffer], handle)
        target.buffer.driver.copy_on_device(target, source, handle)


def _download_record(source: ndarray, target: np.void, handle: int) -> None:
    """Copy one record field by field: a NumPy record scalar has no other way to be written."""
    result = np.empty(source.shape, source.dtype)
    _check_match("ary", np.asarray(target), source)
    _copy_to_host(result, source, handle)
    for name in source.dtype.names or ():
        target[name] = result[name].reshape(target[name].shape)[()]


def upload(target: ndarray, source: object, stream: StreamLike) -> None:
    """Copy into a device array of the same shape and dtype; see `ndarray.copy_to_device`."""
    handle = stream_handle(stream)
    _require_writable(target)
    squeezed = target.with_layout(squeeze(target.shape, target.strides))
    given, source = source, share_foreign(source)
    if _is_device_array(source, target):
        _check_match("ary", source, target)
        _copy_on_device(squeezed, source.with_layout(squeeze(source.shape, source.strides)), handle)
        hand_back([given], [source], handle)
    else:
        host = host_array(source)
        _check_match("ary", host, target)
        _copy_to_device(squeezed, host.squeeze(), handle)


def assign(target: ndarray, value: object, stream: StreamLike) -> None:
    """Copy a value into a device array, broadcast and converted as in a kernel's store."""
    _require_writable(target)
    # As a plain statement an assignment is finished when it returns.
    is_synchronous = not stream and not target.stream
    handle = stream_handle(stream or target.stream)
    given, value = value, share_foreign(value)
    if _is_device_array(value, target):
        _check_store(value.dtype, target.dtype)
        strides = broadcast_strides(value.shape, value.strides, target.shape)
        source = value.with_layout(Layout(target.shape, strides))
        _copy_on_device(target, source, handle)
        hand_back([given], [value], handle)
    else:
        _copy_to_device(target, _host_value(value, target), handle)
    if is_synchronous:
        with at_home(target.buffer):
            default_stream().synchronize()


def _host_value(value: object, target: ndarray) -> HostArray:
    """Return a host value with the target's shape."""
    if is_number(target.dtype) or isinstance(value, np.ndarray | np.generic):
        host = host_array(value)
        _check_store(host.dtype, target.dtype)
    else:
        # A tuple for a record, a string for a date: only the dtype says how to read it.
        host = np.asarray(value, target.dtype)
    strides = broadcast_strides(host.shape, host.strides, target.shape)
    view = strided_view(host, target.shape, strides)
    view.flags.writeable = False
    return view


def strided_view(array: HostArray, shape: Shape, strides: Shape) -> HostArray:
    """Return a view of a host array from its first element on, as NumPy's ``as_strided`` does.

    Parameters
    ----------
    array : numpy.ndarray
        The array, which may have the elements that NumPy's function does not know.
    shape, strides : tuple of int
        The layout.
    """
    row = find_small(array.dtype)
    bits = array if row is None else array.view(f"u{row.size_bytes}")
    view = np.lib.stride_tricks.as_strided(bits, shape, strides)
    return view if row is None else view.view(array.dtype)


def read_scalar(source: ndarray) -> np.generic:
    """Return the only element of an array."""
    result = np.empty(source.shape, source.dtype)
    _copy_to_host(result, source, stream_handle(source.stream))
    number: np.generic = result.reshape(-1)[0]
    return number


def host_array(obj: object) -> HostArray:
    """Return an object as a NumPy array, without a copy where NumPy needs none.

    Parameters
    ----------
    obj : array_like
        Numbers, nested sequences, NumPy arrays, or anything with an array protocol.

    Returns
    -------
    numpy.ndarray
        The array.

    Raises
    ------
    DTypeError
        If it has no dtype whose elements are plain bytes.
    ArgumentTypeError
        If it is a masked array, whose mask would be lost.
    """
    if hasattr(obj, "mask") and isinstance(obj, np.ma.MaskedArray):
        raise ArgumentTypeError(
            "Masked arrays are not supported", help="fill the masked elements: a.filled(...)"
        )
    try:
        host = np.asarray(obj)
    except ValueError as cause:
        raise ShapeError(
            "the rows of a nested sequence have different lengths",
            detail=str(cause),
            help="make all rows equally long",
        ) from cause
    if host.dtype.hasobject:
        raise DTypeError(
            f"a {type(obj).__name__} cannot be stored on a device",
            detail=f"NumPy gives it dtype {host.dtype}; expected numbers",
            help="convert it to an array of numbers first",
        )
    return host


def share_foreign(obj: object) -> object:
    """Return another library's device array as one of ours, and anything else as it is."""
    if isinstance(obj, np.ndarray | np.generic | int | float):
        return obj
    from pygpulib.core.array import ndarray
    from pygpulib.core.interop import as_cuda_array, lies_on_device

    return as_cuda_array(obj) if not isinstance(obj, ndarray) and lies_on_device(obj) else obj


def _is_device_array(obj: object, like: ndarray) -> TypeGuard[ndarray]:
    return isinstance(obj, type(like))


def _require_writable(target: ndarray) -> None:
    if target.buffer.is_readonly:
        raise LayoutError(
            "assignment destination is read-only",
            detail="the array shares the memory of a read-only array",
            help="make a device copy of that array: cuda.to_device(...)",
        )


def _check_match(argument: str, given: HostArray | ndarray, array: ndarray) -> None:
    """Check the argument of a copy, which neither converts nor broadcasts."""
    if given.dtype != array.dtype:
        raise DTypeError(
            f"incompatible dtype: {array.dtype} vs. {given.dtype}",
            detail=f"the device array has dtype {array.dtype}, the argument {argument} has "
            f"dtype {given.dtype}",
            help=f"convert with {argument}.astype(...)",
        )
    if [n for n in given.shape if n != 1] != [n for n in array.shape if n != 1]:
        raise ShapeError(
            f"incompatible shape: {array.shape} vs. {given.shape}",
            detail=f"the device array has shape {array.shape}, the argument {argument} has "
            f"shape {given.shape}",
            help="both must be equal, axes of length one aside",
        )


def _check_store(given: np.dtype[np.generic], stored: np.dtype[np.generic]) -> None:
    """Check that an element of one dtype can be stored as another."""
    if given == stored:
        return
    numbers = is_number(given) and is_number(stored)
    if numbers and (given.kind != "c" or stored.kind == "c"):
        return
    if not numbers and np.can_cast(given, stored, "same_kind"):
        return
    raise DTypeError(
        f"cannot store {given} values in an array of dtype {stored}",
        help="take .real of complex values" if given.kind == "c" else "convert the values first",
    )
