"""Arrays of every layout, of the host and the device, for all faces of random numbers."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib import rand
from pygpulib.core.creation import to_device
from pygpulib.errors import ArgumentError
from pygpulib.rand import PRNG, QRNG, binding
from pygpulib.rand.kinds import Kind
from pygpulib.rand.request import Distribution, make_request
from tests.helpers.curand_host import HostGenerator

LAYOUTS = {
    "rows": lambda a: a,
    "columns": lambda a: a.T,
    "gaps": lambda a: a[::2, 1::3],
    "backwards": lambda a: a[::-1, ::-1],
    "a column": lambda a: a[:, 1],
    "no axes": lambda a: a[1:2, 1].reshape(()),
    "no elements": lambda a: a[:0],
}
PACKED = {"rows", "columns", "no axes", "no elements"}
FACES = {
    "PRNG": (Kind.XORWOW, lambda a: PRNG(PRNG.XORWOW).uniform(a)),
    "PRNG, first": (Kind.XORWOW, lambda a: PRNG(PRNG.XORWOW).uniform(a, a.size)),
    "QRNG": (Kind.SOBOL32, lambda a: QRNG(QRNG.SOBOL32).uniform(a)),
    "binding": (
        Kind.PHILOX4_32_10,
        lambda a: binding.Generator(binding.CURAND_RNG_PSEUDO_PHILOX4_32_10).generate_uniform(
            a, a.size
        ),
    ),
}


def to_host(array):
    return array if isinstance(array, np.ndarray) else array.copy_to_host()


def make(layout, place, values):
    """Return an array and the whole that it is a part of."""
    whole = place(values.reshape(6, 9))
    return LAYOUTS[layout](whole), whole


places = pytest.mark.parametrize("place", [np.array, to_device], ids=["host", "device"])
layouts = pytest.mark.parametrize("layout", LAYOUTS)


@places
@layouts
@pytest.mark.parametrize("face", FACES)
def test_numbers_of_curand_come_in_the_order_of_the_indices(face, layout, place):
    kind, fill = FACES[face]
    array, whole = make(layout, place, np.full(54, -1, np.float32))
    fill(array)
    uniform = make_request(Distribution.UNIFORM, "float32")
    expected = HostGenerator(kind).generate(uniform, array.size).reshape(array.shape)
    assert np.array_equal(to_host(array), expected)
    assert np.count_nonzero(to_host(whole) != -1) == array.size


@places
@layouts
@pytest.mark.parametrize("size", [0, 1, 5, 8])
def test_only_the_first_elements_are_filled_if_a_size_is_given(layout, place, size):
    array, whole = make(layout, place, np.full(54, -1, np.float32))
    if size > array.size:
        with pytest.raises(ArgumentError, match=f"cannot hold {size} random number"):
            PRNG(PRNG.XORWOW).uniform(array, size)
        return
    PRNG(PRNG.XORWOW).uniform(array, size)
    uniform = make_request(Distribution.UNIFORM, "float32")
    flat = to_host(array).reshape(-1)
    assert np.array_equal(flat[:size], HostGenerator(Kind.XORWOW).generate(uniform, size))
    assert np.count_nonzero(to_host(whole) != -1) == size


@places
@layouts
@pytest.mark.parametrize("method", ["random", "standard_normal", "standard_exponential"])
def test_generators_fill_packed_arrays_in_the_order_of_the_memory(method, layout, place):
    array, whole = make(layout, place, np.full(54, -9.0))
    draw = getattr(rand.default_rng(1), method)
    if layout not in PACKED:
        with pytest.raises(ArgumentError, match="cannot be filled as it lies in memory"):
            draw(out=array)
        assert np.all(to_host(whole) == -9)
        return
    assert draw(out=array) is array
    expected = getattr(rand.default_rng(1), method)(size=array.size).copy_to_host()
    assert np.array_equal(to_host(array).ravel("K"), expected)
    assert np.count_nonzero(to_host(whole) != -9) == array.size


@places
@layouts
def test_arrays_are_shuffled_where_they_are(layout, place):
    array, whole = make(layout, place, np.arange(54))
    if not array.ndim:
        with pytest.raises(ArgumentError, match="the array has no axes"):
            rand.default_rng(1).shuffle(array)
        return
    before = to_host(array).copy()
    rand.default_rng(1).shuffle(array)
    order = rand.default_rng(1).permutation(len(before)).copy_to_host()
    assert np.array_equal(to_host(array), before[order])
    assert np.array_equal(np.sort(to_host(whole), axis=None), np.arange(54))


@places
@layouts
def test_permuted_arrays_go_to_arrays_of_any_layout(layout, place):
    array, whole = make(layout, place, np.arange(54))
    if not array.ndim:
        return
    expected = rand.default_rng(1).permuted(to_host(array).copy(), axis=0).copy_to_host()
    assert rand.default_rng(1).permuted(array, axis=0, out=array) is array
    assert np.array_equal(to_host(array), expected)
    assert np.array_equal(np.sort(to_host(whole), axis=None), np.arange(54))


@pytest.mark.slow
@pytest.mark.cpu_only("the simulated GPU has no memory for so many")
def test_there_may_be_more_numbers_than_32_bits_count():
    count = 2**31 + 13
    numbers = rand.default_rng(3).integers(250, size=count, dtype=np.uint8)
    rng = rand.default_rng(3)
    rng.bit_generator.advance(2**31 // 4)
    expected = rng.integers(250, size=13, dtype=np.uint8)
    assert np.array_equal(numbers[2**31 :].copy_to_host(), expected.copy_to_host())
