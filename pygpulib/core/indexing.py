"""Basic indexing (integers, slices, ``...``, ``newaxis``) as arithmetic on a layout."""

from __future__ import annotations

from pygpulib.core.layout import Layout, Shape, as_integer
from pygpulib.errors import AxisError


def apply_index(shape: Shape, strides: Shape, key: object) -> tuple[Layout, bool]:
    """Return the layout that an index selects.

    Parameters
    ----------
    shape, strides : tuple of int
        Layout of the array.
    key : int, slice, Ellipsis, None, or tuple of these
        The index, with NumPy's meaning.

    Returns
    -------
    Layout
        What is selected; its offset is relative to the array's first element.
    bool
        Whether the index names one element (as opposed to a view with no axes).

    Raises
    ------
    AxisError
        If an integer is out of bounds, there are too many indices, or an index is of another
        type.

    Examples
    --------
    >>> apply_index((4, 6), (48, 8), (slice(None, None, -1), 2))
    (Layout(shape=(4,), strides=(-48,), offset=160), False)
    """
    items = key if isinstance(key, tuple) else (key,)
    expanded = _expand_ellipsis(items, len(shape))
    offset = 0
    new_shape: list[int] = []
    new_strides: list[int] = []
    axis = 0
    for item in expanded:
        if item is None:
            new_shape.append(1)
            new_strides.append(0)
            continue
        length, stride = shape[axis], strides[axis]
        if isinstance(item, slice):
            start, stop, step = _slice_bounds(item, length)
            new_shape.append(len(range(start, stop, step)))
            new_strides.append(stride * step)
            offset += start * stride if new_shape[-1] else 0
        else:
            offset += _position(item, length, axis) * stride
        axis += 1
    is_element = not new_shape and not any(item is Ellipsis for item in items)
    return Layout(tuple(new_shape), tuple(new_strides), offset), is_element


def _expand_ellipsis(items: tuple[object, ...], ndim: int) -> list[object]:
    """Replace ``...``, or the missing end of the index, by full slices."""
    places = [place for place, item in enumerate(items) if item is Ellipsis]
    if len(places) > 1:
        raise AxisError("an index can only have a single ellipsis ('...')")
    used = sum(1 for item in items if item is not None and item is not Ellipsis)
    if used > ndim:
        raise AxisError(
            f"too many indices for array: array is {ndim}-dimensional, but {used} were indexed"
        )
    fill: list[object] = [slice(None)] * (ndim - used)
    place = places[0] if places else len(items)
    return [*items[:place], *fill, *items[place + 1 :]]


def _slice_bounds(item: slice, length: int) -> tuple[int, int, int]:
    try:
        return item.indices(length)
    except (TypeError, ValueError) as cause:
        raise AxisError(
            f"the slice {item} cannot be used as an index",
            detail="expected integers or nothing for start, stop and step, and a step that is "
            "not zero",
        ) from cause


def _position(item: object, length: int, axis: int) -> int:
    """Return an integer index counted from the front of its axis."""
    try:
        if isinstance(item, bool):
            raise TypeError  # True is an int, but NumPy takes it as a mask.
        number = as_integer(item)
    except TypeError as cause:
        raise AxisError(
            f"a device array cannot be indexed with {type(item).__name__} {item!r}",
            detail="expected integers, slices, ... or None (newaxis)",
            help="for masks and index arrays, copy to the host first, or use a kernel",
        ) from cause
    if not -length <= number < length:
        raise AxisError(f"index {number} is out of bounds for axis {axis} with size {length}")
    return number + length if number < 0 else number
