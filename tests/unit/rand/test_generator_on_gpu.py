"""Numbers of `Generator` on a simulated GPU, against those of the CPU back end."""

from __future__ import annotations

import pickle
from contextlib import contextmanager
from functools import cache

import numpy as np
import pytest

from pygpulib import rand
from pygpulib.core.creation import device_array
from pygpulib.core.device import use_driver
from pygpulib.core.driver_cpu import CpuDriver
from pygpulib.rand import generator_multivariate, moving, permutations, rows, samplers
from pygpulib.rand.compiling import kernel
from tests.helpers.curand_fake import replace_curand

CACHES = [
    samplers.kernel_of,
    rows.dirichlet_kernel,
    rows.multinomial_kernel,
    rows.hypergeometric_kernel,
    permutations._rows_kernel,
    permutations._count_kernel,
    permutations._scatter_kernel,
    permutations._bucket_kernel,
]
KERNELS = [
    (generator_multivariate, "transform_rows"),
    (permutations, "_add_columns"),
    (permutations, "_place_buckets"),
    (moving, "_pick"),
    (moving, "_move"),
    (moving, "_move_lines"),
]


# Launches wait for nothing here, so that one of the two ways of the fake driver is enough.
pytestmark = pytest.mark.parametrize("fake_driver", ["deferred"], indirect=True)


@pytest.fixture
def on_cpu(fake_cuda, monkeypatch):
    """Return a context in which the CPU back end computes."""
    replace_curand(monkeypatch, fake_cuda)

    def renew():
        # A kernel stays loaded on the driver of its first launch.
        for each in CACHES:
            each.cache_clear()
        for module, name in KERNELS:
            monkeypatch.setattr(module, name, kernel(getattr(module, name).py_func))

    @contextmanager
    def context():
        renew()
        with use_driver(cpu_driver()):
            yield
        renew()

    renew()
    yield context
    renew()


@cache
def cpu_driver():
    return CpuDriver()


EXACT = """
random(11)
random(11, dtype=np.float32)
random()
integers(1000, size=9)
integers(3 << 30, size=9)
integers(-(2**62), 2**62, size=5)
integers(200, size=7, dtype=np.uint8)
integers(2, size=7, dtype=bool)
integers(10)
bytes(7)
binomial([5, 1000], 0.4)
poisson(70.0)
geometric(0.3, size=5)
permutation(1100)
permutation(np.arange(2000, dtype="i2"))
permutation(np.arange(12.0).reshape(3, 4))
permutation(np.arange(12.0).reshape(3, 4), axis=1)
permuted(np.arange(12).reshape(3, 4), axis=1)
permuted(np.arange(12).reshape(3, 4), axis=0)
permuted(np.arange(12).astype("U2").reshape(3, 4), axis=0)
choice(np.arange(5.0), 4)
choice(10, 5, replace=False)
choice(["a", "bc", "d"], 4, p=[0.2, 0.3, 0.5])
"""

CLOSE = """
standard_normal(9)
standard_normal(9, dtype=np.float32)
standard_exponential(9)
standard_gamma(0.4, size=5)
beta(0.5, 3.0, size=5)
vonmises(0.5, 2.0, size=5)
dirichlet([0.2, 3.0], size=3)
multivariate_normal([1, 2], [[2, 1], [1, 2]], size=3)
"""
ULPS = 16


def run(calls, kind):
    rng = rand.Generator(kind(7))
    found = []
    for call in calls.split("\n")[1:-1]:
        result = eval(f"rng.{call}", {"rng": rng, "np": np})
        found.append(result.copy_to_host() if hasattr(result, "copy_to_host") else result)
    return dict(zip(calls.split("\n")[1:-1], found, strict=True))


def test_integers_uniforms_and_permutations_are_the_same_bits(on_cpu):
    with on_cpu():
        expected = run(EXACT, rand.Philox4x3210)
    for call, found in run(EXACT, rand.Philox4x3210).items():
        assert np.array_equal(found, expected[call]), call


def test_other_numbers_differ_by_what_functions_differ(on_cpu):
    with on_cpu():
        expected = run(CLOSE, rand.Philox4x3210)
    for call, found in run(CLOSE, rand.Philox4x3210).items():
        distance = abs(found - expected[call]) / np.spacing(abs(expected[call]))
        assert np.max(distance) <= ULPS, call


def test_sequences_of_curand_are_the_same_bits(on_cpu):
    calls = "\n".join(["", *EXACT.split("\n")[1:6], "permutation(1100)", ""])
    with on_cpu():
        expected = run(calls, rand.XORWOW)
    for call, found in run(calls, rand.XORWOW).items():
        assert np.array_equal(found, expected[call]), call


def test_arrays_of_the_host_are_filled_and_shuffled_too(on_cpu):
    with on_cpu():
        expected = np.empty((2, 3))
        rand.default_rng(1).random(out=expected)
    host, device = np.empty((2, 3)), device_array((2, 3), np.float64)
    rand.default_rng(1).random(out=host)
    rand.default_rng(1).random(out=device)
    assert np.array_equal(host, expected)
    assert np.array_equal(device.copy_to_host(), expected)
    array = np.arange(10)
    rand.default_rng(1).shuffle(array)
    assert np.array_equal(array, rand.default_rng(1).permutation(10).copy_to_host())


@pytest.mark.parametrize("kind", [rand.Philox4x3210, rand.XORWOW, rand.MRG32k3a])
def test_a_generator_goes_on_on_the_other_back_end(on_cpu, kind):
    rng = rand.Generator(kind(4)).spawn(1)[0]
    rng.random(5)
    rng.integers(1000, size=3)
    pickled = pickle.dumps(rng)
    expected = rng.random(6).copy_to_host()
    with on_cpu():
        other = pickle.loads(pickled)
        assert np.array_equal(other.random(6).copy_to_host(), expected)
        state = other.get_state()
        following = other.random(6).copy_to_host()
    rng.set_state(state)
    assert np.array_equal(rng.random(6).copy_to_host(), following)
