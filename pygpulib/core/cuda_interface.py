"""Exchange of arrays as ``__cuda_array_interface__``, the protocol of libraries for GPUs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.core.device import current_driver
from pygpulib.core.dtypes import storage_dtype
from pygpulib.core.layout import (
    Layout,
    byte_span,
    contiguous_strides,
    element_count,
    normalize_shape,
    normalize_strides,
)
from pygpulib.core.memory import Buffer
from pygpulib.core.ordering import at_home, note_work, order_after
from pygpulib.core.settings import settings
from pygpulib.core.stream import Stream, external_stream, stream_handle
from pygpulib.errors import (
    ArgumentTypeError,
    DeviceMismatchError,
    LayoutError,
    UnsupportedFeatureError,
)

if TYPE_CHECKING:
    from typing import TypeAlias

    from pygpulib.core.driver import Driver
    from pygpulib.core.layout import Shape

    Interface: TypeAlias = Mapping[str, object]

_VERSION = 3


def export_interface(array: ndarray) -> dict[str, object]:
    """Return an array's ``__cuda_array_interface__``.

    Parameters
    ----------
    array : ndarray
        The array.

    Returns
    -------
    dict
        Version 3 of the protocol.

    Raises
    ------
    AttributeError
        If other libraries would take the array's memory for memory of a GPU.
    """
    if not array.buffer.driver.exports_cuda_interface:
        raise AttributeError(
            "the array lies in the memory of the host, and has no __cuda_array_interface__ where "
            "libraries for GPUs could take it for theirs; share it by DLPack"
        )
    interface: dict[str, object] = {
        "shape": array.shape,
        "strides": None if array.is_c_contiguous() else array.strides,
        "typestr": array.dtype.str,
        "data": (array.address if array.size else 0, array.buffer.is_readonly),
        "stream": _stream_for_others(array),
        "version": _VERSION,
    }
    if array.dtype.names:
        interface |= _describe_fields(array.dtype)
    return interface


def _stream_for_others(array: ndarray) -> int | None:
    """Return the stream that other libraries have to wait for, after all work so far."""
    stream = stream_handle(array.stream)
    with at_home(array.buffer):
        order_after([array.buffer], stream)
        return array.buffer.driver.order_after_all(stream)


def _describe_fields(dtype: np.dtype[np.generic]) -> dict[str, object]:
    """Return the optional entry that names the fields of a record."""
    try:
        return {"descr": dtype.descr}
    except ValueError:
        # Fields overlap or are out of order, which the protocol cannot say.
        return {}


def from_cuda_array_interface(desc: Interface, owner: object = None, sync: bool = True) -> ndarray:
    """Return a device array over the memory that a ``__cuda_array_interface__`` describes.

    Parameters
    ----------
    desc : mapping
        The interface, of any version.
    owner : object, optional
        Kept alive as long as the array.
    sync : bool
        Whether what is done with the array waits for the stream that the interface names, unless
        ``config.CUDA_ARRAY_INTERFACE_SYNC`` is off. The host does not wait.

    Returns
    -------
    ndarray
        A view of the memory; its stream is the one that the interface names.

    Raises
    ------
    ArgumentTypeError
        If `desc` is no such interface.
    LayoutError
        If it has elements and no address.
    ShapeError, DTypeError
        If its shape, strides or typestr are invalid.
    UnsupportedFeatureError
        If it has a mask.
    DeviceMismatchError
        If kernels run on the processor, and the memory may be a GPU's.
    """
    _check_keys(desc)
    driver = _driver_for_interfaces()
    dtype = _dtype_of(desc)
    shape, steps = _layout_of(desc, dtype.itemsize)
    stream = _stream_of(desc)
    if not element_count(shape):
        return device_array(shape, dtype, steps, stream=stream or 0)
    address, is_readonly = _memory_of(desc)
    low, high = byte_span(shape, steps, dtype.itemsize)
    buffer = Buffer(
        driver,
        address + low,
        high - low,
        owner=desc if owner is None else owner,
        is_readonly=is_readonly,
        ordinal=driver.device_of_address(address),
    )
    if stream and sync and settings.CUDA_ARRAY_INTERFACE_SYNC:
        with at_home(buffer):
            note_work(buffer, stream.handle)
    return ndarray.from_buffer(buffer, Layout(shape, steps, -low), dtype, stream or 0)


def _check_keys(desc: object) -> None:
    keys = ("shape", "typestr", "data", "version")
    if not isinstance(desc, Mapping) or not all(key in desc for key in keys):
        raise ArgumentTypeError(
            f"the __cuda_array_interface__ is {desc!r}",
            detail=f"expected a dictionary with at least {', '.join(keys)}",
        )
    if desc.get("mask") is not None:
        raise UnsupportedFeatureError(
            "Masked arrays are not supported", help="fill the masked elements first"
        )


def _driver_for_interfaces() -> Driver:
    driver = current_driver()
    if not driver.exports_cuda_interface:
        raise DeviceMismatchError(
            "an array in the memory of a GPU was given, and kernels run on the processor",
            detail=f"the back end is {driver.name!r}",
            help="copy it to the host first, with its own library",
        )
    return driver


def _layout_of(desc: Interface, itemsize: int) -> tuple[Shape, Shape]:
    """Return the shape and the strides in bytes."""
    shape, strides = normalize_shape(desc["shape"]), desc.get("strides")
    if strides is None:
        return shape, contiguous_strides(shape, itemsize)
    return shape, normalize_strides(strides, len(shape))


def _dtype_of(desc: Interface) -> np.dtype[np.generic]:
    plain = storage_dtype(desc["typestr"])  # type: ignore[arg-type]
    if plain.kind != "V" or not desc.get("descr"):
        return plain
    # Puts padding back between the fields, where numpy.dtype would make fields of it.
    record = np.lib.format.descr_to_dtype(desc["descr"])  # type: ignore[arg-type]
    return storage_dtype(record) if record.names else plain


def _memory_of(desc: Interface) -> tuple[int, bool]:
    match desc["data"]:
        case ((int() | np.integer()) as address, is_readonly) if address > 0:
            return int(address), bool(is_readonly)
    raise LayoutError(
        "the __cuda_array_interface__ does not say where the elements are",
        detail=f"its data is {desc['data']!r}; expected an address, and whether it is read-only",
    )


def _stream_of(desc: Interface) -> Stream | None:
    number = desc.get("stream")
    return None if number is None else external_stream(number)
