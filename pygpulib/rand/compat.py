"""Pseudo-random and quasi-random numbers with pyculib's classes and functions."""

from __future__ import annotations

import copy
import os
import threading
from typing import TYPE_CHECKING, Any

import numpy as np

from pygpulib.core.creation import device_array
from pygpulib.core.device import current_device, current_driver
from pygpulib.core.dtypes import numpy_dtype
from pygpulib.core.stream import Stream, stream_handle
from pygpulib.errors import ArgumentError
from pygpulib.rand.binding import read_type
from pygpulib.rand.engine import MAX_DIMENSIONS, make_engine
from pygpulib.rand.filling import fill_array, read_array
from pygpulib.rand.kinds import RULES, Kind, Ordering
from pygpulib.rand.request import Distribution, make_request, read_integer

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

    from pygpulib.core.stream import StreamLike
    from pygpulib.rand.engine import AnyArray

_TEST = 0
_PSEUDO_DEFAULT = 100
_QUASI_DEFAULT = 200


class RNG:
    """What both kinds of generators have in common.

    Parameters
    ----------
    rndtype : int
        One of the class's constants.
    offset : int, optional
        Where in its sequence the generator starts.
    stream : Stream, optional
        Where the work is queued.
    """

    def __init__(self, rndtype: int, offset: int | None, stream: StreamLike) -> None:
        self.rndtype = rndtype
        self._engine = make_engine(read_type(rndtype))
        self._offset = 0
        self._ordering = RULES[self._engine.kind].orderings[0]
        self._stream: StreamLike = 0 if stream is None else stream
        if offset is not None:
            self.offset = offset

    def __getstate__(self) -> dict[str, object]:
        """Leave out the stream, which belongs to this process."""
        return {**self.__dict__, "_stream": 0}

    def __copy__(self) -> RNG:
        """Return a generator with a state of its own."""
        return copy.deepcopy(self)

    @property
    def offset(self) -> int:
        """Where in its sequence the generator was told to go on; setting it goes there."""
        return self._offset

    @offset.setter
    def offset(self, offset: int) -> None:
        self._engine.set_offset(offset)
        self._offset = offset

    @property
    def stream(self) -> StreamLike:
        """The stream on which the work is queued."""
        return self._stream

    @stream.setter
    def stream(self, stream: StreamLike) -> None:
        self._stream = 0 if stream is None else stream

    @property
    def ordering(self) -> Ordering:
        """In which order the sub-sequences are put together."""
        return self._ordering

    @ordering.setter
    def ordering(self, ordering: Ordering) -> None:
        self._engine.set_ordering(ordering)
        self._ordering = Ordering(ordering)

    def uniform(self, ary: object, size: int | None = None) -> None:
        """Fill an array with uniform numbers above 0 and up to 1.

        Parameters
        ----------
        ary : array
            An array in host or device memory, of any shape and layout, of float32 or float64.
        size : int, optional
            Only so many elements, the first ones; default: all.
        """
        self._fill(ary, size, Distribution.UNIFORM, None)

    def normal(self, ary: object, mean: float, sigma: float, size: int | None = None) -> None:
        """Fill an array with normal numbers.

        Parameters
        ----------
        ary : array
            An array in host or device memory, of any shape and layout, of float32 or float64.
        mean, sigma : float
            Mean and standard deviation.
        size : int, optional
            Only so many elements, the first ones; default: all.
        """
        self._fill(ary, size, Distribution.NORMAL, None, mean, sigma)

    def lognormal(self, ary: object, mean: float, sigma: float, size: int | None = None) -> None:
        """Fill an array with log-normal numbers.

        Parameters
        ----------
        ary : array
            An array in host or device memory, of any shape and layout, of float32 or float64.
        mean, sigma : float
            Mean and standard deviation of the numbers' logarithms.
        size : int, optional
            Only so many elements, the first ones; default: all.
        """
        self._fill(ary, size, Distribution.LOGNORMAL, None, mean, sigma)

    def poisson(self, ary: object, lmbd: float, size: int | None = None) -> None:
        """Fill an array with Poisson numbers.

        Parameters
        ----------
        ary : array
            An array in host or device memory, of any shape and layout, of uint32 or int32.
        lmbd : float
            The mean.
        size : int, optional
            Only so many elements, the first ones; default: all.
        """
        self._fill(ary, size, Distribution.POISSON, "uint32", lmbd)

    def generate(self, ary: object, size: int | None = None) -> None:
        """Fill an array with raw numbers, all of whose bits are random.

        Parameters
        ----------
        ary : array
            An array in host or device memory, of any shape and layout, of integers of 32 bits, or
            of 64 bits for the Sobol sequences of that width.
        size : int, optional
            Only so many elements, the first ones; default: all.
        """
        self._fill(ary, size, Distribution.RAW, f"uint{RULES[self._engine.kind].bits}")

    def _fill(
        self,
        ary: object,
        size: int | None,
        distribution: Distribution,
        dtype: str | None,
        *parameters: float,
    ) -> None:
        array = read_array(ary)
        request = make_request(distribution, dtype or array.dtype, *parameters)
        fill_array(self._engine, request, ary, self._stream, size)


