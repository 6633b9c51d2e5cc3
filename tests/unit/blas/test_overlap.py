"""Outputs in memory of the factors: these are read as they were."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import blas, cuda

PLACES = pytest.mark.parametrize("place", [np.copy, cuda.to_device], ids=["host", "device"])
COUNTS = pytest.mark.parametrize("count", [1, 3, 70])


def turned(letter, stack):
    return stack if letter == "N" else stack.swapaxes(-1, -2)


@PLACES
@COUNTS
@pytest.mark.parametrize("is_stack", [True, False])
def test_stacks_that_overlap(place, count, is_stack):
    rng = np.random.default_rng(count)
    size = 9 * count
    for _ in range(20):
        memory = rng.uniform(-1, 1, 3 * size)
        starts = rng.integers(0, size, 3)
        before = [memory[at : at + size].reshape(count, 3, 3) for at in starts]
        letters = rng.choice(["N", "T"], 2)
        beta = float(rng.choice([0, 1, 0.5]))
        factor = before[0] if is_stack else before[0][0]
        expected = 2 * turned(letters[0], factor) @ turned(letters[1], before[1]) + beta * before[2]
        used = place(memory)
        a, b, c = (used[int(at) : int(at) + size].reshape((count, 3, 3)) for at in starts)
        a = a if is_stack else a[0]
        blas.gemm_strided_batched(*map(str, letters), 2.0, a, b, beta, c)
        np.testing.assert_allclose(np.asarray(c), expected, atol=1e-14)


@PLACES
@COUNTS
def test_stacks_of_vectors_that_overlap(place, count):
    rng = np.random.default_rng(count)
    for _ in range(20):
        memory = rng.uniform(-1, 1, 12 * count)
        starts = [0, *map(int, rng.integers(0, 9 * count, 2))]
        matrices = memory[: 9 * count].reshape(count, 3, 3)
        x, y = (memory[at : at + 3 * count].reshape(count, 3) for at in starts[1:])
        expected = 2 * (matrices @ x[..., None])[..., 0] + y
        used = place(memory)
        a = used[: 9 * count].reshape((count, 3, 3))
        x, y = (used[at : at + 3 * count].reshape((count, 3)) for at in starts[1:])
        blas.gemv_batched("N", 2.0, a, x, 1, y)
        np.testing.assert_allclose(np.asarray(y), expected, atol=1e-14)


@PLACES
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_products_of_chosen_precision_that_overlap(place, dtype):
    rng = np.random.default_rng(0)
    for _ in range(20):
        memory = rng.uniform(-1, 1, 20).astype(dtype)
        starts = [int(at) for at in rng.integers(0, 11, 3)]
        a, b, c = (memory[at : at + 9].reshape(3, 3) for at in starts)
        expected = 2 * a @ b.T + c
        used = place(memory)
        a, b, c = (used[at : at + 9].reshape((3, 3)) for at in starts)
        blas.gemm_ex("N", "T", 2, a, b, 1, c)
        np.testing.assert_allclose(np.asarray(c), expected, atol=1e-5)
