"""Reshape and reinterpret a layout without moving an element: pure functions."""

from __future__ import annotations

from itertools import pairwise

from pygpulib.core.layout import (
    Shape,
    as_integers,
    contiguous_strides,
    element_count,
    is_c_contiguous,
    is_f_contiguous,
    normalize_shape,
)
from pygpulib.errors import ArgumentError, ArgumentTypeError, LayoutError, ShapeError, counted


def resolve_shape(old: Shape, new: object) -> Shape:
    """Return a new shape with its one ``-1`` filled in.

    Parameters
    ----------
    old : tuple of int
        Shape of the array.
    new : int or sequence of int
        Wanted shape; one entry may be ``-1``.

    Returns
    -------
    tuple of int
        A shape with as many elements as `old`.

    Raises
    ------
    ShapeError
        If the numbers of elements differ, or more than one entry is ``-1``.
    ArgumentTypeError
        If an entry is not an integer.

    Examples
    --------
    >>> resolve_shape((4, 6), (3, -1))
    (3, 8)
    """
    try:
        asked = as_integers(new)
    except TypeError as cause:
        raise ArgumentTypeError(
            f"the argument newshape is {new!r}",
            detail="expected an integer or a tuple of integers",
        ) from cause
    unknown = [axis for axis, length in enumerate(asked) if length == -1]
    if len(unknown) > 1:
        raise ShapeError(
            f"the new shape {asked} has more than one -1",
            help="only one length can be worked out from the number of elements",
        )
    known = normalize_shape([length for length in asked if length != -1], "newshape")
    total, product = element_count(old), element_count(known)
    if unknown and product and total % product == 0:
        axis = unknown[0]
        return (*known[:axis], total // product, *known[axis:])
    if unknown or total != product:
        raise ShapeError(
            f"cannot reshape array of size {total} into shape {asked}",
            detail=f"expected a shape of {counted(total, 'element')}; the array's shape is {old}",
        )
    return known


def resolve_order(shape: Shape, strides: Shape, itemsize: int, order: str) -> str:
    """Return ``"C"`` or ``"F"`` for a reshape order that may also be ``"A"``.

    Parameters
    ----------
    shape, strides : tuple of int
        Layout.
    itemsize : int
        Bytes of one element.
    order : str
        ``"C"``, ``"F"``, or ``"A"``: Fortran order for an array that is Fortran contiguous only.

    Returns
    -------
    str
        ``"C"`` or ``"F"``.

    Raises
    ------
    ArgumentError
        If the order is none of these.
    """
    if order in ("C", "F"):
        return order
    if order == "A":
        fortran = is_f_contiguous(shape, strides, itemsize) and not is_c_contiguous(
            shape, strides, itemsize
        )
        return "F" if fortran else "C"
    raise ArgumentError(f"the argument order is {order!r}", detail="expected 'C', 'F' or 'A'")


def reshape_strides(
    shape: Shape, strides: Shape, itemsize: int, new_shape: Shape, order: str
) -> Shape | None:
    """Return the strides that show the same memory in another shape.

    Parameters
    ----------
    shape, strides : tuple of int
        Layout of the array.
    itemsize : int
        Bytes of one element.
    new_shape : tuple of int
        A shape with as many elements.
    order : str
        ``"C"`` or ``"F"``: the order in which elements are counted.

    Returns
    -------
    tuple of int or None
        Strides in bytes; None where only a copy could have that shape.

    Examples
    --------
    >>> reshape_strides((4, 6), (48, 8), 8, (24,), "C")
    (8,)
    >>> reshape_strides((4, 6), (8, 32), 8, (24,), "C") is None
    True
    """
    is_packed = is_c_contiguous if order == "C" else is_f_contiguous
    if is_packed(shape, strides, itemsize):
        return contiguous_strides(new_shape, itemsize, order)
    if order == "F":
        # Counting in Fortran order is counting the reversed axes in C order.
        result = _regroup(shape[::-1], strides[::-1], itemsize, new_shape[::-1])
        return None if result is None else result[::-1]
    return _regroup(shape, strides, itemsize, new_shape)


def _regroup(shape: Shape, strides: Shape, itemsize: int, new_shape: Shape) -> Shape | None:
    """Split both shapes, from the front, into the shortest runs of axes of equal size.

    Each run of old axes must step through memory evenly; the new axes then divide that step.
    """
    old = [(n, step) for n, step in zip(shape, strides, strict=True) if n != 1]
    result: list[int] = []
    taken = 0
    first = 0
    while first < len(new_shape) and taken < len(old):
        last, end = first + 1, taken + 1
        wanted, have = new_shape[first], old[taken][0]
        while wanted != have:
            if wanted < have:
                wanted *= new_shape[last]
                last += 1
            else:
                have *= old[end][0]
                end += 1
        run = old[taken:end]
        if any(a[1] != b[0] * b[1] for a, b in pairwise(run)):
            return None
        result.extend(contiguous_strides(new_shape[first:last], run[-1][1]))
        first, taken = last, end
    # Only axes of length one are left; NumPy repeats the last stride for them.
    result.extend([result[-1] if result else itemsize] * (len(new_shape) - len(result)))
    return tuple(result)


def view_itemsize(
    shape: Shape, strides: Shape, old_size: int, new_size: int
) -> tuple[Shape, Shape]:
    """Return the layout of the same bytes read as elements of another size.

    Parameters
    ----------
    shape, strides : tuple of int
        Layout of the array.
    old_size, new_size : int
        Bytes of one element before and after.

    Returns
    -------
    tuple
        New shape and new strides.

    Raises
    ------
    LayoutError
        If the last axis is not contiguous, or its bytes do not divide.

    Examples
    --------
    >>> view_itemsize((3, 4), (16, 4), 4, 8)
    ((3, 2), (16, 8))
    """
    if old_size == new_size:
        return shape, strides
    if not shape:
        raise LayoutError(
            "Changing the dtype of a 0d array is only supported if the itemsize is unchanged"
        )
    if strides[-1] != old_size and 0 not in shape and shape[-1] != 1:
        raise LayoutError(
            "To change to a dtype of a different size, the last axis must be contiguous",
            detail=f"the last stride is {strides[-1]} bytes, the element size {old_size} bytes",
        )
    length, rest = divmod(shape[-1] * old_size, new_size)
    if rest:
        if new_size > old_size:
            raise LayoutError(
                "When changing to a larger dtype, its size must be a divisor of the total size "
                "in bytes of the last axis of the array."
            )
        raise LayoutError(
            "When changing to a smaller dtype, its size must be a divisor of the size of "
            "original dtype"
        )
    return (*shape[:-1], length), (*strides[:-1], new_size)
