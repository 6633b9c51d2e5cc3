"""Filling arrays of any layout, in host or device memory, with the numbers of an engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.core.interop import as_cuda_array, is_cuda_array
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


def fill_array(engine: Engine, request: Request, out: object, stream: StreamLike = 0) -> None:
    """Write an engine's next numbers to an array, in the order of its indices.

    Parameters
    ----------
    engine : Engine
        The generator.
    request : Request
        What is asked for.
    out : array
        An array of NumPy, of this package, or of a library that speaks the CUDA array interface;
        of any shape and strides, and of the request's dtype or its signed twin.
    stream : Stream or 0
        Where the work is queued.

    Raises
    ------
    ArgumentTypeError
        If it is no array.
    DTypeError
        If its dtype is another.
    ArgumentError
        If it is read-only. In all these cases nothing was generated.
    """
    array = read_array(out)
    if array.dtype not in _ACCEPTED[request.dtype]:
        raise DTypeError(
            f"the array for {request.distribution.value} random numbers holds {array.dtype}",
            detail=f"expected {' or '.join(map(str, _ACCEPTED[request.dtype]))}",
        )
    if not array.size:
        return
    queue = stream_handle(stream)
    if engine.fills_host_memory and isinstance(array, ndarray) and array.host_view is not None:
        array = array.host_view
    if isinstance(array, np.ndarray) == engine.fills_host_memory and _is_plain(array):
        with engine.lock:
            engine.fill(request, array.reshape(-1), queue)
        return
    if engine.fills_host_memory:
        numbers: AnyArray = np.empty(array.size, array.dtype)
    else:
        numbers = device_array(array.size, array.dtype, stream=stream)
    with engine.lock:
        engine.fill(request, numbers, queue)
    _copy(array, numbers.reshape(array.shape), stream)


def fill_first(
    engine: Engine, request: Request, out: object, size: int | None, stream: StreamLike = 0
) -> None:
    """Write an engine's next numbers to the first elements of an array, in the order of indices.

    Parameters
    ----------
    engine, request, out, stream
        See :func:`fill_array`.
    size : int or None
        How many elements; None: all.

    Raises
    ------
    ArgumentError
        If the array has fewer elements.
    """
    if size is None:
        fill_array(engine, request, out, stream)
        return
    array = read_array(out)
    count = read_integer("size", size, 0, 2**63 - 1)
    if count > array.size:
        raise ArgumentError(
            f"an array of {counted(array.size, 'element')} cannot hold "
            f"{counted(count, 'random number')}"
        )
    if count == array.size:
        fill_array(engine, request, array, stream)
    elif array.ndim == 1:
        fill_array(engine, request, array[:count], stream)
    elif array.flags.c_contiguous:
        fill_array(engine, request, array.reshape(-1)[:count], stream)
    else:
        _fill_part(engine, request, array, count, stream)


def _fill_part(
    engine: Engine, request: Request, array: AnyArray, count: int, stream: StreamLike
) -> None:
    """Fill the first elements of an array of any layout, which needs all of them at hand."""
    host = array if isinstance(array, np.ndarray) else array.copy_to_host(stream=stream)
    whole = np.array(host, order="C")
    fill_array(engine, request, whole.reshape(-1)[:count], stream)
    _copy(array, whole, stream)


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
    if isinstance(out, ndarray):
        return out
    if is_cuda_array(out):
        return as_cuda_array(out)
    raise ArgumentTypeError(
        f"random numbers were to be written to a {type(out).__name__}", detail="expected an array"
    )


def _is_plain(array: AnyArray) -> bool:
    """Whether numbers can be written to an array one after the other."""
    if not array.flags.c_contiguous:
        return False
    return not isinstance(array, np.ndarray) or array.flags.aligned


def _copy(target: AnyArray, source: Any, stream: StreamLike) -> None:  # noqa: ANN401
    if isinstance(source, np.ndarray):
        if isinstance(target, np.ndarray):
            target[...] = source
        else:
            target.copy_to_device(source, stream=stream)
    elif isinstance(target, np.ndarray):
        target[...] = source.copy_to_host(stream=stream)
    else:
        target.copy_to_device(source, stream=stream)
