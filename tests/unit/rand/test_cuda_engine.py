"""Engines over the vendor's library on the fake driver, against those of the CPU back end."""

from __future__ import annotations

import copy
import gc
import pickle
from functools import cache, partial

import numpy as np
import pytest

from pygpulib._record import replace
from pygpulib.core.creation import device_array, to_device
from pygpulib.core.device import get_device, use_driver
from pygpulib.core.driver_cpu import CpuDriver
from pygpulib.core.stream import create_stream, external_stream
from pygpulib.errors import ArgumentError, DeviceMismatchError, LibraryError
from pygpulib.rand import (
    PRNG,
    Sobol,
    cuda,
    history,
    lognormal,
    normal,
    poisson,
    qmc,
    quasi,
    uniform,
)
from pygpulib.rand.compiling import kernel
from pygpulib.rand.cpu import create as create_on_cpu
from pygpulib.rand.cuda import create
from pygpulib.rand.engine import make_engine, restore
from pygpulib.rand.kinds import RULES, Kind, Ordering
from pygpulib.rand.request import Distribution, make_request
from tests.fakecuda.client import Client
from tests.fakecuda.foreign import InterfaceArray, Library
from tests.helpers.curand_fake import replace_curand

QUICK = [kind for kind in Kind if kind not in {Kind.MT19937, Kind.MRG32K3A}]
NORMAL = make_request(Distribution.NORMAL, "float32", 1.0, 2.0)
NORMAL_DOUBLE = make_request(Distribution.NORMAL, "float64", 1.0, 2.0)
UNIFORM = make_request(Distribution.UNIFORM, "float32")
UNIFORM_DOUBLE = make_request(Distribution.UNIFORM, "float64")
POISSON = make_request(Distribution.POISSON, "uint32", 3.5)
BINOMIAL = make_request(Distribution.BINOMIAL, "uint32", 20, 0.3)
EVERYTHING = [UNIFORM, NORMAL, POISSON, NORMAL_DOUBLE, BINOMIAL, UNIFORM_DOUBLE]


@pytest.fixture
def curand(fake_cuda, monkeypatch):
    # A kernel stays loaded on the driver of its first launch, which ends with a test.
    monkeypatch.setattr(cuda, "_invert", kernel(cuda._invert.py_func))
    return replace_curand(monkeypatch, fake_cuda)


@cache
def cpu_driver():
    return CpuDriver()


def draw(engine, request, size, stream=0):
    """Return an engine's next numbers."""
    if engine.fills_host_memory:
        out = np.empty(size, request.dtype)
        with use_driver(cpu_driver()):
            engine.fill(request, out)
        return out
    out = device_array(size, request.dtype, stream=stream)
    engine.fill(request, out, int(stream))
    return out.copy_to_host(stream=stream)


def assert_same(ours, theirs):
    if ours.dtype.kind == "f":
        assert np.allclose(ours, theirs, rtol=1e-5 if ours.dtype == np.float32 else 1e-12)
    else:
        assert np.array_equal(ours, theirs)


def test_numbers_are_those_of_the_cpu_for_odd_sizes_and_mixed_calls(curand):
    for kind in QUICK:
        ours, theirs = create(kind), create_on_cpu(kind)
        sizes = (5, 7, 1, 3, 9, 11, 2, 1, 33, 4, 6, 5)
        for request, size in zip(EVERYTHING * 2, sizes, strict=True):
            assert_same(draw(ours, request, size), draw(theirs, request, size))


def test_settings_reach_the_library(curand):
    for kind in QUICK:
        ours, theirs = create(kind), create_on_cpu(kind)
        for engine in (ours, theirs):
            if RULES[kind].is_quasi:
                engine.set_dimensions(3)
            else:
                engine.set_seed(-5)
            if RULES[kind].has_offset:
                engine.set_offset(12345)
            engine.set_ordering(RULES[kind].orderings[-1])
        assert_same(draw(ours, UNIFORM, 6), draw(theirs, UNIFORM, 6))


def test_the_back_end_in_use_makes_the_engine(curand):
    assert not make_engine(Kind.XORWOW).fills_host_memory


