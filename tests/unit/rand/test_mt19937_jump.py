"""The jumps of MT19937 against plain steps, and what the tool derives."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from pygpulib.rand import mt19937, mt19937_jump
from tools import derive_mt19937_jump as tool


def state():
    """Return 624 words all of whose bits count."""
    return mt19937_jump.twist_on(mt19937.seed_words(77), 1248)[624:]


def test_words_are_those_of_numpys_generator():
    words = mt19937_jump.twist_on(mt19937.seed_words(5489), 3000)
    numpy = np.random.RandomState(5489)
    assert np.array_equal(words[:624], numpy.get_state()[1])
    for block in range(1, 4):
        numpy.randint(0, 2**32, 624, np.uint32)
        assert np.array_equal(words[624 * block : 624 * (block + 1)], numpy.get_state()[1])


def test_the_recurrence_is_one():
    words = mt19937_jump.twist_on(state(), mt19937_jump.DEGREE + 700)
    sums = np.zeros(700, np.uint32)
    for place in (*mt19937_jump._TERMS, mt19937_jump.DEGREE):
        sums ^= words[place : place + 700]
    assert not sums.any()


def test_the_tool_derives_the_recurrence():
    spelled = tool.spell_terms(tool.characteristic())
    assert spelled in Path(mt19937_jump.__file__).read_text()


def test_squares_of_powers_jump_twice_as_far():
    polynomial, steps = 2, 1
    words = mt19937_jump.twist_on(state(), 70_000)
    for _ in range(15):
        polynomial, steps = mt19937_jump.square(polynomial, mt19937_jump._TERMS), 2 * steps
    places = [place for place in range(mt19937_jump.DEGREE) if polynomial >> place & 1]
    found = np.bitwise_xor.reduce([words[place : place + 624] for place in places])
    assert np.array_equal(found, words[steps : steps + 624])


def test_the_jump_is_spelled_as_the_tool_spells_it():
    spelled = tool.spell_jump(mt19937_jump._stream_polynomial(0))
    assert spelled in Path(mt19937_jump.__file__).read_text()


def test_two_jumps_are_a_jump_over_two():
    once, twice = (mt19937_jump.stream_jump(exponent) for exponent in (0, 1))

    def jump(words, places):
        window = mt19937_jump.twist_on(words, mt19937_jump.WINDOW)
        return np.bitwise_xor.reduce([window[place : place + 624] for place in places])

    assert np.array_equal(jump(jump(state(), once), once), jump(state(), twice))
