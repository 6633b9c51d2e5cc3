"""Generators with their state, whoever computes the numbers.

An `Engine` behaves like a generator of cuRAND: calls continue where the last one ended, whatever
they ask for, and what it is told in between has the same consequences.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np

from pygpulib._record import record
from pygpulib.core.array import ndarray
from pygpulib.core.device import current_driver
from pygpulib.errors import ArgumentError, NoDeviceError, counted
from pygpulib.rand.history import History, Setting, Words, replay
from pygpulib.rand.kinds import RULES, Kind, Ordering, Rules
from pygpulib.rand.request import Distribution, Request, read_integer

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from pygpulib.core.driver import Driver

AnyArray: TypeAlias = "np.ndarray[Any, np.dtype[Any]] | ndarray"

MAX_WORD = 2**64 - 1
MAX_DIMENSIONS = 20_000
_REPLAY_SIZE = 1 << 22


@record(eq=True)
class EngineState:
    """Everything that decides about the numbers to come.

    Attributes
    ----------
    kind : Kind
        The generator.
    ordering : Ordering
        Its ordering.
    seed, offset, dimensions : int
        What it was told.
    position : tuple of int
        Where it is; every engine of the CPU back end has its own meaning.
    memory : bytes
        The states of its sub-sequences, where the position does not say them.
    history : tuple of int or None
        What makes a generator of the other back end like it, if that is known.
    """

    kind: Kind
    ordering: Ordering
    seed: int
    offset: int
    dimensions: int
    position: tuple[int, ...] = ()
    memory: bytes = b""
    history: Words | None = None


class Engine(Protocol):
    """A generator and its state."""

    @property
    def kind(self) -> Kind:
        """Which generator it is."""
        ...

    @property
    def lock(self) -> AbstractContextManager[bool]:
        """Held by whoever calls :meth:`fill` of a generator that threads may share."""
        ...

    @property
    def fills_host_memory(self) -> bool:
        """Whether :meth:`fill` takes NumPy arrays; else it takes arrays of the device."""
        ...

    def set_seed(self, seed: int) -> None:
        """Start from another seed, at the same position."""
        ...

    def set_offset(self, offset: int) -> None:
        """Go to a position."""
        ...

    def set_ordering(self, ordering: Ordering) -> None:
        """Put the sub-sequences together in another order."""
        ...

    def set_dimensions(self, dimensions: int) -> None:
        """Set the number of dimensions of a quasi-random generator."""
        ...

    def fill(self, request: Request, out: AnyArray, stream: int = 0) -> None:
        """Write the next numbers.

        Parameters
        ----------
        request : Request
            What is asked for.
        out : numpy.ndarray or ndarray
            A contiguous array with one axis, of the request's dtype or its signed twin.
        stream : int
            Where the work is queued.
        """
        ...

    def get_state(self) -> EngineState:
        """Return the state, to go on from later or elsewhere."""
        ...

    def set_state(self, state: EngineState) -> None:
        """Go on from a state of an engine of the same kind and back end."""
        ...

    def repeat(self, history: Words) -> None:
        """Do what another engine did; its numbers are dropped."""
        ...


class BaseEngine(ABC):
    """What engines are told, checked in one place.

    Parameters
    ----------
    kind : Kind
        Which generator it is.

    Attributes
    ----------
    kind : Kind
        Which generator it is.
    rules : Rules
        What it can be told.
    seed, offset, dimensions : int
        What it was told.
    ordering : Ordering
        In which order its sub-sequences are put together.
    lock : threading.RLock
        Held while numbers are made.
    """

    fills_host_memory = True
    has_history = False
    """Whether calls of :meth:`fill` are noted."""

    def __init__(self, kind: Kind) -> None:
        self.lock = threading.RLock()
        self.history = History()
        self.kind = kind
        self.rules: Rules = RULES[kind]
        self.seed = 0
        self.offset = 0
        self.dimensions = 1
        self.ordering = self.rules.orderings[0]

    def __reduce__(self) -> tuple[object, ...]:
        """Copy and pickle by the state, which has neither locks nor handles of a library."""
        with self.lock:
            return restore, (self.get_state(),)

    @abstractmethod
    def _restart(self, *, keep_position: bool) -> None:
        """Take note of new settings; the position goes back to the offset unless it is kept."""

    @abstractmethod
    def fill(self, request: Request, out: AnyArray, stream: int = 0) -> None:
        """Write the next numbers; see :meth:`Engine.fill`."""

    @abstractmethod
    def get_state(self) -> EngineState:
        """Return the state, to go on from later or elsewhere."""

    @abstractmethod
    def set_state(self, state: EngineState) -> None:
        """Go on from a state of an engine of the same kind and back end."""

    def set_seed(self, seed: int) -> None:
        """Start from another seed, at the same position.

        Raises
        ------
        ArgumentError
            If the generator has none, or the seed does not fit into 64 bits.
        """
        if self.rules.is_quasi:
            raise ArgumentError(
                f"the quasi-random generator {self.rules.name} has no seed",
                help="its numbers are always the same; set an offset to start elsewhere",
            )
        seed = read_integer("seed", seed, -(2**63), MAX_WORD) & MAX_WORD
        # As in cuRAND: what is no change does not start anything anew.
        if seed != self.seed:
            self.seed = seed
            self._restart(keep_position=True)
            self._note_setting(Setting.SEED, seed)

    def set_offset(self, offset: int) -> None:
        """Go to a position.

        Raises
        ------
        ArgumentError
            If the generator has none, or the offset is negative or does not fit into 64 bits.
        """
        if not self.rules.has_offset:
            raise ArgumentError(
                f"the generator {self.rules.name} has no offset",
                detail="it cannot start elsewhere in its sequence",
                help="use another generator, such as XORWOW or Philox, or another seed",
            )
        self.offset = read_integer("offset", offset, 0, MAX_WORD)
        self._restart(keep_position=False)
        self._note_setting(Setting.OFFSET, self.offset)

    def set_ordering(self, ordering: Ordering) -> None:
        """Put the sub-sequences together in another order.

        Raises
        ------
        ArgumentError
            If the generator does not have that order.
        """
        if ordering not in self.rules.orderings:
            known = ", ".join(each.name for each in self.rules.orderings)
            name = ordering.name if isinstance(ordering, Ordering) else repr(ordering)
            raise ArgumentError(
                f"the generator {self.rules.name} has no ordering {name}",
                detail=f"expected one of {known}",
            )
        if ordering != self.ordering:
            self.ordering = Ordering(ordering)
            self._restart(keep_position=True)
            self._note_setting(Setting.ORDERING, int(self.ordering))

    def set_dimensions(self, dimensions: int) -> None:
        """Set the number of dimensions of a quasi-random generator.

        Raises
        ------
        ArgumentError
            If the generator has no dimensions, or not so many.
        """
        if not self.rules.is_quasi:
            raise ArgumentError(
                f"the pseudo-random generator {self.rules.name} has no dimensions",
                help="use a quasi-random generator, such as SOBOL32",
            )
        self.dimensions = read_integer("dimensions", dimensions, 1, MAX_DIMENSIONS)
        self._restart(keep_position=True)
        self._note_setting(Setting.DIMENSIONS, self.dimensions)

    def check(self, request: Request) -> None:
        """Refuse requests that the generator does not serve.

        Raises
        ------
        ArgumentError
            If raw numbers of another width are asked for.
        """
        if request.distribution is Distribution.RAW and request.dtype != f"uint{self.rules.bits}":
            raise ArgumentError(
                f"the generator {self.rules.name} was asked for raw numbers of type "
                f"{request.dtype}",
                detail=f"its raw numbers have {self.rules.bits} bits",
            )

    def check_size(self, size: int) -> None:
        """Refuse numbers of points that leave a point incomplete.

        Raises
        ------
        ArgumentError
            If so many numbers are no multiple of the dimensions.
        """
        if size % self.dimensions:
            raise ArgumentError(
                f"the quasi-random generator {self.rules.name} with "
                f"{counted(self.dimensions, 'dimension')} was asked for {counted(size, 'number')}",
                detail="expected a multiple of the number of dimensions",
            )

    def needs_pairs(self, request: Request) -> bool:
        """Whether only even numbers are made of what is asked for."""
        is_normal = request.distribution in {Distribution.NORMAL, Distribution.LOGNORMAL}
        return self.rules.pairs_normals and is_normal

    # ----------------------------------------------------------------------------- the state

    def _note_setting(self, setting: Setting, value: int) -> None:
        # Generators without an offset begin again with whatever they are told.
        restarts = setting is Setting.OFFSET or not self.rules.has_offset
        self.history.tell(setting, value, restarts=restarts)

    def note_numbers(self, request: Request, size: int) -> None:
        """Note that numbers were made."""
        if size % 2 and self.needs_pairs(request):
            size += 1
        self.history.ask(request, size)

    def _state(self, position: tuple[int, ...], memory: bytes = b"") -> EngineState:
        """Return a state with the settings of this engine."""
        return EngineState(
            self.kind,
            self.ordering,
            self.seed,
            self.offset,
            self.dimensions,
            position,
            memory,
            self.history.words if self.has_history else None,
        )

    def _check_kind(self, state: EngineState) -> None:
        if state.kind != self.kind:
            raise ArgumentError(
                f"the state is one of the generator {RULES[state.kind].name}",
                detail=f"expected one of {self.rules.name}",
            )

    def _take_settings(self, state: EngineState) -> None:
        """Take the settings of a state."""
        self._check_kind(state)
        self.ordering, self.seed = state.ordering, state.seed
        self.offset, self.dimensions = state.offset, state.dimensions
        self.history = History(state.history)

    def repeat(self, history: Words) -> None:
        """Do what another engine did; its numbers are dropped."""
        tell = {
            Setting.SEED: self.set_seed,
            Setting.OFFSET: self.set_offset,
            Setting.ORDERING: lambda value: self.set_ordering(Ordering(value)),
            Setting.DIMENSIONS: self.set_dimensions,
        }
        replay(history, lambda setting, value: tell[setting](value), self._drop)

    def _drop(self, request: Request, size: int) -> None:
        """Generate numbers that nobody wants."""
        step = _REPLAY_SIZE - _REPLAY_SIZE % self.dimensions
        numbers = self._scratch(min(size, step), request.dtype)
        for begin in range(0, size, step):
            self.fill(request, numbers[: min(step, size - begin)])  # type: ignore[arg-type]

    def _scratch(self, size: int, dtype: str) -> AnyArray:
        """Return an array that :meth:`fill` can write to."""
        return np.empty(size, dtype)


def restore(state: EngineState) -> Engine:
    """Return a generator of the current back end that goes on from a state of any back end.

    Raises
    ------
    ArgumentError
        If the state is one of the other back end, and does not tell how it came about.
    """
    engine = make_engine(state.kind)
    # Only engines of the CPU have positions.
    if bool(state.position) == engine.fills_host_memory:
        engine.set_state(state)
    elif state.history is not None:
        engine.repeat(state.history)
    else:
        raise foreign_state(state)
    return engine


def foreign_state(state: EngineState) -> ArgumentError:
    """Return the error for a state that only the other back end can go on from."""
    return ArgumentError(
        f"the state of a generator {RULES[state.kind].name} comes from another back end",
        detail="it does not tell how it came about",
        help="let it go on where it is from, or begin anew with its seed and an offset",
    )


_TABLES = {"cpu": "pygpulib.rand.cpu", "cuda": "pygpulib.rand.cuda"}
"""The module that makes the engines of each back end, with its function ``create``."""


def make_engine(kind: Kind, driver: Driver | None = None) -> Engine:
    """Return a new generator.

    Parameters
    ----------
    kind : Kind
        Which one.
    driver : Driver, optional
        The back end that is to compute the numbers; default: the current one.

    Raises
    ------
    NoDeviceError
        If the back end has no generators.
    """
    name = (driver or current_driver()).name
    table = _TABLES.get(name)
    if table is None:
        raise NoDeviceError(
            f"there are no random numbers on the back end {name!r}",
            help="set PYGPULIB_BACKEND=cpu: the same program runs on the processor",
        )
    engine: Engine = import_module(table).create(kind)
    return engine
