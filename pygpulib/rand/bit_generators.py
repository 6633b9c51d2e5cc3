"""Bit generators: where a `Generator` takes its random bits from.

Each is seeded as NumPy's are, by a `numpy.random.SeedSequence`, and gives sub-streams, one for an
element or a few neighbouring elements of what is drawn.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
from numpy.random import SeedSequence
from numpy.random.bit_generator import ISeedSequence, ISpawnableSeedSequence

from pygpulib._record import record
from pygpulib.core.creation import device_array
from pygpulib.errors import ArgumentError, ArgumentTypeError, counted
from pygpulib.rand.compiling import Function
from pygpulib.rand.engine import Engine, make_engine
from pygpulib.rand.filling import fill_array
from pygpulib.rand.kinds import Kind
from pygpulib.rand.request import Distribution, make_request, read_integer
from pygpulib.rand.substreams import open_counted, open_fed

State: TypeAlias = dict[str, Any]

_WORDS = 4
_NOTHING = np.uint64(0)
_MASK_64 = 2**64 - 1
_JUMP = 2**56
"""How far a jump goes in the sequence of a generator that has one sequence."""


@record
class Source:
    """Sub-streams for one draw.

    Attributes
    ----------
    open_stream : Function
        Takes the items of `arguments` and a number, and returns the sub-stream of this number.
    arguments : tuple
        Three things for the kernel.
    """

    open_stream: Function
    arguments: tuple[Any, ...]


class BitGenerator(ABC):
    """A source of random bits.

    Parameters
    ----------
    seed : None, int, array_like of int, SeedSequence or BitGenerator
        Where to begin, as in NumPy: ``None`` takes the operating system's randomness, and the same
        numbers give the same sequence everywhere.

    Attributes
    ----------
    lock : threading.RLock
        Held while bits are taken.

    Raises
    ------
    ArgumentError
        If a number is negative.
    ArgumentTypeError
        If the seed is something else.
    """

    def __init__(self, seed: object = None) -> None:
        self.lock = threading.RLock()
        self._seed_seq = read_seed(seed)

    @property
    def seed_seq(self) -> ISeedSequence:
        """What the generator was seeded with."""
        return self._seed_seq

    @property
    @abstractmethod
    def state(self) -> State:
        """Everything that decides about the numbers to come, as a dictionary."""

    @state.setter
    @abstractmethod
    def state(self, value: Mapping[str, Any]) -> None:
        """Go on from a state."""

    @abstractmethod
    def take(self, streams: int) -> Source:
        """Return the next sub-streams; the calls after this one get others."""

    @abstractmethod
    def _jump(self, jumps: int) -> None:
        """Go so many jumps ahead."""

    def get_state(self) -> State:
        """Return `state`."""
        return self.state

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Set `state`."""
        self.state = state

    def jumped(self, jumps: int = 1) -> BitGenerator:
        """Return a generator that is far ahead in the sequence, for work in parallel.

        Parameters
        ----------
        jumps : int
            How many jumps, each longer than what a program draws.
        """
        count = read_integer("jumps", jumps, 0, 2**31)
        other = type(self)(self._seed_seq)
        other.state = self.state
        other._jump(count)
        return other

    def spawn(self, n_children: int) -> list[BitGenerator]:
        """Return independent generators of the same kind.

        Parameters
        ----------
        n_children : int
            How many.
        """
        seeds = self._seed_seq
        if not isinstance(seeds, ISpawnableSeedSequence):
            raise ArgumentTypeError(
                "the seed of this generator cannot make others",
                help="seed it with a numpy.random.SeedSequence",
            )
        count = read_integer("n_children", n_children, 0, 2**32 - 1)
        return [type(self)(child) for child in seeds.spawn(count)]

    def random_raw(self, size: object = None, output: bool = True) -> Any:
        """Return random numbers of 64 bits: an int, or a device array of dtype uint64.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the array.
        output : bool
            If false, return nothing.
        """
        from pygpulib.rand.discrete import LONG_INTEGERS
        from pygpulib.rand.drawing import draw

        whole = (np.array(0, np.uint64), np.array(0, np.uint64))
        result = draw(self, LONG_INTEGERS, np.dtype(np.uint64), whole, size)
        if not output:
            return None
        return int(result) if size is None else result

    def _seed_word(self) -> int:
        return int(self._seed_seq.generate_state(1, np.uint64)[0])

    def _check_state(self, value: object, fields: tuple[str, ...]) -> Mapping[str, Any]:
        name = type(self).__name__
        if not isinstance(value, Mapping):
            raise ArgumentTypeError(
                f"the state of a generator is a {type(value).__name__}",
                detail="expected a dictionary, as the attribute `state` gives it",
            )
        if value.get("bit_generator") != name or not all(field in value for field in fields):
            raise ArgumentError(
                f"the state is not one of the bit generator {name}",
                detail=f"expected a dictionary with bit_generator={name!r} and {', '.join(fields)}",
            )
        return value

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self._seed_seq, self.state)


def _rebuild(cls: type[BitGenerator], seed: ISeedSequence, state: State) -> BitGenerator:
    """Rebuild a pickled bit generator."""
    generator = cls(seed)
    generator.state = state
    return generator


