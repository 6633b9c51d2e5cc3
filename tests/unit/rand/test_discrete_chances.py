"""The probabilities that rejections compare with, against exact ones."""

from __future__ import annotations

import mpmath
import numpy as np

from pygpulib.rand import discrete
from pygpulib.rand.compiling import device
from tests.helpers.evaluation import over

WHOLE = np.array([0, 1, 2, 5, 9, 10, 11, 50, 1000, 10**6, 10**12, 10**18], np.float64)


def log_choose(n, k):
    return mpmath.loggamma(n + 1) - mpmath.loggamma(k + 1) - mpmath.loggamma(n - k + 1)


@device
def _of_one_urn(k):
    return discrete.log_hypergeometric(k, 20.0, 30.0, 10.0)


def test_excess_of_factorials():
    with mpmath.workdps(60):
        expected = [
            float(mpmath.loggamma(mpmath.mpf(k) + 1) - (k * mpmath.log(k) if k else 0) + k)
            for k in map(int, WHOLE)
        ]
    assert np.allclose(over(discrete.excess, WHOLE), expected, rtol=1e-11, atol=1e-13)


def test_deviance_is_exact_near_and_far():
    k = np.repeat([1.0, 40.0, 1e4, 1e15, 1e15 + 3e7], 4)
    mean = k * np.tile([1.0 + 1e-7, 0.85, 1.3, 4.0], 5)
    with mpmath.workdps(60):
        expected = [
            float(x * mpmath.log(x / m) + m - x)
            for x, m in zip(map(mpmath.mpf, k), map(mpmath.mpf, mean), strict=True)
        ]
    # Where k and the mean are close, what counts is the error next to 1.
    assert np.allclose(over(discrete.deviance, k, mean), expected, rtol=1e-7, atol=1e-13)
    zero = np.array([0.0])
    assert over(discrete.deviance, zero, np.array([3.5]))[0] == 3.5


def test_binomial_and_hypergeometric_chances():
    cases = [(0, 7, 0.3), (7, 7, 0.3), (3, 7, 0.3), (480, 1000, 0.5), (5 * 10**11, 10**12, 0.5)]
    k, n, p = (np.array(column, np.float64) for column in zip(*cases, strict=True))
    with mpmath.workdps(60):
        expected = [
            float(log_choose(n, k) + k * mpmath.log(p) + (n - k) * mpmath.log(1 - mpmath.mpf(p)))
            for k, n, p in cases
        ]
    assert np.allclose(over(discrete.log_binomial, k, n, p), expected, rtol=1e-10, atol=1e-10)
    good, bad, sample = 20, 30, 10
    k = np.array([3.0, 0.0, 10.0, 4.0])
    found = over(_of_one_urn, k)
    with mpmath.workdps(60):
        exact = [float(log_choose(good, int(x)) + log_choose(bad, sample - int(x))) for x in k]
    assert np.allclose(found - found[0], np.array(exact) - exact[0], rtol=1e-10, atol=1e-10)
