"""cuRAND's functions under pyculib's names: a generator, the library, constants, and its error."""

from __future__ import annotations

import copy
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pygpulib._bindings import curand
from pygpulib._bindings.curand import CuRandError
from pygpulib.errors import ArgumentError
from pygpulib.rand.engine import make_engine
from pygpulib.rand.filling import fill_array, read_array
from pygpulib.rand.kinds import RULES, Kind, Ordering
from pygpulib.rand.request import Distribution, make_request

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pygpulib.core.stream import StreamLike
    from pygpulib.rand.engine import Engine

VERSION = 10405
"""The version of cuRAND whose numbers the CPU back end generates."""

STATUS = {
    0: ("CURAND_STATUS_SUCCESS", "no error"),
    **{code: (f"CURAND_STATUS_{name}", text) for code, (name, text) in curand.STATUSES.items()},
}
"""Every status: its name, and what it means."""

_TYPE_ERROR = 103
_OUT_OF_RANGE = 104
_LENGTH_NOT_MULTIPLE = 105

_CONSTANTS = {
    **{f"CURAND_STATUS_{name}": code for code, (name, _) in curand.STATUSES.items()},
    **{f"CURAND_RNG_{name}": number for name, number in curand.RNG_TYPES.items()},
    **{f"CURAND_ORDERING_{name}": number for name, number in curand.ORDERINGS.items()},
    **{f"CURAND_{name}": number for name, number in curand.DIRECTION_VECTOR_SETS.items()},
    **{f"CURAND_{name}": number for name, number in curand.METHODS.items()},
    "CURAND_STATUS_SUCCESS": 0,
}

__all__ = ["STATUS", "VERSION", "CuRandError", "Generator", "libcurand"]


def __getattr__(name: str) -> int:
    """Return a constant of cuRAND, ``CURAND_...``."""
    try:
        return _CONSTANTS[name]
    except KeyError:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}") from None


def __dir__() -> list[str]:
    return sorted([*__all__, *_CONSTANTS])


_DEFAULTS = {
    curand.RNG_TYPES["PSEUDO_DEFAULT"]: Kind.XORWOW,
    curand.RNG_TYPES["QUASI_DEFAULT"]: Kind.SOBOL32,
}


class RefusedError(CuRandError, ArgumentError):
    """An argument that cuRAND would refuse with a status."""


class libcurand:  # noqa: N801  (pyculib's name)
    """The vendor's library, or what stands in for it where it is not installed.

    Its functions are attributes, if it is installed; they raise `CuRandError` for every status
    other than success.
    """

    @property
    def version(self) -> int:
        """The library's version, as 1000 * major + 100 * minor + patch."""
        library = curand.find_curand()
        if library is None:
            return VERSION
        major, minor, patch = map(int, library.version.split("."))
        return 1000 * major + 100 * minor + patch

    def __getattr__(self, name: str) -> Any:
        if name not in curand.FUNCTIONS:
            raise AttributeError(f"cuRAND has no function {name!r}", name=name, obj=self)
        return getattr(curand.open_curand(name), name)


