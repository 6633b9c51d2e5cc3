"""Filling arrays of any layout, in host or device memory, with the numbers of an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.core.interop import as_cuda_array, is_cuda_array
from pygpulib.core.ordering import hand_back
from pygpulib.core.stream import stream_handle
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError, counted
from pygpulib.rand.request import read_integer

if TYPE_CHECKING:
    from pygpulib.core.stream import StreamLike
    from pygpulib.rand.engine import AnyArray, Engine
    from pygpulib.rand.request import Request

_ACCEPTED = {
    name: tuple(map(np.dtype, names))
    for name, names in {
        "uint32": ("uint32", "int32"),
        "uint64": ("uint64", "int64"),
        "float32": ("float32",),
        "float64": ("float64",),
    }.items()
}


def fill_array(
    engine: Engine,
    request: Request,
    out: object,
    stream: StreamLike = 0,
    size: int | None = None,
) -> None:
    """Write an engine's next numbers to an array, in the order of its indices.

    Parameters
    ----------
    engine : Engine
        The generator.
    request : Request
        What is asked for.
    out : array
        An array of NumPy, of this package, or of a library that speaks the CUDA array interface;
        of any shape and strides, and of the request's dtype or its signed twin. An array of the
        host is filled when the function returns.
    stream : Stream or 0
        Where the work is queued.
    size : int, optional
        Only so many elements, the first ones; default: all.

    Raises
    ------
    ArgumentTypeError
        If it is no array.
    DTypeError
        If its dtype is another.
    ArgumentError
        If it is read-only, or has fewer elements. In all these cases nothing was generated.
    """
    array = read_array(out)
    if array.dtype not in _ACCEPTED[request.dtype]:
        raise DTypeError(
            f"the array for {request.distribution.value} random numbers holds {array.dtype}",
            detail=f"expected {' or '.join(map(str, _ACCEPTED[request.dtype]))}",
        )
    count = array.size if size is None else _read_count(size, array.size)
    if not count:
        return
    queue = stream_handle(stream)
    target: AnyArray = array
    if engine.fills_host_memory and isinstance(array, ndarray) and array.host_view is not None:
        target = array.host_view
    is_direct = isinstance(target, np.ndarray) == engine.fills_host_memory and _is_plain(target)
    if is_direct:
        numbers = _flatten(target, count)
    elif engine.fills_host_memory:
        numbers = np.empty(count, array.dtype)
    else:
        numbers = device_array(count, array.dtype, stream=stream)
    with engine.lock:
        engine.fill(request, numbers, queue)
    if not is_direct:
        _copy_first(target, numbers, queue)
    if array is not out:
        hand_back([out], [array], queue)


def _read_count(size: object, most: int) -> int:
    count = read_integer("size", size, 0, 2**63 - 1)
    if count > most:
        raise ArgumentError(
            f"an array of {counted(most, 'element')} cannot hold {counted(count, 'random number')}"
        )
    return count


def _flatten(array: AnyArray, count: int) -> AnyArray:
    """Return the first elements of a contiguous array, with one axis."""
    flat = array.reshape(-1)
    return flat if count == flat.size else flat[:count]  # type: ignore[return-value]


def read_array(out: object) -> AnyArray:
    """Return an array that can be written to, as one of NumPy or of this package.

    Raises
    ------
    ArgumentTypeError
        If it is no array.
    ArgumentError
        If it is read-only.
    """
    if isinstance(out, np.ndarray):
        if not out.flags.writeable:
            raise ArgumentError("the array for random numbers is read-only")
        # Matrices keep two axes whatever their shape is asked to be.
        return np.asarray(out)
    if isinstance(out, ndarray) or is_cuda_array(out):
        array = out if isinstance(out, ndarray) else as_cuda_array(out)
        if array.buffer.is_readonly:
            raise ArgumentError("the array for random numbers is read-only")
        return array
    raise ArgumentTypeError(
        f"random numbers were to be written to a {type(out).__name__}", detail="expected an array"
    )


def _is_plain(array: AnyArray) -> bool:
    """Whether numbers can be written to an array one after the other."""
    if not array.flags.c_contiguous:
        return False
    return not isinstance(array, np.ndarray) or array.flags.aligned


def _copy_first(target: AnyArray, numbers: AnyArray, queue: int) -> None:
    """Copy numbers to the first elements of an array of any layout."""
    if numbers.size == target.size:
        _copy(target, numbers.reshape(target.shape), queue)
        return
    inner = target.size // target.shape[0]
    whole, rest = divmod(numbers.size, inner)
    begin = whole * inner
    if whole:
        _copy_first(target[:whole], numbers[:begin], queue)  # type: ignore[arg-type]
    if rest:
        _copy_first(target[whole], numbers[begin:], queue)  # type: ignore[arg-type]


def _copy(target: AnyArray, source: AnyArray, queue: int) -> None:
    if not isinstance(target, np.ndarray):
        target.copy_to_device(source, queue)
    elif isinstance(source, np.ndarray):
        target[...] = source
    else:
        source.copy_to_host(target, queue)
        if queue:
            source.buffer.driver.synchronize_stream(queue)
