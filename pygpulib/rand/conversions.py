"""Which device function makes the numbers of a request, from how many draws, with which tables."""

from __future__ import annotations

import enum
import math
from functools import lru_cache
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib._record import record
from pygpulib.rand import binomial
from pygpulib.rand import distributions as dist
from pygpulib.rand import poisson_tables as poisson
from pygpulib.rand.compiling import Function, Value, device
from pygpulib.rand.request import Distribution, Request

POISSON_THRESHOLD = 2000.0
"""Means from here on are drawn by rounding normal numbers."""


class Method(enum.Enum):
    """How numbers are made of draws."""

    RAW = enum.auto()
    UNIFORM_SINGLE = enum.auto()
    UNIFORM_DOUBLE = enum.auto()
    NORMAL_SINGLE = enum.auto()
    NORMAL_DOUBLE = enum.auto()
    LOGNORMAL_SINGLE = enum.auto()
    LOGNORMAL_DOUBLE = enum.auto()
    POISSON_TABLE = enum.auto()
    POISSON_INVERSION = enum.auto()
    POISSON_NORMAL = enum.auto()
    BINOMIAL = enum.auto()


@record
class Conversion:
    """How some draws become some numbers.

    Attributes
    ----------
    draws : int
        How many draws the function takes: its first arguments.
    values : int
        How many numbers it returns, as a tuple.
    function : Function
        Takes the four parameters of :class:`Parameters` after the draws.
    """

    draws: int
    values: int
    function: Function


Conversions: TypeAlias = dict[Method, Conversion]


@record
class Parameters:
    """What kernels are given besides the state; its meaning depends on the method.

    Attributes
    ----------
    a, b : float
        Mean and standard deviation; or the first outcome of a table.
    table : ndarray of float64
        Shares of an alias table, or cumulated probabilities.
    aliases : ndarray of uint32
        The aliases, or where a search among cumulated probabilities begins.
    """

    a: float
    b: float
    table: NDArray[np.float64]
    aliases: NDArray[np.uint32]


_NO_TABLE = np.zeros(1)
_NO_ALIASES = np.zeros(1, np.uint32)
_NOTHING = Parameters(0.0, 0.0, _NO_TABLE, _NO_ALIASES)

_WITH_DTYPE = {
    (Distribution.UNIFORM, "float32"): Method.UNIFORM_SINGLE,
    (Distribution.UNIFORM, "float64"): Method.UNIFORM_DOUBLE,
    (Distribution.NORMAL, "float32"): Method.NORMAL_SINGLE,
    (Distribution.NORMAL, "float64"): Method.NORMAL_DOUBLE,
    (Distribution.LOGNORMAL, "float32"): Method.LOGNORMAL_SINGLE,
    (Distribution.LOGNORMAL, "float64"): Method.LOGNORMAL_DOUBLE,
}


def method_of(request: Request) -> Method:
    """Return how the numbers of a request are made."""
    match request.distribution:
        case Distribution.RAW:
            return Method.RAW
        case Distribution.POISSON:
            is_small = request.parameters[0] < POISSON_THRESHOLD
            return Method.POISSON_TABLE if is_small else Method.POISSON_NORMAL
        case Distribution.BINOMIAL:
            return Method.BINOMIAL
        case distribution:
            return _WITH_DTYPE[distribution, request.dtype]


@lru_cache(maxsize=64)
def parameters_of(request: Request) -> Parameters:
    """Return what the kernels for a request are given."""
    match method_of(request):
        case Method.POISSON_TABLE:
            cells = poisson.alias_table(request.parameters[0])
            return Parameters(float(cells.shift), 0.0, cells.shares, cells.aliases)
        case Method.POISSON_NORMAL:
            mean = request.parameters[0]
            return Parameters(mean, math.sqrt(mean), _NO_TABLE, _NO_ALIASES)
        case Method.BINOMIAL:
            shift, sums = binomial.cumulative(int(request.parameters[0]), request.parameters[1])
            return Parameters(float(shift), 0.0, sums, poisson.guide_to(sums))
        case _ if request.parameters:
            mean, sigma = request.parameters
            return Parameters(mean, sigma, _NO_TABLE, _NO_ALIASES)
        case _:
            return _NOTHING


# ------------------------------------------------------------------------- from 32 random bits


@device
def _raw(x: Value, _a: Value, _b: Value, _table: Value, _aliases: Value) -> Value:
    return (x,)


@device
def _uniform_single(x: Value, _a: Value, _b: Value, _table: Value, _aliases: Value) -> Value:
    return (dist.uniform_single(x),)


@device
def _uniform_double(
    x: Value, y: Value, _a: Value, _b: Value, _table: Value, _aliases: Value
) -> Value:
    return (dist.uniform_double(x, y),)


@device
def _normal_single(x: Value, y: Value, a: Value, b: Value, _table: Value, _aliases: Value) -> Value:
    first, second = dist.normals_single(x, y)
    return dist.scale_single(first, a, b), dist.scale_single(second, a, b)


@device
def _lognormal_single(
    x: Value, y: Value, a: Value, b: Value, _table: Value, _aliases: Value
) -> Value:
    return dist.lognormals_single(dist.polar_single(x, y), a, b)


@device
def _normal_double(
    x: Value, y: Value, z: Value, w: Value, a: Value, b: Value, _table: Value, _aliases: Value
) -> Value:
    first, second = dist.normals_double(x, y, z, w)
    return dist.scale_double(first, a, b), dist.scale_double(second, a, b)


@device
def _lognormal_double(
    x: Value, y: Value, z: Value, w: Value, a: Value, b: Value, _table: Value, _aliases: Value
) -> Value:
    return dist.lognormals_double(dist.polar_double(x, y, z, w), a, b)


@device
def _poisson_table(x: Value, a: Value, _b: Value, table: Value, aliases: Value) -> Value:
    return (poisson.draw_from_cells(dist.uniform_upper(x), a, table, aliases),)


@device
def _poisson_normal(
    x: Value, y: Value, a: Value, b: Value, _table: Value, _aliases: Value
) -> Value:
    return poisson.round_pair(dist.polar_single(x, y), a, b)


@device
def _binomial(x: Value, y: Value, a: Value, _b: Value, table: Value, guide: Value) -> Value:
    return (poisson.find_in_cumulative(dist.uniform_double(x, y), a, table, guide),)


FROM_BITS: Conversions = {
    Method.RAW: Conversion(1, 1, _raw),
    Method.UNIFORM_SINGLE: Conversion(1, 1, _uniform_single),
    Method.UNIFORM_DOUBLE: Conversion(2, 1, _uniform_double),
    Method.NORMAL_SINGLE: Conversion(2, 2, _normal_single),
    Method.NORMAL_DOUBLE: Conversion(4, 2, _normal_double),
    Method.LOGNORMAL_SINGLE: Conversion(2, 2, _lognormal_single),
    Method.LOGNORMAL_DOUBLE: Conversion(4, 2, _lognormal_double),
    Method.POISSON_TABLE: Conversion(1, 1, _poisson_table),
    Method.POISSON_NORMAL: Conversion(2, 2, _poisson_normal),
    Method.BINOMIAL: Conversion(2, 1, _binomial),
}
"""For generators whose draws are 32 random bits: XORWOW and Philox."""
