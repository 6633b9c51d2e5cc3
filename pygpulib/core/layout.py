"""Shape, stride and offset arithmetic: pure functions that no array class and no device needs.

Strides are in bytes. The rules are NumPy's, so every function here has a NumPy call that says
what it must return.
"""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING

from pygpulib._record import record
from pygpulib.errors import ArgumentError, ArgumentTypeError, AxisError, ShapeError, counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Shape = tuple[int, ...]

_MAX_AXES = 64  # as in NumPy, which holds what is copied to the host


@record(eq=True)
class Layout:
    """Where the elements of an array lie.

    Attributes
    ----------
    shape : tuple of int
        Length of each axis.
    strides : tuple of int
        Bytes from one element to the next along each axis.
    offset : int
        Bytes from the start of the memory to element ``[0, 0, ...]``.
    """

    shape: Shape
    strides: Shape
    offset: int = 0


def format_shape(shape: Sequence[int]) -> str:
    """Write a shape the way NumPy's messages do: ``(2,3)``, ``(5,)``, ``()``."""
    return f"({shape[0]},)" if len(shape) == 1 else f"({','.join(map(str, shape))})"


def as_integer(value: object) -> int:
    """Return an integer of any kind as Python's; TypeError for anything else."""
    return operator.index(value)  # type: ignore[arg-type]  # it looks for itself


def as_integers(value: object) -> Shape:
    """Return an integer, or the integers of a sequence, as a tuple; TypeError for anything else.

    Examples
    --------
    >>> as_integers(3), as_integers([4, 5])
    ((3,), (4, 5))
    """
    if hasattr(value, "__index__") and getattr(value, "ndim", 0) == 0:
        return (operator.index(value),)
    return tuple(operator.index(entry) for entry in value)  # type: ignore[attr-defined]


def normalize_shape(shape: object, argument: str = "shape") -> Shape:
    """Return a shape as a tuple of plain integers.

    Parameters
    ----------
    shape : int, or sequence of int
        Lengths, zero or more each.
    argument : str
        Name of the user's argument, for messages.

    Returns
    -------
    tuple of int
        The lengths.

    Raises
    ------
    ArgumentTypeError
        If an entry is not an integer.
    ShapeError
        If an entry is negative, or there are too many.

    Examples
    --------
    >>> normalize_shape(3)
    (3,)
    """
    try:
        lengths = as_integers(shape)
    except TypeError as cause:
        raise ArgumentTypeError(
            f"the argument {argument} is {shape!r}",
            detail="expected an integer or a tuple of integers",
            help="use // for lengths that come from a division",
        ) from cause
    if any(length < 0 for length in lengths):
        raise ShapeError(
            f"the argument {argument} has a negative length: {lengths}",
            detail="expected lengths of zero or more",
        )
    if len(lengths) > _MAX_AXES:
        raise ShapeError(
            f"the argument {argument} has {len(lengths)} lengths",
            detail=f"an array has at most {_MAX_AXES} axes",
        )
    return lengths


def normalize_strides(strides: object, ndim: int) -> Shape:
    """Return strides as a tuple of plain integers, one for each of `ndim` axes.

    Raises
    ------
    ArgumentTypeError
        If a stride is not an integer.
    ShapeError
        If there are more or fewer than axes.
    """
    try:
        steps = as_integers(strides)
    except TypeError as cause:
        raise ArgumentTypeError(
            f"the argument strides is {strides!r}",
            detail="expected an integer or a tuple of integers, in bytes",
        ) from cause
    if len(steps) != ndim:
        raise ShapeError(
            "strides not match ndim",
            detail=f"expected {counted(ndim, 'stride')}, one for each axis, got {len(steps)}",
        )
    return steps


def element_count(shape: Shape) -> int:
    """Return the number of elements of a shape (1 for ``()``)."""
    return math.prod(shape)


def normalize_axis(axis: object, ndim: int, argument: str = "axis") -> int:
    """Return an axis counted from the front.

    Parameters
    ----------
    axis : int
        From ``-ndim`` to ``ndim - 1``.
    ndim : int
        Number of axes of the array.
    argument : str
        Name of the user's argument, for messages.

    Returns
    -------
    int
        From 0 to ``ndim - 1``.

    Raises
    ------
    AxisError
        If the array has no such axis.
    ArgumentTypeError
        If the axis is not an integer.
    """
    try:
        number = as_integer(axis)
    except TypeError as cause:
        raise ArgumentTypeError(
            f"the argument {argument} is {axis!r}", detail="expected an integer"
        ) from cause
    if not -ndim <= number < ndim:
        raise AxisError(
            f"{argument} {number} is out of bounds for array of dimension {ndim}",
            detail=f"expected {-ndim} to {ndim - 1}" if ndim else "the array has no axes",
        )
    return number % ndim


