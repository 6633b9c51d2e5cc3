"""The numbers follow their distributions, and do not follow each other."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

from pygpulib.rand.engine import make_engine
from pygpulib.rand.kinds import Kind
from pygpulib.rand.request import Distribution, make_request

KINDS = [Kind.XORWOW, Kind.MRG32K3A, Kind.PHILOX4_32_10]
SIZE = 200_000
UNIFORM = make_request(Distribution.UNIFORM, "float64")
CONTINUOUS = [
    (make_request(Distribution.UNIFORM, "float32"), stats.uniform()),
    (UNIFORM, stats.uniform()),
    (make_request(Distribution.NORMAL, "float32", 2, 3), stats.norm(2, 3)),
    (make_request(Distribution.NORMAL, "float64", 0, 1), stats.norm()),
    (make_request(Distribution.LOGNORMAL, "float64", 0.5, 0.7), stats.lognorm(0.7, 0, np.exp(0.5))),
]
DISCRETE = [
    (make_request(Distribution.POISSON, "uint32", 0.7), stats.poisson(0.7)),
    (make_request(Distribution.POISSON, "uint32", 60), stats.poisson(60)),
    (make_request(Distribution.BINOMIAL, "uint32", 30, 0.4), stats.binom(30, 0.4)),
]


@cache
def draw(kind, request, seed=11):
    engine = make_engine(kind)
    engine.set_seed(seed)
    out = np.zeros(SIZE, request.dtype)
    engine.fill(request, out)
    return out


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", range(len(CONTINUOUS)))
def test_continuous_distributions(kind, case):
    request, distribution = CONTINUOUS[case]
    assert stats.kstest(draw(kind, request), distribution.cdf).pvalue > 1e-4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("case", range(len(DISCRETE)))
def test_discrete_distributions(kind, case):
    request, distribution = DISCRETE[case]
    numbers = draw(kind, request)
    low, high = distribution.ppf([1e-3, 1 - 1e-3]).astype(int)
    inner = np.arange(low, high + 1)
    counts = [np.count_nonzero(numbers == value) for value in inner]
    counts += [np.count_nonzero(numbers < low), np.count_nonzero(numbers > high)]
    chances = np.append(distribution.pmf(inner), [distribution.cdf(low - 1), distribution.sf(high)])
    filled = chances > 0
    result = stats.chisquare(np.array(counts)[filled], SIZE * chances[filled] / chances.sum())
    assert result.pvalue > 1e-4


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("lag", [1, 2, 3, 4, 5, 16, 4096, 81920])
def test_serial_correlation(kind, lag):
    numbers = draw(kind, UNIFORM) - 0.5
    correlation = (numbers[:-lag] * numbers[lag:]).mean() * 12
    assert abs(correlation) < 5 / np.sqrt(SIZE - lag)


@pytest.mark.parametrize("kind", KINDS)
def test_bits_are_balanced(kind):
    numbers = draw(kind, make_request(Distribution.RAW, "uint32"))
    ones = np.unpackbits(numbers.view(np.uint8).reshape(-1, 4), axis=1).sum(axis=0, dtype=np.int64)
    assert np.abs(ones - SIZE / 2).max() < 5 * np.sqrt(SIZE) / 2


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_give_other_numbers(kind):
    one, other = draw(kind, UNIFORM, 1), draw(kind, UNIFORM, 2)
    assert abs(np.corrcoef(one, other)[0, 1]) < 5 / np.sqrt(SIZE)
