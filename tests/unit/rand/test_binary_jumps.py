"""Jumps of linear generators: as many steps, one by one."""

from __future__ import annotations

import random

import numpy as np

from pygpulib.rand import xorwow
from pygpulib.rand.binary_jumps import minimal_polynomial, power_of_t


def test_minimal_polynomials_of_known_recurrences():
    rng = random.Random(5)
    for degree in (1, 2, 7, 31):
        taps = rng.getrandbits(degree) | 1 | 1 << degree
        bits = [rng.getrandbits(1) for _ in range(degree)]
        while len(bits) < 4 * degree:
            taken = (bits[len(bits) - degree + i] for i in range(degree) if taps >> i & 1)
            bits.append(sum(taken) & 1)
        found = minimal_polynomial(bits)
        for start in range(len(bits) - found.bit_length() + 1):
            window = [bits[start + i] for i in range(found.bit_length()) if found >> i & 1]
            assert sum(window) % 2 == 0
        assert found.bit_length() <= taps.bit_length()


def test_powers_are_reduced():
    modulus = 0b100101  # t**5 + t**2 + 1, whose roots have order 31
    assert power_of_t(0, modulus) == 1
    assert power_of_t(4, modulus) == 0b10000
    assert power_of_t(5, modulus) == 0b101
    assert power_of_t(31, modulus) == 1
    assert power_of_t(31 * 10**30 + 3, modulus) == 0b1000


def test_jumps_of_xorwow_are_steps():
    states = xorwow.seed_states(np.array([3, 2**40], np.uint64))[:5]
    stepped = states
    for steps in range(1, 400):
        stepped = xorwow._advance(stepped)
        if steps in (1, 5, 159, 160, 161, 399):
            jump = xorwow._jump(steps)
            np.testing.assert_array_equal(xorwow._follow(states, jump), stepped)
            tables = xorwow._byte_tables(xorwow._matrix(jump))
            np.testing.assert_array_equal(xorwow._apply(tables, states), stepped)
