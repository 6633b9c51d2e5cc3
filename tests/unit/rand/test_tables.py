"""Tables of the vendor, read at run time, and what is said where they are missing."""

from __future__ import annotations

import numpy as np
import pytest

from pygpulib._bindings import curand
from pygpulib.errors import ArgumentError, LibraryError
from pygpulib.rand import tables
from pygpulib.rand.cpu import create
from pygpulib.rand.directions import MAX_DIMENSIONS, joe_kuo
from pygpulib.rand.kinds import Kind
from pygpulib.rand.request import Distribution, make_request


@pytest.fixture
def no_curand(monkeypatch):
    monkeypatch.setattr(curand, "find_curand", lambda: None)
    tables.mtgp_parameters.cache_clear()
    tables.scrambled_directions.cache_clear()
    yield
    tables.mtgp_parameters.cache_clear()
    tables.scrambled_directions.cache_clear()


def test_mtgp32_without_the_library_says_what_to_install(no_curand):
    with pytest.raises(LibraryError, match="the generator MTGP32 needs cuRAND") as caught:
        create(Kind.MTGP32)
    assert "pip install pygpulib[cuda13]" in caught.value.help


@pytest.mark.parametrize("bits", [32, 64])
def test_scrambled_sequences_without_the_library_say_what_to_install(no_curand, bits):
    engine = create(Kind[f"SCRAMBLED_SOBOL{bits}"])
    out = np.full(3, 7, np.float32)
    with pytest.raises(LibraryError, match=f"the scrambled Sobol{bits} sequence needs cuRAND"):
        engine.fill(make_request(Distribution.UNIFORM, "float32"), out)
    assert (out == 7).all()


def test_all_else_needs_no_library(no_curand):
    uniform = make_request(Distribution.UNIFORM, "float32")
    for kind in (Kind.XORWOW, Kind.PHILOX4_32_10, Kind.MT19937, Kind.SOBOL32, Kind.SOBOL64):
        create(kind).fill(uniform, np.empty(3, np.float32))


def test_the_library_without_its_header_does_not_do(monkeypatch):
    curand.open_curand("this test")
    monkeypatch.setattr(tables.os.path, "isfile", lambda path: False)
    with pytest.raises(LibraryError, match="the parameters of the generator MTGP32 cannot be f"):
        tables.mtgp_parameters.__wrapped__()


@pytest.mark.parametrize("text", ["", "params[] = { 11213, 88 }", "params[] = { {1, 2} };"])
def test_a_header_of_another_form_is_refused(text):
    with pytest.raises(LibraryError, match="the parameters of the generator MTGP32 cannot be read"):
        tables.read_mtgp_parameters(text)


def test_parameters_are_read_in_spite_of_comments_and_conditions():
    record = [11213, 88, 19, 5, *range(16), *range(100, 116), *range(200, 216), 0xFFF80000]
    body = ", ".join(map(str, [*record, *range(21)]))
    text = f"type name[]\n#else\nstatic type name[]\n#endif\n = {{ {{ /* No. 7 */ {body} }} }};"
    found = tables.read_mtgp_parameters(text)
    assert (found.positions, found.shifts_left, found.shifts_right) == (88, 19, 5)
    assert found.recursion.tolist() == [list(range(16))]
    assert found.tempering.tolist() == [list(range(100, 116))]
    assert found.mask == 0xFFF80000


def test_parameters_fit_the_generator():
    found = tables.mtgp_parameters()
    assert found.recursion.shape == found.tempering.shape == (200, 16)
    # A row of 256 numbers must not need numbers of its own.
    assert (found.positions + 256 <= 351).all()
    for matrix in (found.recursion, found.tempering):
        for i in range(16):
            parts = [matrix[:, 1 << bit] for bit in range(4) if i >> bit & 1]
            assert np.array_equal(matrix[:, i], np.bitwise_xor.reduce(parts or [matrix[:, 0] * 0]))


def test_scrambled_tables_are_read_only():
    directions, constants = tables.scrambled_directions(32)
    assert directions.shape == (20_000, 32)
    assert constants.shape == (20_000,)
    assert not directions.flags.writeable
    assert not constants.flags.writeable


def test_direction_numbers_are_those_of_the_library_for_all_its_dimensions():
    import ctypes

    library = curand.open_curand("this test")
    vectors = ctypes.POINTER(ctypes.c_ulonglong)()
    which = curand.DIRECTION_VECTOR_SETS["DIRECTION_VECTORS_64_JOEKUO6"]
    library.curandGetDirectionVectors64(ctypes.byref(vectors), which)
    theirs = np.ctypeslib.as_array(vectors, (tables.DIMENSIONS, 64))
    assert np.array_equal(joe_kuo(64, MAX_DIMENSIONS)[: tables.DIMENSIONS], theirs)
    assert np.array_equal(joe_kuo(32, 500), theirs[:500, :32] >> np.uint64(32))


def test_direction_numbers_without_scipys_table_say_so(monkeypatch, tmp_path):
    from importlib.util import find_spec

    from pygpulib.rand import directions

    spec = find_spec("scipy")
    monkeypatch.setattr(spec, "submodule_search_locations", [str(tmp_path)])
    monkeypatch.setattr("importlib.util.find_spec", lambda name: spec)
    with pytest.raises(LibraryError, match=r"direction numbers .* cannot be found"):
        directions._table.__wrapped__()


def test_no_dimensions_beyond_the_table():
    engine = create(Kind.SOBOL32)
    for bad in (0, 20_001, -1):
        with pytest.raises(ArgumentError, match=f"the argument dimensions is {bad}"):
            engine.set_dimensions(bad)
