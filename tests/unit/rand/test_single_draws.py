"""MT19937, MTGP32 and the Sobol sequences against cuRAND's own generators for the host."""

from __future__ import annotations

import math
from functools import cache

import numpy as np
import pytest

from pygpulib.errors import ArgumentError
from pygpulib.rand.cpu import create
from pygpulib.rand.kinds import RULES, Kind, Ordering
from pygpulib.rand.request import Distribution, make_request
from tests.helpers.curand_host import HostGenerator

SOBOL = [Kind.SOBOL32, Kind.SCRAMBLED_SOBOL32, Kind.SOBOL64, Kind.SCRAMBLED_SOBOL64]
TWISTERS = [Kind.MT19937, Kind.MTGP32]
KINDS = [*SOBOL, *TWISTERS]

RAW = make_request(Distribution.RAW, "uint32")
UNIFORM = make_request(Distribution.UNIFORM, "float32")
EXACT = [
    UNIFORM,
    make_request(Distribution.UNIFORM, "float64"),
    *(
        make_request(Distribution.POISSON, "uint32", mean)
        for mean in (0.03, 9.99, 10.0, 31.9, 32.0, 600.0, 1999.5, 2000.0, 8000.0, 8000.1, 4e5)
    ),
]
# The largest distance, in units of the last place.
ROUNDED = {
    make_request(Distribution.NORMAL, "float32", 0.0, 1.0): 1,
    # The library itself is up to 10.7 away from the true quantiles, this package 4. Of all 2**32
    # arguments of 32 bits twelve are 10 apart, and none more.
    make_request(Distribution.NORMAL, "float64", 0.0, 1.0): 10,
    make_request(Distribution.NORMAL, "float32", 0.0, 2.5): 2,
    make_request(Distribution.LOGNORMAL, "float32", 0.0, 0.5): 4,
    make_request(Distribution.LOGNORMAL, "float64", 0.0, 0.5): 24,
}


@cache
def shared_oracle(kind):
    """Return a generator of the library; MT19937 takes seconds to set up."""
    return HostGenerator(kind, seed=None if RULES[kind].is_quasi else 9)


@cache
def shared_engine(kind):
    engine = create(kind)
    if not RULES[kind].is_quasi:
        engine.set_seed(9)
    return engine


def draw(engine, request, size):
    out = np.empty(size, request.dtype)
    engine.fill(request, out)
    return out


def distance(ours, theirs):
    """Return the largest distance in units of the last place of theirs."""
    return float((np.abs(ours - theirs) / np.spacing(np.abs(theirs))).max())


@pytest.mark.parametrize("kind", KINDS)
def test_raw_uniform_and_poisson_numbers_are_those_of_the_library(kind):
    raw = make_request(Distribution.RAW, f"uint{RULES[kind].bits}")
    for request in (raw, *EXACT):
        ours = draw(shared_engine(kind), request, 4321)
        assert np.array_equal(ours, shared_oracle(kind).generate(request, 4321)), request


@pytest.mark.parametrize("kind", KINDS)
def test_normal_and_lognormal_numbers_are_close_to_those_of_the_library(kind):
    for request, bound in ROUNDED.items():
        ours = draw(shared_engine(kind), request, 20_000)
        theirs = shared_oracle(kind).generate(request, 20_000)
        assert distance(ours, theirs) <= bound, request


@pytest.mark.parametrize("kind", KINDS)
def test_signed_integers_are_taken_for_unsigned_ones(kind):
    raw = make_request(Distribution.RAW, f"int{RULES[kind].bits}")
    out = np.zeros(20, raw.dtype.replace("u", ""))
    shared_engine(kind).fill(raw, out)
    assert np.array_equal(out.view(raw.dtype), shared_oracle(kind).generate(raw, 20))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_written_outside_of_the_array(kind):
    for size in (1, 15, 16, 17, 255, 257):
        guarded = np.full(size + 64, 7, np.float32)
        engine = create(kind)
        engine.fill(UNIFORM, guarded[32 : 32 + size])
        assert (guarded[:32] == 7).all()
        assert (guarded[32 + size :] == 7).all()
        assert (guarded[32 : 32 + size] <= 1).all()


def test_mtgp32_splits_calls_anywhere_over_many_rows():
    for ordering in (Ordering.PSEUDO_DEFAULT, Ordering.PSEUDO_LEGACY):
        ours, theirs = create(Kind.MTGP32), HostGenerator(Kind.MTGP32, ordering=ordering)
        ours.set_ordering(ordering)
        seed = 0xDEADBEEF12345678
        ours.set_seed(seed)
        theirs.set_seed(seed)
        random = np.random.default_rng(1)
        sizes = [*random.integers(1, 700, 20), 256, 49152, 200_001, *random.integers(1, 70_000, 9)]
        for size in map(int, sizes):
            assert np.array_equal(draw(ours, RAW, size), theirs.generate(RAW, size)), size


def test_mt19937_splits_calls_anywhere_over_its_states():
    ours, theirs = shared_engine(Kind.MT19937), shared_oracle(Kind.MT19937)
    # The 624 numbers of a state make 78 rows of 65536.
    for size in (1, 130, 65_000, 200_000, 78 * 65536 - 100_000, 70_001, 65_536, 17, 78 * 65536 + 3):
        assert np.array_equal(draw(ours, RAW, size), theirs.generate(RAW, size)), size


