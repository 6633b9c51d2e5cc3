"""Numbers among the arguments: of which kind they may be, and when they count."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from pygpulib import blas, cuda
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError, ShapeError

X, PACKED, BAND = np.arange(1.0, 4), np.arange(6.0), np.arange(6.0).reshape(2, 3)

REAL_ONLY = [
    ("spr", "alpha", lambda number: blas.spr("U", number, X)),
    ("spr2", "alpha", lambda number: blas.spr2("U", number, X, X)),
    ("spmv", "alpha", lambda number: blas.spmv("L", number, PACKED, X)),
    ("spmv", "beta", lambda number: blas.spmv("L", 1, PACKED, X, number, X.copy())),
    ("sbmv", "alpha", lambda number: blas.sbmv("L", number, BAND, X)),
    ("sbmv", "beta", lambda number: blas.sbmv("L", 1, BAND, X, number, X.copy())),
]


@pytest.mark.parametrize(("routine", "argument", "call"), REAL_ONLY)
def test_routines_for_real_numbers_take_no_others(routine, argument, call):
    expected = call(2)
    for number in (2 + 0j, np.complex64(2), np.array(2 + 0j)):
        np.testing.assert_allclose(call(number), expected)
    for number in (2 + 1j, np.complex128(2 + 1j), np.array(2 + 1j), cuda.to_device(np.array(1j))):
        with pytest.raises(ArgumentError) as caught:
            call(number)
        first, second = str(caught.value).splitlines()
        assert first.startswith(f"{routine}: the argument {argument} is ")
        assert second == f"expected a real number: there is no {routine} for complex numbers"


@pytest.mark.parametrize("half", [Fraction(1, 2), Decimal("0.5"), np.float16(0.5), np.array(0.5)])
def test_all_kinds_of_numbers_multiply(half):
    np.testing.assert_array_equal(blas.scal(half, X.copy()), X / 2)
    np.testing.assert_array_equal(blas.scal(half, X.astype(complex)), X / 2)


@pytest.mark.parametrize("number", [10**400, -(10**400), Fraction(10**400, 3)])
def test_numbers_that_no_float_holds_are_refused(number):
    with pytest.raises(ArgumentError) as caught:
        blas.scal(number, X.copy())
    assert (
        str(caught.value) == "scal: the argument alpha is too large\nexpected a number below 1e308"
    )


@pytest.mark.parametrize("value", [np.timedelta64(1, "s"), "1", None, [1.0], np.ones(1)])
def test_what_is_no_number_is_refused(value):
    for argument, call in {
        "alpha": lambda: blas.scal(value, X.copy()),
        "b": lambda: blas.rotg(1.0, value),
        "x1": lambda: blas.rotmg(1.0, 2.0, value, 3.0),
    }.items():
        with pytest.raises(ArgumentError) as caught:
            call()
        message = f"the argument {argument} is not a number: {value!r}\nexpected a number, or an "
        assert message in str(caught.value)


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (
            lambda: blas.rotg(np.float16(1), 2.0),
            DTypeError,
            "rotg: the argument a has the unsupported dtype float16\n"
            "expected a number of dtype float32, float64, complex64, complex128",
        ),
        (
            lambda: blas.rotm(X.copy(), X.copy(), ["a"] * 5),
            ArgumentTypeError,
            "rotm: the argument param is ['a', 'a', 'a', 'a', 'a']\n"
            "expected five numbers: flag, h11, h21, h12, h22",
        ),
        (
            lambda: blas.rotm(X.copy(), X.copy(), [1j] * 5),
            ArgumentTypeError,
            "rotm: the argument param is [1j, 1j, 1j, 1j, 1j]\n"
            "expected five numbers: flag, h11, h21, h12, h22",
        ),
        (
            lambda: blas.rotm(X.copy(), X.copy(), np.ones((1, 5))),
            ShapeError,
            "rotm: the argument param has shape (1, 5)\n"
            "expected five numbers: flag, h11, h21, h12, h22",
        ),
        (
            lambda: blas.rotm(X.copy(), X.copy(), [7, 1, 2, 3, 4]),
            ArgumentError,
            "rotm: the argument param begins with 7\n"
            "expected the flag -1, 0 or 1, or -2 for no rotation",
        ),
    ],
)
def test_mistakes_of_rotations_are_named(call, kind, message):
    with pytest.raises(kind) as caught:
        call()
    assert str(caught.value) == message


def unaligned(shape):
    """Return an array of NaN, one byte behind where its elements should be."""
    count = int(np.prod(shape))
    made = np.frombuffer(bytearray(8 * count + 1), np.float64, count, 1).reshape(shape)
    made[...] = np.nan
    return made


BAD, FINE = np.full((2, 2), np.nan), np.ones((2, 2))
UNREAD = {
    "gemv": lambda beta, out: blas.gemv("N", 0, BAD, BAD[0], beta, out[0]),
    "gbmv": lambda beta, out: blas.gbmv("N", 2, 1, 0, 0, BAD, BAD[0], beta, out[0]),
    "symv": lambda beta, out: blas.symv("L", 0, BAD, BAD[0], beta, out[0]),
    "sbmv": lambda beta, out: blas.sbmv("L", 0, BAD, BAD[0], beta, out[0]),
    "spmv": lambda beta, out: blas.spmv("L", 0, BAD.ravel()[:3], BAD[0], beta, out[0]),
    "gemm": lambda beta, out: blas.gemm("N", "N", 0, BAD, BAD, beta, out),
    "symm": lambda beta, out: blas.symm("L", "U", 0, BAD, BAD, beta, out),
}


@pytest.mark.parametrize("call", UNREAD.values(), ids=UNREAD)
@pytest.mark.parametrize("place", [np.copy, cuda.to_device], ids=["host", "device"])
def test_a_product_times_zero_is_what_beta_leaves(call, place):
    for zero in (0, 0.0, np.float32(0), np.array(0.0)):
        for out in (place(BAD), unaligned((2, 2))):
            assert not np.asarray(call(zero, out)).any()
    assert (np.asarray(call(3.0, place(FINE))) == 3).all()
