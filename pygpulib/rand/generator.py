"""NumPy's `Generator`, for arrays on the device."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.errors import ArgumentTypeError
from pygpulib.rand.bit_generators import BitGenerator, Philox4x3210
from pygpulib.rand.generator_continuous import DrawsContinuous
from pygpulib.rand.generator_discrete import DrawsDiscrete
from pygpulib.rand.generator_multivariate import DrawsVectors
from pygpulib.rand.generator_order import DrawsOrder

if TYPE_CHECKING:
    from collections.abc import Mapping


class Generator(DrawsContinuous, DrawsDiscrete, DrawsVectors, DrawsOrder):
    """Random numbers with the methods of `numpy.random.Generator`.

    Arrays are made on the current device. Without `size`, and with parameters that are numbers,
    a method returns a number of Python, as NumPy does; `size=()` gives an array without axes.
    Parameters may be arrays, which are broadcast.

    The same seed and calls give the same bits on every back end and with any number of threads,
    for integers, uniform numbers and permutations. What is made with functions such as logarithms
    differs between back ends by as much as these functions do.

    Parameters
    ----------
    bit_generator : BitGenerator
        Where the random bits come from.

    Raises
    ------
    ArgumentTypeError
        If it is no bit generator of this package.

    Examples
    --------
    >>> rng = Generator(Philox4x3210(5))
    >>> rng.integers(10, size=5)
    ndarray([7, 7, 1, 3, 0])
    """

    def __init__(self, bit_generator: BitGenerator) -> None:
        if not isinstance(bit_generator, BitGenerator):
            raise ArgumentTypeError(
                f"the argument bit_generator is {_describe(bit_generator)}",
                detail="expected Philox4x3210, XORWOW or MRG32k3a of pygpulib.rand",
                help="pass rand.Philox4x3210(seed), or use rand.default_rng(seed)",
            )
        self._bit_generator = bit_generator

    @property
    def bit_generator(self) -> BitGenerator:
        """Where the random bits come from."""
        return self._bit_generator

    def spawn(self, n_children: int) -> list[Generator]:
        """Return independent generators of the same kind.

        Parameters
        ----------
        n_children : int
            How many.
        """
        return [type(self)(child) for child in self._bit_generator.spawn(n_children)]

    def get_state(self) -> dict[str, Any]:
        """Return the state of the bit generator, which decides about all numbers to come."""
        return self._bit_generator.get_state()

    def set_state(self, state: Mapping[str, Any]) -> None:
        """Go on from a state.

        Parameters
        ----------
        state : dict
            What `get_state` of a generator over the same kind of bit generator returned.
        """
        self._bit_generator.set_state(state)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._bit_generator,)

    def __repr__(self) -> str:
        return f"{self} at 0x{id(self):X}"

    def __str__(self) -> str:
        return f"{type(self).__name__}({type(self._bit_generator).__name__})"


def _describe(given: object) -> str:
    if isinstance(given, type):
        return f"the class {given.__name__}"
    return f"of type {type(given).__name__}"


def default_rng(seed: object = None) -> Generator:
    """Return a new generator over `Philox4x3210`.

    Parameters
    ----------
    seed : None, int, array_like of int, SeedSequence, BitGenerator or Generator
        Where to begin, as in NumPy. A bit generator is used as it is, and a generator returned as
        it is.

    Examples
    --------
    >>> default_rng(5).random(2)
    ndarray([0.70762296, 0.3294261 ])
    """
    if isinstance(seed, Generator):
        return seed
    if isinstance(seed, BitGenerator):
        return Generator(seed)
    if isinstance(seed, np.random.BitGenerator | np.random.Generator | np.random.RandomState):
        raise ArgumentTypeError(
            f"the seed is a {type(seed).__name__} of NumPy",
            detail="its numbers are made on the host, one after the other",
            help="pass an integer, or a numpy.random.SeedSequence",
        )
    return Generator(Philox4x3210(seed))
