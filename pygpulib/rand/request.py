"""What is asked of a generator: a distribution, its parameters and the type of the numbers."""

from __future__ import annotations

import enum
import operator
from functools import lru_cache

import numpy as np

from pygpulib._record import record
from pygpulib.errors import ArgumentError, ArgumentTypeError, DTypeError

MAX_POISSON_MEAN = 400_000.0
"""The largest mean of a Poisson distribution, as in cuRAND."""

MAX_TRIALS = 2**31 - 1
"""The largest number of trials of a binomial distribution."""


class Distribution(enum.Enum):
    """What the numbers follow; the values are the names for messages."""

    RAW = "raw"
    UNIFORM = "uniform"
    NORMAL = "normal"
    LOGNORMAL = "lognormal"
    POISSON = "poisson"
    BINOMIAL = "binomial"


_DTYPES = {
    Distribution.RAW: ("uint32", "uint64"),
    Distribution.UNIFORM: ("float32", "float64"),
    Distribution.NORMAL: ("float32", "float64"),
    Distribution.LOGNORMAL: ("float32", "float64"),
    Distribution.POISSON: ("uint32",),
    Distribution.BINOMIAL: ("uint32",),
}

_PARAMETERS = {
    Distribution.RAW: (),
    Distribution.UNIFORM: (),
    Distribution.NORMAL: ("mean", "sigma"),
    Distribution.LOGNORMAL: ("mean", "sigma"),
    Distribution.POISSON: ("lmbd",),
    Distribution.BINOMIAL: ("n", "p"),
}


@record(eq=True)
class Request:
    """A request that is known to be valid; made by :func:`make_request`.

    Attributes
    ----------
    distribution : Distribution
        What the numbers follow.
    dtype : str
        Type of the numbers: ``"uint32"``, ``"uint64"``, ``"float32"`` or ``"float64"``.
    parameters : tuple of float
        (mean, sigma) of normal and log-normal, (lmbd,) of Poisson, (n, p) of binomial
        distributions, else empty.
    """

    distribution: Distribution
    dtype: str
    parameters: tuple[float, ...] = ()


def make_request(distribution: Distribution, dtype: object, *parameters: float) -> Request:
    """Return a request; the same arguments give the same object, as long as it is remembered.

    Parameters
    ----------
    distribution : Distribution
        What the numbers follow.
    dtype : dtype-like
        Type of the array that is to be filled. Signed integers count as unsigned ones.
    *parameters : float
        See :class:`Request`.

    Raises
    ------
    DTypeError
        If the distribution has no numbers of this type.
    ArgumentError
        If a parameter is outside its range.
    ArgumentTypeError
        If a parameter is no number.
    """
    try:
        return _make(distribution, dtype, parameters)
    except TypeError:
        # Something that cannot be remembered by its value, such as an array without axes.
        return _make.__wrapped__(distribution, dtype, parameters)


@lru_cache(maxsize=256)
def _make(distribution: Distribution, dtype: object, parameters: tuple[float, ...]) -> Request:
    names = _PARAMETERS[distribution]
    assert len(parameters) == len(names)
    values = tuple(map(_read_number, names, parameters))
    match distribution:
        case Distribution.NORMAL | Distribution.LOGNORMAL:
            _check_normal(*values)
        case Distribution.POISSON:
            _check_poisson(*values)
        case Distribution.BINOMIAL:
            _check_binomial(*values)
        case _:
            pass
    return Request(distribution, _read_dtype(distribution, dtype), values)


def _read_dtype(distribution: Distribution, dtype: object) -> str:
    allowed = _DTYPES[distribution]
    given = np.dtype(dtype)  # type: ignore[call-overload]
    name = given.name.replace("int", "uint") if given.kind == "i" else given.name
    if name not in allowed or not given.isnative:
        signed = [each[1:] for each in allowed if each.startswith("u")]
        raise DTypeError(
            f"{distribution.value} random numbers were asked for as {given}",
            detail=f"expected {' or '.join([*allowed, *signed])}",
        )
    return str(name)


def _read_number(name: str, value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as cause:
        raise ArgumentTypeError(
            f"the argument {name} is {value!r}", detail="expected a number"
        ) from cause


def _check_normal(mean: float, sigma: float) -> None:
    if mean != mean:
        raise ArgumentError("the argument mean is not a number (NaN)")
    if not 0.0 <= sigma < np.inf:
        raise ArgumentError(
            f"the argument sigma is {sigma:g}",
            detail="expected a standard deviation: a number that is not negative",
        )


def _check_poisson(mean: float) -> None:
    if not 0.0 < mean <= MAX_POISSON_MEAN:
        raise ArgumentError(
            f"the argument lmbd is {mean:g}",
            detail=f"expected a mean above 0 and at most {MAX_POISSON_MEAN:.0f}",
        )


def _check_binomial(trials: float, probability: float) -> None:
    if not (0.0 <= trials <= MAX_TRIALS and trials == int(trials)):
        raise ArgumentError(
            f"the argument n is {trials:g}",
            detail=f"expected a number of trials: an integer from 0 to {MAX_TRIALS}",
        )
    if not 0.0 <= probability <= 1.0:
        raise ArgumentError(
            f"the argument p is {probability:g}", detail="expected a probability, from 0 to 1"
        )


def read_integer(name: str, value: object, low: int, high: int) -> int:
    """Return an argument as an integer within bounds.

    Raises
    ------
    ArgumentTypeError
        If it is no integer.
    ArgumentError
        If it is below `low` or above `high`.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError as cause:
        raise ArgumentTypeError(
            f"the argument {name} is {value!r}", detail="expected an integer"
        ) from cause
    if not low <= number <= high:
        raise ArgumentError(
            f"the argument {name} is {number}", detail=f"expected an integer from {low} to {high}"
        )
    return number