def contiguous_strides(shape: Shape, itemsize: int, order: str = "C") -> Shape:
    """Return the strides of a packed array.

    Parameters
    ----------
    shape : tuple of int
        Lengths.
    itemsize : int
        Bytes of one element.
    order : str
        ``"C"`` (last axis varies fastest) or ``"F"`` (first axis varies fastest).

    Returns
    -------
    tuple of int
        Strides in bytes.

    Raises
    ------
    ArgumentError
        If the order is neither ``"C"`` nor ``"F"``.

    Examples
    --------
    >>> contiguous_strides((2, 3), 8)
    (24, 8)
    >>> contiguous_strides((2, 3), 8, "F")
    (8, 16)
    """
    if order == "C":
        axes: Iterable[int] = range(len(shape) - 1, -1, -1)
    elif order == "F":
        axes = range(len(shape))
    else:
        raise ArgumentError(
            f"the argument order is {order!r}",
            detail="expected 'C' (rows are contiguous) or 'F' (columns are contiguous)",
        )
    return _fill_strides(shape, itemsize, axes)


def _fill_strides(shape: Shape, itemsize: int, fastest_first: Iterable[int]) -> Shape:
    strides = [itemsize] * len(shape)
    step = itemsize
    for axis in fastest_first:
        strides[axis] = step
        # NumPy counts an empty axis as one long, so that strides stay distinct.
        step *= max(shape[axis], 1)
    return tuple(strides)


def strides_like(shape: Shape, strides: Shape, itemsize: int) -> Shape:
    """Return the strides of a packed array whose axes are in the same memory order.

    Parameters
    ----------
    shape, strides : tuple of int
        Layout to imitate.
    itemsize : int
        Bytes of one element.

    Returns
    -------
    tuple of int
        Strides in bytes; C order where the order is ambiguous.

    Examples
    --------
    >>> strides_like((2, 3, 4), (8, 64, 16), 8)
    (8, 64, 16)
    """
    if is_c_contiguous(shape, strides, itemsize):
        return contiguous_strides(shape, itemsize)
    if is_f_contiguous(shape, strides, itemsize):
        return contiguous_strides(shape, itemsize, "F")
    slowest_first = sorted(range(len(shape)), key=lambda axis: -abs(strides[axis]))
    return _fill_strides(shape, itemsize, reversed(slowest_first))