class PRNG(RNG):
    """A pseudo-random generator of cuRAND.

    Parameters
    ----------
    rndtype : int
        One of the class's constants, such as ``PRNG.XORWOW``.
    seed : int, optional
        Which sequence; default 0.
    offset : int, optional
        Where in it the generator starts.
    stream : Stream, optional
        Where the work is queued.

    Examples
    --------
    >>> import numpy as np
    >>> numbers = np.empty((2, 2), np.uint32)
    >>> PRNG(PRNG.XORWOW, seed=1).poisson(numbers, 10)
    >>> numbers.tolist()
    [[9, 17], [5, 16]]
    """

    TEST = _TEST
    DEFAULT = _PSEUDO_DEFAULT
    XORWOW = Kind.XORWOW.value
    MRG32K3A = Kind.MRG32K3A.value
    MTGP32 = Kind.MTGP32.value
    MT19937 = Kind.MT19937.value
    PHILOX4_32_10 = Kind.PHILOX4_32_10.value

    def __init__(
        self,
        rndtype: int = DEFAULT,
        seed: int | None = None,
        offset: int | None = None,
        stream: StreamLike = None,
    ) -> None:
        super().__init__(rndtype, offset, stream)
        self._seed = 0
        if seed is not None:
            self.seed = seed

    @property
    def seed(self) -> int:
        """Which sequence the generator follows; setting it goes to another one."""
        return self._seed

    @seed.setter
    def seed(self, seed: int) -> None:
        self._engine.set_seed(seed)
        self._seed = seed


class QRNG(RNG):
    """A quasi-random generator of cuRAND.

    Its numbers come dimension by dimension: first one coordinate of all points, then the next.

    Parameters
    ----------
    rndtype : int
        One of the class's constants, such as ``QRNG.SOBOL32``.
    ndim : int, optional
        Number of dimensions; default 1.
    offset : int, optional
        The first point.
    stream : Stream, optional
        Where the work is queued.
    """

    TEST = _TEST
    DEFAULT = _QUASI_DEFAULT
    SOBOL32 = Kind.SOBOL32.value
    SCRAMBLED_SOBOL32 = Kind.SCRAMBLED_SOBOL32.value
    SOBOL64 = Kind.SOBOL64.value
    SCRAMBLED_SOBOL64 = Kind.SCRAMBLED_SOBOL64.value

    def __init__(
        self,
        rndtype: int = DEFAULT,
        ndim: int | None = None,
        offset: int | None = None,
        stream: StreamLike = None,
    ) -> None:
        super().__init__(rndtype, offset, stream)
        self._ndim = 1
        if ndim is not None:
            self.ndim = ndim

    @property
    def ndim(self) -> int:
        """The number of dimensions; setting it keeps the position."""
        return self._ndim

    @ndim.setter
    def ndim(self, ndim: int) -> None:
        self._engine.set_dimensions(read_integer("ndim", ndim, 1, MAX_DIMENSIONS))
        self._ndim = ndim


# ------------------------------------------------------------------------------ the functions


class _Generators(threading.local):
    """The generators of a thread for streams that are no objects, by what :func:`_shared` says."""

    def __init__(self) -> None:
        self.known: dict[Any, Any] = {}


_generators = _Generators()