@pytest.mark.parametrize("kind", [Kind.XORWOW, Kind.PHILOX4_32_10, Kind.SOBOL64, Kind.MTGP32])
def test_a_state_is_gone_on_from(curand, kind):
    engine = create(kind)
    if not RULES[kind].is_quasi:
        engine.set_seed(11)
    for request, size in zip(EVERYTHING, (3, 5, 4, 1, 2, 7), strict=True):
        draw(engine, request, size)
    if not RULES[kind].is_quasi:
        engine.set_seed(12)
    draw(engine, NORMAL, 3)
    state = engine.get_state()
    expected = [draw(engine, request, 9) for request in EVERYTHING]
    other = create(kind)
    other.set_state(state)
    assert other.get_state() == state
    for request, numbers in zip(EVERYTHING, expected, strict=True):
        assert np.array_equal(draw(other, request, 9), numbers)


def test_notes_for_the_state_do_not_grow_without_end(curand, monkeypatch):
    monkeypatch.setattr(history, "MAX_EVENTS", 6)
    monkeypatch.setattr(cuda, "MAX_EVENTS", 6)
    engine = create(Kind.XORWOW)
    engine.set_offset(3)
    for seed in range(1, 20):
        engine.set_seed(seed)
    assert len(engine.get_state().history) <= 3 * 6
    other = create(Kind.XORWOW)
    other.set_state(engine.get_state())
    assert (other.seed, other.offset) == (19, 3)
    for _ in range(10):
        draw(engine, UNIFORM, 2)
        draw(engine, NORMAL, 2)
    with pytest.raises(ArgumentError, match="XORWOW is not known any more\nby turns, more than 6"):
        engine.get_state()
    engine.set_offset(3)
    other.set_state(engine.get_state())
    assert np.array_equal(draw(other, UNIFORM, 5), draw(engine, UNIFORM, 5))


def test_a_new_seed_starts_generators_without_an_offset_anew(curand, monkeypatch):
    monkeypatch.setattr(history, "MAX_EVENTS", 6)
    engine, other = create(Kind.MTGP32), create(Kind.MTGP32)
    for _ in range(10):
        draw(engine, UNIFORM, 2)
        draw(engine, UNIFORM_DOUBLE, 2)
    engine.set_seed(5)
    other.set_state(engine.get_state())
    assert np.array_equal(draw(other, UNIFORM, 5), draw(engine, UNIFORM, 5))


def test_generators_can_be_copied_and_pickled(curand):
    generator = PRNG(PRNG.PHILOX4_32_10, seed=4, stream=create_stream())
    numbers = device_array(7, np.float32)
    generator.normal(numbers, 0, 1)
    others = [copy.deepcopy(generator), pickle.loads(pickle.dumps(generator))]
    generator.uniform(numbers)
    expected = numbers.copy_to_host(stream=generator.stream)
    for other in others:
        other.uniform(numbers)
        assert np.array_equal(numbers.copy_to_host(), expected)
        assert (other.seed, other.stream) == (4, 0)


def test_the_kept_normals_of_poisson_numbers_belong_to_the_state(curand):
    large = make_request(Distribution.POISSON, "uint32", 5000.0)
    engine = create(Kind.XORWOW)
    draw(engine, large, 5)
    draw(engine, UNIFORM, 4091)
    other = create(Kind.XORWOW)
    other.set_state(engine.get_state())
    assert np.array_equal(draw(other, large, 9), draw(engine, large, 9))


def test_an_offset_forgets_what_was_generated(curand):
    engine = create(Kind.XORWOW)
    engine.set_seed(3)
    draw(engine, UNIFORM, 100)
    engine.set_offset(7)
    assert len(engine.get_state().history) == 6
    other = create(Kind.XORWOW)
    other.set_state(engine.get_state())
    assert np.array_equal(draw(other, UNIFORM, 5), draw(engine, UNIFORM, 5))


@pytest.mark.parametrize("kind", [*QUICK, Kind.MRG32K3A])
def test_a_state_is_gone_on_from_on_the_cpu(curand, kind):
    engine = create(kind)
    if RULES[kind].is_quasi:
        engine.set_dimensions(3)
    else:
        engine.set_ordering(Ordering.PSEUDO_LEGACY)
        engine.set_seed(11)
    if RULES[kind].has_offset:
        engine.set_offset(70_001)
    for request, size in zip(EVERYTHING, (6, 9, 3, 12, 15, 3), strict=True):
        draw(engine, request, size)
    if not RULES[kind].is_quasi:
        draw(engine, NORMAL, 5)
        engine.set_seed(12)
        draw(engine, NORMAL, 7)
    state = pickle.dumps(engine)
    with use_driver(cpu_driver()):
        other = pickle.loads(state)
        assert other.fills_host_memory
        again = pickle.dumps(pickle.loads(pickle.dumps(other)))
    expected = [draw(engine, request, 9) for request in EVERYTHING]
    for request, numbers in zip(EVERYTHING, expected, strict=True):
        assert_same(draw(other, request, 9), numbers)
    back = pickle.loads(again)
    assert not back.fills_host_memory
    for request, numbers in zip(EVERYTHING, expected, strict=True):
        assert_same(draw(back, request, 9), numbers)


