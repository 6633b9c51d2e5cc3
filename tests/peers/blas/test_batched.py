"""Stacks of problems against NumPy, one at a time."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import blas, cuda

DTYPES = ("f4", "f8", "c8", "c16")


def random(rng, shape, dtype):
    found = rng.uniform(-1, 1, shape)
    if np.dtype(dtype).kind == "c":
        found = found + 1j * rng.uniform(-1, 1, shape)
    return found.astype(dtype)


def op(letter, stack):
    turned = np.swapaxes(stack, -1, -2)
    return {"N": stack, "T": turned, "C": turned.conj()}[letter]


def close(dtype):
    eps = float(np.finfo(dtype).eps) * 200
    return {"rtol": eps, "atol": eps}


STACKS = {
    "rows": lambda a: a.copy(),
    "columns": lambda a: np.swapaxes(np.swapaxes(a, -1, -2).copy(), -1, -2),
    "reversed": lambda a: a[::-1].copy()[::-1],
    "last axis first": lambda a: np.moveaxis(np.moveaxis(a, 0, -1).copy(), -1, 0),
    "strided": lambda a: np.repeat(a, 2, axis=-1)[..., ::2],
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("place", [lambda a: a, cuda.to_device], ids=["host", "device"])
def test_stacks_are_multiplied(dtype, place):
    rng = np.random.default_rng(0)
    layouts = list(STACKS.values())
    turn = 0
    for transa in "NTC":
        for transb in "NTC":
            for m, n, k in ((3, 4, 5), (1, 7, 2), (2, 3, 0)):
                a = random(rng, (6, m, k) if transa == "N" else (6, k, m), dtype)
                b = random(rng, (6, k, n) if transb == "N" else (6, n, k), dtype)
                c = random(rng, (6, m, n), dtype)
                turn += 1
                given = [
                    place(layouts[(turn * (i + 1)) % 5](each)) for i, each in enumerate((a, b, c))
                ]
                got = blas.gemm_strided_batched(transa, transb, 0.5, *given[:2], 2, given[2])
                assert got is given[2]
                expected = 0.5 * (op(transa, a) @ op(transb, b)) + 2 * c
                np.testing.assert_allclose(np.asarray(got), expected, **close(dtype))
                made = blas.gemm_strided_batched(transa, transb, 1, *given[:2])
                np.testing.assert_allclose(
                    np.asarray(made), op(transa, a) @ op(transb, b), **close(dtype)
                )


def test_one_matrix_serves_for_all():
    rng = np.random.default_rng(1)
    a, b = rng.random((3, 4)), rng.random((5, 4, 2))
    np.testing.assert_allclose(blas.gemm_strided_batched("N", "N", 1, a, b), a @ b)
    wide = np.broadcast_to(a, (5, 3, 4))
    np.testing.assert_allclose(blas.gemm_strided_batched("N", "N", 1, wide, b), a @ b)


def test_the_old_output_is_not_read_where_beta_is_zero():
    c = np.full((2, 3, 3), np.nan)
    blas.gemm_strided_batched("N", "N", 2.0, np.ones((2, 3, 3)), np.ones((2, 3, 3)), 0, c)
    assert (c == 6).all()


@pytest.mark.parametrize("place", [lambda a: a, cuda.to_device], ids=["host", "device"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_matrices_that_lie_anywhere_are_multiplied(dtype, place):
    rng = np.random.default_rng(2)
    for transa, transb in (("N", "N"), ("T", "C"), ("C", "T")):
        first = [random(rng, (3, 4) if transa == "N" else (4, 3), dtype) for _ in range(6)]
        second = [random(rng, (4, 2) if transb == "N" else (2, 4), dtype) for _ in range(6)]
        first[1], second[2] = np.asfortranarray(first[1]), second[2].repeat(2, 0)[::2]
        outputs = [np.ones((3, 2), dtype, order="FC"[i % 2]) for i in range(6)]
        given = [[place(each) for each in one] for one in (first, second, outputs)]
        got = blas.gemm_batched(transa, transb, 2, given[0], given[1], 1, given[2])
        assert all(one is other for one, other in zip(got, given[2], strict=True))
        for a, b, c in zip(first, second, got, strict=True):
            expected = 2 * op(transa, a) @ op(transb, b) + 1
            np.testing.assert_allclose(np.asarray(c), expected, **close(dtype))


@pytest.mark.parametrize("place", [lambda a: a, cuda.to_device], ids=["host", "device"])
def test_vectors_that_lie_anywhere_are_multiplied(place):
    rng = np.random.default_rng(5)
    a, x = ([rng.random(shape) for _ in range(4)] for shape in ((3, 5), (5,)))
    y = [place(np.ones(3)) for _ in range(4)]
    got = blas.gemv_batched("N", 2, [place(each) for each in a], [place(each) for each in x], 1, y)
    for one, two, new, given in zip(a, x, got, y, strict=True):
        assert new is given
        np.testing.assert_allclose(np.asarray(new), 2 * one @ two + 1)


@pytest.mark.parametrize("trans", "NTC")
def test_stacked_vectors_are_multiplied(trans):
    rng = np.random.default_rng(3)
    a = random(rng, (4, 3, 5), "c16")
    rows, columns = (3, 5) if trans == "N" else (5, 3)
    x, y = random(rng, (4, columns), "c16"), random(rng, (4, rows), "c16")
    expected = 2 * np.einsum("bij,bj->bi", op(trans, a), x) + 0.5 * y
    np.testing.assert_allclose(blas.gemv_batched(trans, 2, a, x, 0.5, y), expected)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("layout", STACKS)
def test_stacks_are_factored_solved_and_inverted(dtype, layout):
    rng = np.random.default_rng(4)
    a, b = random(rng, (5, 6, 6), dtype), random(rng, (5, 6, 2), dtype)
    factors, pivots, info = blas.getrf_batched(STACKS[layout](a))
    assert not info.any()
    for i in range(5):
        lower = np.tril(factors[i], -1) + np.eye(6)
        rebuilt = lower @ np.triu(factors[i])
        for row in range(5, -1, -1):
            other = pivots[i, row] - 1
            rebuilt[[row, other]] = rebuilt[[other, row]]
        np.testing.assert_allclose(rebuilt, a[i], **close(dtype))
    for trans in "NTC":
        x = blas.getrs_batched(trans, factors, pivots, STACKS[layout](b))
        np.testing.assert_allclose(op(trans, a) @ x, b, rtol=1e-2, atol=1e3 * np.finfo(dtype).eps)
    inverses, info = blas.getri_batched(factors, pivots)
    assert not info.any()
    np.testing.assert_allclose(
        inverses @ a, np.broadcast_to(np.eye(6), a.shape), atol=1e4 * np.finfo(dtype).eps
    )


def test_singular_matrices_are_told():
    stack = np.stack([np.eye(3), np.diag([1.0, 0, 1])])
    factors, pivots, info = blas.getrf_batched(stack)
    assert info.tolist() == [0, 2]
    assert blas.getri_batched(factors, pivots)[1].tolist() == [0, 2]


@pytest.mark.parametrize("dtype", DTYPES)
def test_stacks_are_factored_by_reflections(dtype):
    rng = np.random.default_rng(5)
    a = random(rng, (3, 5, 4), dtype)
    factors, tau = blas.geqrf_batched(a)
    for i in range(3):
        product = np.eye(5, dtype=dtype)
        for j in range(4):
            v = np.concatenate([np.zeros(j), [1], factors[i, j + 1 :, j]])
            product = product @ (np.eye(5) - tau[i, j] * np.outer(v, v.conj()))
        upper = np.triu(factors[i])
        np.testing.assert_allclose(product @ upper, a[i], **close(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_stacked_least_squares(dtype):
    rng = np.random.default_rng(6)
    a, b = random(rng, (4, 7, 3), dtype), random(rng, (4, 7, 2), dtype)
    x, info = blas.gels_batched("N", a, b)
    assert not info.any()
    for i in range(4):
        expected = np.linalg.lstsq(a[i], b[i], rcond=None)[0]
        np.testing.assert_allclose(x[i], expected, rtol=1e-3, atol=1e3 * np.finfo(dtype).eps)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("layout", STACKS)
def test_many_small_matrices_are_multiplied(dtype, layout):
    rng = np.random.default_rng(7)
    for m, n, k in ((8, 8, 8), (3, 5, 2), (1, 1, 7), (9, 2, 4)):
        a, b = random(rng, (100, m, k), dtype), random(rng, (100, n, k), dtype)
        c = random(rng, (100, m, n), dtype)
        given = [STACKS[layout](each) for each in (a, b, c)]
        got = blas.gemm_strided_batched("N", "T", 2, given[0], given[1], 0.5, given[2])
        assert got is given[2]
        expected = 2 * a @ b.swapaxes(1, 2) + 0.5 * c
        np.testing.assert_allclose(got, expected, **close(dtype))
        got[...] = np.nan
        blas.gemm_strided_batched("N", "T", 1, given[0], given[1], 0, got)
        np.testing.assert_allclose(got, a @ b.swapaxes(1, 2), **close(dtype))
    square = random(rng, (100, 4, 4), dtype)
    expected = square @ square
    blas.gemm_strided_batched("N", "N", 1, square, square, 0, square)
    np.testing.assert_allclose(square, expected, **close(dtype))


@pytest.mark.parametrize("count", [0, 1, 3, 70])
@pytest.mark.parametrize("sizes", [(0, 2, 3), (2, 0, 3), (2, 3, 0), (0, 0, 0)])
@pytest.mark.parametrize("place", [lambda a: a, cuda.to_device], ids=["host", "device"])
def test_stacks_of_empty_matrices_are_multiplied(count, sizes, place):
    m, n, k = sizes
    a, b = np.ones((count, m, k)), np.ones((count, k, n))
    made = blas.gemm_strided_batched("N", "N", 2, place(a), place(b))
    np.testing.assert_array_equal(np.asarray(made), np.full((count, m, n), 2.0 * k))
    c = place(np.ones((count, m, n)))
    assert blas.gemm_strided_batched("N", "N", 2, place(a), place(b), 3, c) is c
    np.testing.assert_array_equal(np.asarray(c), np.full((count, m, n), 3.0 + 2 * k))
    y = place(np.ones((count, m)))
    assert blas.gemv_batched("N", 2, place(a), place(np.ones((count, k))), 3, y) is y
    np.testing.assert_array_equal(np.asarray(y), np.full((count, m), 3.0 + 2 * k))


@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("order", [0, 2])
@pytest.mark.parametrize("columns", [0, 1])
@pytest.mark.parametrize("place", [lambda a: a, cuda.to_device], ids=["host", "device"])
def test_stacks_of_empty_problems_are_solved(count, order, columns, place):
    a = place(np.tile(2 * np.eye(order), (count, 1, 1)))
    b = place(np.ones((count, order, columns)))
    factors, pivots, info = blas.getrf_batched(a)
    assert np.asarray(info).tolist() == [0] * count
    solutions = blas.getrs_batched("N", factors, pivots, b)
    np.testing.assert_array_equal(np.asarray(solutions), np.full(b.shape, 0.5))
    inverses, info = blas.getri_batched(factors, pivots)
    np.testing.assert_array_equal(np.asarray(inverses), np.asarray(a) / 4)
    assert np.asarray(info).tolist() == [0] * count
    triangles, tau = blas.geqrf_batched(a)
    assert (triangles.shape, tau.shape) == (a.shape, (count, order))
    solutions, info = blas.gels_batched("N", a, b)
    np.testing.assert_allclose(np.asarray(solutions), np.full(b.shape, 0.5))
    assert np.asarray(info).tolist() == [0] * count
