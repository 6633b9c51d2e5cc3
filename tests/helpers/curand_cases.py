"""Random programs for a generator, run by an engine and by NVIDIA's library side by side."""

from __future__ import annotations

import pickle
import random
from collections.abc import Callable

import numpy as np

from pygpulib.rand.engine import Engine, make_engine
from pygpulib.rand.kinds import RULES, Kind
from pygpulib.rand.request import Distribution, Request, make_request
from tests.helpers.curand_host import HostGenerator

REQUESTS = [
    make_request(Distribution.RAW, "uint32"),
    make_request(Distribution.UNIFORM, "float32"),
    make_request(Distribution.UNIFORM, "float64"),
    make_request(Distribution.NORMAL, "float32", 0, 1),
    make_request(Distribution.NORMAL, "float64", 0, 1),
    make_request(Distribution.LOGNORMAL, "float32", 0.5, 0.25),
    make_request(Distribution.LOGNORMAL, "float64", -1, 2),
    make_request(Distribution.POISSON, "uint32", 0.5),
    make_request(Distribution.POISSON, "uint32", 37.5),
    make_request(Distribution.POISSON, "uint32", 1999),
    make_request(Distribution.POISSON, "uint32", 2000),
    make_request(Distribution.POISSON, "uint32", 50000),
]

NORMAL_ULPS = 4
"""How far normal and log-normal numbers may be from cuRAND's, which depend on its host too."""


def ulp_distance(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return how many floats lie between those of two arrays."""
    integer = np.int32 if a.dtype == np.float32 else np.int64
    ranks = []
    for floats in (a, b):
        bits = floats.view(integer).astype(np.int64)
        ranks.append(np.where(bits < 0, np.int64(np.iinfo(integer).min) - bits, bits))
    return np.abs(ranks[0] - ranks[1])


def check_equal(got: np.ndarray, expected: np.ndarray, request: Request, log: object) -> None:
    """Compare to the last bit, or for what comes of logarithms and sines to a few of them."""
    match request.distribution:
        case Distribution.NORMAL | Distribution.LOGNORMAL:
            distance = ulp_distance(got, expected)
            assert distance.max() <= NORMAL_ULPS, (log, distance.argmax(), distance.max())
        case Distribution.POISSON if request.parameters[0] >= 2000:
            # Rounded normal numbers: another C library may have another last bit.
            distance = np.abs(got.astype(np.int64) - expected.astype(np.int64))
            assert distance.max() <= 1, (log, distance.argmax())
            assert np.count_nonzero(distance) <= 1 + len(got) // 10_000, log
        case _:
            wrong = np.flatnonzero(got != expected)
            assert not len(wrong), (log, wrong[:3], len(wrong))


class Session:
    """An engine and the library's generator, told the same."""

    def __init__(self, kind: Kind, rng: random.Random) -> None:
        self.kind, self.rng = kind, rng
        self.engine: Engine = make_engine(kind)
        self.host = HostGenerator(kind)
        self.log: list[object] = [kind.name]

    def generate(self, request: Request, count: int) -> None:
        if request.distribution in (Distribution.NORMAL, Distribution.LOGNORMAL):
            # The library refuses odd numbers of pairs.
            count += count % 2 if RULES[self.kind].pairs_normals else 0
        self.log.append((request.distribution.name, request.dtype, request.parameters, count))
        out = np.zeros(count, request.dtype)
        self.engine.fill(request, out)
        check_equal(out, self.host.generate(request, count), request, self.log)

    def seed(self) -> None:
        seed = self.rng.choice([0, 1, self.rng.getrandbits(20), self.rng.getrandbits(64)])
        self.log.append(("seed", seed))
        self.engine.set_seed(seed)
        self.host.set_seed(seed)

    def offset(self) -> None:
        offset = self.rng.choice([0, self.rng.getrandbits(10), self.rng.getrandbits(63)])
        self.log.append(("offset", offset))
        self.engine.set_offset(offset)
        self.host.set_offset(offset)

    def ordering(self) -> None:
        ordering = self.rng.choice(RULES[self.kind].orderings)
        self.log.append(ordering.name)
        self.engine.set_ordering(ordering)
        self.host.set_ordering(ordering)

    def save(self) -> None:
        self.log.append("save")
        state = pickle.loads(pickle.dumps(self.engine.get_state()))
        self.engine = make_engine(self.kind)
        self.engine.set_state(state)

    def step(self, sizes: Callable[[random.Random], int]) -> None:
        other = [self.seed, self.offset, self.ordering, self.save]
        if self.rng.random() < 0.3:
            self.rng.choice(other)()
        else:
            self.generate(self.rng.choice(REQUESTS), sizes(self.rng))


def run_session(kind: Kind, seed: int, steps: int, sizes: Callable[[random.Random], int]) -> None:
    """Run one random program."""
    session = Session(kind, random.Random(seed))
    for _ in range(steps):
        session.step(sizes)
