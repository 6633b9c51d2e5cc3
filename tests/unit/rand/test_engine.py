"""What engines are told, and the states that they hand out."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from pygpulib._record import replace
from pygpulib.errors import ArgumentError, ArgumentTypeError
from pygpulib.rand.engine import make_engine
from pygpulib.rand.kinds import Kind, Ordering
from pygpulib.rand.request import Distribution, make_request

KINDS = [Kind.XORWOW, Kind.MRG32K3A, Kind.PHILOX4_32_10]
RAW = make_request(Distribution.RAW, "uint32")


def draw(engine, count):
    out = np.zeros(count, np.uint32)
    engine.fill(RAW, out)
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_states_go_on(kind):
    engine = make_engine(kind)
    engine.set_seed(5)
    draw(engine, 3)
    engine.fill(make_request(Distribution.UNIFORM, "float64"), np.zeros(7))
    state = engine.get_state()
    other = make_engine(kind)
    other.set_state(pickle.loads(pickle.dumps(state)))
    expected = draw(engine, 5000)
    np.testing.assert_array_equal(draw(other, 5000), expected)
    engine.set_state(state)
    np.testing.assert_array_equal(draw(engine, 5000), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_states_of_unused_engines(kind):
    engine, other = make_engine(kind), make_engine(kind)
    engine.set_seed(9)
    engine.set_offset(70)
    other.set_state(engine.get_state())
    np.testing.assert_array_equal(draw(other, 100), draw(engine, 100))


def test_states_of_another_generator():
    state = make_engine(Kind.XORWOW).get_state()
    with pytest.raises(ArgumentError, match="one of the generator XORWOW\nexpected one of Philox"):
        make_engine(Kind.PHILOX4_32_10).set_state(state)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_states(kind):
    engine = make_engine(kind)
    draw(engine, 1)
    state = engine.get_state()
    with pytest.raises(ArgumentError, match="the state of a generator is damaged"):
        make_engine(kind).set_state(replace(state, memory=state.memory[:-3]))


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_changes_nothing(kind):
    engine, other = make_engine(kind), make_engine(kind)
    engine.fill(RAW, np.zeros(0, np.uint32))
    np.testing.assert_array_equal(draw(engine, 10), draw(other, 10))


@pytest.mark.parametrize("kind", KINDS)
def test_signed_integers_have_the_same_bits(kind):
    out = np.zeros(20, np.int32)
    make_engine(kind).fill(RAW, out)
    np.testing.assert_array_equal(out.view(np.uint32), draw(make_engine(kind), 20))


def test_what_generators_cannot_be_told():
    engine = make_engine(Kind.XORWOW)
    with pytest.raises(ArgumentError, match="seed is 18446744073709551616\nexpected an integer"):
        engine.set_seed(2**64)
    with pytest.raises(ArgumentTypeError, match=r"seed is 1.5"):
        engine.set_seed(1.5)
    with pytest.raises(ArgumentError, match="offset is -1\nexpected an integer from 0"):
        engine.set_offset(-1)
    with pytest.raises(
        ArgumentError, match="generator XORWOW has no dimensions\nhelp: use a quasi"
    ):
        engine.set_dimensions(2)
    with pytest.raises(ArgumentError, match="XORWOW has no ordering PSEUDO_DYNAMIC\nexpected one"):
        engine.set_ordering(Ordering.PSEUDO_DYNAMIC)
    with pytest.raises(ArgumentError, match="XORWOW has no ordering 7\n"):
        engine.set_ordering(7)
    out = np.zeros(5, np.uint64)
    with pytest.raises(ArgumentError, match="raw numbers of type uint64\nits raw numbers have 32"):
        engine.fill(make_request(Distribution.RAW, "uint64"), out)
    assert not out.any()
    np.testing.assert_array_equal(draw(engine, 5), draw(make_engine(Kind.XORWOW), 5))


def test_seeds_below_zero_count_from_the_end():
    engine, other = make_engine(Kind.PHILOX4_32_10), make_engine(Kind.PHILOX4_32_10)
    engine.set_seed(-1)
    other.set_seed(2**64 - 1)
    np.testing.assert_array_equal(draw(engine, 10), draw(other, 10))
