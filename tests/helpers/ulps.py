"""Distances between floats and exact results, in units in the last place."""

from __future__ import annotations

import math
from typing import Any

import mpmath as mp
import numpy as np


def error_in_ulps(actual: Any, exact: mp.mpf) -> float:
    """Return how far a NumPy float is from a number, in ulps of the number rounded to its type.

    Equal infinities and two nans are 0 apart; a result that is wrong in kind is infinitely far.
    """
    info = np.finfo(actual.dtype)
    if mp.isnan(exact) or np.isnan(actual):
        return 0.0 if mp.isnan(exact) and np.isnan(actual) else math.inf
    if mp.isinf(exact):
        return 0.0 if float(exact) == float(actual) else math.inf
    lowest = -149 if info.bits == 32 else -1074
    exponent = lowest if exact == 0 else max(mp.frexp(exact)[1] - 1 - info.nmant, lowest)
    if np.isinf(actual):
        half = mp.ldexp(1, info.maxexp - info.nmant - 2)
        beyond = abs(exact) >= mp.mpf(float(info.max)) + half - mp.ldexp(1, exponent)
        return 0.0 if beyond and (exact > 0) == (actual > 0) else math.inf
    return float(abs(mp.mpf(float(actual)) - exact) / mp.ldexp(1, exponent))
