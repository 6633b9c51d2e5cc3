"""What is too large: numbers for their dtype, and sizes for the BLAS of this machine."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import blas
from pygpulib.blas.binding import cuBlas
from pygpulib.cuda import to_device
from pygpulib.errors import ArgumentError

A, X = np.ones((2, 2), np.float32), np.ones(2, np.float32)
STACK = np.ones((70, 2, 2), np.float32)

CALLS = {
    "scal": lambda number: blas.scal(number, X.copy()),
    "axpy": lambda number: blas.axpy(number, X, X.copy()),
    "gemv": lambda number: blas.gemv("N", number, A, X),
    "gemv of complex": lambda number: blas.gemv("N", number, A.astype("c8"), X.astype("c8")),
    "ger": lambda number: blas.ger(number, X, X),
    "syr2 of complex": lambda number: blas.syr2("L", number, X.astype("c8"), X.astype("c8")),
    "gemm": lambda number: blas.gemm("N", "N", number, A, A),
    "beta of nothing": lambda number: blas.gemm("N", "N", 1, A[:, :0], A[:0], number, A.copy()),
    "syrkx": lambda number: blas.syrkx("L", "N", number, A, A),
    "herkx": lambda number: blas.herkx("L", "N", number, A.astype("c8"), A.astype("c8")),
    "trsm": lambda number: blas.trsm("L", "L", "N", True, number, A[:1, :1], A[:1].copy()),
    "geam": lambda number: blas.geam("N", "N", number, A, number, A),
    "one product": lambda number: blas.gemm_strided_batched("N", "N", number, A[None], A[None]),
    "many products": lambda number: blas.gemm_strided_batched("N", "N", number, STACK, STACK),
    "gemm_ex": lambda number: blas.gemm_ex("N", "N", number, A, A),
}


@pytest.mark.cpu_only("only there NumPy computes, which may complain")
@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
@pytest.mark.parametrize("number", [1e300, -1e300, np.float64(3.5e38), -np.inf])
def test_what_a_dtype_does_not_hold_is_infinite_and_no_error(call, number):
    with np.errstate(all="raise"):
        got = call(number)
    first = np.asarray(got).ravel()[0]
    assert np.isinf(first.real)
    assert np.sign(first.real) == np.sign(number)


@pytest.mark.parametrize(
    ("number", "expected"),
    [(3.4028235677973362e38, np.finfo(np.float32).max), (3.4028235677973366e38, np.inf)],
)
def test_the_largest_number_is_rounded_as_numpy_rounds_it(number, expected):
    assert blas.ger(number, X, X)[0, 0] == expected
    assert blas.gemm("N", "N", -number, A[:, :1], A[:1])[0, 0] == -expected


@pytest.mark.cpu_only("only there NumPy computes, which may complain")
def test_results_that_are_too_large_are_infinite():
    big = np.full((2, 2), 1e200)
    with np.errstate(all="raise"):
        assert np.isinf(blas.dgmm("L", big, big[0])).all()
        assert np.isinf(blas.geam("N", "T", 1e200, big, 1, big)).all()
        assert np.isinf(blas.gemm_strided_batched("N", "N", 1, big[None], big[None])).all()


LONG = 2**31


@pytest.mark.cpu_only("a GPU's BLAS counts further")
def test_distances_that_are_too_large_are_named():
    one, library = to_device(np.ones(1)), cuBlas()
    for name, call in {
        "lda is 2147483648": lambda: library.Dtrttp("L", 1, one, LONG, to_device(np.ones(1))),
        "incx is -2147483649": lambda: library.Daxpy(1, 2.0, one, -LONG - 1, one, 1),
    }.items():
        with pytest.raises(ArgumentError) as caught:
            call()
        told = str(caught.value).splitlines()
        assert told[0].endswith(": the arrays are too large for this machine's BLAS")
        assert told[1] == f"{name}, and SciPy's BLAS counts to {LONG - 1}"
