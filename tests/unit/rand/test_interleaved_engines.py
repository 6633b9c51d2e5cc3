"""XORWOW, MRG32k3a and Philox against NVIDIA's own generators on the host."""

from __future__ import annotations

import random

import numpy as np
import pytest

from pygpulib.rand import streams_interleaved
from pygpulib.rand.engine import make_engine
from pygpulib.rand.kinds import RULES, Kind, Ordering
from pygpulib.rand.request import Distribution, make_request
from tests.helpers.curand_cases import NORMAL_ULPS, REQUESTS, check_equal, run_session, ulp_distance
from tests.helpers.curand_host import HostGenerator

KINDS = [Kind.XORWOW, Kind.MRG32K3A, Kind.PHILOX4_32_10]
RAW = make_request(Distribution.RAW, "uint32")
UNIFORM = make_request(Distribution.UNIFORM, "float32")
DOUBLE = make_request(Distribution.UNIFORM, "float64")
ROWS = {Kind.XORWOW: 4096, Kind.MRG32K3A: 81920, Kind.PHILOX4_32_10: 262144}


@pytest.mark.parametrize("threads", [1, 3, 5, 6, 7, 12, 24, 96])
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_threads_makes_the_same_numbers(kind, threads, monkeypatch):
    def draw():
        engine = make_engine(kind)
        found = []
        for request in (RAW, make_request(Distribution.NORMAL, "float64", 0, 1), UNIFORM):
            out = np.empty(3 * ROWS[kind] + 1234, request.dtype)
            engine.fill(request, out)
            found.append(out)
        return found

    monkeypatch.setattr(streams_interleaved, "get_num_threads", lambda: 2)
    expected = draw()
    monkeypatch.setattr(streams_interleaved, "get_num_threads", lambda: threads)
    for found, wanted in zip(draw(), expected, strict=True):
        assert np.array_equal(found, wanted)


def small_or_large(rng: random.Random) -> int:
    return rng.choice([1, 2, 3, 4, 5, 7, 10, 100, rng.randrange(3000), rng.randrange(60_000)])


@pytest.mark.parametrize("seed", range(10))
def test_random_programs_of_xorwow(seed):
    run_session(Kind.XORWOW, seed, 12, small_or_large)


@pytest.mark.parametrize("seed", range(10))
def test_random_programs_of_philox(seed):
    run_session(Kind.PHILOX4_32_10, seed, 12, small_or_large)


@pytest.mark.parametrize("seed", range(2))
def test_random_programs_of_mrg32k3a(seed):
    # The library takes half a second for each start.
    run_session(Kind.MRG32K3A, seed, 8, small_or_large)


@pytest.mark.parametrize("kind", KINDS)
def test_whole_rows(kind):
    """Many rows at once, from and to the middle of one; arrays begin anywhere in a cache line."""
    engine, host = make_engine(kind), HostGenerator(kind, seed=7, offset=12345)
    engine.set_seed(7)
    engine.set_offset(12345)
    row = ROWS[kind]
    requests = random.Random(1).sample(REQUESTS, 4) if row > 4096 else REQUESTS
    for position, request in enumerate([RAW, *requests]):
        for count in (row, 5 * row + 2, 36 * 4096 + 6):
            memory = np.zeros(count + 64, request.dtype)
            out = memory[position + 1 : position + 1 + count]
            engine.fill(request, out)
            check_equal(out, host.generate(request, count), request, (kind, request, count))
            assert not memory[: position + 1].any()
            assert not memory[position + 1 + count :].any()


@pytest.mark.parametrize("seed", range(4))
def test_many_values_of_philox_begin_anywhere(seed):
    """Calls that begin and end within blocks, and pass from a row to the next one."""
    rng = random.Random(seed)
    offset = ROWS[Kind.PHILOX4_32_10] - rng.randrange(5000)
    engine, host = make_engine(Kind.PHILOX4_32_10), HostGenerator(Kind.PHILOX4_32_10, offset=offset)
    engine.set_offset(offset)
    memory = np.zeros(70_000)
    for _ in range(12):
        request = rng.choice([RAW, UNIFORM, DOUBLE])
        count, shift = rng.choice([4097, rng.randrange(4097, 9000), 66_000]), rng.randrange(16)
        out = memory.view(request.dtype)[shift : shift + count]
        engine.fill(request, out)
        np.testing.assert_array_equal(out, host.generate(request, count))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [0, 1, 0xAAAAAAAA55555555, 2**64 - 1])
def test_seeds_and_orderings(kind, seed):
    for ordering in RULES[kind].orderings:
        if kind is Kind.MRG32K3A and ordering is not Ordering.PSEUDO_LEGACY and seed > 1:
            continue  # half a second each
        engine = make_engine(kind)
        engine.set_ordering(ordering)
        engine.set_seed(seed)
        host = HostGenerator(kind, seed=seed, ordering=ordering)
        out = np.zeros(9000, np.uint32)
        engine.fill(RAW, out)
        np.testing.assert_array_equal(out, host.generate(RAW, 9000))


