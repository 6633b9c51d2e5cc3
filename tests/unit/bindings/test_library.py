from __future__ import annotations

import ctypes
import subprocess

import pytest

from pygpulib._bindings.library import Function, Library, open_shared
from pygpulib.errors import LibraryError

SOURCE = """
int twice(int number) { return 2 * number; }
long long half(long long number) { return number / 2; }
int last(void *a, int b, void *c) { return b; }
"""
FUNCTIONS = {
    "twice": Function("double a number", (ctypes.c_int,)),
    "half": Function("halve a number", (ctypes.c_longlong,), ctypes.c_longlong, is_checked=False),
    "last": Function("choose", (ctypes.c_void_p, ctypes.c_int, ctypes.c_void_p)),
    "absent": Function("do what is new", (ctypes.c_int,)),
}


@pytest.fixture(scope="module")
def handle(tmp_path_factory):
    folder = tmp_path_factory.mktemp("library")
    source, library = folder / "numbers.c", folder / "numbers.so"
    source.write_text(SOURCE)
    subprocess.run(["gcc", "-shared", "-fPIC", str(source), "-o", str(library)], check=True)
    return ctypes.CDLL(str(library))


@pytest.fixture
def statuses():
    return []


@pytest.fixture
def library(handle, statuses):
    def check(name, status):
        statuses.append((name, status))

    return Library("the library of numbers", handle, FUNCTIONS, check, "1.2")


def test_a_function_is_called_with_its_declared_types(library):
    assert library.half(1 << 40) == 1 << 39
    with pytest.raises(ctypes.ArgumentError):
        library.half("4")


def test_a_status_other_than_zero_is_checked_under_the_name_of_the_function(library, statuses):
    assert library.twice(0) == 0
    assert statuses == []
    library.twice(3)
    assert statuses == [("twice", 6)]


def test_what_is_no_status_is_not_checked(library, statuses):
    library.half(8)
    assert statuses == []


def test_a_function_is_looked_up_once(library):
    assert library.twice is library.twice


def test_a_function_that_the_library_lacks_is_named_with_version_and_file(library, handle):
    with pytest.raises(LibraryError) as raised:
        library.absent(1)
    assert str(raised.value) == (
        "the library of numbers cannot do what is new\n"
        f"the library of numbers 1.2 ({handle._name}) has no function absent\n"
        "help: install a newer version of the library of numbers"
    )


def test_a_library_tells_what_it_has(library):
    assert library.has("twice")
    assert not library.has("absent")


def test_a_function_that_was_not_declared_is_no_attribute(library):
    with pytest.raises(AttributeError, match="has no attribute 'thrice'"):
        library.thrice(1)


def test_a_raw_function_takes_what_ctypes_takes_and_checks_nothing(library, statuses):
    last = library.raw("last")
    assert last(ctypes.c_void_p(1 << 40), 7, None) == 7
    assert statuses == []
    library.check("last", 7)
    assert statuses == [("last", 7)]


def test_a_raw_function_that_the_library_lacks_is_refused(library):
    with pytest.raises(LibraryError, match="has no function absent"):
        library.raw("absent")


def test_the_first_library_that_exists_is_opened(handle):
    opened = open_shared(["libthat_nobody_has.so.1", handle._name])
    assert opened is not None
    assert opened._name == handle._name


def test_no_library_is_no_error():
    assert open_shared(["libthat_nobody_has.so.1"]) is None
