"""What programs add to the kernel language: meanings of functions, methods and attributes.

A meaning is a function of types that returns the function to compile, as numba's ``overload`` has
it. The front end asks here before it gives up on a name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pygpulib._record import field, record
from pygpulib.jit import types

F = TypeVar("F", bound=Callable[..., Any])

Pattern = Any
"""Which types a method is for: a type, or what ``isinstance`` takes."""


@record
class Overload:
    """One meaning.

    Attributes
    ----------
    choose : callable
        Takes the types of the arguments, and returns the function to compile, or None.
    is_specific : bool
        Whether it was made for this package's target, and comes before those for any target.
    prefers_literals : bool
        Whether it is asked with the values of constants first.
    pattern : object
        Which types of the first argument it is for; None for functions.
    chosen : dict
        What it returned so far.
    """

    choose: Callable[..., Any]
    is_specific: bool
    prefers_literals: bool
    pattern: Pattern = None
    chosen: dict[object, Callable[..., Any] | None] = field(default_factory=dict)


_FUNCTIONS: dict[int, tuple[object, list[Overload]]] = {}
_METHODS: dict[str, list[Overload]] = {}
_ATTRIBUTES: dict[str, list[Overload]] = {}
_JITABLE: dict[int, object] = {}


def add_function(function: object, overload: Overload) -> None:
    """Give calls of a Python object a meaning."""
    _insert(_FUNCTIONS.setdefault(id(function), (function, []))[1], overload)


def add_method(name: str, overload: Overload) -> None:
    """Give a method of some types a meaning."""
    _insert(_METHODS.setdefault(name, []), overload)


def add_attribute(name: str, overload: Overload) -> None:
    """Give an attribute of some types a meaning."""
    _insert(_ATTRIBUTES.setdefault(name, []), overload)


def _insert(overloads: list[Overload], new: Overload) -> None:
    """Add an overload: specific ones come first, and among these the older ones."""
    overloads.append(new)
    overloads.sort(key=lambda each: not each.is_specific)


def add_jitable(function: F) -> F:
    """Let kernels call a plain Python function; return it."""
    _JITABLE[id(function)] = function
    return function


def is_jitable(function: object) -> bool:
    """Return whether kernels may call a plain Python function."""
    return id(function) in _JITABLE


def find_function(function: object) -> list[Overload]:
    """Return the meanings of calls of a Python object."""
    found = _FUNCTIONS.get(id(function))
    return [] if found is None else found[1]


def find_methods(type_: types.Type | None, name: str) -> list[Overload]:
    """Return the meanings of a method of a type."""
    return _matching(_METHODS.get(name), type_)


def find_attributes(type_: types.Type | None, name: str) -> list[Overload]:
    """Return the meanings of an attribute of a type."""
    return _matching(_ATTRIBUTES.get(name), type_)


def _matching(overloads: list[Overload] | None, type_: types.Type | None) -> list[Overload]:
    if not overloads or type_ is None:
        return []
    return [each for each in overloads if _fits(type_, each.pattern)]


def _fits(type_: types.Type, pattern: Pattern) -> bool:
    if isinstance(pattern, types.Type):
        return type_ == pattern
    return isinstance(type_, pattern)
