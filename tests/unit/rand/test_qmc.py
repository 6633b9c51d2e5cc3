"""Sobol points against SciPy's, and what scrambling keeps."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from scipy.stats import kstest, qmc

from pygpulib.errors import ArgumentError, ArgumentTypeError, ShapeError
from pygpulib.rand import Philox4x3210, Sobol
from tests.helpers.sizes import scaled


@pytest.mark.filterwarnings("ignore:The balance properties")
@pytest.mark.parametrize("bits", [20, 30, 32, 33, 53, 64])
@pytest.mark.parametrize("d", [1, 2, 19, scaled(300)])
def test_plain_points_are_those_of_scipy(d, bits):
    ours = Sobol(d, scramble=False, bits=bits)
    theirs = qmc.Sobol(d, scramble=False, bits=bits)
    for n in (1, 0, 3, 16, 15, scaled(1000), 17, scaled(5000)):
        assert np.array_equal(ours.random(n), theirs.random(n))
    assert ours.num_generated == theirs.num_generated


def test_seeds_are_what_numpy_and_scipy_take():
    seeds = (
        5,
        np.random.SeedSequence(5),
        np.random.PCG64(5),
        np.random.default_rng(5),
        Philox4x3210(5),
    )
    points = [Sobol(3, seed=seed).random(4) for seed in seeds]
    assert all(np.array_equal(each, points[0]) for each in points)
    assert not np.array_equal(Sobol(3).random(4), Sobol(3).random(4))


@pytest.mark.filterwarnings("ignore:The balance properties")
def test_few_bits_are_few_points():
    ours, theirs = (each(3, scramble=False, bits=5) for each in (Sobol, qmc.Sobol))
    for n in (3, 17, 12):
        assert np.array_equal(ours.random(n), theirs.random(n))


def test_all_dimensions_are_those_of_scipy():
    ours, theirs = (each(Sobol.MAXDIM, scramble=False) for each in (Sobol, qmc.Sobol))
    assert np.array_equal(ours.random(8), theirs.random(8))


def test_there_may_be_no_points_or_dimensions():
    assert Sobol(3).random(0).shape == (0, 3)
    assert Sobol(0).random(5).shape == (5, 0)


@pytest.mark.parametrize("bits", [20, 32, 64])
def test_scrambled_points_stay_a_net(bits):
    """Every interval of length 2**-m has one of 2**m points, in every dimension."""
    points = Sobol(40, seed=7, bits=bits).random_base2(10)
    cells = np.sort((points * 1024).astype(int), axis=0)
    assert np.array_equal(cells, np.arange(1024)[:, None].repeat(40, 1))
    # Two dimensions together are a net, too.
    for columns, rows in ((1, 1024), (32, 32), (256, 4)):
        cells = (points[:, 0] * columns).astype(int) * rows + (points[:, 1] * rows).astype(int)
        assert len(np.unique(cells)) == 1024


def test_scrambled_points_are_as_even_as_those_of_scipy():
    ours = [qmc.discrepancy(Sobol(5, seed=seed).random(512)) for seed in range(5)]
    theirs = [qmc.discrepancy(qmc.Sobol(5, seed=seed).random(512)) for seed in range(5)]
    assert np.mean(ours) < 1.3 * np.mean(theirs)


def test_a_scrambled_point_is_uniform():
    firsts = np.concatenate([Sobol(50, seed=seed).random(1)[0] for seed in range(4 * scaled(10))])
    assert kstest(firsts, "uniform").pvalue > 1e-4


def test_scrambled_integrals_have_no_bias():
    means = [np.exp(Sobol(3, seed=seed).random(64).sum(1)).mean() for seed in range(60)]
    error = np.std(means) / np.sqrt(len(means))
    assert abs(np.mean(means) - (np.e - 1) ** 3) < 5 * error
    assert error < 1e-2


def test_a_seed_decides_about_the_scrambling():
    first, second, other = (Sobol(4, seed=seed).random(8) for seed in (1, 1, 2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first, other)
    generator = np.random.default_rng(1)
    assert np.array_equal(Sobol(4, seed=generator).random(8), first)
    assert not np.array_equal(Sobol(4).random(8), Sobol(4).random(8))


@pytest.mark.parametrize("scramble", [False, True])
def test_points_can_be_skipped_and_begun_again(scramble):
    sobol = Sobol(3, scramble, seed=3)
    points = sobol.random(100)
    assert sobol.num_generated == 100
    assert sobol.reset() is sobol
    assert sobol.fast_forward(41) is sobol
    assert np.array_equal(sobol.random(59), points[41:])
    other = pickle.loads(pickle.dumps(sobol.reset().fast_forward(7)))
    assert np.array_equal(other.random(10), points[7:17])


def test_points_far_out_are_those_of_scipy():
    ours, theirs = (each(3, scramble=False, bits=31) for each in (Sobol, qmc.Sobol))
    assert np.array_equal(
        ours.fast_forward(2**20 + 5).random(9), theirs.fast_forward(2**20 + 5).random(9)
    )
    last = Sobol(2, scramble=False, bits=64).fast_forward(2**64 - 3).random(3)
    assert ((last >= 0) & (last < 1)).all()


def test_points_lie_below_one():
    assert Sobol(1, scramble=False, bits=64).fast_forward(2**64 - 2**8).random(2**8).max() < 1


def test_points_can_stay_on_the_device():
    on_device = Sobol(3, seed=1).random(20, device=True)
    assert not isinstance(on_device, np.ndarray)
    assert np.array_equal(on_device.copy_to_host(), Sobol(3, seed=1).random(20))
    assert Sobol(3).random_base2(3, device=True).shape == (8, 3)


@pytest.mark.parametrize(
    "bounds",
    [((0, -5), (10, 5)), ((4, 3), None), ((1, 1), (2, 9)), ((0, 0), (2**53, 2**40))],
)
def test_integers_are_those_of_scipy(bounds):
    low, high = bounds
    for endpoint in (False, True):
        ours, theirs = (each(2, scramble=False) for each in (Sobol, qmc.Sobol))
        assert np.array_equal(
            ours.integers(low, high, n=64, endpoint=endpoint),
            theirs.integers(low, u_bounds=high, n=64, endpoint=endpoint),
        )


def test_bounds_may_be_far_apart():
    numbers = Sobol(1, seed=1).integers(-(2**62), 2**62, n=64)
    assert numbers.min() < -(2**61)
    assert numbers.max() > 2**61
    assert Sobol(1, scramble=False).integers(7, 7, endpoint=True, n=4).tolist() == [[7]] * 4


def test_scipy_names_the_seed_rng():
    points = Sobol(3, rng=5).random(4)
    assert np.array_equal(points, Sobol(3, seed=5).random(4))
    assert np.array_equal(points, Sobol(3, rng=np.random.default_rng(5)).random(4))


def test_distributions_of_scipy_take_the_sequence_once_it_is_registered():
    class Registered(Sobol):
        """So that other tests see the class as it is."""

    qmc.QMCEngine.register(Registered)
    normal = qmc.MultivariateNormalQMC([1.0, 2.0], engine=Registered(2, rng=1))
    np.testing.assert_allclose(normal.random(1024).mean(axis=0), [1.0, 2.0], atol=0.01)
    counts = qmc.MultinomialQMC([0.25, 0.75], 100, engine=Registered(1, rng=1)).random(8)
    assert (counts.sum(axis=1) == 100).all()


def test_bounds_may_be_one_number():
    numbers = Sobol(3, seed=1).integers(2, 5, n=30)
    assert numbers.dtype == np.int64
    assert set(numbers.ravel()) == {2, 3, 4}


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: Sobol(-1), ArgumentError, "the argument d is -1"),
        (lambda: Sobol(21_202), ArgumentError, "the argument d is 21202"),
        (lambda: Sobol(1.5), ArgumentTypeError, "the argument d is 1.5"),
        (lambda: Sobol(1, bits=65), ArgumentError, "the argument bits is 65"),
        (lambda: Sobol(1, bits=4), ArgumentError, "the argument bits is 4"),
        (lambda: Sobol(1).random(-1), ArgumentError, "the argument n is -1"),
        (lambda: Sobol(1).random_base2(-1), ArgumentError, "the argument m is -1"),
        (lambda: Sobol(1).fast_forward(-1), ArgumentError, "the argument n is -1"),
        (lambda: Sobol(1, bits=5).random(33), ArgumentError, "33 points were asked .* 32 left"),
        (
            lambda: Sobol(1, bits=5).fast_forward(30).fast_forward(3),
            ArgumentError,
            "3 points were asked .* 2 left",
        ),
        (
            lambda: Sobol(1).fast_forward(3).random_base2(2),
            ArgumentError,
            r"after 3 points, 2\*\*2 more do not make a power of 2",
        ),
        (lambda: Sobol(2, seed=-1), ArgumentError, "the seed is -1"),
        (lambda: Sobol(2, seed="a"), ArgumentTypeError, "the seed is 'a'"),
        (lambda: Sobol(2, rng=1, seed=1), ArgumentError, "rng and seed were both given"),
        (lambda: Sobol(2).integers([1, 2, 3]), ShapeError, r"l_bounds has the shape \(3,\)"),
        (lambda: Sobol(2).integers(0, [[3, 4]]), ShapeError, r"u_bounds has the shape \(1, 2\)"),
        (lambda: Sobol(2).integers(2.5), ArgumentTypeError, "the argument l_bounds is 2.5"),
        (lambda: Sobol(2).integers(0, "a"), ArgumentTypeError, "the argument u_bounds is 'a'"),
        (lambda: Sobol(2).integers(0, 2**63), ArgumentError, "u_bounds does not fit into 64 bits"),
        (lambda: Sobol(2).integers(3, [4, 3]), ArgumentError, "is not below its upper bound"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(call, error, message):
    with pytest.raises(error, match=message):
        call()
