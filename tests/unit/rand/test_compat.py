"""pyculib's classes and functions."""

from __future__ import annotations

import copy
import os
import pickle
import subprocess
import sys
import threading

import numpy as np
import pytest

import pygpulib.rand
from pygpulib import rand as curand
from pygpulib.core.creation import device_array
from pygpulib.core.stream import create_stream
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError
from pygpulib.rand import PRNG, QRNG, Ordering
from pygpulib.rand.kinds import Kind
from pygpulib.rand.request import Distribution, make_request
from tests.helpers.curand_host import HostGenerator

METHODS = {
    "uniform": ((), Distribution.UNIFORM, np.float64),
    "normal": ((1.0, 2.0), Distribution.NORMAL, np.float32),
    "lognormal": ((0.0, 0.5), Distribution.LOGNORMAL, np.float64),
    "poisson": ((4.5,), Distribution.POISSON, np.int32),
    "generate": ((), Distribution.RAW, np.int32),
}


def oracle(method, size, kind=Kind.XORWOW):
    """Return what cuRAND's generator with seed 5 makes, of an even number."""
    parameters, distribution, dtype = METHODS[method]
    request = make_request(distribution, dtype, *parameters)
    return HostGenerator(kind, seed=5).generate(request, size).view(dtype)


def assert_close(ours, theirs):
    if ours.dtype.kind == "i":
        assert np.array_equal(ours, theirs)
    else:
        assert np.allclose(ours, theirs, rtol=1e-5 if ours.dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_methods_fill_host_and_device_arrays(method):
    parameters, _, dtype = METHODS[method]
    expected = oracle(method, 24)
    host, device = np.zeros(24, dtype), device_array(24, dtype)
    for array in (host, device):
        assert getattr(PRNG(PRNG.XORWOW, seed=5), method)(array, *parameters) is None
    assert_close(host, expected)
    assert_close(device.copy_to_host(), expected)


def test_properties_can_be_read_before_they_are_set():
    generator = PRNG()
    assert (generator.seed, generator.offset, generator.stream) == (0, 0, 0)
    assert generator.ordering is Ordering.PSEUDO_DEFAULT
    assert QRNG().ndim == 1


def test_properties_are_what_they_were_set_to():
    stream = create_stream()
    generator = PRNG(PRNG.MRG32K3A, seed=3, offset=8, stream=stream)
    assert (generator.seed, generator.offset, generator.stream) == (3, 8, stream)
    generator.ordering = Ordering.PSEUDO_LEGACY
    assert generator.ordering is Ordering.PSEUDO_LEGACY
    generator.stream = None
    assert generator.stream == 0
    ours = np.empty(50, np.float64)
    generator.uniform(ours)
    theirs = HostGenerator(
        Kind.MRG32K3A, seed=3, offset=8, ordering=Ordering.PSEUDO_LEGACY
    ).generate(make_request(Distribution.UNIFORM, "float64"), 50)
    assert np.array_equal(ours, theirs)


def test_types_have_the_numbers_of_curand():
    assert (PRNG.DEFAULT, PRNG.XORWOW, PRNG.MRG32K3A, PRNG.MTGP32) == (100, 101, 121, 141)
    assert (PRNG.MT19937, PRNG.PHILOX4_32_10, PRNG.TEST, QRNG.TEST) == (142, 161, 0, 0)
    assert (QRNG.DEFAULT, QRNG.SOBOL32, QRNG.SCRAMBLED_SOBOL32) == (200, 201, 202)
    assert (QRNG.SOBOL64, QRNG.SCRAMBLED_SOBOL64) == (203, 204)


def test_a_quasi_random_generator_goes_dimension_by_dimension():
    ours = np.zeros((3, 8), np.uint32)
    QRNG(ndim=3, offset=2).generate(ours)
    theirs = HostGenerator(Kind.SOBOL32, dimensions=3, offset=2)
    assert np.array_equal(
        ours.reshape(-1), theirs.generate(make_request(Distribution.RAW, "uint32"), 24)
    )


def test_a_quasi_random_generator_has_all_distributions():
    generator = QRNG(QRNG.SOBOL64)
    numbers = np.empty(1024)
    generator.normal(numbers, 0, 1)
    assert abs(numbers[1:].mean()) < 0.01
    wide = np.zeros(4, np.int64)
    generator.generate(wide)
    assert wide.any()


@pytest.mark.parametrize("device", [False, True])
def test_functions_return_arrays(device):
    results = {
        "float64": [curand.uniform(5, device=device), curand.normal(0, 1, 5, device=device)],
        "float32": [curand.lognormal(0, 1, (5,), np.float32, device=device)],
        "uint32": [curand.poisson(3, 5, device=device), curand.quasi(5, device=device)],
        "uint64": [curand.quasi(5, bits=64, nd=5, device=device)],
    }
    for dtype, arrays in results.items():
        for array in arrays:
            assert (array.shape, array.dtype) == ((5,), np.dtype(dtype))
            assert isinstance(array, np.ndarray) is not device


def test_functions_take_shapes_and_no_elements():
    assert curand.uniform((2, 3)).shape == (2, 3)
    assert curand.normal(0, 1, 0).shape == (0,)
    assert curand.quasi((2, 3), nd=2).shape == (2, 3)


def test_functions_go_on_and_threads_have_generators_of_their_own():
    numbers = [curand.uniform(50), curand.uniform(50)]
    thread = threading.Thread(target=lambda: numbers.append(curand.uniform(50)))
    thread.start()
    thread.join()
    assert len(np.unique(np.concatenate(numbers))) == 150


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no forks")
def test_processes_have_generators_of_their_own():
    program = (
        "import os; from pygpulib import rand; rand.uniform(1); fork = os.fork();"
        # One write, because two processes write at once.
        "os.write(1, b'%r ' % float(rand.uniform(1)[0])); fork and os.wait()"
    )
    found = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True
    )
    first, second = found.stdout.split()
    assert first != second


