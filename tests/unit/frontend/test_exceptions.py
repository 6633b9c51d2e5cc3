"""``raise`` and ``assert`` in kernels."""

# ruff: noqa: PLE0704

from types import SimpleNamespace

import numpy as np
import pytest

from pygpulib.errors import KernelTypeError, UnsupportedSyntaxError
from pygpulib.jit.backends.interp.launch import run
from pygpulib.jit.options import CompileOptions
from tests.helpers.kernels import Device, compile_for, interpret

LIMIT = 3


def out():
    return np.zeros(8)


def failure(kernel, *args, error=KernelTypeError):
    """Return the message of a kernel that is refused, without the file's path."""
    with pytest.raises(error) as caught:
        compile_for(kernel, *args)
    first, *rest = str(caught.value).splitlines()
    assert first.startswith(f"{__file__}:{caught.value.span.line}: ")
    return [first.partition(": ")[2], *rest]


def test_raise_and_assert_reach_the_host_in_debug_mode():
    @Device
    def checked(x):
        if x < 0:
            raise ValueError("negative", 3)
        return x

    def kernel(a):
        a[1] = checked(a[0])
        assert a[1] < 10, "too large"
        assert a[1] != 5
        if a[1] == 6:
            raise IndexError
        a[2] = 1

    cases = {-1.0: (ValueError, "negative, 3"), 11.0: (AssertionError, "too large")}
    cases |= {5.0: (AssertionError, ""), 6.0: (IndexError, "")}
    for value, expected in cases.items():
        a = np.array([value, 0, 0])
        error = interpret(kernel, a, debug=True)
        assert (error.exception, error.message) == expected
        assert a[2] == 0
    a = np.array([1.0, 0, 0])
    assert interpret(kernel, a, debug=True) is None
    assert a[2] == 1


def test_without_debug_asserts_are_dropped_and_raise_ends_the_thread():
    def kernel(a):
        assert a[0] > 0, "dropped"
        if a[0] == -1:
            raise ValueError("ends the thread")
        a[1] = 1

    for value in (-2.0, -1.0):
        a = np.array([value, 0])
        interpret(kernel, a)
        assert a[1] == (value == -2.0)


def test_raising_something_else_is_refused():
    def kernel(a):
        raise LIMIT

    lines = failure(kernel, out())
    assert lines[0].startswith("only exceptions can be raised, not ")
    assert lines[-1] == "help: write raise ValueError('...')"


def test_messages_show_values_of_run_time():
    @Device
    def check(x, z):
        if x > 0:
            raise ValueError(f"{{x}} = {x}, {x:.2f}; z = {z}", z, x > 1)

    def kernel(a, f, z):
        check(a[0], z)
        check(f[0], z)
        assert f[1] < 0, f[1]

    def message(*values, number=0):
        a, f = np.array(values[:1]), np.array(values[1:], np.float32)
        function = compile_for(kernel, a, f, 0.5 - 1j, options=CompileOptions(debug=True))
        fault = run(function, 1, 1, (a, f, 0.5 - 1j)).fault
        return function.errors[fault.code].message.format(*fault.details)

    assert message(7, 0, 0) == "{x} = 7, 7.00; z = (0.5-1.0j), (0.5-1.0j), True"
    assert message(0, 0.1, 0) == "{x} = 0.1, 0.10; z = (0.5-1.0j), (0.5-1.0j), False"
    assert message(0, 0, 0.1) == "0.1"


def test_messages_have_room_for_seven_numbers():
    def kernel(a):
        raise ValueError(a[0], (a[1], a[2], a[3]), f"{a[4]}{a[5]}", a[6], a[7])

    lines = failure(kernel, out())
    assert lines[0] == "the message of an exception shows 8 numbers"
    assert lines[-2:] == ["expected at most 7", "help: show fewer numbers"]


def test_arrays_are_no_messages():
    def kernel(a):
        raise ValueError(a)

    assert failure(kernel, out())[0] == (
        "the array 'a' cannot be printed in a kernel, because its shape is not known when the "
        "kernel is compiled"
    )


class NotReadyError(Exception):
    """An exception of a user."""


CAPTURED = NotReadyError("later")
EXCEPTIONS = SimpleNamespace(NotReady=NotReadyError)


def test_exceptions_of_users():
    def kernel(a):
        if a[0] == 1:
            raise NotReadyError
        if a[0] == 2:
            raise EXCEPTIONS.NotReady("in a namespace")
        if a[0] == 3:
            raise CAPTURED

    found = [interpret(kernel, np.array([k, 0]), debug=True) for k in (1, 2, 3)]
    assert {entry.exception for entry in found} == {NotReadyError}
    assert [entry.message for entry in found] == ["", "in a namespace", "later"]


def test_raise_without_an_exception_is_refused():
    def kernel(a):
        raise

    lines = failure(kernel, out(), error=UnsupportedSyntaxError)
    assert lines[0] == "'raise' without an exception is not supported in kernels"


def test_raise_from_is_refused():
    def kernel(a):
        raise ValueError("x") from None

    lines = failure(kernel, out(), error=UnsupportedSyntaxError)
    assert lines[0] == "'raise ... from ...' is not supported in kernels"
