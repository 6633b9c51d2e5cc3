"""What the layouts of arrays say about their memory, against lists of all their bytes."""

from __future__ import annotations

import itertools
import random

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from pygpulib import blas
from pygpulib.blas.layout import repeats_memory
from pygpulib.errors import ArgumentError


def bytes_of(shape, strides, itemsize):
    for place in itertools.product(*map(range, shape)):
        start = sum(index * stride for index, stride in zip(place, strides, strict=True))
        yield from range(start, start + itemsize)


@pytest.mark.parametrize("ndim", range(5))
def test_repeated_memory_is_found(ndim):
    rng = random.Random(ndim)
    found = set()
    for _ in range(400):
        shape = tuple(rng.choice([0, 1, 2, 3, 4, 5]) for _ in range(ndim))
        steps = [rng.choice([0, 3, 4, 8, 12, 16, 20, 24, 40, 60, 96]) for _ in range(ndim)]
        strides = tuple(rng.choice([1, 1, -1]) * step for step in steps)
        touched = list(bytes_of(shape, strides, 4))
        expected = len(set(touched)) < len(touched)
        assert repeats_memory(shape, strides, 4) == expected
        found.add(expected)
    assert found == ({False} if ndim == 0 else {False, True})


def test_stacks_whose_matrices_overlap_are_not_written_to():
    a = np.ones((3, 2, 2))
    out = as_strided(np.zeros(40), (3, 2, 2), (8, 16, 8))
    with pytest.raises(ArgumentError, match="elements of the argument C share memory"):
        blas.gemm_strided_batched("N", "N", 1, a, a, 0, out)
    # These lie between each other, and touch nothing twice.
    out = as_strided(np.zeros(40), (3, 2, 2), (8, 24, 48))
    np.testing.assert_array_equal(
        blas.gemm_strided_batched("N", "N", 1, a, a, 0, out), np.full((3, 2, 2), 2.0)
    )