@pytest.mark.parametrize("kind", [*QUICK, Kind.MRG32K3A])
def test_a_state_of_the_cpu_is_gone_on_from_on_the_gpu(curand, kind):
    large = make_request(Distribution.POISSON, "uint32", 5000.0)
    with use_driver(cpu_driver()):
        engine = create_on_cpu(kind)
    if RULES[kind].is_quasi:
        engine.set_offset(5)
        engine.set_dimensions(3)
    else:
        engine.set_seed(11)
        engine.set_ordering(Ordering.PSEUDO_LEGACY)
    for request, size in zip([large, *EVERYTHING] * 2, range(3, 45, 3), strict=True):
        draw(engine, request, size)
    if not RULES[kind].is_quasi:
        engine.set_seed(12)
        draw(engine, NORMAL, 7)
    other = restore(engine.get_state())
    for request in [large, *EVERYTHING]:
        assert_same(draw(other, request, 9), draw(engine, request, 9))


def test_a_state_that_does_not_tell_how_it_came_about_stays_where_it_is(curand):
    message = "XORWOW comes from another back end\nit does not tell how it came about"
    with use_driver(cpu_driver()):
        engine = create_on_cpu(Kind.XORWOW)
        draw(engine, UNIFORM, 3)
    state = replace(engine.get_state(), history=None)
    for go_on in (restore, create(Kind.XORWOW).set_state):
        with pytest.raises(ArgumentError, match=message):
            go_on(state)
    with pytest.raises(ArgumentError, match=message):
        engine.set_state(create(Kind.XORWOW).get_state())


def test_a_state_of_another_generator_is_refused(curand):
    state = create(Kind.XORWOW).get_state()
    with pytest.raises(ArgumentError, match="the state is one of the generator XORWOW"):
        create(Kind.MTGP32).set_state(state)


def test_a_stream_is_told_once_and_left_for_another(curand):
    engine = create(Kind.XORWOW)
    first, second = create_stream(), create_stream()
    expected = draw(create_on_cpu(Kind.XORWOW), UNIFORM, 12)
    numbers = [draw(engine, UNIFORM, 4, stream) for stream in (first, first, second)]
    assert curand.streams == [first.handle, second.handle]
    assert np.array_equal(np.concatenate(numbers), expected)


@pytest.mark.parametrize("is_foreign", [False, True])
def test_settings_need_no_stream_that_is_gone(curand, is_foreign):
    device_array(1, np.float32)  # opens the device
    library = Library(Client())
    stream = external_stream(library.stream) if is_foreign else create_stream()
    generator = PRNG(PRNG.XORWOW, stream=stream)
    numbers = device_array(4, np.float32, stream=stream)
    generator.uniform(numbers)
    numbers.copy_to_host(stream=stream)
    generator.stream = 0
    library.close()
    del stream, numbers
    gc.collect()
    device_array(1, np.float32)
    generator.seed, generator.offset = 5, 3
    engine = create_on_cpu(Kind.XORWOW)
    engine.set_seed(5)
    engine.set_offset(3)
    numbers = device_array(9, np.float32)
    generator.uniform(numbers)
    assert np.array_equal(numbers.copy_to_host(), draw(engine, UNIFORM, 9))


def test_arrays_of_other_libraries_are_filled_after_their_work_and_before_it_goes_on(curand):
    device_array(1, np.float32)  # opens the device
    library = Library(Client())
    array = InterfaceArray(library, (40,), np.float32)
    stream = create_stream()
    engine = create_on_cpu(Kind.XORWOW)
    for stream in (None, create_stream()):
        generator = PRNG(PRNG.XORWOW, stream=stream)
        for size in (40, 7):
            library.fill(array, 0)
            generator.uniform(array, size)
            # On a stream of its own, which waits for no other by itself.
            found = library.read(array)
            assert np.array_equal(found[:size], draw(engine, UNIFORM, size))
            assert not found[size:].any()
        engine.set_offset(0)
    gc.collect()
    array.free()
    library.close()


@pytest.mark.fake_gpus(device_count=2)
def test_an_array_of_another_device_is_refused(curand):
    engine = create(Kind.XORWOW)
    with get_device(1):
        out = device_array(4, np.float32)
        with pytest.raises(DeviceMismatchError, match="an array of device 1 was to be filled by"):
            engine.fill(UNIFORM, out)


