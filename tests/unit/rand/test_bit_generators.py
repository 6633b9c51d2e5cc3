"""Bit generators: seeds, states, jumps, children, and the sub-streams that they give."""

from __future__ import annotations

import copy
import pickle
import threading

import numpy as np
import pytest

from pygpulib import get_num_threads, rand, set_num_threads
from pygpulib.errors import ArgumentError, ArgumentTypeError
from pygpulib.jit.intrinsics.random.philox import philox_block
from pygpulib.rand.kinds import Kind
from pygpulib.rand.request import Distribution, make_request
from tests.helpers.curand_host import HostGenerator

KINDS = [rand.Philox4x3210, rand.XORWOW, rand.MRG32k3a]
QUICK = KINDS[:2]
"""Those that are set up quickly by the vendor's library; XORWOW and MRG32k3a have the same code."""


def numbers(rng, size=20):
    return rng.random(size).copy_to_host().tolist()


def draw_everything(rng):
    """Call a few methods of every kind, and return what they gave."""
    return [
        numbers(rng, 7),
        rng.integers(1000, size=5).copy_to_host().tolist(),
        rng.standard_gamma(0.5, size=3).copy_to_host().tolist(),
        rng.permutation(9).copy_to_host().tolist(),
        rng.bytes(5),
        rng.normal(),
    ]


# ------------------------------------------------------------------------------------------- seeds


@pytest.mark.parametrize("kind", QUICK)
def test_seeds_are_those_of_numpy(kind):
    sequence = np.random.SeedSequence([3, 2**40])
    as_numbers, as_sequence = kind([3, 2**40]), kind(sequence)
    assert numbers(rand.Generator(as_numbers)) == numbers(rand.Generator(as_sequence))
    assert as_sequence.seed_seq is sequence
    assert kind(as_sequence).seed_seq is sequence
    assert numbers(rand.Generator(kind(5))) == numbers(rand.Generator(kind(np.int64(5))))
    assert numbers(rand.Generator(kind(5))) != numbers(rand.Generator(kind(6)))
    assert numbers(rand.Generator(kind())) != numbers(rand.Generator(kind()))
    with pytest.raises(ArgumentError, match="the seed is -1"):
        kind(-1)
    with pytest.raises(ArgumentTypeError, match="the seed is 'a'"):
        kind("a")


def test_default_rng_takes_what_numpy_takes():
    assert numbers(rand.default_rng(5)) == numbers(rand.Generator(rand.Philox4x3210(5)))
    bits = rand.XORWOW(1)
    rng = rand.default_rng(bits)
    assert rng.bit_generator is bits
    assert rand.default_rng(rng) is rng
    assert numbers(rand.default_rng()) != numbers(rand.default_rng(None))
    with pytest.raises(ArgumentTypeError, match="the seed is a PCG64 of NumPy"):
        rand.default_rng(np.random.PCG64(1))
    with pytest.raises(ArgumentTypeError, match="the argument bit_generator is of type int"):
        rand.Generator(5)
    with pytest.raises(ArgumentTypeError, match="the argument bit_generator is the class XORWOW"):
        rand.Generator(rand.XORWOW)


# -------------------------------------------------------------------------------------------- bits


def test_sub_streams_are_ranges_of_philoxs_counter():
    seed = 77
    key = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
    bits = rand.Philox4x3210(seed)
    state = bits.state
    state["next"], state["jumps"] = 2**32 - 2, 9
    bits.state = state
    found = rand.Generator(bits).integers(2**32, size=20, dtype="u4").copy_to_host()
    word = np.uint32
    for row, index in zip(found.reshape(5, 4), range(2**32 - 2, 2**32 + 3), strict=True):
        counter = word(0), word(9), word(index & 0xFFFFFFFF), word(index >> 32)
        with np.errstate(over="ignore"):
            expected = philox_block(counter, (word(key & 0xFFFFFFFF), word(key >> 32)))
        assert row.tolist() == [int(each) for each in expected]


@pytest.mark.parametrize(
    ("kind", "engine"), [(rand.XORWOW, Kind.XORWOW), (rand.MRG32k3a, Kind.MRG32K3A)]
)
def test_other_sequences_are_those_of_curand(kind, engine):
    seed = int(np.random.SeedSequence(4).generate_state(1, np.uint64)[0])
    raw = make_request(Distribution.RAW, "uint32")
    expected = HostGenerator(engine, seed=seed).generate(raw, 40)
    rng = rand.Generator(kind(4))
    first = rng.integers(2**32, size=18, dtype="u4").copy_to_host()
    assert np.array_equal(first, expected[:18])
    # Two words are left over; a draw begins with new ones.
    long = rng.bit_generator.random_raw(10).copy_to_host()
    assert np.array_equal(long, expected[20:].view("<u8"))


def test_raw_numbers():
    bits = rand.Philox4x3210(3)
    assert type(bits.random_raw()) is int
    assert bits.random_raw((2, 3)).shape == (2, 3)
    assert bits.random_raw(5).dtype == np.uint64
    before = bits.state
    assert bits.random_raw(5, output=False) is None
    assert bits.state != before


# ------------------------------------------------------------------------------------------- state


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_brings_the_numbers_back(kind):
    rng = rand.Generator(kind(8))
    numbers(rng, 13)
    state = rng.get_state()
    assert state["bit_generator"] == kind.__name__
    expected = draw_everything(rng)
    other = rand.Generator(kind(1))
    other.set_state(state)
    assert draw_everything(other) == expected
    rng.bit_generator.state = state
    assert draw_everything(rng) == expected


