"""The names of pyculib's binding of cuRAND."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

from pygpulib._bindings import curand
from pygpulib.core.creation import device_array
from pygpulib.core.stream import create_stream
from pygpulib.errors import ArgumentError, DTypeError
from pygpulib.rand import binding
from pygpulib.rand.binding import CuRandError, Generator, libcurand
from pygpulib.rand.kinds import Kind
from pygpulib.rand.request import Distribution, make_request
from tests.fakecuda.header import read_header
from tests.helpers.curand_host import HostGenerator


def test_constants_are_those_of_the_header():
    constants = read_header("curand.h").constants
    names = [name for name in dir(binding) if name.startswith("CURAND_")]
    assert {"CURAND_RNG_PSEUDO_XORWOW", "CURAND_ORDERING_QUASI_DEFAULT", "CURAND_M1"} < {*names}
    assert "CURAND_SCRAMBLED_DIRECTION_VECTORS_64_JOEKUO6" in names
    for name in names:
        assert getattr(binding, name) == constants[name], name


def test_other_names_are_not_there():
    with pytest.raises(AttributeError, match="has no attribute 'CURAND_NOTHING'"):
        binding.CURAND_NOTHING  # noqa: B018


def test_statuses_have_names():
    assert binding.STATUS[0][0] == "CURAND_STATUS_SUCCESS"
    assert binding.STATUS[104][0] == "CURAND_STATUS_OUT_OF_RANGE"


def test_the_library_tells_its_version(monkeypatch):
    version = libcurand().version
    assert 10_000 < version < 20_000
    monkeypatch.setattr(curand, "find_curand", lambda: None)
    assert libcurand().version == binding.VERSION


def test_the_librarys_functions_are_there():
    import ctypes

    number = ctypes.c_int()
    assert libcurand().curandGetVersion(ctypes.byref(number)) == 0
    assert number.value == libcurand().version
    with pytest.raises(AttributeError, match="cuRAND has no function 'frob'"):
        libcurand().frob()


@pytest.mark.parametrize(
    ("method", "parameters", "distribution", "dtype"),
    [
        ("generate", (), Distribution.RAW, "uint32"),
        ("generate_uniform", (), Distribution.UNIFORM, "float32"),
        ("generate_uniform", (), Distribution.UNIFORM, "float64"),
        ("generate_normal", (1.0, 2.0), Distribution.NORMAL, "float32"),
        ("generate_log_normal", (0.0, 1.0), Distribution.LOGNORMAL, "float64"),
        ("generate_poisson", (7.0,), Distribution.POISSON, "uint32"),
    ],
)
def test_a_generator_writes_the_first_elements(method, parameters, distribution, dtype):
    ours = Generator(binding.CURAND_RNG_PSEUDO_MRG32K3A)
    stream = create_stream()
    ours.set_stream(stream)
    ours.set_ordering(binding.CURAND_ORDERING_PSEUDO_LEGACY)
    ours.set_pseudo_random_generator_seed(1234)
    ours.set_offset(123)
    out = device_array(12, dtype)
    out.copy_to_device(np.zeros(12, dtype))
    getattr(ours, method)(out, 10, *parameters)
    theirs = HostGenerator(Kind.MRG32K3A, seed=1234, offset=123, ordering=103)
    expected = theirs.generate(make_request(distribution, dtype, *parameters), 10)
    found = out.copy_to_host()
    assert np.allclose(found[:10], expected, rtol=1e-5 if dtype == "float32" else 1e-13)
    assert not found[10:].any()


def test_the_default_generator_is_xorwow():
    first, second = np.empty(5), np.empty(5)
    Generator().generate_uniform(first, 5)
    Generator(binding.CURAND_RNG_PSEUDO_XORWOW).generate_uniform(second, 5)
    assert np.array_equal(first, second)


@pytest.mark.parametrize(
    ("call", "code"),
    [
        (lambda pseudo, _: pseudo.set_quasi_random_generator_dimensions(2), 103),
        (lambda pseudo, _: pseudo.set_ordering(201), 104),
        (lambda pseudo, _: pseudo.set_ordering(7), 104),
        (lambda pseudo, _: pseudo.set_offset(-1), 104),
        (lambda pseudo, _: pseudo.generate_poisson(np.zeros(2, np.uint32), 2, -1.0), 104),
        (lambda _, quasi: quasi.set_pseudo_random_generator_seed(1), 103),
        (lambda _, quasi: quasi.set_quasi_random_generator_dimensions(0), 104),
        (lambda _, quasi: quasi.generate_uniform(np.zeros(3), 3), 105),
        (lambda *_: Generator(binding.CURAND_RNG_PSEUDO_MTGP32).set_offset(1), 103),
        (lambda *_: Generator(binding.CURAND_RNG_TEST), 103),
    ],
)
def test_what_curand_refuses_raises_its_error_with_its_status(call, code):
    quasi = Generator(binding.CURAND_RNG_QUASI_DEFAULT)
    quasi.set_quasi_random_generator_dimensions(2)
    with pytest.raises(CuRandError) as caught:
        call(Generator(), quasi)
    assert caught.value.code == code
    assert isinstance(caught.value, ArgumentError)


def test_arrays_of_other_types_are_refused():
    with pytest.raises(DTypeError, match="raw random numbers holds uint64"):
        Generator().generate(np.zeros(3, np.uint64), 3)
    with pytest.raises(DTypeError, match="asked for as int32"):
        Generator().generate_uniform(np.zeros(3, np.int32), 3)


@pytest.mark.parametrize(
    "again", [copy.copy, copy.deepcopy, lambda each: pickle.loads(pickle.dumps(each))]
)
def test_generators_can_be_copied_and_pickled(again):
    generator = Generator(binding.CURAND_RNG_PSEUDO_MRG32K3A)
    generator.set_stream(create_stream())
    generator.generate_normal(np.empty(7), 7, 0, 1)
    other = again(generator)
    expected, found = np.empty(9, np.float32), np.empty(9, np.float32)
    generator.generate_uniform(expected, 9)
    other.generate_uniform(found, 9)
    assert np.array_equal(found, expected)
