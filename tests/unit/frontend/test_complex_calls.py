"""Functions of cmath and NumPy on complex operands are found and typed."""

from __future__ import annotations

import cmath

import numpy as np
import pytest

from pygpulib.core import dtypes
from pygpulib.errors import KernelTypeError
from pygpulib.jit import types
from pygpulib.jit.ir import ops as ir
from pygpulib.jit.ir.rewrite import walk
from tests.helpers.evaluation import over, result_type, scalar
from tests.helpers.kernels import Device, compile_for

Z = np.array([1 + 2j, -3.5 - 1j, 0.1 + 0.3j])


@pytest.mark.parametrize(
    "function",
    [cmath.exp, cmath.sqrt, cmath.log, cmath.sin, cmath.acos, cmath.phase, cmath.isnan, np.exp],
    ids=lambda function: function.__name__,
)
def test_functions_of_complex_numbers(function):
    wanted = [function(complex(z)) for z in Z]
    np.testing.assert_allclose(over(lambda x: function(x), Z), wanted, rtol=1e-13)


def test_real_arguments_become_complex():
    assert scalar(lambda x: cmath.sqrt(x), -4.0) == 2j
    assert scalar(lambda x: cmath.sqrt(x), np.int32(-4)) == 2j
    assert result_type(lambda x: cmath.sqrt(x), types.float32) == types.complex64
    assert result_type(lambda x: np.sqrt(x), types.float32) == types.float32


def test_functions_with_several_arguments_or_results():
    wanted = [cmath.log(z, 2) for z in Z.tolist()]
    np.testing.assert_allclose(over(lambda x: cmath.log(x, 2), Z), wanted, rtol=1e-14)
    np.testing.assert_allclose(scalar(lambda r: cmath.rect(r, 1), 2), cmath.rect(2, 1), rtol=1e-15)
    for part in (0, 1):
        found = scalar(lambda z: cmath.polar(z)[part], 1 + 2j)
        np.testing.assert_allclose(found, cmath.polar(1 + 2j)[part], rtol=1e-15)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (lambda z: cmath.exp("x"), "cmath.exp does not take (the string 'x')"),
        (lambda z: cmath.exp(z=z), "cmath.exp takes no keyword argument 'z'"),
        (lambda z: np.arctan2(z, 1.0), "numpy.arctan2 does not take (complex128, float64)"),
        (lambda z: cmath.isclose(z, z), "the function isclose is not available"),
    ],
)
def test_arguments_that_are_refused(body, problem):
    with pytest.raises(KernelTypeError) as caught:
        result_type(body, types.complex128)
    assert problem in caught.value.problem
    assert caught.value.help


def test_library_functions_are_rounded_as_written_and_those_of_users_are_not():
    @Device
    def twice(x):
        return x * 2.0 + 1.0

    def kernel(out, z):
        out[0] = twice(z.real)
        out[1] = cmath.log(z).real
        out[2] = twice(z.imag)

    found = compile_for(kernel, np.zeros(3), 1j)
    products = [
        op.strict
        for op in walk(found.body)
        if isinstance(op, ir.Binary)
        and op.kind is ir.BinaryKind.MULTIPLY
        and op.result.type == dtypes.float64
    ]
    assert [*products[:1], *products[-1:]] == [False, False]
    assert len(products) > 4
    assert all(products[1:-1])
