"""The tests of NumPy and SciPy, with our functions in the place of theirs.

A test gives host arrays and expects host arrays. In between, every array becomes one of a device:
on the CPU back end one that shares its memory, with its strides, elsewhere a copy.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
import inspect
import warnings
from collections.abc import Iterator
from contextlib import ExitStack
from types import ModuleType
from unittest import mock

import numpy as np
import pytest
from hypothesis import settings
from scipy._lib._array_api import xp_capabilities_table

from pygpulib.core.array import ndarray
from pygpulib.core.creation import to_device
from pygpulib.core.device import current_driver
from pygpulib.core.interop import map_host
from pygpulib.errors import HostFallbackWarning


def lies_on_host_only(array):
    """Whether our arrays cannot have what a test uses: a subclass, objects, long doubles."""
    return type(array) is not np.ndarray or array.dtype.char not in "?bBhHiIlLqQefdFD"


def holds_host_only(value):
    if isinstance(value, (list, tuple)):
        return any(map(holds_host_only, value))
    return isinstance(value, np.ndarray) and lies_on_host_only(value)


def place(array):
    """Return an array on the device: the same memory, where devices can have memory of the host."""
    if current_driver().name == "cpu":
        return map_host(array)
    return to_device(array)


def fetch(array):
    """Return an array of the device on the host: the same memory, where it is the host's."""
    return array.copy_to_host() if array.host_view is None else np.asarray(array.host_view)


def take_result(array, shared):
    """Return what a function returned: a new array, or an output that was given to it."""
    for given, host in shared:
        if given is array:
            host[...] = fetch(array)
            return host
    return fetch(array)


def adapt(function):
    """Return one of our functions for host arrays, by way of the device."""

    def call(*arguments, **options):
        if any(map(holds_host_only, [*arguments, *options.values()])):
            return function(*arguments, **options)
        shared = []

        def to_our(value):
            if isinstance(value, np.ndarray):
                shared.append((place(value), value))
                return shared[-1][0]
            if type(value) in (list, tuple) and any(isinstance(item, np.ndarray) for item in value):
                return type(value)(to_our(item) for item in value)
            return value

        def to_host(value):
            if isinstance(value, (tuple, list)):
                items = [to_host(item) for item in value]
                return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
            if isinstance(value, ndarray):
                return take_result(value, shared)
            assert not (shared and isinstance(value, np.ndarray)), "the result is on the host"
            return value

        arguments = [to_our(value) for value in arguments]
        options = {name: to_our(value) for name, value in options.items()}
        return to_host(function(*arguments, **options))

    call.__name__ = function.__name__
    call.__signature__ = inspect.signature(function)
    if function.__wrapped__ in xp_capabilities_table:  # what SciPy's tests look up
        xp_capabilities_table[call] = xp_capabilities_table[function.__wrapped__]
    return call


class Replaced(ModuleType):
    """A module some of whose names mean something else."""

    def __init__(self, module, names):
        super().__init__(module.__name__)
        self.__dict__.update(names)
        self.module = module

    def __getattr__(self, name):
        return getattr(self.module, name)


def load_tests(name, home, ours, slow=(), on_cpu_only=None):
    """Return the tests of a module of NumPy or SciPy.

    Parameters
    ----------
    name
        The module of tests.
    home
        The module that it tests.
    ours
        The module that is to be tested.
    slow
        Names of tests that take more than a second or two.
    on_cpu_only
        Names of tests of what other back ends do not do, and reasons.
    """
    functions = {each: adapt(getattr(ours, each)) for each in ours.__all__ if is_of(home, each)}
    tested, top = importlib.import_module(home), importlib.import_module(home.partition(".")[0])
    profile = settings.get_current_profile_name()
    spec = importlib.util.find_spec(name)
    module = importlib.util.module_from_spec(spec)
    with ExitStack() as stack:
        for each, function in functions.items():
            stack.enter_context(mock.patch.object(tested, each, function))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("ignore", HostFallbackWarning)
        spec.loader.exec_module(module)
    settings.load_profile(profile)  # SciPy's tests choose one of their own
    inner = Replaced(tested, functions)
    replaced = {id(tested): inner, id(top): Replaced(top, {"linalg": inner})}
    for each, value in list(vars(module).items()):
        if id(value) in replaced:
            setattr(module, each, replaced[id(value)])
    found = {
        each: value for each, value in vars(module).items() if each.startswith(("Test", "test_"))
    }
    for test in found.values():
        for one in vars(test).values() if isinstance(test, type) else [test]:
            list_parameters(one)
    for each in slow:
        mark_test(found, each, pytest.mark.slow)
    for each, reason in (on_cpu_only or {}).items():
        mark_test(found, each, pytest.mark.cpu_only(reason))
    return found


def is_of(home, name):
    return hasattr(importlib.import_module(home), name) and name != "LinAlgError"


def list_parameters(test):
    """Make lists of the iterators among a test's parameters, which pytest warns of."""
    for position, mark in enumerate(getattr(test, "pytestmark", ())):
        if mark.name == "parametrize" and isinstance(mark.args[1], Iterator):
            names, values = mark.args
            listed = pytest.mark.parametrize(names, list(values), **mark.kwargs)
            test.pytestmark[position] = listed.mark


def mark_test(tests, name, mark):
    outer, _, inner = name.partition("::")
    if not inner:
        tests[outer] = mark(tests[outer])
        return
    method = getattr(tests[outer], inner)

    @functools.wraps(method)  # other classes inherit the method itself
    def marked(*arguments, **options):
        return method(*arguments, **options)

    setattr(tests[outer], inner, mark(marked))
