"""Complex arithmetic against CPython and NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from tests.helpers.evaluation import over, result_type, scalar
from tests.helpers.kernels import check, interpret

_rng = np.random.default_rng(3)
A = _rng.standard_normal(40) + 1j * _rng.standard_normal(40)
B = _rng.standard_normal(40) * 10.0 ** _rng.integers(-150, 150, 40) + 1j * _rng.standard_normal(40)
del _rng  # tests make their own, so that their numbers do not depend on other tests


def parts(values):
    """Return the bits of the parts, so that signs of zeros count."""
    return np.asarray(values, complex).view(np.int64)


@pytest.mark.parametrize(
    "body",
    [
        lambda x, y: x + y,
        lambda x, y: x - y,
        lambda x, y: x * y,
        lambda x, y: x / y,
        lambda x, y: -x + +y,
    ],
)
def test_bits_are_those_of_cpython(body):
    with np.errstate(all="ignore"):
        found = over(body, A, B)
    wanted = [body(complex(x), complex(y)) for x, y in zip(A, B, strict=True)]
    np.testing.assert_array_equal(parts(found), parts(wanted))


def test_real_operands():
    x = np.random.default_rng(4).standard_normal(40)
    for body in (
        lambda a, b: a + b,
        lambda a, b: b - a,
        lambda a, b: a * b,
        lambda a, b: b / a,
        lambda a, b: 2 * a - 1j * b,
    ):
        wanted = [body(complex(a), float(b)) for a, b in zip(A, x, strict=True)]
        np.testing.assert_array_equal(parts(over(body, A, x)), parts(wanted))


def test_single_precision_stays():
    a, b = A.astype(np.complex64), B.real.clip(-9, 9).astype(np.float32)
    found = over(lambda x, y: x * y + x / (y + 1j), a, b)
    assert found.dtype == np.complex128  # the literal is complex128
    found = over(lambda x, y: x * y + x, a, b)
    assert found.dtype == np.complex64
    exact = a.astype(complex) * b + a
    assert (abs(found - exact) <= 4 * np.finfo(np.float32).eps * (abs(a * b) + abs(a))).all()


def test_whole_powers_multiply():
    for body in (lambda z: z**2, lambda z: z**3, lambda z: z**7, lambda z: z**-2, lambda z: z**0):
        wanted = [body(complex(z)) for z in A]
        np.testing.assert_allclose(over(body, A), wanted, rtol=1e-14)
    np.testing.assert_array_equal(
        parts(over(lambda z: z**2, A)), parts([z * z for z in A.tolist()])
    )


def test_general_powers():
    np.testing.assert_allclose(over(lambda x, y: x**y, A, A[::-1].copy()), A ** A[::-1], rtol=1e-13)
    np.testing.assert_allclose(over(lambda x: x**0.5, A), A**0.5, rtol=1e-13)


def test_absolute_value_and_parts():
    np.testing.assert_allclose(over(lambda z: abs(z), A), np.abs(A), rtol=1e-15)
    found = over(lambda z: abs(z), A.astype(np.complex64))
    assert found.dtype == np.float32
    np.testing.assert_array_equal(over(lambda z: z.real, A), A.real)
    np.testing.assert_array_equal(over(lambda z: z.imag, A), A.imag)
    np.testing.assert_array_equal(over(lambda z: z.conjugate(), A), A.conj())
    assert scalar(lambda x: x.real + x.imag, 2.5) == 2.5
    assert scalar(lambda x: x.conjugate(), 2.5) == 2.5


def test_construction():
    def kernel(x, z):
        z[0] = complex(x[0], x[1])
        z[1] = complex(x[0])
        z[2] = 0j
        z[3] = complex(imag=x[1], real=2)
        z[4] = complex(z[0])
        z[5] = 3 + 4j

    check(kernel, np.array([1.5, -2.0]), np.zeros(6, complex))


def test_division_by_zero():
    found = scalar(lambda z: z / 0j, 1 + 1j)
    assert np.isnan(found)

    def kernel(z):
        z[0] = z[0] / z[1]

    error = interpret(kernel, np.array([1 + 1j, 0]), debug=True)
    assert error.exception is ZeroDivisionError
    assert error.message == "complex division by zero"


def test_operators_that_complex_numbers_lack():
    for body in (lambda z: z // 2, lambda z: z % 2, lambda z: z & 1, lambda z: ~z):
        with pytest.raises(KernelTypeError, match="does not take complex64"):
            result_type(body, types.complex64)
