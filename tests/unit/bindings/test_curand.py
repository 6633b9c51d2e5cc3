"""The bound interface of cuRAND against the vendor's header, and its errors."""

from __future__ import annotations

import ctypes

import pytest

from pygpulib._bindings import curand
from pygpulib.errors import LibraryError
from tests.fakecuda.header import read_header, same_abi
from tests.helpers.packages import needs_vendor_packages

pytestmark = needs_vendor_packages


@pytest.fixture(scope="module")
def header():
    return read_header("curand.h")


def pointee(ctype):
    """Return what a pointer points to; None where its type does not say."""
    return getattr(ctype, "_type_", None) if issubclass(ctype, ctypes._Pointer) else None


@pytest.mark.parametrize("name", curand.FUNCTIONS)
def test_a_function_is_declared_as_in_the_header(header, name):
    bound, declared = curand.FUNCTIONS[name], header.functions[name]
    assert same_abi(bound.result, declared.result)
    assert len(bound.arguments) == len(declared.argtypes)
    for given, wanted, parameter in zip(
        bound.arguments, declared.argtypes, declared.parameters, strict=True
    ):
        assert same_abi(given, wanted), parameter
        if pointee(given) is not None and pointee(wanted) is not None:
            assert same_abi(pointee(given), pointee(wanted)), parameter


def test_every_function_is_exported():
    library = curand.open_curand("this test")
    assert [name for name in curand.FUNCTIONS if not library.has(name)] == []


@pytest.mark.parametrize(
    ("prefix", "table"),
    [
        ("CURAND_RNG_", curand.RNG_TYPES),
        ("CURAND_ORDERING_", curand.ORDERINGS),
        ("CURAND_", curand.DIRECTION_VECTOR_SETS),
        ("CURAND_", curand.METHODS),
    ],
)
def test_constants_are_those_of_the_header(header, prefix, table):
    assert table == {name: header.constants[prefix + name] for name in table}


@pytest.mark.parametrize(
    ("enum", "prefix", "table"),
    [
        ("curandRngType", "CURAND_RNG_", curand.RNG_TYPES),
        ("curandOrdering", "CURAND_ORDERING_", curand.ORDERINGS),
        ("curandMethod", "CURAND_", curand.METHODS),
    ],
)
def test_no_constant_is_left_out(header, enum, prefix, table):
    assert {prefix + name for name in table} == set(header.enums[f"enum {enum}"])


def test_all_statuses_of_the_header_have_words(header):
    declared = {
        number: name.removeprefix("CURAND_STATUS_")
        for name, number in header.enums["enum curandStatus"].items()
    }
    assert declared.pop(0) == "SUCCESS"
    assert declared == {code: name for code, (name, _) in curand.STATUSES.items()}


@pytest.mark.parametrize("status", [*curand.STATUSES, 12345])
def test_a_status_becomes_an_error_that_says_what_failed(status):
    name, meaning = curand.STATUSES.get(status, ("an unknown status", "nothing that"))
    with pytest.raises(curand.CuRandError) as caught:
        curand.check_status("curandSetGeneratorOffset", status)
    assert caught.value.code == status
    assert str(caught.value).startswith(f"cuRAND could not set the offset: {meaning}")
    assert f"curandSetGeneratorOffset returned {name} ({status})" in str(caught.value)


def test_success_is_no_error():
    curand.check_status("curandGenerate", 0)


def test_a_call_is_checked():
    library = curand.open_curand("this test")
    with pytest.raises(curand.CuRandError, match="make a generator on the host: the generator is"):
        library.curandCreateGeneratorHost(ctypes.byref(ctypes.c_void_p()), 77)


def test_the_version_is_known():
    assert curand.open_curand("this test").version.count(".") == 2


def test_without_the_library_the_error_says_what_needs_it(monkeypatch):
    monkeypatch.setattr(curand, "find_curand", lambda: None)
    with pytest.raises(LibraryError, match="that thing needs cuRAND, which is not installed"):
        curand.open_curand("that thing")


def test_the_library_is_looked_for_everywhere(monkeypatch):
    monkeypatch.setattr(curand, "find_in_wheels", lambda places: None)
    opened = []
    monkeypatch.setattr(curand, "open_shared", opened.extend)
    elsewhere = []
    monkeypatch.setattr(curand, "_find_elsewhere", lambda: elsewhere.append(1))
    assert curand.find_curand.__wrapped__() is None
    assert opened == ["libcurand.so.10"]
    assert elsewhere == [1]


def test_the_vendors_finder_knows_the_library():
    assert curand._find_elsewhere() is not None
