"""The tables of Poisson and binomial distributions against SciPy's probabilities."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from pygpulib.rand import binomial
from pygpulib.rand import poisson_tables as poisson
from pygpulib.rand.engine import make_engine
from pygpulib.rand.kinds import Kind
from pygpulib.rand.request import Distribution, make_request
from tests.helpers.curand_host import HostGenerator


@pytest.mark.parametrize("mean", [0.01, 0.5, 3.3, 10, 600, 1350, 1999])
def test_probabilities_of_poisson(mean):
    shift, chances = poisson.probabilities(mean)
    numbers = np.arange(shift, shift + len(chances))
    exact = stats.poisson.pmf(numbers, mean)
    likely = exact > 1e-290
    np.testing.assert_allclose(chances[likely], exact[likely], rtol=1e-9)
    assert (chances > 0).all()
    assert abs(chances.sum() - 1) < 1e-11


@pytest.mark.parametrize("mean", [0.01, 0.5, 3.3, 10, 600, 1999])
def test_alias_tables_give_the_probabilities(mean):
    table = poisson.alias_table(mean)
    shift, chances = poisson.probabilities(mean)
    assert table.shift == shift
    shares, aliases = table.shares[:-1], table.aliases[:-1]
    total = shares.copy()
    np.add.at(total, aliases, 1 - shares)
    np.testing.assert_allclose(total / len(total), chances, rtol=0, atol=1e-12)


@pytest.mark.parametrize("mean", [0.5, 40.0])
def test_alias_draws_at_the_ends(mean):
    table = poisson.alias_table(mean)
    smallest = poisson.draw_from_cells(2.0**-32, table.shift, table.shares, table.aliases)
    largest = poisson.draw_from_cells(1.0, table.shift, table.shares, table.aliases)
    assert smallest in (table.shift, table.shift + table.aliases[0])
    assert largest == table.shift


@pytest.mark.parametrize(
    ("trials", "probability"),
    [(1, 0.5), (10, 0.3), (1000, 0.001), (1000, 0.999), (10**6, 0.25), (2**31 - 1, 1e-9)],
)
def test_cumulative_binomial(trials, probability):
    shift, sums = binomial.cumulative(trials, probability)
    numbers = np.arange(shift, shift + len(sums))
    np.testing.assert_allclose(sums, stats.binom.cdf(numbers, trials, probability), atol=1e-12)
    assert (np.diff(sums) >= 0).all()
    assert sums[-1] == 1


def test_binomial_for_many_trials():
    trials, probability = 2**31 - 1, 0.5
    shift, sums = binomial.cumulative(trials, probability)
    numbers = np.arange(shift, shift + len(sums))
    expected = stats.norm.cdf(numbers + 0.5, trials / 2, np.sqrt(trials) / 2)
    np.testing.assert_allclose(sums, expected, atol=1e-9)


@pytest.mark.parametrize(
    ("trials", "probability", "value"), [(0, 0.3, 0), (7, 0.0, 0), (7, 1.0, 7)]
)
def test_certain_outcomes(trials, probability, value):
    out = np.full(100, 99, np.uint32)
    request = make_request(Distribution.BINOMIAL, "uint32", trials, probability)
    make_engine(Kind.XORWOW).fill(request, out)
    assert (out == value).all()


def test_binomial_inverts_the_uniform_numbers():
    """The smallest outcome whose cumulated probability is not below the number."""
    for kind in (Kind.XORWOW, Kind.PHILOX4_32_10, Kind.MRG32K3A):
        uniform = np.zeros(5000)
        make_engine(kind).fill(make_request(Distribution.UNIFORM, "float64"), uniform)
        out = np.zeros(5000, np.uint32)
        make_engine(kind).fill(make_request(Distribution.BINOMIAL, "uint32", 50, 0.2), out)
        np.testing.assert_array_equal(out, stats.binom.ppf(uniform, 50, 0.2))


def _index_of(number):
    """Return which point of Sobol's first dimension has a number of 32 bits."""
    gray, index = int(f"{number:032b}"[::-1], 2), 0
    while gray:
        index ^= gray
        gray >>= 1
    return index


def _poisson_for(mean, number):
    """Return the Poisson numbers that ours and the vendor's generators make of raw bits."""
    request = make_request(Distribution.POISSON, "uint32", mean)
    offset = _index_of(number)
    engine, host = make_engine(Kind.SOBOL32), HostGenerator(Kind.SOBOL32, offset=offset)
    engine.set_offset(offset)
    out = np.empty(1, np.uint32)
    engine.fill(request, out)
    return int(out[0]), int(host.generate(request, 1)[0])


@pytest.mark.parametrize("mean", [0.01530410645018848, 0.13728236768083935, 5.286195027690326, 9.9])
def test_uniform_numbers_at_the_beginning_of_a_cell(mean):
    cells = len(poisson.alias_table(mean).shares) - 1
    step = cells // np.gcd(cells, 2**32)
    for cell in range(step, cells, step):
        ours, theirs = _poisson_for(mean, cell * 2**32 // cells - 1)
        assert ours == theirs, cell


@pytest.mark.parametrize("mean", [11.0, 15.0, 20.0, 32.0, 100.0, 1000.0, 7999.0])
def test_a_uniform_number_of_one_among_cumulated_probabilities(mean):
    ours, theirs = _poisson_for(mean, 2**32 - 1)
    assert ours == theirs
    shift, sums = poisson.cumulative(mean)
    assert sums[-1] == 1.0
    assert (sums[:-1] < 1.0).all()
    assert shift + len(sums) - 1 == ours


@pytest.mark.parametrize("mean", [1e-300, 1e-5, 0.3, 10.0, 250.0, 1999.0])
def test_cumulated_probabilities_are_those_of_scipy(mean):
    shift, sums = poisson.cumulative(mean)
    numbers = np.arange(shift, shift + len(sums))
    np.testing.assert_allclose(sums, stats.poisson.cdf(numbers, mean), rtol=1e-9, atol=1e-290)
