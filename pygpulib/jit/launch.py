"""Launches: how many threads, on which stream, and the arguments as words."""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import TYPE_CHECKING

import numpy as np

from pygpulib._record import record
from pygpulib.core.array import ndarray
from pygpulib.core.device import current_device, current_driver, selected_ordinal
from pygpulib.core.driver import LaunchShape
from pygpulib.core.layout import as_integer
from pygpulib.core.stream import stream_handle
from pygpulib.errors import LaunchError, LaunchTypeError, PerformanceWarning
from pygpulib.jit import models, types
from pygpulib.jit.backends.protocol import HEADER_WORDS
from pygpulib.jit.ir.small_floats import narrow
from pygpulib.jit.signature import address_of_record

if TYPE_CHECKING:
    from pygpulib.core.dtypes import DType

_AXES = "xyz"
_EXAMPLE = "write kernel[blocks_per_grid, threads_per_block](...), for example kernel[32, 256](...)"


@record(eq=True)
class LaunchConfig:
    """What stands in the brackets of ``kernel[grid, block, stream, sharedmem]``.

    Attributes
    ----------
    shape : LaunchShape
        Threads and dynamic shared memory.
    stream : int
        The driver's number of the stream.
    """

    shape: LaunchShape
    stream: int


def make_config(
    grid: object, block: object, stream: object = 0, shared_bytes: object = 0
) -> LaunchConfig:
    """Check a launch configuration.

    Parameters
    ----------
    grid, block : int or sequence of 1 to 3 ints
        Blocks of the grid, and threads of a block.
    stream : Stream, int, or object with ``__cuda_stream__``
        Where the launch is queued.
    shared_bytes : int
        Dynamic shared memory of a block.

    Returns
    -------
    LaunchConfig
        The configuration.

    Raises
    ------
    LaunchError
        If a size is not positive or too large for the device.
    LaunchTypeError
        If a size is not an integer.
    """
    limits = current_driver().launch_limits(selected_ordinal())
    grid_lengths = _lengths(grid, "grid")
    block_lengths = _lengths(block, "block")
    threads = prod(block_lengths)
    if threads > limits["MAX_THREADS_PER_BLOCK"]:
        raise LaunchError(
            f"the block of a launch, {block}, has {threads} threads",
            detail=f"a block may have at most {limits['MAX_THREADS_PER_BLOCK']} threads",
            help="use more blocks of fewer threads",
        )
    _check_limits("block", block_lengths, [limits[f"MAX_BLOCK_DIM_{axis}"] for axis in "XYZ"])
    _check_limits("grid", grid_lengths, [limits[f"MAX_GRID_DIM_{axis}"] for axis in "XYZ"])
    return LaunchConfig(
        LaunchShape(grid_lengths, block_lengths, _shared(shared_bytes, limits)),
        stream_handle(stream),
    )


def warn_of_idle_processors(kernel_name: str, config: LaunchConfig) -> None:
    """Warn if a grid has fewer blocks than the device runs at a time."""
    blocks = prod(config.shape.grid)
    at_once = current_device().MULTIPROCESSOR_COUNT
    if blocks < at_once:
        # The frames above this one: _configure, __getitem__, the launch.
        warnings.warn(
            PerformanceWarning(
                f"Grid size {blocks} of the kernel {kernel_name} is less than the {at_once} blocks "
                "that the device runs at a time, which means low occupancy"
            ),
            stacklevel=4,
        )


def _lengths(given: object, what: str) -> tuple[int, int, int]:
    """Return three lengths; missing ones are 1."""
    if isinstance(given, np.ndarray):
        given = given.tolist()
    parts: list[object] = list(given) if isinstance(given, Sequence) else [given]
    form = f"{what}dim must be a sequence of 1, 2 or 3 integers, got {parts}"
    if isinstance(given, str) or not 1 <= len(parts) <= 3:
        kind = LaunchTypeError if isinstance(given, str) else LaunchError
        raise kind(f"the {what} of a launch is {given!r}", detail=form, help=_EXAMPLE)
    lengths = []
    for part in parts:
        try:
            lengths.append(as_integer(part))
        except TypeError as cause:
            raise LaunchTypeError(
                f"the {what} of a launch has the size {part!r}, which is not an integer",
                detail=f"{what}dim must be a sequence of integers, got {parts}",
                help="divide with // instead of /, or convert with int(...)",
            ) from cause
    for axis, length in zip(_AXES, lengths, strict=False):
        if length < 1:
            raise LaunchError(
                f"the {what} of a launch has {length} along dimension {axis}",
                detail="every dimension must be at least 1",
                help="do not launch at all where there is nothing to do",
            )
    x, y, z = (*lengths, 1, 1)[:3]
    return x, y, z


