"""Random numbers in kernels: numba's generator bit by bit, Philox, and the states' distances."""

from __future__ import annotations

import math

import numpy as np
import pytest

from pygpulib import cuda
from pygpulib.cuda import random
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError
from pygpulib.jit.intrinsics.random import jumps

WORD = (1 << 64) - 1


def step(s0, s1):
    """Return the sum and the next state of xoroshiro128+, on Python's integers."""

    def rotate(x, count):
        return ((x << count) | (x >> (64 - count))) & WORD

    total = (s0 + s1) & WORD
    s1 ^= s0
    return total, rotate(s0, 55) ^ s1 ^ (s1 << 14 & WORD), rotate(s1, 36)


def first_state(seed):
    z = (seed + 0x9E3779B97F4A7C15) & WORD
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & WORD
    return z ^ (z >> 31), z ^ (z >> 31)


def outputs(state, count):
    found = []
    for _ in range(count):
        bits, *state = step(*state)
        found.append(bits)
    return found


def words(states):
    return [tuple(map(int, state)) for state in states.copy_to_host()]


# What numba.cuda.random makes of these seeds.
NUMBA_SEED_1 = [
    (10451216379200822465, 10451216379200822465),
    (8341117667364343960, 7824662623250379246),
    (809817624983272012, 15258973161149853818),
]
NUMBA_LARGE_SEED_FROM_2 = [
    (14573886985313647619, 6511499659773614886),
    (283893504274305695, 2687453106568498067),
    (1413646274760763334, 145817721227920516),
]


def test_states_are_those_of_numba():
    assert words(random.create_xoroshiro128p_states(3, seed=1)) == NUMBA_SEED_1
    found = random.create_xoroshiro128p_states(3, 2**63 + 12345, subsequence_start=2)
    assert words(found) == NUMBA_LARGE_SEED_FROM_2


def test_a_jump_is_two_to_the_64_steps():
    # Squaring the matrix of one step 64 times takes no magic constants.
    units = [((1 << bit) & WORD, (1 << bit) >> 64) for bit in range(128)]
    matrix = np.array([step(*unit)[1:] for unit in units], np.uint64)
    for _ in range(64):
        matrix = jumps.apply(jumps.byte_tables(matrix), matrix)
    state = np.array([first_state(5)], np.uint64)
    wanted = jumps.apply(jumps.byte_tables(matrix), state)
    assert (jumps.first_states(2, 5, 0)[1] == wanted[0]).all()


def test_kernels_jump_as_the_host_does():
    @cuda.jit
    def kernel(states):
        i = cuda.grid(1)
        if i < states.size:
            random.xoroshiro128p_jump(states, i)

    states = random.create_xoroshiro128p_states(5, seed=3)
    kernel[1, 8](states)
    assert words(states) == words(random.create_xoroshiro128p_states(5, 3, subsequence_start=1))


@pytest.mark.parametrize("count", [1, 2, 4096, 4097, 9000])
def test_many_states_go_on_as_few_do(count):
    states = words(random.create_xoroshiro128p_states(count, seed=11))
    assert states[0] == first_state(11)
    last = random.create_xoroshiro128p_states(1, 11, subsequence_start=count - 1)
    assert states[-1] == words(last)[0]
    assert len(set(states)) == count


def test_no_states():
    assert random.create_xoroshiro128p_states(0, seed=1).size == 0


def test_a_negative_seed_counts_by_its_bits():
    found = random.create_xoroshiro128p_states(1, seed=-1)
    assert words(found)[0] == first_state(WORD)


def test_states_can_be_set_again_on_a_stream():
    stream = cuda.stream()
    states = random.create_xoroshiro128p_states(5000, seed=1, stream=stream)
    random.init_xoroshiro128p_states(states, 2, 7, stream)
    stream.synchronize()
    assert words(states) == words(random.create_xoroshiro128p_states(5000, 2, 7))


@cuda.jit
def draw(states, bits, uniforms, singles):
    i = cuda.grid(1)
    if i < states.size:
        bits[i] = random.xoroshiro128p_next(states, i)
        uniforms[i, 0] = random.xoroshiro128p_uniform_float64(states, i)
        singles[i, 0] = random.xoroshiro128p_uniform_float32(states, i)
        uniforms[i, 1] = random.xoroshiro128p_normal_float64(states, i)
        singles[i, 1] = random.xoroshiro128p_normal_float32(states, i)


