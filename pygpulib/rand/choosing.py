"""Choosing places: with and without putting back, with equal and with given probabilities."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from pygpulib.core.array import ndarray
from pygpulib.core.creation import device_array, to_device
from pygpulib.errors import ArgumentError, ShapeError, counted
from pygpulib.rand import continuous
from pygpulib.rand.compiling import Value, device
from pygpulib.rand.drawing import fill
from pygpulib.rand.integer_ranges import read_range
from pygpulib.rand.operands import PROBABILITY, read_operand
from pygpulib.rand.permutations import random_order
from pygpulib.rand.samplers import Sampler, two_uniforms

if TYPE_CHECKING:
    from pygpulib.rand.bit_generators import BitGenerator

_TOLERANCE = np.sqrt(np.finfo(np.float64).eps)
_FEW = 16
"""One in so many is a choice of few."""


@device
def _find_place(u: Value, sums: Value) -> Value:
    """Return the first place whose cumulated probability is above a number."""
    low = 0
    high = sums.size - 1
    while low < high:
        middle = (low + high) >> 1
        if sums[middle] <= u:
            low = middle + 1
        else:
            high = middle
    return low


_WEIGHTED = Sampler(2, two_uniforms, _find_place)


def choose_places(
    bits: BitGenerator, count: int, shape: tuple[int, ...], replace: bool, p: object
) -> ndarray:
    """Return random places as a device array with one axis, of dtype int64.

    Parameters
    ----------
    bits : BitGenerator
        Where the random bits come from.
    count : int
        How many places there are.
    shape : tuple of int
        How many to choose.
    replace : bool
        Whether a place may be chosen again.
    p : array_like, optional
        The probabilities.

    Raises
    ------
    ArgumentError
        If there are too few places, or the probabilities do not fit.
    """
    size = 1
    for length in shape:
        size *= length
    chances = None if p is None else _read_chances(p, count)
    if size and not count:
        raise ArgumentError("there is nothing to choose from")
    if not replace and size > count:
        raise ArgumentError(
            f"{size} elements were to be chosen from {count} without putting them back",
            detail="expected no more than there are",
        )
    if not size:
        return device_array(0, np.int64)
    if chances is not None:
        return (_draw_weighted if replace else _take_weighted)(bits, size, chances)
    if replace:
        return _draw_equal(bits, count, size)
    if count <= _FEW * size:
        return random_order(bits, count)[:size]  # type: ignore[return-value]
    return _take_few(bits, count, size)


def _read_chances(p: object, count: int) -> NDArray[np.float64]:
    chances = read_operand("p", p, PROBABILITY)
    if chances.shape != (count,):
        raise ShapeError(
            f"the argument p has the shape {chances.shape}",
            detail=f"expected one probability for each of {counted(count, 'element')}",
        )
    if abs(chances.sum() - 1.0) > _TOLERANCE:
        raise ArgumentError(
            f"the probabilities in p have the sum {chances.sum():g}",
            detail="expected the sum 1",
            help="divide them by their sum",
        )
    return chances


def _draw_equal(bits: BitGenerator, count: int, size: int) -> ndarray:
    found = read_range(0, count, np.dtype(np.int64), endpoint=False)
    places = device_array(size, np.int64)
    fill(bits, found.sampler, places, found.operands)
    return places


def _draw_weighted(bits: BitGenerator, size: int, chances: NDArray[np.float64]) -> ndarray:
    sums = np.cumsum(chances)
    # What can be chosen ends with the last place that has a chance, whatever was rounded.
    end = int(np.flatnonzero(chances)[-1]) + 1
    places = device_array(size, np.int64)
    fill(bits, _WEIGHTED, places, (to_device(sums[:end] / sums[end - 1]),))
    return places


def _take_few(bits: BitGenerator, count: int, size: int) -> ndarray:
    """Choose one after the other, and leave out what was chosen before."""
    chosen: NDArray[np.int64] = np.empty(0, np.int64)
    while chosen.size < size:
        more = _draw_equal(bits, count, size - chosen.size + size // _FEW + 1).copy_to_host()
        chosen = _without_repetitions(np.concatenate([chosen, more]), count)
    return to_device(chosen[:size])


def _without_repetitions(places: NDArray[np.int64], count: int) -> NDArray[np.int64]:
    """Return different places below `count` in the order of their first occurrence."""
    width = places.size.bit_length()
    if count.bit_length() + width > 63:
        _, first = np.unique(places, return_index=True)
        return places[np.sort(first)]
    # A place and when it occurred are one number, because these are sorted fastest.
    both = (places << width) | np.arange(places.size)
    both.sort()
    is_repeated = both[1:] >> width == both[:-1] >> width
    return np.delete(places, both[1:][is_repeated] & ((1 << width) - 1))


def _take_weighted(bits: BitGenerator, size: int, chances: NDArray[Any]) -> ndarray:
    """Choose those whose exponential times come first (Efraimidis and Spirakis, 2006)."""
    (possible,) = np.nonzero(chances)
    if size > possible.size:
        raise ArgumentError(
            f"{size} elements were to be chosen without putting them back",
            detail=f"expected at most {possible.size}, which have a probability that is not 0",
        )
    times = device_array(possible.size, np.float64)
    fill(bits, continuous.STANDARD_EXPONENTIAL, times, ())
    with np.errstate(over="ignore"):
        ends = times.copy_to_host() / chances[possible]
    order = np.argsort(ends, kind="stable")
    return to_device(possible[order[:size]].astype(np.int64))
