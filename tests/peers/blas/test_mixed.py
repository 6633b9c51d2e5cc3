"""Products in mixed precision and with finished elements, against float64."""

from __future__ import annotations

import math

import ml_dtypes
import numpy as np
import pytest

from pygpulib import blas, cuda
from pygpulib.blas.mixed import COMBINATIONS
from pygpulib.core.device import current_driver
from tests.helpers.blas_cases import MATRIX_LAYOUTS, lay_out

KINDS = {"bfloat16": ml_dtypes.bfloat16}
# Bits of the factors that count.
BITS = {"tf32": 11, "fast float16": 11, "fast bfloat16": 8}
PLACES = pytest.mark.parametrize("place", [lambda a: a, cuda.to_device], ids=["host", "device"])


def draw(rng, shape, kind):
    if kind == "int8":
        return rng.integers(-128, 128, shape, np.int8)
    return rng.uniform(-1, 1, shape).astype(KINDS.get(kind, kind))


def error_of(kind, compute, result):
    if result == "int32":
        return 0
    eps = max(
        float(ml_dtypes.finfo(KINDS.get(each, each)).eps)
        for each in ("float32" if kind != "float64" else "float64", result)
    )
    return max(eps * 8, 2.0 ** -BITS[compute] * 8 if compute in BITS else 0)


@PLACES
@pytest.mark.parametrize(
    ("kind", "compute", "result"),
    [(kind, compute, result) for (kind, compute), all_ in COMBINATIONS.items() for result in all_],
)
def test_matrices_are_multiplied(kind, compute, result, place):
    rng = np.random.default_rng(0)
    layouts = [name for name in MATRIX_LAYOUTS if name != "unaligned"]
    turn = 0
    for transa in "NTC":
        for transb in "NT":
            a = draw(rng, (5, 7) if transa == "N" else (7, 5), kind)
            b = draw(rng, (7, 3) if transb == "N" else (3, 7), kind)
            c = draw(rng, (5, 3), result if result != "int32" else "int8").astype(
                KINDS.get(result, result)
            )
            wide = [np.asarray(each).astype("f8") for each in (a, b, c)]
            product = (wide[0] if transa == "N" else wide[0].T) @ (
                wide[1] if transb == "N" else wide[1].T
            )
            turn += 1
            given = [
                place(lay_out(each, layouts[(turn * (i + 1)) % 8])[0])
                for i, each in enumerate((a, b, c))
            ]
            options = {"compute": compute}
            got = blas.gemm_ex(transa, transb, 2, *given[:2], 3, given[2], **options)
            assert got is given[2]
            error = error_of(kind, compute, result)
            scale = max(1.0, np.abs(product).max())
            np.testing.assert_allclose(
                np.asarray(got).astype("f8"), 2 * product + 3 * wide[2], error, error * scale
            )
            made = blas.gemm_ex(
                transa, transb, 1, *given[:2], dtype=KINDS.get(result, result), **options
            )
            np.testing.assert_allclose(np.asarray(made).astype("f8"), product, error, error * scale)


@pytest.mark.cpu_only("rounds like a GPU, which the simulated one does not")
def test_tf32_rounds_factors():
    one = np.array([[1024.5]], np.float32)
    unit = np.array([[1]], np.float32)
    assert blas.gemm_ex("N", "N", 1, one, unit)[0, 0] == 1024.5
    assert blas.gemm_ex("N", "N", 1, one, unit, compute="tf32")[0, 0] == 1025


def test_sums_of_eight_bit_numbers_wrap():
    ones = np.full((1, 1 << 18), 127, np.int8)
    got = blas.gemm_ex("N", "T", 1, ones, ones)
    assert got.dtype == np.int32
    assert got[0, 0] == np.array(127 * 127 << 18).astype(np.int32)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


@PLACES
@pytest.mark.parametrize("kind", ["float16", "bfloat16", "float32", "float64"])
@pytest.mark.parametrize(
    ("activation", "function"),
    [(None, lambda x: x), ("relu", lambda x: np.maximum(x, 0)), ("gelu", gelu)],
)
def test_elements_are_finished(kind, activation, function, place):
    rng = np.random.default_rng(1)
    a, b, c, bias = (draw(rng, shape, kind) for shape in ((4, 6), (6, 5), (4, 5), (5,)))
    wide = [each.astype("f8") for each in (a, b, c, bias)]
    got = blas.matmul(
        place(a), place(b), alpha=2, beta=-1, C=place(c), bias=place(bias), activation=activation
    )
    expected = function(2 * wide[0] @ wide[1] - wide[2] + wide[3])
    error = error_of(kind, "", kind)
    if activation == "gelu" and current_driver().name == "cuda":
        # The library does not say how exact its hyperbolic tangent is.
        error = max(error, 2.0**-9)
    np.testing.assert_allclose(np.asarray(got).astype("f8"), expected, error, error)
    assert type(got) is type(place(a))


@PLACES
@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_stacks_are_multiplied_and_finished(kind, place):
    rng = np.random.default_rng(2)
    a, b, c = (draw(rng, shape, kind) for shape in ((3, 4, 6), (3, 6, 5), (3, 4, 5)))
    bias = draw(rng, (5,), kind)
    error = error_of(kind, "", kind)
    for first, second in ((a, b), (a[0], b), (a, b[0]), (a[:1], b), (a[::-1], b.copy())):
        wide = first.astype("f8") @ second.astype("f8")
        got = blas.matmul(place(first), place(second))
        np.testing.assert_allclose(np.asarray(got).astype("f8"), wide, error, error)
        got = blas.matmul(
            place(first), place(second), beta=0.5, C=place(c), bias=place(bias), activation="relu"
        )
        expected = np.maximum(wide + 0.5 * c.astype("f8") + bias.astype("f8"), 0)
        np.testing.assert_allclose(np.asarray(got).astype("f8"), expected, error, error)
    assert blas.matmul(place(a[:0]), place(b[0])).shape == (0, 4, 5)


@pytest.mark.cpu_only("cublasLt does not say what its relu makes of what is not a number")
def test_what_is_not_a_number_stays():
    a = np.array([[np.nan, 1.0]])
    assert np.isnan(blas.matmul(a, np.ones((2, 1)), activation="relu")).all()