def test_the_numbers_drawn():
    count = 37
    states = random.create_xoroshiro128p_states(count, seed=99)
    before = words(states)
    bits = np.zeros(count, np.uint64)
    uniforms, singles = np.zeros((count, 2)), np.zeros((count, 2), np.float32)
    draw[2, 32](states, bits, uniforms, singles)
    drawn = np.array([outputs(state, 7) for state in before], np.uint64)
    assert (bits == drawn[:, 0]).all()
    units = (drawn >> np.uint64(11)) * 2.0**-53
    assert (uniforms[:, 0] == units[:, 1]).all()
    assert (singles[:, 0] == units[:, 2].astype(np.float32)).all()
    # Numba makes these of float32 numbers, too.
    radius, angle = units[:, 3].astype(np.float32), units[:, 4].astype(np.float32)
    logarithm = np.log(radius.astype(float))
    normal = np.sqrt(-2 * logarithm) * np.cos(2 * math.pi * angle.astype(float))
    np.testing.assert_allclose(uniforms[:, 1], normal, rtol=1e-7, atol=1e-8)
    radius, angle = units[:, 5].astype(np.float32), units[:, 6].astype(np.float32)
    turn = np.float32(2 * math.pi) * angle
    normal = np.sqrt(-2 * np.log(radius.astype(float))) * np.cos(turn.astype(float))
    np.testing.assert_allclose(singles[:, 1], normal, rtol=2e-6, atol=1e-6)


def test_a_state_set_in_a_kernel():
    @cuda.jit
    def kernel(states, seed):
        random.init_xoroshiro128p_state(states, 1, seed)

    states = random.create_xoroshiro128p_states(2, seed=1)
    kernel[1, 1](states, np.uint64(2**63 + 1))
    assert words(states) == [first_state(1), first_state(2**63 + 1)]


@pytest.mark.parametrize(
    ("error", "words", "call"),
    [
        (ArgumentError, "the argument n is -1", lambda: random.create_xoroshiro128p_states(-1, 1)),
        (
            ArgumentError,
            "the sequence -2",
            lambda: random.create_xoroshiro128p_states(1, 1, subsequence_start=-2),
        ),
        (
            DTypeError,
            "the argument states is an array of dtype float64",
            lambda: random.init_xoroshiro128p_states(cuda.device_array(3), 1),
        ),
    ],
)
def test_mistakes(error, words, call):
    with pytest.raises(error, match=words):
        call()


# ----------------------------------------------------------------------------------------- philox

# The known answers that the authors of Philox publish for 4x32-10.
KNOWN = [
    ((0,) * 6, "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ((0xFFFFFFFF,) * 6, "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0),
        "d16cfe09 94fdcceb 5001e420 24126ea1",
    ),
]


@pytest.mark.parametrize(("given", "wanted"), KNOWN)
def test_known_answers(given, wanted):
    @cuda.jit
    def kernel(words, out):
        found = random.philox_block((words[0], words[1], words[2], words[3]), (words[4], words[5]))
        for position in range(4):
            out[position] = found[position]

    out = np.zeros(4, np.uint32)
    kernel[1, 1](np.array(given, np.uint32), out)
    assert " ".join(f"{word:08x}" for word in out) == wanted


@cuda.jit
def draw_philox(seed, uniforms, singles, whole):
    i = cuda.grid(1)
    if i < len(whole):
        uniforms[i, 0] = random.philox_uniform(seed, i, 3)
        uniforms[i, 1] = random.philox_normal(seed, i, 4)
        singles[i, 0] = random.philox_uniform_float32(seed, i, 5)
        singles[i, 1] = random.philox_normal_float32(seed, i, 6)
        whole[i] = random.philox_randint(seed, i, 7, -3, 10)


def test_distributions_of_philox():
    count = 20_000
    uniforms, singles = np.zeros((count, 2)), np.zeros((count, 2), np.float32)
    whole = np.zeros(count, np.int64)
    draw_philox[count // 64 + 1, 64](2**40 + 1, uniforms, singles, whole)
    for column in (uniforms, singles):
        assert (column[:, 0] >= 0).all()
        assert (column[:, 0] < 1).all()
        assert abs(column[:, 0].mean() - 0.5) < 5 / math.sqrt(12 * count)
        assert abs(column[:, 1].mean()) < 5 / math.sqrt(count)
        assert abs(column[:, 1].std() - 1) < 5 / math.sqrt(2 * count)
    counts = np.bincount(whole + 3, minlength=13)
    assert len(counts) == 13
    expected = count / 13
    assert ((counts - expected) ** 2 / expected).sum() < 40
    again = np.zeros(count, np.int64)
    draw_philox[count // 64 + 1, 64](2**40 + 1, uniforms, singles, again)
    assert (again == whole).all()
    draw_philox[count // 64 + 1, 64](2**40 + 2, uniforms, singles, again)
    assert (again != whole).mean() > 0.8


@pytest.mark.parametrize("arguments", [(2.5, 1), (2, "a"), (2, 1.5), (2, 1, None)])
def test_arguments_that_are_no_integers(arguments):
    with pytest.raises(ArgumentTypeError, match="expected an integer\nhelp: convert") as caught:
        random.create_xoroshiro128p_states(*arguments)
    (wrong,) = (one for one in arguments if not isinstance(one, int))
    assert caught.value.problem.endswith(f" is {wrong!r}")