def read_seed(seed: object) -> ISeedSequence:
    """Return a seed as what random bits can be made from.

    Raises
    ------
    ArgumentError
        If a number is negative.
    ArgumentTypeError
        If it is something else than None, integers, a `SeedSequence` or a bit generator.
    """
    if isinstance(seed, BitGenerator):
        return seed.seed_seq
    if isinstance(seed, ISeedSequence):
        return seed
    try:
        return SeedSequence(seed)  # type: ignore[arg-type]
    except ValueError as cause:
        raise ArgumentError(
            f"the seed is {seed!r}", detail="expected integers that are not negative"
        ) from cause
    except TypeError as cause:
        raise ArgumentTypeError(
            f"the seed is {seed!r}",
            detail="expected None, an integer, a sequence of integers, or a SeedSequence",
        ) from cause


class Philox4x3210(BitGenerator):
    """Philox4x32-10 of Salmon, Moraes, Dror and Shaw (2011), a function of counter and key.

    The key comes from the seed. Two words of the counter are the number of a sub-stream, one is the
    number of the jump, and one counts the blocks within a sub-stream.

    Parameters
    ----------
    seed : None, int, array_like of int, SeedSequence or BitGenerator
        Where to begin; see :class:`BitGenerator`.

    Examples
    --------
    >>> Philox4x3210(5).random_raw()
    13053339612417258100
    """

    def __init__(self, seed: object = None) -> None:
        super().__init__(seed)
        self._key = self._seed_word()
        self._next = 0
        self._jumps = 0

    @property
    def state(self) -> State:
        """Everything that decides about the numbers to come, as a dictionary."""
        with self.lock:
            return {
                "bit_generator": "Philox4x3210",
                "key": self._key,
                "next": self._next,
                "jumps": self._jumps,
            }

    @state.setter
    def state(self, value: Mapping[str, Any]) -> None:
        found = self._check_state(value, ("key", "next", "jumps"))
        with self.lock:
            self._key = read_integer("key", found["key"], 0, _MASK_64)
            self._next = read_integer("next", found["next"], 0, _MASK_64)
            self._jumps = read_integer("jumps", found["jumps"], 0, _MASK_64 >> 32)

    def take(self, streams: int) -> Source:
        """Return the next sub-streams; the calls after this one get others."""
        with self.lock:
            start = self._next
            self._next = (start + streams) & _MASK_64
            arguments = np.uint64(start), np.uint64(self._jumps), np.uint64(self._key)
        return Source(open_counted, arguments)

    def advance(self, delta: int) -> Philox4x3210:
        """Go ahead by so many sub-streams, or back, and return the generator.

        Parameters
        ----------
        delta : int
            How many, less than 2**64.

        Raises
        ------
        ArgumentTypeError, ArgumentError
            If it is no integer, or too large.
        """
        number = read_integer("delta", delta, -_MASK_64, _MASK_64)
        with self.lock:
            self._next = (self._next + number) & _MASK_64
        return self

    def _jump(self, jumps: int) -> None:
        self._jumps = (self._jumps + jumps) & (_MASK_64 >> 32)


class _Fed(BitGenerator):
    """A bit generator over one of cuRAND's; its sequence gives each sub-stream the first block."""

    _kind: Kind

    def __init__(self, seed: object = None) -> None:
        super().__init__(seed)
        self._engine: Engine = make_engine(self._kind)
        self._go_to(self._seed_word(), 0)

    def _go_to(self, seed: int, position: int) -> None:
        self._engine.set_seed(seed)
        self._engine.set_offset(position)
        self._seed, self._next = seed, position

    @property
    def state(self) -> State:
        """Everything that decides about the numbers to come, as a dictionary."""
        with self.lock:
            return {
                "bit_generator": type(self).__name__,
                "seed": self._seed,
                "next": self._next,
            }

    @state.setter
    def state(self, value: Mapping[str, Any]) -> None:
        found = self._check_state(value, ("seed", "next"))
        seed, position = (read_integer(name, found[name], 0, _MASK_64) for name in ("seed", "next"))
        with self.lock:
            self._go_to(seed, position)

    def take(self, streams: int) -> Source:
        """Return the next sub-streams; the calls after this one get others."""
        words = device_array(_WORDS * max(streams, 1), np.uint32)
        with self.lock:
            fill_array(self._engine, make_request(Distribution.RAW, "uint32"), words)
            self._next = (self._next + words.size) & _MASK_64
        return Source(open_fed, (words, np.uint64(self._seed & 0xFFFFFFFF), _NOTHING))

    def _jump(self, jumps: int) -> None:
        position = self._next + jumps * _JUMP
        if position > _MASK_64:
            raise ArgumentError(
                f"the sequence of {type(self).__name__} ends before {counted(jumps, 'jump')}",
                detail=f"expected at most {_MASK_64 // _JUMP} jumps in all",
                help="spawn generators instead, or use Philox4x3210",
            )
        self._go_to(self._seed, position)


class XORWOW(_Fed):
    """XORWOW of Marsaglia (2003), with cuRAND's sequence.

    The sequence gives every element, or a few neighbouring ones, a block of four words. What a
    method asks for beyond that is Philox4x32-10 of this block.

    Parameters
    ----------
    seed : None, int, array_like of int, SeedSequence or BitGenerator
        Where to begin; see :class:`BitGenerator`.
    """

    _kind = Kind.XORWOW


class MRG32k3a(_Fed):
    """MRG32k3a of L'Ecuyer (1999), with cuRAND's sequence; see :class:`XORWOW`.

    Parameters
    ----------
    seed : None, int, array_like of int, SeedSequence or BitGenerator
        Where to begin; see :class:`BitGenerator`.

    Notes
    -----
    The largest 209 numbers of 32 bits do not occur among its raw numbers.
    """

    _kind = Kind.MRG32K3A
