"""Pickling of functions: by reference where they can be imported, else with their code."""

from __future__ import annotations

import builtins
import importlib
import linecache
import marshal
import sys
from types import CellType, CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def reduce_wrapper(
    wrapper: object, function: FunctionType, rebuild: Callable[..., object], rest: tuple[Any, ...]
) -> str | tuple[object, ...]:
    """Return what ``__reduce__`` of an object around a function should.

    Parameters
    ----------
    wrapper : object
        The object.
    function : function
        The function inside.
    rebuild : callable
        Makes such an object from a function and `rest`.
    rest : tuple
        What else it takes.
    """
    found: object = sys.modules.get(function.__module__)
    for part in function.__qualname__.split("."):
        found = getattr(found, part, None)
    if found is wrapper:
        return function.__qualname__
    return _rebuild, (rebuild, _Frozen(function), rest)


def _rebuild(rebuild: Callable[..., object], frozen: _Frozen, rest: tuple[Any, ...]) -> object:
    return rebuild(frozen.thaw(), *rest)


class _Frozen:
    """A function as data: its code, and what the code refers to."""

    def __init__(self, function: FunctionType) -> None:
        code = function.__code__
        self._code = marshal.dumps(code)
        self._name = function.__name__
        self._qualname = function.__qualname__
        self._module = function.__module__
        self._doc = function.__doc__
        self._defaults = function.__defaults__
        self._keyword_defaults = function.__kwdefaults__
        self._cells = [_freeze(cell.cell_contents) for cell in function.__closure__ or ()]
        self._globals = {
            name: _freeze(function.__globals__[name])
            for name in set(_names(code))
            if name in function.__globals__ and function.__globals__[name] is not function
        }
        # The kernel compiler reads the source, which may not exist where this is thawed.
        self._filename = code.co_filename
        self._lines = linecache.getlines(code.co_filename, function.__globals__)

    def thaw(self) -> FunctionType:
        """Return the function."""
        if not linecache.getlines(self._filename):
            size = sum(map(len, self._lines))
            linecache.cache[self._filename] = (size, None, self._lines, self._filename)
        namespace: dict[str, object] = {"__name__": self._module, "__builtins__": builtins}
        namespace.update({name: _thaw(value) for name, value in self._globals.items()})
        function = FunctionType(
            marshal.loads(self._code),
            namespace,
            self._name,
            self._defaults,
            tuple(CellType(_thaw(value)) for value in self._cells),
        )
        function.__kwdefaults__ = self._keyword_defaults
        function.__qualname__ = self._qualname
        function.__module__ = self._module
        function.__doc__ = self._doc
        return function


class _Module:
    """A module by its name; modules cannot be pickled."""

    def __init__(self, name: str) -> None:
        self.name = name


def _freeze(value: object) -> object:
    if isinstance(value, ModuleType):
        return _Module(value.__name__)
    if isinstance(value, FunctionType) and "<locals>" in value.__qualname__:
        return _Frozen(value)
    return value


def _thaw(value: object) -> object:
    if isinstance(value, _Module):
        return importlib.import_module(value.name)
    return value.thaw() if isinstance(value, _Frozen) else value


def _names(code: CodeType) -> Iterator[str]:
    """Yield the global and attribute names in a function and in those defined inside it."""
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names(constant)
