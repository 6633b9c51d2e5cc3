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
        Takes the draws as a tuple, and after it the four parameters of :class:`Parameters`.
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


# ------------------------------------------------------------------------------- the functions


@device
def _scale_singles(normals: Value, mean: Value, sigma: Value) -> Value:
    first, second = normals
    return dist.scale_single(first, mean, sigma), dist.scale_single(second, mean, sigma)


@device
def _scale_doubles(normals: Value, mean: Value, sigma: Value) -> Value:
    first, second = normals
    return dist.scale_double(first, mean, sigma), dist.scale_double(second, mean, sigma)


def _conversion(draws: int, values: int, function: Function) -> Conversion:
    return Conversion(draws, values, device(function))


def make_conversions(
    bits: Value,
    single: Value,
    double: Value,
    chance: Value,
    polar_single: Value,
    polar_double: Value,
    draws_of_double: int,
) -> Conversions:
    """Return the conversions of a generator.

    Parameters
    ----------
    bits, single, chance : Function
        From a draw to raw bits, to a uniform float32, and to a uniform float64 for the tables of
        discrete distributions.
    double : Function
        From one or two draws to a uniform float64.
    polar_single, polar_double : Function
        From twice as many draws to a uniform number and an angle.
    draws_of_double : int
        How many draws make a uniform float64.
    """
    one, two = draws_of_double, 2 * draws_of_double
    return {
        Method.RAW: _conversion(1, 1, lambda d, _a, _b, _t, _k: (bits(*d),)),
        Method.UNIFORM_SINGLE: _conversion(1, 1, lambda d, _a, _b, _t, _k: (single(*d),)),
        Method.UNIFORM_DOUBLE: _conversion(one, 1, lambda d, _a, _b, _t, _k: (double(*d),)),
        Method.NORMAL_SINGLE: _conversion(
            2,
            2,
            lambda d, a, b, _t, _k: _scale_singles(dist.box_muller_single(*polar_single(*d)), a, b),
        ),
        Method.NORMAL_DOUBLE: _conversion(
            two,
            2,
            lambda d, a, b, _t, _k: _scale_doubles(dist.box_muller_double(*polar_double(*d)), a, b),
        ),
        Method.LOGNORMAL_SINGLE: _conversion(
            2, 2, lambda d, a, b, _t, _k: dist.lognormals_single(polar_single(*d), a, b)
        ),
        Method.LOGNORMAL_DOUBLE: _conversion(
            two, 2, lambda d, a, b, _t, _k: dist.lognormals_double(polar_double(*d), a, b)
        ),
        Method.POISSON_TABLE: _conversion(
            1, 1, lambda d, a, _b, t, k: (poisson.draw_from_cells(chance(*d), a, t, k),)
        ),
        Method.BINOMIAL: _conversion(
            one, 1, lambda d, a, _b, t, k: (poisson.find_in_cumulative(double(*d), a, t, k),)
        ),
    }


@device
def _same(x: Value) -> Value:
    return x


FROM_BITS: Conversions = {
    **make_conversions(
        _same,
        dist.uniform_single,
        dist.uniform_double,
        dist.uniform_upper,
        dist.polar_single,
        dist.polar_double,
        2,
    ),
    Method.POISSON_NORMAL: _conversion(
        2, 2, lambda d, a, b, _t, _k: poisson.round_pair(dist.polar_single(*d), a, b)
    ),
}
"""For generators whose draws are 32 random bits: XORWOW and Philox."""