@pytest.mark.parametrize("kind", [Kind.XORWOW, Kind.PHILOX4_32_10])
@pytest.mark.parametrize("offset", [1, 4095, 4096, 10**9 + 1, 2**40 + 3, 2**64 - 2**20 - 3])
def test_offsets(kind, offset):
    engine, host = make_engine(kind), HostGenerator(kind, offset=offset)
    engine.set_offset(offset)
    out = np.zeros(9000, np.uint32)
    engine.fill(RAW, out)
    np.testing.assert_array_equal(out, host.generate(RAW, 9000))


@pytest.mark.parametrize("kind", KINDS)
def test_any_split_gives_the_same_numbers(kind):
    engine = make_engine(kind)
    whole = np.zeros(100_000, np.float32)
    engine.fill(UNIFORM, whole)
    engine.set_offset(0)
    rng, parts = random.Random(3), []
    while sum(map(len, parts)) < len(whole):
        size = min(rng.choice([1, 10, 4000, 9000, 30_000]), len(whole) - sum(map(len, parts)))
        parts.append(np.zeros(size, np.float32))
        engine.fill(UNIFORM, parts[-1])
    np.testing.assert_array_equal(np.concatenate(parts), whole)


@pytest.mark.parametrize("kind", KINDS)
def test_odd_numbers_of_normals(kind):
    """The last one of a pair that nobody asked for is left out."""
    normal = make_request(Distribution.NORMAL, "float64", 0, 1)
    even, odd = np.zeros(8), np.full(8, 9.0)
    make_engine(kind).fill(normal, even)
    engine = make_engine(kind)
    engine.fill(normal, odd[:7])
    np.testing.assert_array_equal(odd[:7], even[:7])
    assert odd[7] == 9.0
    following = np.zeros(2)
    engine.fill(normal, following)
    assert following[0] != even[6]


@pytest.mark.parametrize("kind", KINDS)
def test_normals_are_scaled(kind):
    for dtype in ("float32", "float64"):
        standard, scaled = np.zeros(1000, dtype), np.zeros(1000, dtype)
        make_engine(kind).fill(make_request(Distribution.NORMAL, dtype, 0, 1), standard)
        make_engine(kind).fill(make_request(Distribution.NORMAL, dtype, 3, 0.5), scaled)
        np.testing.assert_array_equal(scaled, standard * standard.dtype.type(0.5) + 3)
        constant = np.zeros(10, dtype)
        make_engine(kind).fill(make_request(Distribution.NORMAL, dtype, 3, 0), constant)
        np.testing.assert_array_equal(constant, np.full(10, 3, dtype))


@pytest.mark.parametrize("kind", KINDS)
def test_normals_stay_close(kind):
    """The bound that is promised, over many numbers."""
    count = 200_000 if kind is Kind.MRG32K3A else 1_000_000
    for dtype in ("float32", "float64"):
        request = make_request(Distribution.NORMAL, dtype, 0, 1)
        out = np.zeros(count, dtype)
        make_engine(kind).fill(request, out)
        expected = HostGenerator(kind).generate(request, count)
        assert ulp_distance(out, expected).max() <= NORMAL_ULPS


@pytest.mark.parametrize("kind", [Kind.XORWOW, Kind.PHILOX4_32_10])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_lognormals_stay_close(kind, dtype):
    """The same bound, although the exponential function magnifies differences of normals."""
    count = 200_000
    parameters = [(0, 1), (-1, 2), (2, 1.5), (0.1, 1.9), (3, 0.7), (8, 0.1), (0, 5), (0.5, 0)]
    for mean, sigma in parameters:
        request = make_request(Distribution.LOGNORMAL, dtype, mean, sigma)
        out = np.zeros(count, dtype)
        make_engine(kind).fill(request, out)
        expected = HostGenerator(kind).generate(request, count)
        assert ulp_distance(out, expected).max() <= NORMAL_ULPS, (mean, sigma)


def test_the_largest_uniform_is_one():
    """A float32 rounds to 1 where the upper 25 bits are set."""
    from pygpulib.rand import distributions as dist

    assert dist.uniform_single(np.uint32(0xFFFFFF80)) == np.float32(1)
    assert dist.uniform_single(np.uint32(0)) == np.float32(2.0**-33)
    assert dist.uniform_double(np.uint32(0), np.uint32(0)) == 2.0**-54


@pytest.mark.parametrize("kind", KINDS)
def test_moments(kind):
    engine = make_engine(kind)
    size = 200_000
    cases = [
        (make_request(Distribution.UNIFORM, "float64"), 0.5, 1 / 12),
        (make_request(Distribution.NORMAL, "float64", -2, 3), -2, 9),
        (make_request(Distribution.POISSON, "uint32", 12.5), 12.5, 12.5),
        (make_request(Distribution.POISSON, "uint32", 5000), 5000, 5000),
        (make_request(Distribution.BINOMIAL, "uint32", 40, 0.3), 12, 8.4),
    ]
    for request, mean, variance in cases:
        out = np.zeros(size, request.dtype)
        engine.fill(request, out)
        assert abs(out.mean() - mean) < 5 * np.sqrt(variance / size), request
        assert abs(out.var() / variance - 1) < 0.03, request
