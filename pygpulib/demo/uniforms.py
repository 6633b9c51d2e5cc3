"""A million uniform random numbers, and how they are spread."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from pygpulib import rand

COUNT = 1_000_000
SEED = 42
BINS = 256
HEIGHT = 192

Numbers = np.ndarray[Any, np.dtype[np.float32]]
Counts = np.ndarray[Any, np.dtype[np.int64]]
Image = np.ndarray[Any, np.dtype[np.uint8]]


def make_generator() -> rand.PRNG:
    """Return the generator, XORWOW with a fixed seed."""
    generator = rand.PRNG(rndtype=rand.PRNG.XORWOW)
    generator.seed = SEED
    return generator


def count_in_bins(numbers: Numbers) -> Counts:
    """Return how many numbers lie in each part of the interval from 0 to 1."""
    return np.histogram(numbers, BINS, (0.0, 1.0))[0].astype(np.int64)


def deviation(counts: Counts) -> float:
    """Return by how many standard deviations the sum of squares is from what chance gives.

    That is Pearson's statistic, which for many parts is nearly normal.
    """
    expected = counts.sum() / BINS
    statistic = float(((counts - expected) ** 2).sum() / expected)
    return (statistic - (BINS - 1)) / math.sqrt(2.0 * (BINS - 1))


def draw_histogram(counts: Counts) -> Image:
    """Return a picture: a column for each part, two points wide, the mean half way up."""
    heights = np.minimum(HEIGHT, counts * (HEIGHT // 2) * BINS // max(1, int(counts.sum())))
    levels = np.arange(HEIGHT, 0, -1)[:, None]
    image = np.where(levels <= heights, np.uint8(190), np.uint8(25))
    return np.repeat(image, 2, axis=1).astype(np.uint8)
