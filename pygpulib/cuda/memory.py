"""Device arrays and host memory under numba's names."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.creation import (
    device_array,
    device_array_like,
    managed_array,
    mapped_array,
    mapped_array_like,
    pinned_array,
    pinned_array_like,
    to_device,
)
from pygpulib.core.cuda_interface import from_cuda_array_interface
from pygpulib.core.device import current_driver
from pygpulib.core.interop import as_cuda_array, from_dlpack, is_cuda_array, map_host
from pygpulib.errors import ArgumentTypeError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pygpulib.core.driver import HostArray
    from pygpulib.core.stream import StreamLike

__all__ = [
    "as_cuda_array",
    "defer_cleanup",
    "device_array",
    "device_array_like",
    "from_cuda_array_interface",
    "from_dlpack",
    "is_cuda_array",
    "managed_array",
    "mapped",
    "mapped_array",
    "mapped_array_like",
    "pinned",
    "pinned_array",
    "pinned_array_like",
    "to_device",
]


def _copy_by_kernel(target: ndarray, source: ndarray, stream: int) -> bool:
    from pygpulib.ufuncs.copying import copy_by_kernel

    return copy_by_kernel(target, source, stream)


ndarray.copy_rule = _copy_by_kernel


@contextmanager
def pinned(*arylist: HostArray) -> Iterator[None]:
    """Return a context in which host arrays are copied from and to fastest.

    Parameters
    ----------
    *arylist : numpy.ndarray
        The arrays; they need not stay pinned for anything to be right.

    Raises
    ------
    ArgumentTypeError
        If one is no NumPy array.

    Examples
    --------
    >>> host = np.arange(3)
    >>> with pinned(host):
    ...     device = to_device(host)
    """
    _require_host_arrays(arylist)
    # Mapped memory is pinned.
    with _mapping(arylist, 0):
        yield


@contextmanager
def mapped(*arylist: HostArray, stream: StreamLike = 0) -> Iterator[ndarray | list[ndarray]]:
    """Return a context that gives host arrays as device arrays, without a copy.

    Parameters
    ----------
    *arylist : numpy.ndarray
        The arrays.
    stream : Stream or 0
        Stream of the device arrays.

    Yields
    ------
    ndarray, or list of ndarray
        One device array for each; not in a list if there is just one.

    Raises
    ------
    ArgumentTypeError
        If one is no NumPy array.

    Examples
    --------
    >>> host = np.zeros(2)
    >>> with mapped(host) as device:
    ...     device[1] = 7
    >>> host
    array([0., 7.])
    """
    _require_host_arrays(arylist)
    with _mapping(arylist, stream) as arrays:
        yield arrays[0] if len(arrays) == 1 else arrays


@contextmanager
def _mapping(arylist: tuple[HostArray, ...], stream: StreamLike) -> Iterator[list[ndarray]]:
    arrays: list[ndarray] = []
    try:
        arrays.extend(map_host(host, stream) for host in arylist)
        yield arrays
    finally:
        # What the caller still has must not keep the memory from being mapped again, and memory
        # that is mapped is not memory to be given back later.
        for array in arrays:
            close = getattr(array.buffer.owner, "close", None)
            if close is not None:
                close()


@contextmanager
def defer_cleanup() -> Iterator[None]:
    """Return a context in which freeing memory never waits for the device."""
    with current_driver().defer_cleanup():
        yield


def _require_host_arrays(arrays: tuple[object, ...]) -> None:
    for position, array in enumerate(arrays):
        if not isinstance(array, np.ndarray):
            raise ArgumentTypeError(
                f"argument {position} is a {type(array).__name__}",
                detail="expected a NumPy array",
            )
