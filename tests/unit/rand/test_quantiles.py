"""The inverse of the complementary error function, which quantiles come from."""

from __future__ import annotations

import mpmath as mp
import numpy as np
import pytest

from pygpulib.jit.intrinsics.threads import grid
from pygpulib.rand import quantiles
from pygpulib.rand.compiling import kernel
from tests.helpers.ulps import error_in_ulps
from tools import derive_quantiles as tool


@kernel
def invert(shares, out):
    i = grid(1)
    if i < shares.size:
        out[i] = quantiles.inverse_erfc(shares[i])


def inverse_of(shares):
    out = np.zeros(shares.size)
    invert[-(-shares.size // 64), 64](shares, out)
    return out


def exact_inverse(share):
    with mp.workdps(60):
        share = mp.mpf(float(share))
        if share > 0.5:
            return mp.erfinv(1 - share)
        x = mp.sqrt(-mp.log(share)) * 0.9
        for _ in range(60):
            x += (mp.erfc(x) - share) * mp.exp(x * x) * mp.sqrt(mp.pi) / 2
        return x


def shares_from(low, high, count=400):
    rng = np.random.default_rng(5)
    # Neither a share nor what it lacks to 1 is rounded in what generators ask for.
    return np.floor(rng.uniform(low, high, count) * 2.0**53) * 2.0**-53


def test_middle_is_good_to_two_units():
    shares = shares_from(tool.TAIL, 1.0)
    for share, result in zip(shares, inverse_of(shares), strict=True):
        assert abs(error_in_ulps(result, exact_inverse(share))) <= 2


def test_tail_is_good_to_the_error_of_its_argument():
    shares = np.concatenate(
        [
            shares_from(0.0, tool.TAIL),
            2.0 ** -np.arange(3.0, 54.0),
            3 * 2.0 ** -np.arange(5.0, 54.0),
        ]
    )
    for share, result in zip(shares, inverse_of(shares), strict=True):
        assert abs(error_in_ulps(result, exact_inverse(share))) <= 4


def test_ends():
    ends = np.array([1.0, 1 + 2.0**-32, 1 - 2.0**-32, 2.0**-53])
    expected = [0.0, -(2.0**-32), 2.0**-32, 5.8635847487551676]
    slope = np.sqrt(np.pi) / 2
    expected[1], expected[2] = expected[1] * slope, expected[2] * slope
    assert inverse_of(ends) == pytest.approx(expected, rel=1e-6, abs=0)


def test_file_holds_what_the_tool_derives():
    assert tool.module_text() == tool.TARGET.read_text()