@pytest.mark.parametrize("kind", QUICK)
def test_copies_and_pickles_go_on_where_the_original_is(kind):
    rng = rand.Generator(kind(8))
    numbers(rng, 13)
    twins = [pickle.loads(pickle.dumps(rng)), copy.deepcopy(rng)]
    expected = draw_everything(rng)
    for twin in twins:
        assert draw_everything(twin) == expected
        children = [numbers(child) for child in rand.Generator(kind(8)).spawn(2)]
        assert [numbers(child) for child in twin.spawn(2)] == children


@pytest.mark.parametrize("kind", QUICK)
def test_states_of_others_are_refused(kind):
    bits = kind(1)
    with pytest.raises(ArgumentTypeError, match="the state of a generator is a int"):
        bits.state = 5
    with pytest.raises(ArgumentError, match=f"not one of the bit generator {kind.__name__}"):
        bits.state = np.random.PCG64(1).state
    with pytest.raises(ArgumentError, match="not one of the bit generator"):
        bits.state = {"bit_generator": kind.__name__}


def test_a_number_of_a_state_must_fit():
    bits = rand.Philox4x3210(1)
    with pytest.raises(ArgumentError, match="the argument next is -1"):
        bits.state = bits.state | {"next": -1}


# ------------------------------------------------------------------------------- jumps and children


@pytest.mark.parametrize("kind", QUICK)
def test_jumps_lead_to_other_numbers(kind):
    bits = kind(3)
    jumped = [bits, bits.jumped(), bits.jumped(2), bits.jumped(3)]
    twice = bits.jumped().jumped()
    found = [numbers(rand.Generator(each)) for each in jumped]
    assert len({tuple(each) for each in found}) == 4
    assert numbers(rand.Generator(twice)) == found[2]
    assert numbers(rand.Generator(kind(3).jumped(0))) == found[0]
    with pytest.raises(ArgumentError, match="the argument jumps is -1"):
        bits.jumped(-1)


def test_there_are_only_so_many_jumps_in_one_sequence():
    with pytest.raises(ArgumentError, match="ends before 1000 jumps"):
        rand.XORWOW(1).jumped(1000)


@pytest.mark.parametrize("delta", ["a", 1.5, None])
def test_advance_wants_an_integer(delta):
    bits = rand.Philox4x3210(3)
    with pytest.raises(ArgumentTypeError, match="the argument delta is"):
        bits.advance(delta)
    with pytest.raises(ArgumentError, match="the argument delta is 18446744073709551616"):
        bits.advance(2**64)


def test_advance_skips_sub_streams_and_comes_back():
    rng = rand.default_rng(3)
    first, second = numbers(rng, 10), numbers(rng, 10)
    rng.bit_generator.advance(-10)
    assert numbers(rng, 20) == first + second
    other = rand.Philox4x3210(3).advance(5)
    assert numbers(rand.Generator(other), 10) == second


@pytest.mark.parametrize("kind", QUICK)
def test_children_are_those_of_the_seed_sequence(kind):
    sequence = np.random.SeedSequence(3)
    found = [numbers(child) for child in rand.Generator(kind(3)).spawn(3)]
    assert found == [numbers(rand.Generator(kind(child))) for child in sequence.spawn(3)]
    assert len({tuple(each) for each in found}) == 3


def test_a_seed_without_children_says_so():
    class Fixed(np.random.bit_generator.ISeedSequence):
        def generate_state(self, n_words, dtype=np.uint32):
            return np.arange(n_words, dtype=dtype)

    with pytest.raises(ArgumentTypeError, match="cannot make others"):
        rand.Philox4x3210(Fixed()).spawn(1)
    with pytest.raises(ArgumentError, match="the argument n_children is -1"):
        rand.default_rng(1).spawn(-1)
    with pytest.raises(ArgumentTypeError, match=r"the argument n_children is 1\.5"):
        rand.default_rng(1).spawn(1.5)


# ------------------------------------------------------------------------------------ independence


def test_numbers_do_not_depend_on_how_many_threads_compute_them():
    before = get_num_threads()
    results = []
    try:
        for count in (1, 2, 5):
            set_num_threads(count)
            rng = rand.default_rng(3)
            results.append(
                [
                    rng.random(5000).copy_to_host().tobytes(),
                    rng.standard_gamma(0.7, size=5000).copy_to_host().tobytes(),
                    rng.poisson(30.0, size=5000).copy_to_host().tobytes(),
                    rng.permutation(5000).copy_to_host().tobytes(),
                ]
            )
    finally:
        set_num_threads(before)
    assert results[0] == results[1] == results[2]


def test_an_element_does_not_depend_on_how_many_follow():
    for name, arguments in (
        ("random", ()),
        ("standard_normal", ()),
        ("standard_gamma", (0.5,)),
        ("poisson", (50.0,)),
    ):
        few = getattr(rand.default_rng(3), name)(*arguments, size=37).copy_to_host()
        many = getattr(rand.default_rng(3), name)(*arguments, size=1001).copy_to_host()
        assert np.array_equal(few, many[:37])


def test_threads_share_a_generator():
    rng = rand.default_rng(3)
    found = []

    def work():
        for _ in range(20):
            found.extend(rng.random(10).copy_to_host().tolist())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == sorted(numbers(rand.default_rng(3), 800))
