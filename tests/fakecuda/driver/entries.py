"""Which Python method stands behind which exported function, and the record of calls."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from tests.fakecuda.driver.status import SPELLINGS

Method = Callable[..., object]


class Entry(NamedTuple):
    """How a method is exported.

    `needs` is what must hold before the method is called: "nothing", "initialization" or
    "context" (one that is current and not spoiled by a fault).
    """

    names: tuple[str, ...]
    needs: str
    method: Method


def entry(*names: str, needs: str = "context") -> Callable[[Method], Method]:
    """Export a method under some names."""

    def mark(method: Method) -> Method:
        method.entry = (names, needs)  # type: ignore[attr-defined]
        return method

    return mark


def find_entries(group: object) -> Iterator[Entry]:
    """Yield the exported methods of an object."""
    for name in dir(type(group)):
        method = getattr(type(group), name)
        if marked := getattr(method, "entry", None):
            yield Entry(marked[0], marked[1], getattr(group, name))


def base_name(name: str) -> str:
    """Return a function's name without its version."""
    return re.sub(r"_v\d+$", "", name)


class Call(NamedTuple):
    """One call of the driver.

    Values of pointers to numbers and handles are what they pointed to when the call returned.
    """

    name: str
    arguments: dict[str, Any]
    status: int
    reason: str
    thread: int

    @property
    def stream(self) -> int | None:
        """The stream that the call names; None for calls without one."""
        given = self.arguments.get("hStream", self.arguments.get("stream", -1))
        return None if given == -1 else given or 0

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value!r}" for name, value in self.arguments.items())
        status = SPELLINGS.get(self.status, str(self.status))
        return f"{self.name}({given}) -> {status} {self.reason}".rstrip()


class Calls(list[Call]):
    """The calls so far, oldest first."""

    def named(self, *names: str) -> Calls:
        """Return the calls of some functions; a name without version means any version."""
        wanted = set(names)
        return Calls(c for c in self if c.name in wanted or base_name(c.name) in wanted)

    def on_stream(self, stream: int) -> Calls:
        """Return the calls that name a stream."""
        return Calls(call for call in self if call.stream == stream)

    def failed(self) -> Calls:
        """Return the calls that did not succeed."""
        return Calls(call for call in self if call.status)

    def names(self) -> list[str]:
        """Return the functions' names, in order."""
        return [base_name(call.name) for call in self]


class Failures:
    """Calls that shall fail."""

    def __init__(self) -> None:
        self._planned: dict[str, list[list[int]]] = {}
        self._lock = threading.Lock()

    def plan(self, name: str, code: int, on_call: int) -> None:
        """Let a later call of a function fail: the next one for `on_call` 1; each one for 0."""
        with self._lock:
            self._planned.setdefault(base_name(name), []).append([on_call, int(code)])

    def take(self, name: str) -> int:
        """Count a call and return the code with which it shall fail, or 0."""
        planned = self._planned.get(base_name(name))
        if not planned:
            return 0
        with self._lock:
            found = 0
            for plan in list(planned):
                if plan[0] == 0:
                    found = found or plan[1]
                    continue
                plan[0] -= 1
                if plan[0] == 0:
                    planned.remove(plan)
                    found = found or plan[1]
            return found


def describe_argument(value: Any) -> Any:
    """Return a value to keep in the record of calls."""
    if isinstance(value, ctypes._Pointer):
        if not value:
            return None
        target = value.contents
        simple = isinstance(target, ctypes._SimpleCData)
        return target.value if simple else type(target).from_buffer_copy(target)
    return value