class Generator:
    """A generator, under the names of cuRAND's functions.

    Parameters
    ----------
    rng_type : int
        One of the constants ``CURAND_RNG_...``.

    Raises
    ------
    CuRandError
        If there is no such type.
    """

    def __init__(self, rng_type: int = curand.RNG_TYPES["PSEUDO_DEFAULT"]) -> None:
        self._engine: Engine = make_engine(read_type(rng_type))
        self._stream: StreamLike = 0

    def __getstate__(self) -> dict[str, object]:
        """Leave out the stream, which belongs to this process."""
        return {**self.__dict__, "_stream": 0}

    def __copy__(self) -> Generator:
        """Return a generator with a state of its own."""
        return copy.deepcopy(self)

    def set_stream(self, stream: StreamLike) -> None:
        """Queue the work on a stream from now on."""
        self._stream = stream

    def set_offset(self, offset: int) -> None:
        """Go to a position of the sequence."""
        with _refusing(_OUT_OF_RANGE if RULES[self._engine.kind].has_offset else _TYPE_ERROR):
            self._engine.set_offset(offset)

    def set_pseudo_random_generator_seed(self, seed: int) -> None:
        """Start another sequence."""
        with _refusing(_TYPE_ERROR if RULES[self._engine.kind].is_quasi else _OUT_OF_RANGE):
            self._engine.set_seed(seed)

    def set_quasi_random_generator_dimensions(self, num_dim: int) -> None:
        """Set the number of dimensions."""
        with _refusing(_OUT_OF_RANGE if RULES[self._engine.kind].is_quasi else _TYPE_ERROR):
            self._engine.set_dimensions(num_dim)

    def set_ordering(self, order: int) -> None:
        """Put the sub-sequences together in another order, ``CURAND_ORDERING_...``."""
        with _refusing(_OUT_OF_RANGE):
            self._engine.set_ordering(_read_ordering(order))

    def generate(self, devout: object, num: int) -> None:
        """Write raw numbers to the first `num` elements of an array."""
        bits = RULES[self._engine.kind].bits
        self._fill(devout, num, Distribution.RAW, f"uint{bits}")

    def generate_uniform(self, devout: object, num: int) -> None:
        """Write uniform numbers above 0 and up to 1 to the first `num` elements of an array."""
        self._fill(devout, num, Distribution.UNIFORM)

    def generate_normal(self, devout: object, num: int, mean: float, stddev: float) -> None:
        """Write normal numbers to the first `num` elements of an array."""
        self._fill(devout, num, Distribution.NORMAL, None, mean, stddev)

    def generate_log_normal(self, devout: object, num: int, mean: float, stddev: float) -> None:
        """Write log-normal numbers to the first `num` elements of an array."""
        self._fill(devout, num, Distribution.LOGNORMAL, None, mean, stddev)

    def generate_poisson(self, devout: object, num: int, lmbd: float) -> None:
        """Write Poisson numbers to the first `num` elements of an array."""
        self._fill(devout, num, Distribution.POISSON, "uint32", lmbd)

    def _fill(
        self,
        out: object,
        count: int,
        distribution: Distribution,
        dtype: str | None = None,
        *parameters: float,
    ) -> None:
        array = read_array(out)
        with _refusing(_OUT_OF_RANGE):
            request = make_request(distribution, dtype or array.dtype, *parameters)
        with _refusing(_LENGTH_NOT_MULTIPLE):
            fill_array(self._engine, request, out, self._stream, count)


def read_type(rng_type: object) -> Kind:
    """Return the generator of one of cuRAND's numbers.

    Raises
    ------
    CuRandError
        If there is none.
    """
    try:
        return _DEFAULTS.get(rng_type) or Kind(rng_type)  # type: ignore[call-overload, arg-type]
    except (TypeError, ValueError) as cause:
        known = ", ".join(f"{kind.name} ({kind:d})" for kind in Kind)
        error = RefusedError(
            f"there is no generator of type {rng_type!r}",
            detail=f"expected one of {known}",
            help="the type TEST makes no numbers; the default is CURAND_RNG_PSEUDO_DEFAULT",
        )
        error.code = _TYPE_ERROR
        raise error from cause


def _read_ordering(order: object) -> Ordering:
    try:
        return Ordering(order)  # type: ignore[arg-type]
    except ValueError as cause:
        known = ", ".join(f"{ordering.name} ({ordering:d})" for ordering in Ordering)
        raise ArgumentError(
            f"there is no ordering {order!r}", detail=f"expected one of {known}"
        ) from cause


@contextmanager
def _refusing(code: int) -> Iterator[None]:
    """Return a context in which refused arguments become errors with one of cuRAND's statuses."""
    try:
        yield
    except CuRandError:
        raise
    except ArgumentError as refused:
        error = RefusedError(refused.problem, detail=refused.detail, help=refused.help)
        error.code = code
        raise error from refused
