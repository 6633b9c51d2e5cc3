"""Poisson numbers: the tables of a mean, and how numbers are drawn from them.

Small means use the alias method of Marsaglia, Tsang and Wang (2004), with the table filled in the
one order that gives cuRAND's numbers; large ones round a normal number.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib._record import record
from pygpulib.rand import distributions as dist
from pygpulib.rand.compiling import Value, device

Doubles: TypeAlias = NDArray[np.float64]

# More than what two float32 that should be the same may differ by, as a part of them.
_LAST_BITS = 2.0**-19

# Half of the distance between 1 and the float64 before it.
_HALF_UNIT = 2.0**-54

# How many parts of (0, 1] a search among cumulated probabilities tells apart.
_PARTS = 1 << 12


@record
class AliasTable:
    """A distribution as cells of equal weight, each shared by two outcomes.

    Attributes
    ----------
    shift : int
        The outcome of cell 0.
    shares : ndarray of float64
        The share of each cell that belongs to its own outcome.
    aliases : ndarray of uint32
        The cell whose outcome has the rest.
    """

    shift: int
    shares: Doubles
    aliases: NDArray[np.uint32]


@lru_cache(maxsize=32)
def probabilities(mean: float) -> tuple[int, Doubles]:
    """Return all probabilities of a Poisson distribution that are not zero in double precision.

    Parameters
    ----------
    mean : float
        The mean.

    Returns
    -------
    shift : int
        The first number that has one.
    probabilities : ndarray
        Theirs, from `shift` on; the smallest ones are subnormal.
    """
    # Forty standard deviations to both sides, and what is far out for small means.
    reach = 40.0 * math.sqrt(mean)
    first = max(0, int(mean - reach))
    numbers = range(first, int(mean + reach) + 400)
    logarithm = math.log(mean)
    weights = np.array([k * logarithm - mean - math.lgamma(k + 1) for k in numbers])
    # What is too small for a double becomes zero.
    with np.errstate(under="ignore"):
        all_of_them = np.exp(weights)
    (known,) = np.nonzero(all_of_them)
    return first + int(known[0]), all_of_them[known[0] : known[-1] + 1]


@lru_cache(maxsize=32)
def alias_table(mean: float) -> AliasTable:
    """Return the alias table of a Poisson distribution.

    Parameters
    ----------
    mean : float
        The mean.

    Notes
    -----
    Poor cells, with a weight below 1, are filled in passes from the first to the last one, always
    from the highest cell that still has more than 1. A donor that falls below 1 is a poor cell
    itself from then on. One more cell, for a uniform number of exactly 1, gives `shift`.

    A share is kept as far as the number of its cell and the share have a sum in double precision,
    which is what cuRAND compares with. The smallest ones are lost, and with them what a number at
    the very beginning of a cell gives.
    """
    shift, chances = probabilities(mean)
    count = len(chances)
    weights: list[float] = (chances * count).tolist()
    shares = [1.0] * count
    aliases = list(range(count))
    donor = _donor_below(weights, count)
    waiting = list(range(count))
    while donor >= 0:
        later = []
        for cell in waiting:
            if donor < 0:
                break
            if weights[cell] >= 1:
                later.append(cell)
                continue
            shares[cell], aliases[cell] = weights[cell], donor
            weights[donor] -= 1 - weights[cell]
            if weights[donor] < 1:
                donor = _donor_below(weights, donor)
        if len(later) == len(waiting):
            break
        waiting = later
    cells = np.arange(count + 1.0)
    kept = (cells + np.array([*shares, 0.0])) - cells
    return AliasTable(shift, kept, np.array([*aliases, 0], np.uint32))


def _donor_below(weights: list[float], end: int) -> int:
    """Return the highest cell below `end` that has a weight of 1 or more, or -1."""
    for cell in range(end - 1, -1, -1):
        if weights[cell] >= 1:
            return cell
    return -1


@lru_cache(maxsize=32)
def cumulative(mean: float) -> tuple[int, Doubles]:
    """Return the first number of a Poisson distribution, and its cumulated probabilities.

    Notes
    -----
    They end with 1 at the last number whose probability changes a sum near 1: in cuRAND, a uniform
    number of exactly 1 gives this one.
    """
    shift, chances = probabilities(mean)
    count = int(np.flatnonzero(chances > _HALF_UNIT)[-1]) + 1
    sums = np.minimum(np.cumsum(chances[:count]), 1.0 - 2.0 * _HALF_UNIT)
    sums[-1] = 1.0
    return shift, sums


@device
def draw_from_cells(u: Value, shift: Value, shares: Value, aliases: Value) -> Value:
    """Return the number that an alias table has for a uniform float64 in (0, 1]."""
    scaled = u * np.float64(shares.size - 1)
    cell = np.uint32(scaled)
    inside = scaled - np.float64(cell)
    own = inside < shares[cell]
    return np.uint32((cell if own else aliases[cell]) + np.uint32(shift))


@device
def round_normal(normal: Value, mean: Value, deviation: Value) -> Value:
    """Return a Poisson number of a large mean from a standard normal of type float32."""
    return np.uint32(math.floor(mean + deviation * np.float64(normal) + 0.5))


@device
def is_uncertain(normal: Value, mean: Value, deviation: Value) -> Value:
    """Return whether the last bits of a normal number decide which Poisson number it gives."""
    value = mean + deviation * np.float64(normal) + 0.5
    inside = value - np.floor(value)
    return min(inside, 1.0 - inside) < _LAST_BITS * deviation * abs(np.float64(normal))


@device
def round_pair(polar: Value, mean: Value, deviation: Value) -> Value:
    """Return the two Poisson numbers of a large mean that a uniform number and an angle give.

    They are those that the functions of C's library lead to, which few are asked to decide.
    """
    u, angle = polar
    first, second = dist.box_muller_single(u, angle)
    if is_uncertain(first, mean, deviation) or is_uncertain(second, mean, deviation):
        first, second = dist.box_muller_library(u, angle, dist.MINUS_TWO_SINGLE)
    return round_normal(first, mean, deviation), round_normal(second, mean, deviation)


@device
def round_one(polar: Value, is_second: Value, mean: Value, deviation: Value) -> Value:
    """Return the first or the second one of :func:`round_pair`."""
    first, second = round_pair(polar, mean, deviation)
    return second if is_second else first


def guide_to(sums: Doubles) -> NDArray[np.uint32]:
    """Return where :func:`find_in_cumulative` searches, for each of many parts of (0, 1].

    Parameters
    ----------
    sums : ndarray
        Cumulated probabilities.

    Returns
    -------
    ndarray
        The place where the numbers of each part begin; those of the last part end at the last
        place.
    """
    places = np.searchsorted(sums, np.arange(_PARTS + 1) / _PARTS)
    return np.minimum([*places, len(sums)], len(sums) - 1).astype(np.uint32)


@device
def find_in_cumulative(u: Value, shift: Value, sums: Value, guide: Value) -> Value:
    """Return the smallest number whose cumulated probability is not below a uniform float64."""
    part = np.uint64(u * np.float64(_PARTS))
    low = guide[part]
    high = guide[part + np.uint64(1)]
    while low < high:
        middle = np.uint32((low + high) >> np.uint32(1))
        if sums[middle] < u:
            low = np.uint32(middle + np.uint32(1))
        else:
            high = middle
    return np.uint32(low + np.uint32(shift))
