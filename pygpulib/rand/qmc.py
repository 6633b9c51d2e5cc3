"""Points for quasi-Monte Carlo methods, after the model of ``scipy.stats.qmc``."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib.core.creation import device_array
from pygpulib.errors import ArgumentError, ShapeError, counted
from pygpulib.jit.intrinsics.integer_math import ffs
from pygpulib.jit.intrinsics.threads import blockIdx, gridDim, threadIdx
from pygpulib.rand.bit_generators import read_seed
from pygpulib.rand.compiling import Value, kernel
from pygpulib.rand.directions import MAX_DIMENSIONS, joe_kuo
from pygpulib.rand.operands import WHOLE, read_operand
from pygpulib.rand.request import read_integer

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from pygpulib.core.array import ndarray
    from pygpulib.jit.dispatcher import Kernel

Words: TypeAlias = NDArray[Any]

_DEFAULT_BITS = 32
# Bits that fit into a float64.
_PRECISION = 53

_GROUP = 16
_GROUP_BITS = 4
# Groups of points that a block computes for one dimension after the other, and dimensions.
_SHARE = 64
_COLUMNS = 64
_MAX_BLOCKS = 4096


@cache
def _kernel(wide: bool) -> Kernel:
    """Return the kernel that writes consecutive points, one in each row.

    Points are computed in groups whose first index is a multiple of 16; from one group to the
    next all of its points change by the same number.
    """
    word: Value = np.uint64 if wide else np.uint32

    @kernel
    def points(
        directions: Value,
        shifts: Value,
        out: Value,
        first: Value,
        drop: Value,
        unit: Value,
    ) -> None:
        count = np.uint64(out.shape[0])
        bits = directions.shape[1]
        lane = np.uint64(threadIdx.x)
        before = first & np.uint64(_GROUP - 1)
        groups = (before + count + np.uint64(_GROUP - 1)) >> np.uint64(_GROUP_BITS)
        share = np.uint64(_SHARE)
        step = share * np.uint64(gridDim.x)
        begin = np.uint64(blockIdx.x) * share
        while begin < groups:
            end = min(begin + share, groups)
            columns = blockIdx.y * _COLUMNS
            for column in range(columns, min(columns + _COLUMNS, directions.shape[0])):
                dimension = np.uint64(column)
                group = (first >> np.uint64(_GROUP_BITS)) + begin
                index = (group << np.uint64(_GROUP_BITS)) + lane
                code = index ^ (index >> np.uint64(1))
                point = word(shifts[dimension])
                for bit in range(bits):
                    if (code >> np.uint64(bit)) & np.uint64(1):
                        point = word(point ^ directions[dimension, np.uint64(bit)])
                common = directions[dimension, np.uint64(_GROUP_BITS - 1)]
                place = (begin << np.uint64(_GROUP_BITS)) + lane - before
                at = begin
                while at < end:
                    # Below 0 is far above the number of points.
                    if place < count:
                        out[place, dimension] = np.float64(point >> word(drop)) * unit
                    group += np.uint64(1)
                    # After the last index comes 0 again.
                    changing = min(
                        np.uint64(ffs(group)) + np.uint64(_GROUP_BITS - 1), np.uint64(bits - 1)
                    )
                    point = word(point ^ directions[dimension, changing] ^ common)
                    place += np.uint64(_GROUP)
                    at += np.uint64(1)
            begin += step

    return points


class Sobol:
    """The Sobol sequence, plain or scrambled.

    Parameters
    ----------
    d : int
        Number of dimensions, at most 21201.
    scramble : bool
        Whether to scramble the points with a random linear transform of their digits and a random
        digital shift (Matousek 1998), which keeps their distances from uniformity and makes them
        uniform random numbers each.
    bits : int, optional
        Number of digits, from 5 to 64; there are ``2**bits`` points. Default 32.
    rng : int, numpy.random.Generator, or whatever ``numpy.random.default_rng`` takes
        Which scrambling.
    seed
        The same, as it was called before.

    Attributes
    ----------
    num_generated : int
        How many points were generated or skipped.

    Notes
    -----
    Coordinates lie in [0, 1). Without scrambling they are those of ``scipy.stats.qmc.Sobol``.
    The first point of the plain sequence is 0, which must not be left out. Numbers of points that
    are powers of 2 are best.

    Examples
    --------
    >>> Sobol(2, scramble=False).random(4).tolist()
    [[0.0, 0.0], [0.5, 0.5], [0.75, 0.25], [0.25, 0.75]]
    """

    MAXDIM = MAX_DIMENSIONS

    def __init__(
        self,
        d: int,
        scramble: bool = True,
        *,
        bits: int | None = None,
        rng: object = None,
        seed: object = None,
    ) -> None:
        if rng is not None and seed is not None:
            raise ArgumentError(
                "the arguments rng and seed were both given",
                detail="they mean the same",
                help="leave seed away",
            )
        self.d = read_integer("d", d, 0, self.MAXDIM)
        self.bits = read_integer("bits", _DEFAULT_BITS if bits is None else bits, 5, 64)
        self.scramble = bool(scramble)
        self.num_generated = 0
        dtype = np.dtype("uint64" if self.bits > 32 else "uint32")
        directions, shifts = joe_kuo(self.bits, self.d), np.zeros(self.d, np.uint64)
        if scramble:
            random = np.random.default_rng(_read_seed(seed if rng is None else rng))
            directions = scramble_directions(directions, random)
            shifts = _random_words(random, self.bits, (self.d,))
        self._directions, self._shifts = directions.astype(dtype), shifts.astype(dtype)

    def random(self, n: int = 1, *, device: bool = False) -> NDArray[np.float64] | ndarray:
        """Return the next points.

        Parameters
        ----------
        n : int
            How many.
        device : bool
            Whether to return a device array.

        Returns
        -------
        ndarray of float64 of shape (n, d)
            One point in each row.

        Raises
        ------
        ArgumentError
            If there are not so many points left.
        """
        count = read_integer("n", n, 0, 2**62)
        self._check_left(count)
        shape = count, self.d
        out = device_array(shape, np.float64) if device else np.empty(shape)
        if out.size:
            drop = max(0, self.bits - _PRECISION)
            groups = count // _GROUP + 2
            blocks = min(-(-groups // _SHARE), _MAX_BLOCKS), -(-self.d // _COLUMNS)
            _kernel(self.bits > 32)[blocks, _GROUP](
                self._directions,
                self._shifts,
                out,
                np.uint64(self.num_generated),
                drop,
                2.0 ** (drop - self.bits),
            )
        self.num_generated += count
        return out

    def random_base2(self, m: int, *, device: bool = False) -> NDArray[np.float64] | ndarray:
        """Return the next ``2**m`` points.

        Parameters
        ----------
        m : int
            Logarithm of the number of points.
        device : bool
            Whether to return a device array.

        Raises
        ------
        ArgumentError
            If the number of points so far would not be a power of 2.
        """
        count = 1 << read_integer("m", m, 0, 62)
        total = self.num_generated + count
        if total & (total - 1):
            raise ArgumentError(
                f"after {counted(self.num_generated, 'point')}, 2**{m} more do not make a power "
                "of 2",
                detail="points are balanced only if their number is one",
                help="call random(n) if that does not matter",
            )
        return self.random(count, device=device)

    def integers(
        self,
        l_bounds: ArrayLike,
        u_bounds: ArrayLike | None = None,
        *,
        n: int = 1,
        endpoint: bool = False,
    ) -> NDArray[np.int64]:
        """Return the next points with whole coordinates.

        Parameters
        ----------
        l_bounds : array-like of int
            The smallest coordinates; without `u_bounds` those above the largest ones, and the
            smallest are 0.
        u_bounds : array-like of int, optional
            What coordinates stay below.
        n : int
            How many points.
        endpoint : bool
            Whether coordinates reach `u_bounds`.

        Returns
        -------
        ndarray of int64 of shape (n, d)
            One point in each row.
        """
        low, high = (0, l_bounds) if u_bounds is None else (l_bounds, u_bounds)
        lowest = self._read_bounds("l_bounds", low)
        end = self._read_bounds("l_bounds" if u_bounds is None else "u_bounds", high)
        if not (lowest <= end if endpoint else lowest < end).all():
            raise ArgumentError(
                "a lower bound is not below its upper bound",
                detail=f"lower bounds {lowest.tolist()}, upper bounds {end.tolist()}",
            )
        highest = (end if endpoint else end - 1).astype(np.float64)
        points: Any = self.random(n)
        whole: NDArray[np.float64] = np.floor(points * (highest - lowest + 1.0) + lowest)
        return np.minimum(whole, highest).astype(np.int64)

    def _read_bounds(self, name: str, value: object) -> NDArray[np.int64]:
        """Return one bound for each dimension."""
        bounds = read_operand(name, value, WHOLE)
        if bounds.shape not in {(), (1,), (self.d,)}:
            raise ShapeError(
                f"the argument {name} has the shape {bounds.shape}",
                detail=f"expected an integer, or one for each of {counted(self.d, 'dimension')}",
            )
        return np.broadcast_to(bounds, (self.d,))

    def fast_forward(self, n: int) -> Sobol:
        """Skip points.

        Parameters
        ----------
        n : int
            How many.

        Returns
        -------
        Sobol
            This object.
        """
        count = read_integer("n", n, 0, 2**64)
        self._check_left(count)
        self.num_generated += count
        return self

    def reset(self) -> Sobol:
        """Go back to the first point.

        Returns
        -------
        Sobol
            This object.
        """
        self.num_generated = 0
        return self

    def _check_left(self, count: int) -> None:
        left = (1 << self.bits) - self.num_generated
        if count > left:
            raise ArgumentError(
                f"{count} points were asked of a Sobol sequence that has {left} left",
                detail=f"with {self.bits} bits there are 2**{self.bits} points",
                help="make it with more bits",
            )


def _read_seed(seed: object) -> Any:
    """Return what NumPy's generators can be made from; SciPy takes such generators as well."""
    if isinstance(seed, np.random.Generator | np.random.BitGenerator):
        return seed
    return read_seed(seed)


def scramble_directions(directions: Words, random: np.random.Generator) -> Words:
    """Return direction numbers after a random linear transform of their digits.

    Parameters
    ----------
    directions : ndarray of uint64 of shape (dimensions, bits)
        As :func:`joe_kuo` gives them.
    random : numpy.random.Generator
        Decides about the transform.

    Notes
    -----
    Every dimension has its own matrix. It is lower triangular: a digit depends on itself and those
    before it, so that boxes keep their numbers of points.
    """
    dimensions, bits = directions.shape
    result = np.zeros_like(directions)
    for digit in range(bits):
        place = np.uint64(bits - 1 - digit)
        own = np.uint64(1) << place
        # What the digit contributes: itself, and a random sum of the later ones.
        column = own | _random_words(random, 64, (dimensions,)) & (own - np.uint64(1))
        is_set = (directions >> place & np.uint64(1)).astype(bool)
        result ^= np.where(is_set, column[:, None], np.uint64(0))
    return result


def _random_words(random: np.random.Generator, bits: int, shape: tuple[int, ...]) -> Words:
    """Return random numbers of so many bits."""
    return random.integers(0, 2**bits - 1, shape, np.uint64, endpoint=True)
