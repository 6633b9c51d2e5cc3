"""Whether the numbers of all generators follow their distributions, and not each other.

The numbers are always the same, so these tests pass or fail for good; their bounds are those that
true random numbers would miss once in a million times.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

from pygpulib.rand.cpu import create
from pygpulib.rand.kinds import RULES, Kind
from pygpulib.rand.request import Distribution, make_request

SIZE = 40_000
LIMIT = 1e-6
DEVIATIONS = 4.9
PSEUDO = [kind for kind in Kind if not RULES[kind].is_quasi]
QUASI = [kind for kind in Kind if RULES[kind].is_quasi]


@cache
def first_state(kind):
    """Return where a generator starts; MT19937 sets up its sub-sequences only once then."""
    engine = create(kind)
    if not RULES[kind].is_quasi:
        engine.set_seed(20_240_229)
        engine.fill(make_request(Distribution.UNIFORM, "float32"), np.empty(SIZE, np.float32))
    else:
        # The first point is 0.
        engine.set_offset(1)
    return engine.get_state()


def draw(kind, distribution, dtype, *parameters, size=SIZE):
    engine = create(kind)
    engine.set_state(first_state(kind))
    request = make_request(distribution, dtype, *parameters)
    out = np.empty(size, request.dtype)
    engine.fill(request, out)
    return out


def assert_independent(numbers):
    """Check the correlation of numbers with those that follow."""
    centred = (numbers - numbers.mean()) / numbers.std()
    for lag in (1, 2, 3, 7, 64, 4096):
        correlation = (centred[:-lag] * centred[lag:]).mean()
        assert abs(correlation) * np.sqrt(len(numbers) - lag) < DEVIATIONS, lag


def assert_moments(numbers, mean, variance, fourth):
    """Check mean and variance; `fourth` is the central moment of order four."""
    count = len(numbers)
    assert abs(numbers.mean() - mean) < DEVIATIONS * np.sqrt(variance / count)
    deviation = np.sqrt((fourth - variance**2) / count)
    assert abs(((numbers - mean) ** 2).mean() - variance) < DEVIATIONS * deviation


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", PSEUDO)
def test_uniform_numbers(kind, dtype):
    numbers = draw(kind, Distribution.UNIFORM, dtype).astype(float)
    assert numbers.min() > 0
    assert numbers.max() <= 1
    assert_moments(numbers, 1 / 2, 1 / 12, 1 / 80)
    assert stats.kstest(numbers, "uniform").pvalue > LIMIT
    assert_independent(numbers)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", PSEUDO)
def test_normal_numbers(kind, dtype):
    numbers = draw(kind, Distribution.NORMAL, dtype, 3.0, 2.0).astype(float)
    assert_moments(numbers, 3, 4, 48)
    assert stats.kstest(numbers, "norm", (3, 2)).pvalue > LIMIT
    assert_independent(numbers)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("kind", PSEUDO)
def test_lognormal_numbers(kind, dtype):
    numbers = draw(kind, Distribution.LOGNORMAL, dtype, 0.5, 0.25).astype(float)
    assert numbers.min() > 0
    assert stats.kstest(numbers, "lognorm", (0.25, 0, np.exp(0.5))).pvalue > LIMIT
    assert_independent(numbers)


@pytest.mark.parametrize("mean", [0.1, 9.5, 20.0, 300.0, 3000.0, 100_000.0])
@pytest.mark.parametrize("kind", PSEUDO)
def test_poisson_numbers(kind, mean):
    numbers = draw(kind, Distribution.POISSON, "uint32", mean).astype(float)
    assert_moments(numbers, mean, mean, mean + 3 * mean**2)
    assert_fits(numbers, stats.poisson(mean))
    assert_independent(numbers)


@pytest.mark.parametrize(("trials", "chance"), [(1, 0.3), (20, 0.5), (10_000, 0.01)])
@pytest.mark.parametrize("kind", PSEUDO)
def test_binomial_numbers(kind, trials, chance):
    numbers = draw(kind, Distribution.BINOMIAL, "uint32", trials, chance).astype(float)
    assert_fits(numbers, stats.binom(trials, chance))
    assert_independent(numbers)


def assert_fits(numbers, distribution):
    """Check how often the outcomes between some quantiles occur."""
    quantiles = np.unique(distribution.ppf(np.arange(1, 20) / 20))
    chances = np.diff(np.concatenate([[0], distribution.cdf(quantiles), [1]]))
    edges = np.concatenate([[-0.5], quantiles + 0.5, [np.inf]])
    counts, _ = np.histogram(numbers, edges)
    kept = chances > 0
    assert counts[~kept].sum() == 0
    if kept.sum() > 1:
        expected = chances[kept] / chances[kept].sum() * len(numbers)
        assert stats.chisquare(counts[kept], expected).pvalue > LIMIT


@pytest.mark.parametrize("kind", PSEUDO)
def test_bits_are_set_half_of_the_time_and_not_together(kind):
    words = draw(kind, Distribution.RAW, "uint32")
    bits = (words[:, None] >> np.arange(32, dtype=np.uint32) & np.uint32(1)).astype(float) - 0.5
    assert (abs(bits.mean(0)) < DEVIATIONS * 1.1 * 0.5 / np.sqrt(SIZE)).all()
    together = np.einsum("ni,nj->ij", bits, bits) / SIZE - np.eye(32) / 4
    assert (abs(together) < 5.5 * 0.25 / np.sqrt(SIZE)).all()


@pytest.mark.parametrize("kind", PSEUDO)
def test_streams_of_other_seeds_are_other_numbers(kind):
    numbers = []
    for seed in (1, 2):
        engine = create(kind)
        engine.set_seed(seed)
        out = np.empty(5000)
        engine.fill(make_request(Distribution.UNIFORM, "float64"), out)
        numbers.append(out - 0.5)
    correlation = (numbers[0] * numbers[1]).mean() * 12
    assert abs(correlation) * np.sqrt(5000) < DEVIATIONS


def largest_gap(uniform):
    """Return by how many numbers counts differ from those of numbers in equal distances."""
    count = len(uniform)
    return np.abs(np.sort(uniform) * count - np.arange(count)).max()


@pytest.mark.parametrize("kind", QUASI)
def test_quasi_random_numbers_are_more_even_than_random_ones(kind):
    uniform = draw(kind, Distribution.UNIFORM, "float64", size=(1 << 15) - 1)
    assert largest_gap(uniform) < 4
    normal = draw(kind, Distribution.NORMAL, "float64", 1.0, 2.0, size=(1 << 15) - 1)
    assert largest_gap(stats.norm(1, 2).cdf(normal)) < 4
    assert abs(normal.mean() - 1) < 0.002
    poisson = draw(kind, Distribution.POISSON, "uint32", 50.0, size=(1 << 15) - 1)
    assert abs(poisson.mean() - 50) < 0.01
    few = draw(kind, Distribution.POISSON, "uint32", 3.0, size=(1 << 15) - 1)
    assert abs(few.mean() - 3) < 0.01


def test_the_mean_of_maxima_of_quasi_random_points():
    engine = create(Kind.SOBOL32)
    engine.set_dimensions(4)
    out = np.empty(4 << 12, np.float32)
    engine.fill(make_request(Distribution.UNIFORM, "float32"), out)
    assert abs(out.reshape(4, -1).max(0).mean() - 4 / 5) < 1e-3
