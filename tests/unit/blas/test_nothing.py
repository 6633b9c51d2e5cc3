"""What routines do where nothing is added: the rules of BLAS's book."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import blas

X = np.full(2, np.nan, complex)
A = np.array([[1, 9 + 1j], [2 - 1j, 3]])
PACKED = np.array([1, 2 - 1j, 3])
FACTOR = np.full((2, 3), np.nan, complex)

UPDATES = {
    "her": (lambda c: blas.her("L", 0, X, c), A),
    "her2": (lambda c: blas.her2("L", 0, X, X, c), A),
    "hpr": (lambda c: blas.hpr("L", 0, X, c), PACKED),
    "hpr2": (lambda c: blas.hpr2("L", 0, X, X, c), PACKED),
    "ger": (lambda c: blas.ger(0, X, X, c), A),
    "gerc": (lambda c: blas.gerc(0, X, X, c), A),
    "syr": (lambda c: blas.syr("L", 0, X, c), A),
    "syr2": (lambda c: blas.syr2("L", 0, X, X, c), A),
}
PRODUCTS = {
    name: (getattr(blas, name), (FACTOR,) if name in ("herk", "syrk") else (FACTOR, FACTOR))
    for name in ("herk", "syrk", "her2k", "syr2k", "herkx", "syrkx")
}


@pytest.mark.parametrize("name", UPDATES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_updates_by_nothing_change_nothing(name, order):
    call, given = UPDATES[name]
    output = np.array(given, order=order)
    assert call(output) is output
    np.testing.assert_array_equal(output, given)


@pytest.mark.parametrize("name", PRODUCTS)
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("beta", [1, 2, 0])
@pytest.mark.parametrize("is_empty", [False, True])
def test_products_of_nothing_scale_a_triangle(name, order, beta, is_empty):
    function, factors = PRODUCTS[name]
    if is_empty:
        factors = [each[:, :0] for each in factors]
    output = np.array(A, order=order)
    function("L", "N", 1 if is_empty else 0, *factors, beta, output)
    expected = np.where([[1, 0], [1, 1]], beta * A, A)
    np.testing.assert_array_equal(output, expected)


@pytest.mark.cpu_only("cuBLAS does not say whether imaginary parts stay")
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("name", ["herk", "her2k", "herkx"])
def test_diagonals_are_left_alone_or_made_real(name, order):
    function, factors = PRODUCTS[name]
    for beta, expected in ((1, [1 + 2j, 3j]), (2, [2, 0])):
        output = np.array(np.diag([1 + 2j, 3j]), order=order)
        function("U", "N", 0, *factors, beta, output)
        np.testing.assert_array_equal(np.diagonal(output), expected)


@pytest.mark.parametrize("order", ["C", "F"])
def test_triangles_times_nothing_are_not_read(order):
    nothing = np.array(FACTOR, order=order)
    triangle = np.full((2, 2), np.nan, complex)
    solved = blas.trsm("L", "L", "N", False, 0, triangle, nothing)
    assert solved is nothing
    np.testing.assert_array_equal(solved, np.zeros((2, 3)))
    made = blas.trmm("L", "L", "N", False, 0, triangle, np.array(FACTOR, order=order))
    np.testing.assert_array_equal(made, np.zeros((2, 3)))
