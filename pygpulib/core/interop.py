"""Exchange of memory with other libraries, without copies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array_like
from pygpulib.core.cuda_interface import from_cuda_array_interface
from pygpulib.core.device import current_driver
from pygpulib.core.dlpack import (
    HOST,
    PINNED,
    export_array,
    export_device_array,
    import_array,
    import_device_array,
)
from pygpulib.core.driver import LEGACY_DEFAULT_STREAM
from pygpulib.core.dtypes import storage_dtype
from pygpulib.core.layout import Layout, as_integers, byte_span
from pygpulib.core.mapped import MappedArray
from pygpulib.core.memory import Buffer
from pygpulib.core.ordering import at_home, note_work, order_after
from pygpulib.errors import ArgumentError, ArgumentTypeError, DeviceMismatchError, ExportError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pygpulib.core.dlpack import Exporter
    from pygpulib.core.driver import HostArray
    from pygpulib.core.stream import StreamLike

# What a consumer says that takes care of the order itself.
_NO_ORDER = -1


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


def export_dlpack(
    array: ndarray, stream: object = None, options: Mapping[str, object] | None = None
) -> object:
    """Return a DLPack capsule of an array; see ``__dlpack__`` in the DLPack protocol.

    Parameters
    ----------
    array : ndarray
        The array.
    stream : int, optional
        The consumer's stream, in the numbers of the protocol.
    options : mapping
        Its other options.

    Raises
    ------
    ExportError
        If the memory cannot be handed on in the way that is asked for.
    """
    given = {name: value for name, value in (options or {}).items() if value is not None}
    if array.host_view is not None:
        return export_array(array.host_view, given)
    is_copy = bool(given.get("copy"))
    device = array.__dlpack_device__()
    wanted = given.pop("dl_device", device)
    if as_integers(wanted) != device:
        return _export_to_host(array, wanted, given)
    given.pop("copy", None)
    if is_copy:
        array = _copy_of(array)
    if stream != _NO_ORDER:
        handle = _consumer_stream(stream)
        with at_home(array.buffer):
            order_after([array.buffer], handle)
            array.buffer.driver.order_after_all(handle)
    return export_device_array(array, device, given, is_copy=is_copy)


def _export_to_host(array: ndarray, wanted: object, given: dict[str, object]) -> object:
    if wanted != (HOST, 0) or given.get("copy") is False:
        raise ExportError(
            f"the array is on DLPack's device {array.__dlpack_device__()}, and was asked for on "
            f"device {wanted}, copy={given.get('copy')}",
            help="copy it there first, or ask for a copy on the host: dl_device=(1, 0)",
        )
    given.pop("copy", None)
    return export_array(array.copy_to_host(), given)


def _copy_of(array: ndarray) -> ndarray:
    with at_home(array.buffer):
        copy = device_array_like(array, array.stream)
    copy.copy_to_device(array)
    return copy


def _consumer_stream(stream: object) -> int:
    """Return the number of the stream on which another library uses an array."""
    if stream is None:
        return LEGACY_DEFAULT_STREAM
    if isinstance(stream, bool) or not isinstance(stream, int) or stream <= 0:
        raise ArgumentError(
            f"the argument stream of __dlpack__ is {stream!r}",
            detail="expected None, -1 for no order, 1 and 2 for the default streams, or the "
            "address of a stream; 0 could be either default stream",
        )
    return stream


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
        If the memory of `x` is on a device that kernels do not use.

    Notes
    -----
    What is done with the array comes after what the other library has queued for it; the host does
    not wait.

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
    driver = current_driver()
    kind, number = x.__dlpack_device__()
    device = int(kind), int(number)
    if not driver.accepts_dlpack(device):
        raise DeviceMismatchError(
            "the argument x is on another device",
            detail=f"expected DLPack device {driver.dlpack_device(0)}, got {device}",
            help="copy it with cuda.to_device(...)"
            if device[0] == HOST
            else "move it to the host with its own library first",
        )
    if driver.dlpack_device(0)[0] == HOST:
        return map_host(import_array(x))
    return _share_device_memory(x, device)


def _share_device_memory(x: Exporter, device: tuple[int, int]) -> ndarray:
    """Return a device array over memory that the host does not address."""
    driver = current_driver()
    # What the other library queues before, comes before what the default stream does next.
    waits = device[0] != PINNED
    array, is_readonly = import_device_array(x, LEGACY_DEFAULT_STREAM if waits else None)
    dtype = storage_dtype(array.dtype)
    low, high = byte_span(array.shape, array.strides, dtype.itemsize)
    address: int = array.__array_interface__["data"][0]
    buffer = Buffer(
        driver,
        address + low,
        high - low,
        owner=array,
        is_readonly=is_readonly,
        ordinal=driver.device_of_address(address),
    )
    if waits:
        with at_home(buffer):
            note_work(buffer, LEGACY_DEFAULT_STREAM)
    return ndarray.from_buffer(buffer, Layout(array.shape, array.strides, -low), dtype)


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


def lies_on_device(obj: object) -> bool:
    """Return whether an object of another library can be shared, and need not be copied.

    Parameters
    ----------
    obj : object
        Anything that is no device array of this package.

    Returns
    -------
    bool
        True for what `is_cuda_array` is true for, and for arrays on GPUs that speak DLPack only.
    """
    if is_cuda_array(obj):
        return True
    if isinstance(obj, type | np.ndarray) or not hasattr(obj, "__dlpack_device__"):
        return False
    kind = int(obj.__dlpack_device__()[0])
    return kind != HOST and kind == current_driver().dlpack_device(0)[0]


def as_cuda_array(obj: object, sync: bool = True) -> ndarray:
    """Return a device array that shares the memory of another device array.

    Parameters
    ----------
    obj : ndarray or object with ``__cuda_array_interface__`` or ``__dlpack__``
        The array.
    sync : bool
        Whether what is done with the array waits for the stream that `obj` names. The host does
        not wait.

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
