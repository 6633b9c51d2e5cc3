"""Numbers among the arguments: of which kind they may be, and when they count."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import blas, cuda
from pygpulib.errors import ArgumentError

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
