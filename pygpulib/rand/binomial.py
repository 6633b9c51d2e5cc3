"""Binomial numbers, by inversion of the exact cumulative distribution.

cuRAND declares functions for them and exports none, so the method is our own. One uniform number
of 53 bits gives one binomial number: the smallest ``k`` whose cumulated probability is not below
it. That is monotone, costs the same for every generator, and suits quasi-random numbers too.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Doubles: TypeAlias = NDArray[np.float64]

# What is farther out has a probability below 1e-300.
_REACH = 40.0
_MARGIN = 800


@lru_cache(maxsize=16)
def cumulative(trials: int, probability: float) -> tuple[int, Doubles]:
    """Return the first outcome that matters, and the cumulated probabilities from it on.

    Parameters
    ----------
    trials : int
        Number of trials.
    probability : float
        Probability of success in each.

    Returns
    -------
    shift : int
        The first outcome.
    sums : ndarray
        The last one is 1.

    Notes
    -----
    Probabilities are relative to the most likely outcome and follow from their neighbours, one
    multiplication each, so that no logarithm of a large number takes part.
    """
    if probability in (0.0, 1.0) or trials == 0:
        return int(trials * probability), np.ones(1)
    mode = min(trials, int((trials + 1) * probability))
    reach = int(_REACH * math.sqrt(trials * probability * (1.0 - probability))) + _MARGIN
    first, last = max(0, mode - reach), min(trials, mode + reach)
    odds = probability / (1.0 - probability)
    above = np.arange(mode, last, dtype=np.float64)
    below = np.arange(mode, first, -1, dtype=np.float64)
    with np.errstate(under="ignore"):
        rising = np.cumprod((trials - above) / (above + 1.0) * odds)
        falling = np.cumprod(below / ((trials - below + 1.0) * odds))
        weights = np.concatenate([falling[::-1], [1.0], rising])
        sums = np.cumsum(weights)
    sums /= sums[-1]
    # Outcomes that no uniform number can reach would only lengthen the search.
    start = int(np.searchsorted(sums, 2.0**-60))
    end = int(np.searchsorted(sums, 1.0)) + 1
    return first + start, sums[start:end].copy()