def _shared(cls: type[PRNG | QRNG], rndtype: int, stream: StreamLike) -> Any:
    """Return the calling thread's generator of a type, for the current device and a stream.

    No two streams share one: a generator waits for its stream before it works on another.
    """
    # Those of a stream that ends, end with it.
    is_kept = isinstance(stream, Stream)
    known = stream.configured if is_kept else _generators.known  # type: ignore[attr-defined]
    # The child of a fork must not repeat its parent's numbers.
    key = (
        os.getpid(),
        threading.get_ident(),
        current_driver(),
        current_device().id,
        rndtype,
        stream_handle(stream),
    )
    generator = known.get(key)
    if generator is None:
        generator = cls(rndtype, stream=stream)
        if isinstance(generator, PRNG):
            generator.seed = int.from_bytes(os.urandom(8), "little")
        known[key] = generator
    return generator


def _new(
    size: int | tuple[int, ...], dtype: DTypeLike, device: bool, stream: StreamLike
) -> AnyArray:
    """Return an array for random numbers."""
    lengths = size if isinstance(size, (tuple, list)) else (size,)
    shape = tuple(read_integer("size", length, 0, 2**62) for length in lengths)
    kind = numpy_dtype(dtype)
    return device_array(shape, kind, stream=stream) if device else np.empty(shape, kind)


def uniform(
    size: int | tuple[int, ...],
    dtype: DTypeLike = float,
    device: bool = False,
    stream: StreamLike = 0,
) -> AnyArray:
    """Return uniform numbers above 0 and up to 1.

    Parameters
    ----------
    size : int or tuple of int
        How many, or the shape.
    dtype : dtype-like
        float32 or float64.
    device : bool
        Whether to return a device array.
    stream : Stream, optional
        Where the work is queued.

    Notes
    -----
    Every thread has a generator of its own for each device and stream, with a seed from the system.
    """
    array = _new(size, dtype, device, stream)
    _shared(PRNG, PRNG.DEFAULT, stream).uniform(array)
    return array


def normal(
    mean: float,
    sigma: float,
    size: int | tuple[int, ...],
    dtype: DTypeLike = float,
    device: bool = False,
    stream: StreamLike = 0,
) -> AnyArray:
    """Return normal numbers; for the other arguments see :func:`uniform`.

    Parameters
    ----------
    mean, sigma : float
        Mean and standard deviation.
    size, dtype, device, stream
        What is returned, and where the work is queued.
    """
    array = _new(size, dtype, device, stream)
    _shared(PRNG, PRNG.DEFAULT, stream).normal(array, mean, sigma)
    return array


def lognormal(
    mean: float,
    sigma: float,
    size: int | tuple[int, ...],
    dtype: DTypeLike = float,
    device: bool = False,
    stream: StreamLike = 0,
) -> AnyArray:
    """Return log-normal numbers; for the other arguments see :func:`uniform`.

    Parameters
    ----------
    mean, sigma : float
        Mean and standard deviation of the numbers' logarithms.
    size, dtype, device, stream
        What is returned, and where the work is queued.
    """
    array = _new(size, dtype, device, stream)
    _shared(PRNG, PRNG.DEFAULT, stream).lognormal(array, mean, sigma)
    return array


def poisson(
    lmbd: float, size: int | tuple[int, ...], device: bool = False, stream: StreamLike = 0
) -> AnyArray:
    """Return Poisson numbers, of type uint32.

    Parameters
    ----------
    lmbd : float
        The mean.
    size, device, stream
        See :func:`uniform`.
    """
    array = _new(size, np.uint32, device, stream)
    _shared(PRNG, PRNG.DEFAULT, stream).poisson(array, lmbd)
    return array


def quasi(
    size: int | tuple[int, ...],
    bits: int = 32,
    nd: int = 1,
    device: bool = False,
    stream: StreamLike = 0,
) -> AnyArray:
    """Return raw numbers of a Sobol sequence, dimension by dimension; calls continue it.

    Parameters
    ----------
    size : int or tuple of int
        How many, or the shape; a multiple of `nd`.
    bits : int
        Width of the numbers: 32 or 64.
    nd : int
        Number of dimensions.
    device : bool
        Whether to return a device array.
    stream : Stream, optional
        Where the work is queued.
    """
    width = read_integer("bits", bits, 32, 64)
    if width not in {32, 64}:
        raise ArgumentError(f"the argument bits is {bits!r}", detail="expected 32 or 64")
    dimensions = read_integer("nd", nd, 1, MAX_DIMENSIONS)
    array = _new(size, f"uint{width}", device, stream)
    generator = _shared(QRNG, QRNG.SOBOL32 if width == 32 else QRNG.SOBOL64, stream)
    generator.ndim = dimensions
    generator.generate(array)
    return array