def is_c_contiguous(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Whether the elements are packed with the last axis varying fastest.

    Axes of length one do not matter, and an empty array is always contiguous.
    """
    return _is_packed(reversed(shape), reversed(strides), itemsize) or 0 in shape


def is_f_contiguous(shape: Shape, strides: Shape, itemsize: int) -> bool:
    """Whether the elements are packed with the first axis varying fastest."""
    return _is_packed(shape, strides, itemsize) or 0 in shape


def _is_packed(shape: Iterable[int], strides: Iterable[int], itemsize: int) -> bool:
    expected = itemsize
    for length, stride in zip(shape, strides, strict=True):
        if length != 1:
            if stride != expected:
                return False
            expected *= length
    return True


def byte_span(shape: Shape, strides: Shape, itemsize: int) -> tuple[int, int]:
    """Return the bytes that a layout touches, relative to its first element.

    Parameters
    ----------
    shape, strides : tuple of int
        Layout.
    itemsize : int
        Bytes of one element.

    Returns
    -------
    tuple of int
        ``(low, high)``: ``low`` is zero or negative, ``high`` is one past the last byte.

    Examples
    --------
    >>> byte_span((3,), (-8,), 8)
    (-16, 8)
    """
    if 0 in shape:
        return 0, 0
    low, high = 0, itemsize
    for length, stride in zip(shape, strides, strict=True):
        if stride < 0:
            low += (length - 1) * stride
        else:
            high += (length - 1) * stride
    return low, high


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the shape that several shapes broadcast to.

    Parameters
    ----------
    *shapes : tuple of int
        Any number of shapes.

    Returns
    -------
    tuple of int
        The common shape.

    Raises
    ------
    ShapeError
        If two lengths differ and neither is one.

    Examples
    --------
    >>> broadcast_shapes((4, 1), (3,))
    (4, 3)
    """
    ndim = max((len(shape) for shape in shapes), default=0)
    result = [1] * ndim
    for shape in shapes:
        for axis, length in enumerate(shape, ndim - len(shape)):
            if result[axis] == 1:
                result[axis] = length
            elif length not in (1, result[axis]):
                listing = " ".join(format_shape(each) for each in shapes)
                raise ShapeError(
                    f"shapes do not broadcast together: {listing}",
                    detail=f"axis {axis - ndim} has lengths {result[axis]} and {length}",
                    help="lengths must be equal, or one of them 1",
                )
    return tuple(result)


def broadcast_strides(shape: Shape, strides: Shape, target: Shape) -> Shape:
    """Return the strides that repeat an array over a larger shape.

    Parameters
    ----------
    shape, strides : tuple of int
        Layout of the array. Leading axes of length one that the target lacks are dropped,
        as in a NumPy assignment.
    target : tuple of int
        Shape to fill.

    Returns
    -------
    tuple of int
        One stride per axis of the target, zero where the array repeats.

    Raises
    ------
    ShapeError
        If the array does not broadcast to the target.

    Examples
    --------
    >>> broadcast_strides((3,), (8,), (2, 3))
    (0, 8)
    """
    extra = len(shape) - len(target)
    while extra > 0 and shape[0] == 1:
        shape, strides, extra = shape[1:], strides[1:], extra - 1
    lead = len(target) - len(shape)
    pairs = zip(shape, target[max(lead, 0) :], strict=False)
    if lead < 0 or any(length not in (1, wanted) for length, wanted in pairs):
        raise ShapeError(
            f"could not broadcast input array from shape {format_shape(shape)} "
            f"into shape {format_shape(target)}"
        )
    repeated = (0 if length == 1 else stride for length, stride in zip(shape, strides, strict=True))
    return (0,) * lead + tuple(repeated)


def transpose(shape: Shape, strides: Shape, axes: object = None) -> Layout:
    """Return the layout with its axes in another order.

    Parameters
    ----------
    shape, strides : tuple of int
        Layout.
    axes : sequence of int, optional
        For each new axis, the old one; default: reversed.

    Returns
    -------
    Layout
        The permuted layout.

    Raises
    ------
    ArgumentError
        If `axes` is no permutation.

    Examples
    --------
    >>> transpose((2, 3), (24, 8))
    Layout(shape=(3, 2), strides=(8, 24), offset=0)
    """
    if axes is None:
        return Layout(shape[::-1], strides[::-1])
    try:
        given = tuple(operator.index(axis) for axis in axes)  # type: ignore[attr-defined]
    except TypeError as cause:
        raise ArgumentTypeError(
            f"the argument axes is {axes!r}", detail="expected a sequence of integers"
        ) from cause
    ndim = len(shape)
    order = [axis + ndim if axis < 0 else axis for axis in given]
    if sorted(order) != list(range(ndim)):
        raise ArgumentError(f"invalid axes list {given!r}")
    return Layout(tuple(shape[axis] for axis in order), tuple(strides[axis] for axis in order))


def squeeze(shape: Shape, strides: Shape, axis: object = None) -> Layout:
    """Return the layout without axes of length one.

    Parameters
    ----------
    shape, strides : tuple of int
        Layout.
    axis : int or tuple of int, optional
        The axes to remove; default: all of length one.

    Returns
    -------
    Layout
        The smaller layout.

    Raises
    ------
    ShapeError
        If a named axis is not of length one.
    AxisError
        If there is no such axis.
    """
    if axis is None:
        removed = {number for number, length in enumerate(shape) if length == 1}
    else:
        named = axis if isinstance(axis, tuple | list) else (axis,)
        removed = {normalize_axis(each, len(shape)) for each in named}
    for number in sorted(removed):
        if shape[number] != 1:
            raise ShapeError(
                f"cannot remove axis {number} of length {shape[number]}",
                detail=f"the shape is {shape}",
                help="only axes of length one can be squeezed out",
            )
    kept = [number for number in range(len(shape)) if number not in removed]
    return Layout(tuple(shape[number] for number in kept), tuple(strides[n] for n in kept))