def test_mt19937_takes_the_low_half_of_a_seed():
    numbers = []
    for seed in (5, 5 + (1 << 40)):
        engine = create(Kind.MT19937)
        engine.set_seed(seed)
        numbers.append(draw(engine, RAW, 2000))
    assert np.array_equal(*numbers)
    words = np.random.RandomState(5).randint(0, 2**32, 624, np.uint32)
    # The first sub-sequence is the well-known one; numbers 0 to 7 of a row belong to it.
    assert numbers[0][0] == words[0]
    assert set(numbers[0][:8]) <= set(words)


@pytest.mark.parametrize("kind", TWISTERS)
def test_a_twister_begins_again_when_it_is_told_something_new(kind):
    engine = create(kind)
    engine.set_seed(3)
    numbers = draw(engine, RAW, 300)
    engine.set_seed(3)
    engine.set_ordering(Ordering.PSEUDO_DEFAULT)
    assert not np.array_equal(draw(engine, RAW, 300), numbers)
    engine.set_seed(4)
    engine.set_seed(3)
    assert np.array_equal(draw(engine, RAW, 300), numbers)
    engine.set_ordering(Ordering.PSEUDO_LEGACY)
    assert np.array_equal(draw(engine, RAW, 300), numbers)


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_is_gone_on_from(kind):
    engine = create(kind)
    draw(engine, UNIFORM, 1001)
    other = create(kind)
    other.set_state(engine.get_state())
    assert other.get_state() == engine.get_state()
    assert np.array_equal(draw(other, UNIFORM, 300), draw(engine, UNIFORM, 300))


@pytest.mark.parametrize("kind", TWISTERS)
def test_a_damaged_state_is_refused(kind):
    engine = create(kind)
    draw(engine, UNIFORM, 3)
    state = engine.get_state()
    damaged = type(state)(
        state.kind, state.ordering, state.seed, 0, 1, state.position, state.memory[:-1]
    )
    with pytest.raises(ArgumentError, match="the state of a generator is damaged"):
        create(kind).set_state(damaged)


@pytest.mark.parametrize("kind", SOBOL)
def test_points_go_on_from_offsets_and_with_other_dimensions(kind):
    raw = make_request(Distribution.RAW, f"uint{RULES[kind].bits}")
    ours, theirs = create(kind), HostGenerator(kind)
    program = [("d", 3), ("n", 3 * 777), ("d", 100), ("n", 5000), ("o", 2**32 - 37), ("n", 10_000)]
    program += [("d", 1), ("n", 50), ("o", 2**40 + 13), ("n", 33), ("o", 2**64 - 3), ("n", 40)]
    for what, value in program:
        match what:
            case "d":
                ours.set_dimensions(value)
                theirs.set_dimensions(value)
            case "o":
                ours.set_offset(value)
                theirs.set_offset(value)
            case _:
                assert np.array_equal(draw(ours, raw, value), theirs.generate(raw, value))


@pytest.mark.parametrize("kind", SOBOL)
def test_all_dimensions_are_those_of_the_library(kind):
    raw = make_request(Distribution.RAW, f"uint{RULES[kind].bits}")
    ours, theirs = create(kind), HostGenerator(kind, dimensions=20_000, offset=2**31 + 12345)
    ours.set_dimensions(20_000)
    ours.set_offset(2**31 + 12345)
    assert np.array_equal(draw(ours, raw, 40_000), theirs.generate(raw, 40_000))


@pytest.mark.parametrize("kind", KINDS)
def test_binomial_numbers_are_quantiles_of_uniform_ones(kind):
    uniform = make_request(Distribution.UNIFORM, "float64")
    binomial = make_request(Distribution.BINOMIAL, "uint32", 12, 0.3)
    u, numbers = draw(create(kind), uniform, 1000), draw(create(kind), binomial, 1000)
    sums = np.cumsum([math.comb(12, k) * 0.3**k * 0.7 ** (12 - k) for k in range(13)])
    assert np.array_equal(numbers, np.minimum(np.searchsorted(sums, u), 12))


def test_the_two_halves_of_the_line_mirror_each_other():
    normal = make_request(Distribution.NORMAL, "float64", 0.0, 1.0)
    numbers = np.sort(draw(create(Kind.SOBOL32), normal, 1 << 12)[1:])
    # Draws are multiples of 2**-12, and quantiles are taken half a step of 2**-32 beside them.
    assert np.allclose(numbers, -numbers[::-1], atol=1e-5)


@pytest.mark.parametrize("program", range(25))
def test_random_programs_give_the_numbers_of_the_library(program):
    random = np.random.default_rng([2024, program])
    kind = [Kind.MTGP32, *SOBOL][program % 5]
    ours, theirs, dimensions = create(kind), HostGenerator(kind), 1

    def tell(name, value):
        getattr(ours, name)(value)
        getattr(theirs, name)(value)

    for _ in range(12):
        match random.integers(8):
            case 0 if kind is Kind.MTGP32:
                tell("set_seed", int(random.integers(0, 2**64, dtype=np.uint64)))
            case 1 if kind is Kind.MTGP32:
                tell("set_ordering", RULES[kind].orderings[random.integers(3)])
            case 0 if kind is not Kind.MTGP32:
                dimensions = int(random.integers(1, 40))
                tell("set_dimensions", dimensions)
            case 1 if kind is not Kind.MTGP32:
                # Short and long ones alike.
                bits = int(random.integers(65))
                tell("set_offset", int(random.integers(0, 2**64, dtype=np.uint64)) >> bits)
            case _:
                mean = float(np.exp(random.uniform(-5, 11)))
                requests = [*EXACT[:2], make_request(Distribution.POISSON, "uint32", mean)]
                request = requests[random.integers(3)]
                size = dimensions * int(random.integers(1, 3000))
                assert np.array_equal(draw(ours, request, size), theirs.generate(request, size))
