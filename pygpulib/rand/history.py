"""What happened to a generator since it was started, from which another one can be made like it.

cuRAND does not tell the state of its generators, and the states of one back end mean nothing to the
other. So generators note what they are told and asked for, and a generator that is told and asked
the same once more goes on with the same numbers, whoever computes them.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, TypeAlias

from pygpulib.rand.request import Distribution, Request, make_request

if TYPE_CHECKING:
    from collections.abc import Callable

Words: TypeAlias = tuple[int, ...]
"""A history, three numbers for each event."""

MAX_EVENTS = 1 << 14
"""So many events are noted: programs that never start anew must not fill the memory."""


class Setting(enum.IntEnum):
    """What a generator can be told."""

    SEED = 0
    OFFSET = 1
    ORDERING = 2
    DIMENSIONS = 3


_FILL = 4

# The requests that stand for all of their kind when numbers are generated once more.
_POISSON_BY_NORMALS = 2000.0
_REPLAYED = (
    make_request(Distribution.UNIFORM, "float32"),
    make_request(Distribution.UNIFORM, "float64"),
    make_request(Distribution.NORMAL, "float32", 0.0, 1.0),
    make_request(Distribution.NORMAL, "float64", 0.0, 1.0),
    make_request(Distribution.POISSON, "uint32", _POISSON_BY_NORMALS),
)


def _index_of(request: Request) -> int:
    """Return which of the requests above changes the state of a generator like another one."""
    single = request.dtype == "float32"
    match request.distribution:
        case Distribution.UNIFORM:
            return 0 if single else 1
        case Distribution.BINOMIAL:
            return 1
        case Distribution.NORMAL | Distribution.LOGNORMAL:
            return 2 if single else 3
        case Distribution.POISSON if request.parameters[0] >= _POISSON_BY_NORMALS:
            return 4
        case _:
            return 0


class History:
    """The events of a generator since it was started.

    Parameters
    ----------
    words : tuple of int
        What another history was when it was asked for `words`.
    """

    def __init__(self, words: Words | None = ()) -> None:
        self._events = list(zip(*[iter(words or ())] * 3, strict=True))
        self._is_known = words is not None

    @property
    def words(self) -> Words | None:
        """All events, or None if there were too many."""
        if not self._is_known:
            return None
        return tuple(number for event in self._events for number in event)

    def tell(self, setting: Setting, value: int, *, restarts: bool) -> None:
        """Note a setting; with one that starts the generator anew, only settings count before."""
        if restarts:
            self._keep_settings()
            self._events = [event for event in self._events if event[0] != setting]
            self._is_known = True
        self._append((setting, value, 0))

    def ask(self, request: Request, size: int) -> None:
        """Note that numbers were generated."""
        index = _index_of(request)
        last = self._events[-1] if self._events else (-1, 0, 0)
        if last[:2] == (_FILL, index):
            self._events[-1] = (_FILL, index, last[2] + size)
        elif self._is_known:
            self._append((_FILL, index, size))

    def _append(self, event: tuple[int, int, int]) -> None:
        if len(self._events) >= MAX_EVENTS:
            self._is_known &= all(what != _FILL for what, _, _ in self._events)
            self._keep_settings()
        if self._is_known or event[0] != _FILL:
            self._events.append(event)

    def _keep_settings(self) -> None:
        """Forget all but the last setting of each kind."""
        self._events = list({each[0]: each for each in self._events if each[0] != _FILL}.values())


def replay(
    words: Words, tell: Callable[[Setting, int], None], ask: Callable[[Request, int], None]
) -> None:
    """Do once more what a history says.

    Parameters
    ----------
    words : tuple of int
        The history.
    tell : callable
        Takes a setting and its value.
    ask : callable
        Takes a request and a number of numbers, which are to be generated and dropped.
    """
    for what, value, size in zip(*[iter(words)] * 3, strict=True):
        if what == _FILL:
            ask(_REPLAYED[value], size)
        else:
            tell(Setting(what), value)