def test_numbers_that_leave_a_point_incomplete_are_refused(curand):
    engine = create(Kind.SOBOL32)
    engine.set_dimensions(4)
    with pytest.raises(ArgumentError, match="with 4 dimensions was asked for 6 numbers"):
        draw(engine, UNIFORM, 6)


def test_generators_are_given_up(curand, monkeypatch):
    gone = []
    monkeypatch.setattr(curand, "curandDestroyGenerator", gone.append)
    engine = create(Kind.XORWOW)
    handle = engine._handle
    del engine
    assert gone == [handle]


def test_without_the_library_the_error_says_what_to_install(fake_cuda, monkeypatch):
    monkeypatch.setattr("pygpulib._bindings.curand.find_curand", lambda: None)
    with pytest.raises(LibraryError, match="a random generator on a GPU needs cuRAND") as caught:
        create(Kind.XORWOW)
    assert "pip install pygpulib[cuda13]" in caught.value.help


def test_a_status_is_told_in_words(curand):
    from pygpulib._bindings.curand import CuRandError

    engine = create(Kind.SOBOL32)
    with pytest.raises(CuRandError, match="cuRAND could not set the ordering") as caught:
        engine._tell(2, int(Ordering.PSEUDO_LEGACY))
    assert caught.value.code == 104
    assert "curandSetGeneratorOrdering returned OUT_OF_RANGE (104)" in str(caught.value)


def test_pyculibs_classes_fill_host_and_device_arrays_of_any_layout(curand):
    expected = draw(create_on_cpu(Kind.XORWOW), UNIFORM, 6).reshape(3, 2)
    host = np.zeros((3, 4), np.float32)
    PRNG(PRNG.XORWOW).uniform(host[:, ::2])
    assert np.array_equal(host[:, ::2], expected)
    assert not host[:, 1::2].any()
    device = to_device(np.zeros((2, 3), np.float32))
    stream = create_stream()
    PRNG(PRNG.XORWOW, stream=stream).uniform(device.T)
    assert np.array_equal(device.copy_to_host(stream=stream).T, expected)
    # Of an array with gaps only the first elements.
    PRNG(PRNG.XORWOW).uniform(host[:, 1::2], 3)
    assert np.array_equal(host[:, 1::2].reshape(-1), [*expected.reshape(-1)[:3], 0, 0, 0])


def test_functions_have_a_generator_for_each_device(curand):
    first, second = uniform(5), uniform(5, device=True)
    assert not isinstance(second, np.ndarray)
    numbers = np.concatenate([first, second.copy_to_host()])
    assert len(np.unique(numbers)) == 10
    assert ((numbers > 0) & (numbers <= 1)).all()


def test_functions_have_a_generator_for_each_stream(curand):
    first, second = create_stream(), create_stream()
    handles = [first.handle, second.handle]
    parts = [
        call(7, device=True, stream=stream)
        for call in (uniform, partial(normal, 0, 1), partial(lognormal, 0, 1))
        for stream in (first, second, first, 0)
    ]
    counts = [poisson(1e5, 7, device=True, stream=stream) for stream in (first, second)]
    # No generator has changed its stream, for which it would have to wait for all others.
    assert curand.streams == handles
    numbers = np.concatenate([part.copy_to_host() for part in parts])
    assert len(np.unique(numbers)) == numbers.size
    assert not np.array_equal(counts[0].copy_to_host(), counts[1].copy_to_host())
    points = [quasi(3, device=True, stream=first) for _ in range(2)]
    expected = draw(create_on_cpu(Kind.SOBOL32), make_request(Distribution.RAW, "uint32"), 6)
    assert np.array_equal(np.concatenate([each.copy_to_host() for each in points]), expected)


def test_the_generators_of_a_stream_end_with_it(curand, monkeypatch):
    gone = []
    monkeypatch.setattr(curand, "curandDestroyGenerator", gone.append)
    stream = create_stream()
    uniform(4, stream=stream)
    uniform(4)
    del stream
    gc.collect()
    assert len(gone) == 1


def test_sobol_points_are_those_of_the_cpu(curand, monkeypatch):
    make_kernel = qmc._kernel.__wrapped__
    monkeypatch.setattr(qmc, "_kernel", make_kernel)
    points = Sobol(3, scramble=False).random(20)
    with use_driver(cpu_driver()):
        assert np.array_equal(Sobol(3, scramble=False).random(20), points)
