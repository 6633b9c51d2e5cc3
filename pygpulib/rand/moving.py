"""Taking elements of arrays at given places, on the device."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array
from pygpulib.jit.intrinsics.threads import grid
from pygpulib.rand.compiling import Value, device, kernel
from pygpulib.rand.samplers import launch

Packed: TypeAlias = "NDArray[Any] | ndarray"
"""A contiguous array of the host or the device; kernels read either."""


@device
def _divide(number: Value, by: Value) -> Value:
    """Return the quotient of integers below 2**53, which no rounding changes."""
    return np.int64(np.float64(number) / np.float64(by))


@kernel
def _pick(out: Value, given: Value, order: Value) -> None:
    at = grid(1)
    if at < out.size:
        out[at] = given[order[at]]


@kernel
def _move(out: Value, given: Value, order: Value, before: Value, inner: Value) -> None:
    """Copy elements of `inner` pieces; there are as many as `before` along the axis of `given`."""
    at = grid(1)
    if at < out.size:
        place = _divide(at, inner)
        outer = _divide(place, order.size)
        chosen = order[place - outer * order.size]
        out[at] = given[(outer * before + chosen) * inner + at - place * inner]


@kernel
def _move_lines(out: Value, given: Value, orders: Value, inner: Value, pieces: Value) -> None:
    """Copy elements of `pieces` pieces, each line along the axis in an order of its own."""
    at = grid(1)
    if at < out.size:
        length = orders.shape[1]
        element = _divide(at, pieces)
        place = _divide(element, inner)
        outer = _divide(place, length)
        column = element - place * inner
        chosen = orders[outer * inner + column, place - outer * length]
        piece = at - element * pieces
        out[at] = given[((outer * length + chosen) * inner + column) * pieces + piece]


def take(array: Packed, order: ndarray, axis: int) -> ndarray:
    """Return elements of an array, chosen along an axis.

    Parameters
    ----------
    array : numpy.ndarray or ndarray
        A contiguous array.
    order : ndarray
        The indices, with one axis.
    axis : int
        The axis, from 0 on.

    Returns
    -------
    ndarray
        A new array; its axis is as long as `order`.
    """
    shape = array.shape
    result = device_array((*shape[:axis], order.size, *shape[axis + 1 :]), array.dtype)
    if result.nbytes:
        out, given, pieces = in_pieces(result, array)
        inner = pieces * _product(shape[axis + 1 :])
        if axis == 0 and inner == 1:
            launch(_pick, out.size, out, given, order)
        else:
            launch(_move, out.size, out, given, order, shape[axis], inner)
    return result


def take_lines(array: Packed, orders: ndarray, axis: int) -> ndarray:
    """Return the elements of an array, each line along an axis in another order.

    Parameters
    ----------
    array : numpy.ndarray or ndarray
        A contiguous array with elements.
    orders : ndarray
        The indices of each line, in the order of the other axes' indices.
    axis : int
        The axis, from 0 on.
    """
    result = device_array(array.shape, array.dtype)
    if result.nbytes:
        out, given, pieces = in_pieces(result, array)
        inner = _product(array.shape[axis + 1 :])
        launch(_move_lines, out.size, out, given, orders, inner, pieces)
    return result


def in_pieces(target: ndarray, source: Packed) -> tuple[ndarray, Packed, int]:
    """Return contiguous arrays as integers with one axis, and how many make an element.

    Kernels thus move elements of any type. What they read on the host cannot be written to, so that
    nothing is copied back.
    """
    size = next(size for size in (8, 4, 2, 1) if target.itemsize % size == 0)
    plain = np.dtype(f"u{size}")
    out = target.reshape(-1).view(plain)
    given: Packed = source.reshape(-1).view(plain)
    if isinstance(given, np.ndarray):
        given.flags.writeable = False
    return out, given, target.itemsize // size


def _product(lengths: tuple[int, ...]) -> int:
    product = 1
    for length in lengths:
        product *= length
    return product