def _check_limits(what: str, lengths: Sequence[int], limits: Sequence[int]) -> None:
    for axis, length, limit in zip(_AXES, lengths, limits, strict=True):
        if length > limit:
            raise LaunchError(
                f"the {what} of a launch has {length} along dimension {axis}",
                detail=f"the device allows at most {limit} along {axis}; "
                f"all limits: {tuple(limits)}",
            )


def _shared(given: object, limits: Mapping[str, int]) -> int:
    try:
        size = as_integer(given)
    except TypeError as cause:
        raise LaunchTypeError(
            f"the dynamic shared memory of a block is {given!r}",
            detail="expected an integer, the number of bytes",
        ) from cause
    limit = limits["MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"]
    if not 0 <= size <= limit:
        raise LaunchError(
            f"the dynamic shared memory of a block is {size} bytes",
            detail=f"expected 0 to {limit} bytes",
        )
    return size


# ----------------------------------------------------------------------------- argument words

WordBlock = ctypes.Array[ctypes.c_uint64]

_MASK = (1 << 64) - 1


def pack_arguments(parameter_types: Sequence[types.Type], values: Sequence[object]) -> WordBlock:
    """Return the argument words of a launch, after room for the back end's header.

    Parameters
    ----------
    parameter_types : sequence of Type
        What the kernel was compiled for; numbers convert to it.
    values : sequence
        The arguments.
    """
    words = [0] * HEADER_WORDS
    for type_, value in zip(parameter_types, values, strict=True):
        words.extend(_words(type_, value))
    return (ctypes.c_uint64 * len(words))(*words)


def _words(type_: types.Type, value: object) -> Iterator[int]:
    """Yield the words of a value as ``Type.flat`` lays it out."""
    match type_:
        case types.ScalarType(dtype):
            yield from _scalar_words(dtype, value)
        case types.ArrayType():
            assert isinstance(value, np.ndarray | ndarray)
            yield value.ctypes.data if isinstance(value, np.ndarray) else value.address
            yield from value.shape
            yield from (stride & _MASK for stride in value.strides)
        case types.TupleType(items):
            assert isinstance(value, tuple)
            for item, part in zip(items, value, strict=True):
                yield from _words(item, part)
        case types.NoneType() | types.ClassType():
            return
        case types.RecordType() | types.PointerType():
            yield _address(value)
        case types.TimeType():
            yield int(np.asarray(value).astype(type_.layout.numpy).view(np.int64)) & _MASK
        case types.EnumType(cls):
            assert isinstance(value, cls)
            yield list(cls).index(value)
        case types.OptionalType(inner):
            yield value is not None
            yield from [0] * len(inner.flat()) if value is None else _words(inner, value)
        case _:
            assert isinstance(value, tuple)
            yield from _member_words(models.members_of(type_), value)


def _member_words(members: models.Members, values: tuple[object, ...]) -> Iterator[int]:
    for (_, member), value in zip(members, values, strict=True):
        yield from _words(member, value)


def _address(value: object) -> int:
    """Return the address of a record, or the one that an integer is."""
    if isinstance(value, np.void):
        return address_of_record(value)
    if isinstance(value, ndarray):
        return value.address
    return as_integer(value) & _MASK


def _scalar_words(dtype: DType, value: object) -> Iterator[int]:
    if dtype.is_integer:
        yield int(value) & _MASK  # type: ignore[call-overload]
        return
    # A number that is too large becomes an infinity, as in an assignment to an array.
    with np.errstate(over="ignore"):
        exact = narrow(np.asarray(value), dtype) if dtype.is_small else np.array(value, dtype.numpy)
    memory = exact.tobytes()
    size = dtype.component.size_bytes
    for start in range(0, len(memory), size):
        yield int.from_bytes(memory[start : start + size], sys.byteorder)