def test_the_mean_of_poisson_numbers_is_the_first_argument():
    assert abs(curand.poisson(100, 2000).mean() - 100) < 3


@pytest.mark.parametrize("kind", [PRNG.XORWOW, PRNG.PHILOX4_32_10, PRNG.MTGP32])
def test_threads_share_a_generator(kind):
    """Each call gets numbers that follow each other, and no two calls get the same ones."""
    generator, parts = PRNG(kind, seed=5), [np.zeros(500, np.float32) for _ in range(24)]

    def work(mine):
        for part in mine:
            generator.uniform(part)

    threads = [threading.Thread(target=work, args=(parts[i::6],)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = np.zeros((24, 500), np.float32)
    PRNG(kind, seed=5).uniform(expected)
    assert sorted(map(bytes, parts)) == sorted(map(bytes, expected))


def check_copy(generator, again):
    """Compare what a generator and its copy make."""
    numbers = np.zeros((3, 5))
    generator.normal(numbers[:2], 0, 1)
    other = again(generator)
    for each in (generator, other):
        each.uniform(numbers)
        assert each.offset == generator.offset
        if each is generator:
            expected = numbers.copy()
    assert np.array_equal(numbers, expected)
    assert (other.rndtype, other.ordering, other.stream) == (
        generator.rndtype,
        generator.ordering,
        0,
    )


def pickled(generator):
    return pickle.loads(pickle.dumps(generator))


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, pickled])
def test_generators_can_be_copied_and_pickled(again):
    check_copy(PRNG(PRNG.MRG32K3A, seed=3, offset=8, stream=create_stream()), again)
    check_copy(QRNG(QRNG.SOBOL64, ndim=5, offset=2), again)


def test_mersenne_twisters_can_be_pickled():
    # Apart from the others, because the vendor's library needs seconds to set one up.
    check_copy(PRNG(PRNG.MT19937, seed=3), pickled)


def test_an_ordering_can_be_a_number_of_curand():
    generator = PRNG()
    generator.ordering = 102
    assert generator.ordering is Ordering.PSEUDO_SEEDED


# ------------------------------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("method", "dtype", "message"),
    [
        ("uniform", "int32", "uniform random numbers were asked for as int32"),
        ("normal", "float16", "normal random numbers were asked for as float16"),
        ("lognormal", "complex64", "lognormal random numbers were asked for as complex64"),
        ("poisson", "float32", "holds float32\nexpected uint32 or int32"),
        ("generate", "uint64", "holds uint64\nexpected uint32 or int32"),
    ],
)
def test_arrays_of_other_types_are_refused_and_left_alone(method, dtype, message):
    array = np.full(4, 7, dtype)
    generator = PRNG(seed=5)
    with pytest.raises(DTypeError, match=message):
        getattr(generator, method)(array, *METHODS[method][0])
    assert (array == 7).all()
    expected = np.empty(4)
    generator.uniform(expected)
    assert np.array_equal(expected, oracle("uniform", 4))


