"""The arrays of a call: converted, broadcast, and made where none were given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from pygpulib._record import record
from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.core.interop import as_cuda_array, lies_on_device
from pygpulib.core.layout import Layout
from pygpulib.core.transfer import strided_view
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError
from pygpulib.ufuncs.loops import WEAK_KINDS

if TYPE_CHECKING:
    from pygpulib.core.stream import StreamLike

AnyArray: TypeAlias = np.ndarray[Any, Any] | ndarray
Shape: TypeAlias = tuple[int, ...]


def read_operand(value: object) -> object:
    """Return an argument as an array of the host or a device; Python's numbers stay as they are."""
    if type(value) in WEAK_KINDS or isinstance(value, ndarray | np.ndarray):
        return value
    return as_cuda_array(value) if lies_on_device(value) else np.asarray(value)


def read_output(name: str, value: object) -> AnyArray:
    """Return an output argument as an array that can be written to."""
    if isinstance(value, ndarray | np.ndarray):
        return value
    if lies_on_device(value):
        return as_cuda_array(value)
    raise ArgumentTypeError(
        f"an output of {name} is a {type(value).__name__}", detail="expected an array"
    )


def as_array(operand: object, dtype: np.dtype[Any]) -> AnyArray:
    """Return an operand as an array, numbers as arrays of the given dtype without axes."""
    if isinstance(operand, ndarray | np.ndarray):
        return operand
    return np.asarray(operand, dtype)


def broadcast_shapes(name: str, shapes: Sequence[Shape]) -> Shape:
    """Return the common shape of arrays.

    Raises
    ------
    ShapeError
        If they have none.
    """
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError as cause:
        raise ShapeError(
            f"the arguments of {name} have shapes that do not go together",
            detail=f"got {', '.join(map(str, shapes))}",
        ) from cause


def make_output(
    shape: Shape, dtype: np.dtype[Any], on_device: bool, stream: StreamLike
) -> AnyArray:
    """Return a new array for results."""
    return device_array(shape, dtype, stream=stream) if on_device else np.empty(shape, dtype)


def check_output(name: str, output: AnyArray, shape: Shape, dtype: np.dtype[Any]) -> AnyArray:
    """Return an output as an array of a shape; it may lack leading axes of length one.

    Raises
    ------
    ShapeError, DTypeError
        If its shape is another, or results do not convert to its elements.
    """
    if not np.can_cast(dtype, output.dtype, "same_kind"):
        raise DTypeError(
            f"the results of {name} are {dtype}, and its output array holds {output.dtype}",
            help="pass an array of the type of the results",
        )
    if isinstance(output, np.ndarray) and not output.flags.writeable:
        raise ArgumentError(f"the output array of {name} is read-only")
    missing = len(shape) - output.ndim
    if output.shape == shape or ((1,) * missing + output.shape == shape):
        return output if output.shape == shape else broadcast_to(output, shape)
    raise ShapeError(
        f"the output array of {name} has the shape {output.shape}",
        detail=f"expected {shape}",
    )


def with_strides(array: AnyArray, shape: Shape, strides: Shape) -> AnyArray:
    """Return a view of an array from its first element on."""
    if isinstance(array, ndarray):
        return array.with_layout(Layout(shape, strides, 0))
    return strided_view(array, shape, strides)


def broadcast_to(array: AnyArray, shape: Shape, core: int = 0) -> AnyArray:
    """Return a view in which all axes but the last `core` have the given lengths."""
    return with_strides(
        array,
        shape + array.shape[array.ndim - core :],
        broadcast_strides(array, len(shape), core),
    )


def broadcast_strides(array: AnyArray, loop_ndim: int, core: int = 0) -> Shape:
    """Return strides for more leading axes: 0 along those that an array repeats along."""
    missing = loop_ndim + core - array.ndim
    own = tuple(
        0 if length == 1 and axis < array.ndim - core else stride
        for axis, (length, stride) in enumerate(zip(array.shape, array.strides, strict=True))
    )
    return (0,) * missing + own


def read_only(array: AnyArray) -> AnyArray:
    """Return a view that kernels only read, so that nothing need be copied back from a device."""
    if isinstance(array, np.ndarray):
        array = array.view()
        array.flags.writeable = False
    return array


@record
class Walk:
    """How to walk over several arrays of one shape in as few axes as possible.

    Attributes
    ----------
    shape : tuple of int
        The lengths of the axes, at least one axis.
    strides : tuple of tuple of int
        The strides of each array along them.
    """

    shape: Shape
    strides: tuple[Shape, ...]


def plan_walk(shape: Shape, strides: Sequence[Shape]) -> Walk:
    """Merge axes along which all arrays continue where the next axis ends.

    Parameters
    ----------
    shape : tuple of int
        Shape of all arrays.
    strides : sequence of tuple of int
        Strides of each; the axes are walked over in the order of the last one's memory.
    """
    axes = [axis for axis, length in enumerate(shape) if length != 1]
    axes.sort(key=lambda axis: -abs(strides[-1][axis]))
    merged: list[tuple[int, Shape]] = []
    for axis in axes:
        steps = tuple(each[axis] for each in strides)
        if merged:
            length, outer = merged[-1]
            if all(big == step * shape[axis] for big, step in zip(outer, steps, strict=True)):
                merged[-1] = length * shape[axis], steps
                continue
        merged.append((shape[axis], steps))
    if not merged:
        merged = [(1, tuple(0 for _ in strides))]
    lengths = tuple(length for length, _ in merged)
    return Walk(lengths, tuple(zip(*(steps for _, steps in merged), strict=True)))
