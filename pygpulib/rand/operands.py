"""Parameters of distributions: numbers or arrays, checked against a rule and broadcast."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from pygpulib._record import record
from pygpulib.core.array import ndarray
from pygpulib.core.interop import as_cuda_array, is_cuda_array
from pygpulib.errors import ArgumentError, ArgumentTypeError, ShapeError

Operand: TypeAlias = NDArray[Any]
"""A parameter, with as many axes as it was given with; one without may be a scalar of NumPy."""


@record
class Rule:
    """What a parameter may be.

    Attributes
    ----------
    allows : callable
        Takes an array and tells for each element whether it is allowed.
    expected : str
        The same in words.
    is_whole : bool
        Whether it is an integer.
    """

    allows: Callable[[Operand], Any]
    expected: str
    is_whole: bool = False


MAX_MEAN = float(2**63 - 1) - np.sqrt(float(2**63 - 1)) * 10
"""The largest mean of a Poisson distribution whose numbers fit into an int64."""

# Where NaN is allowed, as in NumPy, the results are NaN.
ANY = Rule(lambda _: np.True_, "a number")
FINITE = Rule(np.isfinite, "a finite number")
NOT_NEGATIVE = Rule(lambda x: ~(x < 0), "a number that is not negative")
POSITIVE = Rule(lambda x: ~(x <= 0), "a number above 0")
POSITIVE_NUMBER = Rule(lambda x: x > 0, "a number above 0")
PROBABILITY = Rule(lambda x: (x >= 0) & (x <= 1), "a probability, from 0 to 1")
PROBABILITY_ABOVE_0 = Rule(lambda x: (x > 0) & (x <= 1), "a probability above 0 and at most 1")
PROBABILITY_BELOW_1 = Rule(lambda x: (x >= 0) & (x < 1), "a probability from 0 on and below 1")
ABOVE_1 = Rule(lambda x: x > 1, "a number above 1")
MEAN = Rule(lambda x: (x >= 0) & (x <= MAX_MEAN), "a mean from 0 to about 2**63")
WHOLE = Rule(lambda _: np.True_, "an integer", is_whole=True)
COUNT = Rule(lambda x: x >= 0, "a count: an integer that is not negative", is_whole=True)


def read_operand(name: str, value: object, rule: Rule) -> Operand:
    """Return a parameter as a host array of float64 or int64.

    Parameters
    ----------
    name : str
        Its name, for messages.
    value : number or array_like
        The parameter; a device array is copied to the host, because it is checked there.
    rule : Rule
        What it may be.

    Raises
    ------
    ArgumentTypeError
        If it is not made of numbers, or of integers where the rule says so.
    ArgumentError
        If the rule does not allow an element.
    """
    if type(value) is float and not rule.is_whole:
        single: Any = np.float64(value)
        if rule.allows(single):
            return single  # type: ignore[no-any-return]
    array = _as_array(value)
    if array is None or not _is_numeric(array, whole=rule.is_whole):
        kind = "integer" if rule.is_whole else "number"
        raise ArgumentTypeError(
            f"the argument {name} is {_show(value, array)}",
            detail=f"expected an {kind}, or an array of them"
            if rule.is_whole
            else f"expected a {kind}, or an array of them",
        )
    if rule.is_whole:
        _check_range(name, array)
    plain = array.astype(np.int64 if rule.is_whole else np.float64)
    allowed = rule.allows(plain)
    if not np.all(allowed):
        first = plain[~np.broadcast_to(allowed, plain.shape)].flat[0]
        where = "" if plain.ndim == 0 else " holds"
        raise ArgumentError(
            f"the argument {name}{where or ' is'} {first:g}"
            if not rule.is_whole
            else f"the argument {name}{where or ' is'} {first}",
            detail=f"expected {rule.expected}",
        )
    return plain


def to_host(value: object) -> Operand:
    """Return a number or array as a host array."""
    if isinstance(value, np.ndarray | float | int):
        return np.asarray(value)
    if isinstance(value, ndarray) or is_cuda_array(value):
        return as_cuda_array(value).copy_to_host()
    return np.asarray(value)


def _as_array(value: object) -> Operand | None:
    """Return a host array, or None for lists that make none."""
    if isinstance(value, list | tuple):
        try:
            return np.asarray(value)
        except ValueError:
            return None
    array = to_host(value)
    if array.dtype == object and not array.ndim:
        # Integers of more than 64 bits, fractions, and what else Python makes a number of.
        with suppress(TypeError, ValueError, OverflowError):
            return np.asarray(float(array.item()))
    return array


def _is_numeric(array: Operand, *, whole: bool) -> bool:
    if array.dtype.kind == "f" and whole:
        return bool(np.all(array == np.floor(array)))
    return array.dtype.kind in "biuf"


def _check_range(name: str, array: Operand) -> None:
    # As numbers of Python, which are compared exactly.
    if array.size and (array.max().item() >= 2**63 or array.min().item() < -(2**63)):
        raise ArgumentError(
            f"the argument {name} does not fit into 64 bits", detail="expected an int64"
        )


def _show(value: object, array: Operand | None) -> str:
    if array is None:
        return f"a {type(value).__name__} with rows of different lengths"
    return f"an array of {array.dtype}" if array.ndim else repr(value)


def broadcast_shape(operands: tuple[Operand, ...]) -> tuple[int, ...]:
    """Return the common shape of parameters.

    Raises
    ------
    ShapeError
        If they have none.
    """
    if not any(operand.ndim for operand in operands):
        return ()
    try:
        return np.broadcast_shapes(*(operand.shape for operand in operands))
    except ValueError as cause:
        shapes = ", ".join(str(operand.shape) for operand in operands)
        raise ShapeError(
            f"parameters of shapes {shapes} were given",
            detail="expected shapes that can be broadcast to one",
        ) from cause