@pytest.mark.parametrize(
    ("method", "parameters", "message"),
    [
        ("normal", (0, -1), "the argument sigma is -1"),
        ("normal", (0, np.nan), "the argument sigma is nan"),
        ("normal", (np.nan, 1), "the argument mean is not a number"),
        ("lognormal", (0, np.inf), "the argument sigma is inf"),
        ("poisson", (0,), "the argument lmbd is 0"),
        ("poisson", (-3,), "the argument lmbd is -3"),
        ("poisson", (np.nan,), "the argument lmbd is nan"),
        ("poisson", (4.1e5,), "the argument lmbd is 410000"),
    ],
)
def test_parameters_outside_their_range_are_refused_and_the_array_left_alone(
    method, parameters, message
):
    array = np.full(4, 7, METHODS[method][2])
    with pytest.raises(ArgumentError, match=message):
        getattr(PRNG(), method)(array, *parameters)
    assert (array == 7).all()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: curand.uniform(-1), ArgumentError, "the argument size is -1"),
        (lambda: curand.uniform((2, -1)), ArgumentError, "the argument size is -1"),
        (lambda: curand.uniform(2.5), ArgumentTypeError, "the argument size is 2.5"),
        (lambda: curand.uniform(3, dtype=int), DTypeError, "were asked for as int64"),
        (lambda: curand.normal(0, -1, 3), ArgumentError, "the argument sigma is -1"),
        (lambda: curand.lognormal("a", 1, 3), ArgumentTypeError, "the argument mean is 'a'"),
        (lambda: curand.poisson(0, 3), ArgumentError, "the argument lmbd is 0"),
        (lambda: curand.quasi(4, bits=16), ArgumentError, "the argument bits is 16"),
        (lambda: curand.quasi(4, bits=48), ArgumentError, "bits is 48\nexpected 32 or 64"),
        (lambda: curand.quasi(4, bits=32.0), ArgumentTypeError, "the argument bits is 32.0"),
        (lambda: curand.uniform(4, "x"), DTypeError, "'x' is not a dtype"),
        (lambda: curand.quasi(4, nd=0), ArgumentError, "the argument nd is 0"),
        (lambda: curand.quasi(4, nd=20_001), ArgumentError, "the argument nd is 20001"),
        (lambda: curand.quasi(4, nd=3), ArgumentError, "3 dimensions was asked for 4 numbers"),
        (lambda: PRNG(PRNG.TEST), ArgumentError, "there is no generator of type 0"),
        (lambda: PRNG("XORWOW"), ArgumentError, "there is no generator of type 'XORWOW'"),
        (lambda: PRNG(PRNG.MT19937, offset=1), ArgumentError, "MT19937 has no offset"),
        (lambda: PRNG(PRNG.MTGP32, offset=1), ArgumentError, "MTGP32 has no offset"),
        (lambda: PRNG(offset=-1), ArgumentError, "the argument offset is -1"),
        (lambda: PRNG(seed=2**64), ArgumentError, "the argument seed is 18446744073709551616"),
        (lambda: PRNG(seed="x"), ArgumentTypeError, "the argument seed is 'x'"),
        (lambda: QRNG(ndim=0), ArgumentError, "the argument ndim is 0"),
        (lambda: PRNG().uniform([1.0]), ArgumentTypeError, "to be written to a list"),
        (
            lambda: PRNG().uniform(np.zeros(3), 4),
            ArgumentError,
            "an array of 3 elements cannot hold 4 random numbers",
        ),
        (lambda: PRNG().uniform(np.zeros(3), -1), ArgumentError, "the argument size is -1"),
    ],
)
def test_what_makes_no_sense_is_refused_in_words(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_an_ordering_of_another_generator_is_refused():
    generator = PRNG(PRNG.MT19937)
    with pytest.raises(ArgumentError, match="MT19937 has no ordering PSEUDO_BEST"):
        generator.ordering = Ordering.PSEUDO_BEST
    assert generator.ordering is Ordering.PSEUDO_DEFAULT


def test_read_only_arrays_are_refused():
    array = np.zeros(3)
    array.flags.writeable = False
    with pytest.raises(ArgumentError, match="is read-only"):
        PRNG().uniform(array)


def test_all_names_are_there():
    for name in pygpulib.rand.__all__:
        assert getattr(pygpulib.rand, name) is not None
        assert name in dir(pygpulib.rand)
    with pytest.raises(AttributeError, match=r"'pygpulib.rand' has no attribute 'no_such_thing'"):
        pygpulib.rand.no_such_thing  # noqa: B018
