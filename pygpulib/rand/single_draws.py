"""Numbers of the generators that take one draw for each: MT19937, MTGP32 and the Sobol sequences.

Normal numbers are quantiles, so that draws and numbers correspond one to one.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from functools import lru_cache
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib._record import record
from pygpulib.rand import conversions, quantiles
from pygpulib.rand import distributions as dist
from pygpulib.rand import poisson_tables as poisson
from pygpulib.rand.compiling import Function, Value, device
from pygpulib.rand.conversions import Method, Parameters
from pygpulib.rand.engine import BaseEngine
from pygpulib.rand.kinds import Kind, Ordering
from pygpulib.rand.request import Distribution, Request

if TYPE_CHECKING:
    from pygpulib.rand.engine import AnyArray

Functions: TypeAlias = dict[Method, Function]

_NO_TABLE = np.zeros(1)
_NO_ALIASES = np.zeros(1, np.uint32)


@record
class Source:
    """How a generator's draws become numbers.

    Attributes
    ----------
    functions : dict
        For each method a device function of a draw and the parameters.
    inversion_from, normal_from : float
        Means from which Poisson numbers are quantiles, and rounded normal numbers.
    """

    functions: Functions
    inversion_from: float
    normal_from: float


def method_of(source: Source, request: Request) -> Method:
    """Return how the numbers of a request are made."""
    if request.distribution is not Distribution.POISSON:
        return conversions.method_of(request)
    mean = request.parameters[0]
    if mean >= source.normal_from:
        return Method.POISSON_NORMAL
    return Method.POISSON_INVERSION if mean >= source.inversion_from else Method.POISSON_TABLE


@lru_cache(maxsize=64)
def parameters_of(method: Method, request: Request) -> Parameters:
    """Return what the functions for a request are given."""
    match method:
        case Method.POISSON_TABLE:
            cells = poisson.alias_table(request.parameters[0])
            return Parameters(float(cells.shift), 0.0, cells.shares, cells.aliases)
        case Method.POISSON_INVERSION:
            shift, sums = poisson.cumulative(request.parameters[0])
            return Parameters(float(shift), 0.0, sums, poisson.guide_to(sums))
        case Method.POISSON_NORMAL:
            mean = request.parameters[0]
            return Parameters(mean, math.sqrt(mean), _NO_TABLE, _NO_ALIASES)
        case _:
            return conversions.parameters_of(request)


# -------------------------------------------------------------------------- uniform numbers


@device
def _single_rounded_once(x: Value) -> Value:
    return np.float32(np.float64(x) * 2.0**-32 + 2.0**-33)


@device
def _double_centred(x: Value) -> Value:
    return np.float64(x) * 2.0**-32 + 2.0**-33


@device
def _single_of_64(x: Value) -> Value:
    return dist.uniform_single(np.uint32(x >> np.uint64(32)))


@device
def _double_of_64(x: Value) -> Value:
    return np.float64(x >> np.uint64(11)) * 2.0**-53 + 2.0**-54


@device
def _normal_single_of_64(x: Value) -> Value:
    return quantiles.normal_single(np.uint32(x >> np.uint64(32)))


@device
def _round_single(normal: Value, mean: Value, deviation: Value) -> Value:
    """Return a Poisson number from a normal one, every step in single precision."""
    scaled = np.float32(deviation) * normal + np.float32(mean)
    return np.uint32(math.floor(scaled + np.float32(0.5)))


# ------------------------------------------------------------------------------- the functions


def _make(
    uniform_single: Value,
    uniform_double: Value,
    chance: Value,
    normal_single: Value,
    normal_double: Value,
    round_normal: Value,
) -> Functions:
    """Return the functions of a generator.

    Parameters
    ----------
    uniform_single, uniform_double : Function
        From a draw to a uniform number.
    chance : Function
        The same for the tables of discrete distributions.
    normal_single, normal_double : Function
        From a draw to a standard normal.
    round_normal : Function
        From that, mean and deviation to a Poisson number.
    """
    return {
        Method.RAW: device(lambda x, _a, _b, _t, _k: x),
        Method.UNIFORM_SINGLE: device(lambda x, _a, _b, _t, _k: uniform_single(x)),
        Method.UNIFORM_DOUBLE: device(lambda x, _a, _b, _t, _k: uniform_double(x)),
        Method.NORMAL_SINGLE: device(
            lambda x, a, b, _t, _k: dist.scale_single(normal_single(x), a, b)
        ),
        Method.NORMAL_DOUBLE: device(
            lambda x, a, b, _t, _k: dist.scale_double(normal_double(x), a, b)
        ),
        Method.LOGNORMAL_SINGLE: device(
            lambda x, a, b, _t, _k: dist.exponential_of_single(normal_single(x), a, b)
        ),
        Method.LOGNORMAL_DOUBLE: device(
            lambda x, a, b, _t, _k: dist.exponential_of_double(normal_double(x), a, b)
        ),
        Method.POISSON_TABLE: device(
            lambda x, a, _b, t, k: poisson.draw_from_cells(chance(x), a, t, k)
        ),
        Method.POISSON_INVERSION: device(
            lambda x, a, _b, t, k: poisson.find_in_cumulative(chance(x), a, t, k)
        ),
        Method.POISSON_NORMAL: device(lambda x, a, b, _t, _k: round_normal(normal_single(x), a, b)),
        Method.BINOMIAL: device(
            lambda x, a, _b, t, k: poisson.find_in_cumulative(uniform_double(x), a, t, k)
        ),
    }


_FROM_32 = _make(
    dist.uniform_single,
    dist.uniform_upper,
    dist.uniform_upper,
    quantiles.normal_single,
    quantiles.normal_double,
    poisson.round_normal,
)
_FROM_64 = _make(
    _single_of_64,
    _double_of_64,
    _double_of_64,
    _normal_single_of_64,
    quantiles.normal_double_of_64,
    poisson.round_normal,
)
_OF_MT19937 = _make(
    _single_rounded_once,
    _double_centred,
    dist.uniform_upper,
    quantiles.normal_single,
    quantiles.normal_double,
    _round_single,
)
# A mean of 8000 itself is not above the bound.
_ABOVE_8000 = math.nextafter(8000.0, math.inf)
_SOBOL32 = Source(_FROM_32, 10.0, _ABOVE_8000)
_SOBOL64 = Source(_FROM_64, 0.0, 2000.0)

SOURCES = {
    Kind.MT19937: Source(_OF_MT19937, 2000.0, 2000.0),
    Kind.MTGP32: Source(_FROM_32, 32.0, _ABOVE_8000),
    Kind.SOBOL32: _SOBOL32,
    Kind.SCRAMBLED_SOBOL32: _SOBOL32,
    Kind.SOBOL64: _SOBOL64,
    Kind.SCRAMBLED_SOBOL64: _SOBOL64,
}
"""The generators that this module is for."""


# ---------------------------------------------------------------------------------- the engine


class SingleDrawEngine(BaseEngine):
    """A generator that takes one draw for each number, whatever is asked for."""

    def __init__(self, kind: Kind) -> None:
        super().__init__(kind)
        # What was asked for last, and how it is served.
        self._request: Request | None = None
        self._method: Method
        self._parameters: Parameters

    @abstractmethod
    def _write(self, out: NDArray[Any]) -> None:
        """Write the next numbers with the method at hand, at least one."""

    def fill(self, request: Request, out: AnyArray, stream: int = 0) -> None:  # noqa: ARG002
        """Write the next numbers; see :meth:`Engine.fill`."""
        assert isinstance(out, np.ndarray)
        if request is not self._request:
            self.check(request)
            self._method = method_of(SOURCES[self.kind], request)
            self._parameters = parameters_of(self._method, request)
            self._request = request
        if not out.size:
            return
        self.check_size(out.size)
        self._write(out.view(request.dtype) if out.dtype.kind == "i" else out)

    @property
    def _function(self) -> Function:
        """The device function from a draw to a number."""
        return SOURCES[self.kind].functions[self._method]


class TwisterEngine(SingleDrawEngine):
    """A generator that has no offset, and begins again when it is told something new."""

    @abstractmethod
    def _begin_again(self) -> None:
        """Go to the beginning of the sequence."""

    def set_seed(self, seed: int) -> None:
        """Begin again with another seed; the same seed changes nothing."""
        before = self.seed
        super().set_seed(seed)
        if self.seed != before:
            self._begin_again()

    def set_ordering(self, ordering: Ordering) -> None:
        """Begin again with another ordering; the same one changes nothing."""
        before = self.ordering
        super().set_ordering(ordering)
        if self.ordering is not before:
            self._begin_again()

    def _restart(self, *, keep_position: bool) -> None:
        """Keep everything, unless one of the functions above decides otherwise."""
