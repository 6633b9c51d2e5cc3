import math
from fractions import Fraction

import numpy as np
import pytest

from pygpulib.core.dtypes import float32, float64
from pygpulib.jit.intrinsics.bits import bits_float, float_bits
from pygpulib.jit.intrinsics.exact import multiply_add
from tests.helpers.samples import samples


@pytest.mark.parametrize("dtype", [float32, float64], ids=str)
def test_multiply_add_is_the_float_nearest_to_the_exact_sum(dtype):
    for x, y, z in zip(*samples("triple", dtype, 200), strict=True):
        result = multiply_add(x, y, z)
        assert type(result) is dtype.numpy.type
        if not (np.isfinite([x, y, z]).all() and np.isfinite(result)):
            continue
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        error = abs(Fraction(float(result)) - exact)
        with np.errstate(all="ignore"):
            neighbours = np.nextafter(result, [dtype.numpy.type(s * math.inf) for s in (-1, 1)])
        for neighbour in neighbours[np.isfinite(neighbours)]:
            distance = abs(Fraction(float(neighbour)) - exact)
            assert error <= distance
            assert error < distance or int(float_bits(result)) % 2 == 0


@pytest.mark.parametrize(
    ("operands", "expected"),
    [
        ((math.inf, 1.0, 1.0), math.inf),
        ((1e300, 1e300, -math.inf), -math.inf),
        ((1e300, -1e300, 1.0), -math.inf),
        ((1e300, 1e300, -1e308), math.inf),
        ((2.0, 3.0, math.inf), math.inf),
    ],
)
def test_multiply_add_with_infinities(operands, expected):
    assert multiply_add(*operands) == expected


@pytest.mark.parametrize(
    "operands", [(math.inf, 0.0, 1.0), (math.nan, 1.0, 1.0), (1.0, 1.0, math.nan)]
)
def test_multiply_add_without_a_value(operands):
    assert math.isnan(multiply_add(*operands))


@pytest.mark.parametrize(
    ("operands", "sign"),
    [((0.0, -1.0, -0.0), -1.0), ((0.0, -1.0, 0.0), 1.0), ((1.5, 2.0, -3.0), 1.0)],
)
def test_sign_of_a_sum_of_zero(operands, sign):
    result = multiply_add(*operands)
    assert result == 0
    assert math.copysign(1.0, result) == sign


def test_bits_of_floats_go_both_ways():
    assert float_bits(np.float32(1.0)) == 0x3F800000
    assert float_bits(1.0) == 0x3FF0000000000000
    assert bits_float(np.int32(0x40000000)) == np.float32(2.0)
    assert bits_float(np.uint64(1)) == 5e-324
    for dtype in (float32, float64):
        for x in samples("real", dtype, 20)[0]:
            back = bits_float(float_bits(x))
            assert type(back) is dtype.numpy.type
            assert back == x or (np.isnan(back) and np.isnan(x))
