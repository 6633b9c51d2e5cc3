"""Numbers of `Generator` against the distributions that they are to follow."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from pygpulib import rand
from tests.helpers.sizes import scaled

SIZE = 8 * scaled(2500)
LIMIT = 1e-3
SPREAD = math.sqrt(20_000 / SIZE)
"""How much wider moments spread than those of 20 000 numbers."""


def draw(name, arguments, size=SIZE, seed=0, **options):
    return getattr(rand.default_rng(seed), name)(*arguments, size=size, **options).copy_to_host()


CONTINUOUS = {
    "random": [((), stats.uniform())],
    "uniform": [((2.0, 5.0), stats.uniform(2, 3)), ((-1, -1), None)],
    "standard_normal": [((), stats.norm())],
    "normal": [((1.0, 2.0), stats.norm(1, 2)), ((1.0, 0.0), None)],
    "lognormal": [((0.5, 0.7), stats.lognorm(0.7, 0, math.exp(0.5)))],
    "standard_exponential": [((), stats.expon())],
    "exponential": [((2.0,), stats.expon(0, 2))],
    "standard_gamma": [((2.5,), stats.gamma(2.5)), ((1.0,), stats.expon())],
    "gamma": [((0.3, 2.0), stats.gamma(0.3, 0, 2)), ((1e6, 2.0), stats.gamma(1e6, 0, 2))],
    "beta": [((0.5, 3.0), stats.beta(0.5, 3)), ((1.0, 1.0), stats.uniform())],
    "chisquare": [((3.0,), stats.chi2(3)), ((0.5,), stats.chi2(0.5))],
    "noncentral_chisquare": [((3.0, 2.0), stats.ncx2(3, 2)), ((0.6, 2.0), stats.ncx2(0.6, 2))],
    "f": [((4.0, 7.0), stats.f(4, 7))],
    "noncentral_f": [((4.0, 7.0, 1.5), stats.ncf(4, 7, 1.5))],
    "standard_t": [((2.5,), stats.t(2.5))],
    "standard_cauchy": [((), stats.cauchy())],
    "pareto": [((2.0,), stats.lomax(2))],
    "weibull": [((1.7,), stats.weibull_min(1.7))],
    "power": [((3.0,), stats.powerlaw(3))],
    "laplace": [((1.0, 2.0), stats.laplace(1, 2))],
    "gumbel": [((1.0, 2.0), stats.gumbel_r(1, 2))],
    "logistic": [((1.0, 2.0), stats.logistic(1, 2))],
    "rayleigh": [((2.0,), stats.rayleigh(0, 2))],
    "wald": [((2.0, 3.0), stats.invgauss(2 / 3, 0, 3))],
    "triangular": [((-1.0, 0.5, 2.0), stats.triang(0.5, -1, 3)), ((0, 0, 1), stats.triang(0))],
    "vonmises": [((0.0, 2.0), stats.vonmises(2)), ((0.0, 1e-9), stats.uniform(-np.pi, 2 * np.pi))],
}


@pytest.mark.parametrize("name", CONTINUOUS)
def test_continuous_distributions(name):
    for arguments, expected in CONTINUOUS[name]:
        numbers = draw(name, arguments)
        assert numbers.dtype == np.float64
        if expected is None:
            assert np.all(numbers == arguments[0])
        else:
            assert stats.kstest(numbers, expected.cdf).pvalue > LIMIT, arguments


@pytest.mark.parametrize(
    ("name", "arguments", "expected"),
    [
        ("random", (), stats.uniform()),
        ("standard_normal", (), stats.norm()),
        ("standard_exponential", (), stats.expon()),
        ("standard_gamma", (2.5,), stats.gamma(2.5)),
    ],
)
def test_single_precision(name, arguments, expected):
    numbers = draw(name, arguments, dtype=np.float32)
    assert numbers.dtype == np.float32
    assert stats.kstest(numbers.astype(np.float64), expected.cdf).pvalue > LIMIT


def test_angles_are_wrapped_around_the_mode():
    angles = draw("vonmises", (2.5, 3.0))
    assert np.all(abs(angles) <= np.pi)
    around = np.mod(angles - 2.5 + np.pi, 2 * np.pi) - np.pi
    assert stats.kstest(around, stats.vonmises(3.0).cdf).pvalue > LIMIT
    concentrated = draw("vonmises", (0.5, 1e8))
    assert stats.kstest(concentrated, stats.norm(0.5, 1e-4).cdf).pvalue > LIMIT
    nearly_uniform = draw("vonmises", (0.0, 5e-6))
    assert stats.kstest(nearly_uniform, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > LIMIT


@pytest.mark.parametrize("df", [0.5, 1.0, 3.0])
@pytest.mark.parametrize("nonc", [1e17, 1e19, 1e21, 1e100])
def test_noncentral_numbers_far_out_have_the_right_mean_and_variance(df, nonc):
    numbers = rand.default_rng(8).noncentral_chisquare(df, nonc, 4000).copy_to_host()
    scaled = (numbers - nonc) / (2.0 * np.sqrt(nonc))
    # Where a float64 tells neighbours apart that are closer than the deviation.
    if nonc < 1e30:
        assert stats.kstest(scaled, "norm").pvalue > 1e-6
    else:
        np.testing.assert_allclose(numbers, nonc, rtol=1e-12)


def test_wald_numbers_of_extreme_scales():
    assert (rand.default_rng(8).wald(2.0, np.inf, 9).copy_to_host() == 2.0).all()
    np.testing.assert_allclose(rand.default_rng(8).wald(2.0, 1e300, 9).copy_to_host(), 2.0)
    assert np.isfinite(rand.default_rng(8).wald(5e-324, 1e308, 9).copy_to_host()).all()


@pytest.mark.parametrize("shape", [1e-5, 1e-299, 1e-307, 1e-310])
def test_beta_numbers_of_tiny_shapes_are_numbers(shape):
    numbers = draw("beta", (shape, 2 * shape))
    assert np.all((numbers >= 0) & (numbers <= 1))
    assert (draw("beta", (2.0, np.inf)) == 0.0).all()
    assert (draw("beta", (2.0, shape), size=9) == 1.0).all()
    # Nearly all are at one of the ends, with odds of two to one.
    share = stats.binomtest(int(np.sum(numbers < 0.5)), SIZE, 2 / 3)
    assert share.pvalue > LIMIT


DISCRETE = {
    "binomial": [
        ((20, 0.3), stats.binom(20, 0.3)),
        ((20, 0.8), stats.binom(20, 0.8)),
        ((1000, 0.7), stats.binom(1000, 0.7)),
        ((30, 0.5), stats.binom(30, 0.5)),
        ((10**6, 2e-6), stats.binom(10**6, 2e-6)),
    ],
    "negative_binomial": [((4.0, 0.3), stats.nbinom(4, 0.3)), ((0.5, 0.9), stats.nbinom(0.5, 0.9))],
    "poisson": [((m,), stats.poisson(m)) for m in (0.01, 3.5, 9.99, 10.0, 70.0, 4000.0)],
    "zipf": [((3.0,), stats.zipf(3)), ((2.0,), stats.zipf(2))],
    "geometric": [((0.2,), stats.geom(0.2)), ((0.9,), stats.geom(0.9))],
    "logseries": [((0.7,), stats.logser(0.7)), ((0.99,), stats.logser(0.99))],
    "hypergeometric": [
        ((good, bad, sample), stats.hypergeom(good + bad, good, sample))
        for good, bad, sample in (
            (20, 30, 8),
            (20, 30, 45),
            (200, 300, 80),
            (300, 200, 80),
            (300, 200, 400),
            (200, 300, 400),
            (10**8, 10**8, 10**4),
        )
    ],
    "integers": [((3, 17), stats.randint(3, 17))],
}


def chi_square(numbers, expected):
    """Return the p-value for whole numbers to follow a distribution of scipy."""
    low, high = (int(x) for x in (expected.ppf(1e-9), expected.ppf(0.999)))
    edges = np.unique(np.linspace(low - 1, high, min(high - low + 2, 60)).astype(np.int64))
    cumulated = np.concatenate([[0.0], expected.cdf(edges[1:]), [1.0]])
    chances = np.diff(cumulated)
    places = np.searchsorted(edges[1:], numbers, side="left")
    counts = np.bincount(places, minlength=chances.size)
    weights = chances * len(numbers)
    rare = weights < 5
    assert counts[weights < 1e-9].sum() == 0
    groups = [(counts[~rare], weights[~rare])]
    if rare.any() and weights[rare].sum() > 1:
        groups.append((counts[rare].sum(keepdims=True), weights[rare].sum(keepdims=True)))
    seen, wanted = (np.concatenate(each) for each in zip(*groups, strict=True))
    return stats.chisquare(seen, wanted * seen.sum() / wanted.sum()).pvalue


@pytest.mark.parametrize("name", DISCRETE)
def test_discrete_distributions(name):
    for arguments, expected in DISCRETE[name]:
        numbers = draw(name, arguments)
        assert numbers.dtype == np.int64
        assert chi_square(numbers, expected) > LIMIT, arguments


@pytest.mark.parametrize("mean", [1e9, 1e15, 9e18])
def test_large_means_keep_their_variance(mean):
    numbers = draw("poisson", (mean,)).astype(np.float64)
    scaled = (numbers - mean) / math.sqrt(mean)
    assert stats.kstest(scaled, stats.norm().cdf).pvalue > LIMIT
    trials = draw("binomial", (int(mean), 0.5)).astype(np.float64)
    scaled = (trials - mean / 2) / math.sqrt(mean / 4)
    assert stats.kstest(scaled, stats.norm().cdf).pvalue > LIMIT


def test_what_is_certain_is_certain():
    rng = rand.default_rng(1)
    assert set(rng.binomial(7, 1.0, 50).copy_to_host()) == {7}
    assert set(rng.binomial(7, 0.0, 50).copy_to_host()) == {0}
    assert set(rng.binomial(0, 0.5, 50).copy_to_host()) == {0}
    assert set(rng.binomial(2**62, 1.0, 50).copy_to_host()) == {2**62}
    assert set(rng.poisson(0.0, 50).copy_to_host()) == {0}
    assert set(rng.geometric(1.0, 50).copy_to_host()) == {1}
    assert set(rng.negative_binomial(3, 1.0, 50).copy_to_host()) == {0}
    assert set(rng.logseries(0.0, 50).copy_to_host()) == {1}
    assert set(rng.zipf(2000.0, 50).copy_to_host()) == {1}
    assert set(rng.hypergeometric(5, 0, 3, 50).copy_to_host()) == {3}
    assert set(rng.hypergeometric(50, 0, 30, 50).copy_to_host()) == {30}
    assert set(rng.hypergeometric(0, 50, 30, 50).copy_to_host()) == {0}
    assert set(rng.hypergeometric(30, 50, 80, 50).copy_to_host()) == {30}
    assert rng.geometric(1e-300) == 2**63 - 1


# ---------------------------------------------------------------------------------------- integers

KINDS = ["i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"]


@pytest.mark.parametrize("kind", KINDS)
def test_integers_reach_all_of_a_type(kind):
    info = np.iinfo(kind)
    numbers = draw("integers", (info.min, info.max), dtype=kind, endpoint=True)
    assert numbers.dtype == kind
    scaled = (numbers.astype(np.float64) - info.min + 0.5) / 2.0**info.bits
    smooth = scaled + (np.random.default_rng(1).random(SIZE) - 0.5) / 2.0**info.bits
    assert stats.kstest(smooth, stats.uniform().cdf).pvalue > LIMIT
    near = draw("integers", (info.max - 2, info.max), dtype=kind, endpoint=True, size=100)
    assert set(near.tolist()) == {info.max - 2, info.max - 1, info.max}


@pytest.mark.parametrize("count", [3 << 30, (1 << 32) - 1, 1 << 32, (1 << 32) + 1, 3 << 62])
def test_integers_of_ranges_that_reject_much_are_uniform(count):
    for bounds in ((-(2**40), count - 2**40), ([-(2**40)], [count - 2**40])):
        if count >= 1 << 63:
            numbers = draw("integers", (0, count), dtype=np.uint64).astype(np.float64)
        else:
            numbers = draw("integers", bounds).astype(np.float64) + 2.0**40
        assert stats.kstest(numbers / count, stats.uniform().cdf).pvalue > LIMIT


def test_bounds_may_be_arrays_and_truth_values():
    low = np.arange(1000)
    numbers = rand.default_rng(0).integers(low, 2 * low + 1).copy_to_host()
    assert np.all((numbers >= low) & (numbers <= 2 * low))
    huge = rand.default_rng(0).integers([0, 2**63], [2**63, 2**64], dtype="u8").copy_to_host()
    assert huge[0] < 2**63 <= huge[1]
    truths = draw("integers", (0, 2), dtype=bool)
    assert truths.dtype == bool
    assert stats.binomtest(int(truths.sum()), SIZE).pvalue > LIMIT


def test_bytes_are_uniform():
    found = np.frombuffer(rand.default_rng(3).bytes(SIZE + 3), np.uint8)
    assert found.size == SIZE + 3
    assert stats.chisquare(np.bincount(found, minlength=256)).pvalue > LIMIT
    assert rand.default_rng(3).bytes(0) == b""


def test_uniform_numbers_begin_at_0_and_end_before_1():
    # The lowest and the highest numbers that there can be.
    from pygpulib.rand import substreams
    from tests.helpers.evaluation import scalar

    top = np.uint32(0xFFFFFFFF)
    zero = np.uint32(0)
    assert scalar(substreams.uniform_from, zero, zero) == 0.0
    assert scalar(substreams.uniform_from, top, top) == 1.0 - 2.0**-53
    assert scalar(substreams.uniform_single_from, zero) == 0.0
    assert scalar(substreams.uniform_single_from, top) == np.float32(1.0 - 2.0**-24)
    assert scalar(substreams.inside_from, zero, zero) == 2.0**-53
    assert scalar(substreams.inside_from, top, top) == 1.0 - 2.0**-53


# ----------------------------------------------------------------------------------------- vectors


def test_multinomial_vectors():
    chances = [0.2, 0.0, 0.3, 0.5]
    counts = draw("multinomial", (60, chances))
    assert np.all(counts.sum(axis=1) == 60)
    assert np.all(counts[:, 1] == 0)
    for column, chance in enumerate(chances):
        if chance:
            assert chi_square(counts[:, column], stats.binom(60, chance)) > LIMIT
    covariance = np.cov(counts.T)
    assert np.allclose(covariance, stats.multinomial(60, chances).cov(), atol=0.5 * SPREAD)
    rows = rand.default_rng(0).multinomial([[1], [1000]], [[1.0, 0.0], [0.5, 0.5]]).copy_to_host()
    assert np.all(rows[:, 0, 1] == 0)
    assert np.all(rows.sum(axis=2) == [[1, 1], [1000, 1000]])


@pytest.mark.parametrize("method", ["count", "marginals"])
def test_hypergeometric_vectors(method):
    colors = [30, 0, 40, 50]
    counts = draw("multivariate_hypergeometric", (colors, 60), method=method)
    assert np.all(counts.sum(axis=1) == 60)
    for column, color in enumerate(colors):
        if color:
            assert chi_square(counts[:, column], stats.hypergeom(120, color, 60)) > LIMIT
    expected = stats.multivariate_hypergeom([30, 40, 50], 60).cov()
    assert np.allclose(np.cov(counts[:, [0, 2, 3]].T), expected, atol=0.3 * SPREAD)


def test_dirichlet_vectors():
    alpha = np.array([0.1, 2.0, 3.0, 1e-4])
    vectors = draw("dirichlet", (alpha,))
    assert np.allclose(vectors.sum(axis=1), 1.0)
    for column in range(3):
        rest = alpha.sum() - alpha[column]
        test = stats.kstest(vectors[:, column], stats.beta(alpha[column], rest).cdf)
        assert test.pvalue > LIMIT
    assert draw("dirichlet", ([1.0, 0.0],), size=1).tolist() == [[1.0, 0.0]]
    tiny = draw("dirichlet", ([1e-310, 2e-310, 0.0],))
    assert np.all(np.sort(tiny, axis=1) == [0.0, 0.0, 1.0])
    assert stats.binomtest(int(tiny[:, 0].sum()), len(tiny), 1 / 3).pvalue > LIMIT
    assert not tiny[:, 2].any()


@pytest.mark.parametrize("method", ["svd", "eigh", "cholesky"])
def test_normal_vectors(method):
    mean, cov = np.array([1.0, -2.0, 5.0]), np.array([[2, 1, 0], [1, 2, 0.5], [0, 0.5, 1]])
    vectors = draw("multivariate_normal", (mean, cov), method=method)
    assert np.allclose(vectors.mean(axis=0), mean, atol=0.05 * SPREAD)
    assert np.allclose(np.cov(vectors.T), cov, atol=0.1 * SPREAD)
    distance = np.einsum("ij,jk,ik->i", vectors - mean, np.linalg.inv(cov), vectors - mean)
    assert stats.kstest(distance, stats.chi2(3).cdf).pvalue > LIMIT


def test_normal_vectors_of_a_singular_matrix_stay_in_its_plane():
    vectors = draw("multivariate_normal", ([0, 0], [[1, 1], [1, 1]]), size=100)
    assert np.allclose(vectors[:, 0], vectors[:, 1], atol=1e-7)


# ---------------------------------------------------------------------------------------- the whole


@pytest.mark.parametrize("kind", [rand.XORWOW, rand.MRG32k3a])
def test_other_bit_generators_serve_all_kinds_of_methods(kind):
    rng = rand.Generator(kind(5))
    for name, arguments, expected in (
        ("random", (), stats.uniform()),
        ("standard_normal", (), stats.norm()),
        ("standard_gamma", (2.5,), stats.gamma(2.5)),
    ):
        numbers = getattr(rng, name)(*arguments, size=SIZE).copy_to_host()
        assert stats.kstest(numbers, expected.cdf).pvalue > LIMIT
    numbers = rng.integers(3 << 30, size=SIZE).copy_to_host()
    assert stats.kstest(numbers / float(3 << 30), stats.uniform().cdf).pvalue > LIMIT


def test_neighbours_and_later_draws_are_independent():
    rng = rand.default_rng(8)
    first, second = (rng.random(SIZE).copy_to_host() for _ in range(2))
    for x, y in ((first, second), (first[1:], first[:-1]), (first[2:], first[:-2])):
        assert stats.pearsonr(x, y).pvalue > LIMIT
    x, y = (rng.poisson(3.0, SIZE).copy_to_host() for _ in range(2))
    assert stats.pearsonr(x, y).pvalue > LIMIT
    assert stats.pearsonr(x[1:], x[:-1]).pvalue > LIMIT
