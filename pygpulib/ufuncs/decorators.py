"""The decorators that make functions of arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from types import FunctionType
from typing import Any

from pygpulib.errors import ArgumentTypeError
from pygpulib.jit import types
from pygpulib.jit.declarations import parse_signatures
from pygpulib.ufuncs.generalized import GUFunc
from pygpulib.ufuncs.ufunc import UFunc

# Options of numba's that say how to compile, and have no meaning here.
_HINTS = frozenset({"cache", "fastmath", "forceobj", "inline", "nopython", "target"})


def vectorize(signatures: object, *, identity: object = None, **options: object) -> Any:  # noqa: ANN401
    """Make a function of numbers a function of arrays; a decorator.

    Parameters
    ----------
    signatures : signature or list of signatures
        The types to compile it for, for example ``["float32(float32, float32)"]``.
    identity : number, optional
        What ``reduce`` starts with.
    **options
        Numba's other options, which are accepted: ``target``, ``nopython``, ``cache``.

    Returns
    -------
    decorator
        Makes a `UFunc`.

    Raises
    ------
    ArgumentTypeError
        If there is no such option.

    Examples
    --------
    >>> @vectorize(["float32(float32, float32)", "float64(float64, float64)"])
    ... def add(a, b):
    ...     return a + b
    >>> add([1.0, 2.0], 10.0)
    array([11., 12.])
    """
    _check_options("vectorize", options, "Unrecognized options")
    if isinstance(signatures, FunctionType):
        raise ArgumentTypeError(
            "vectorize needs signatures", help='write @vectorize(["float64(float64)"])'
        )
    parse_signatures(signatures)

    def decorate(function: FunctionType) -> UFunc:
        return UFunc(_function(function), signatures, identity)

    return decorate


def guvectorize(
    ftylist: object,
    signature: str,
    *,
    writable_args: Sequence[int | str] = (),
    **options: object,
) -> Callable[[FunctionType], GUFunc]:
    """Make a function of small arrays a function of arrays of them; a decorator.

    Parameters
    ----------
    ftylist : signature or list of signatures
        The types to compile it for, outputs last: ``["void(float32[:], float32[:])"]``.
    signature : str
        The axes that the function sees, for example ``"(m,n),(n,p)->(m,p)"``.
    writable_args : sequence of int or str
        Inputs that the function also writes.
    **options
        Numba's other options, which are accepted: ``target``, ``nopython``, ``cache``.

    Returns
    -------
    decorator
        Makes a `GUFunc`.

    Raises
    ------
    ArgumentTypeError
        If a signature returns a value, or an option is not supported.

    Examples
    --------
    >>> @guvectorize(["(float64[:], float64[:])"], "(n)->()")
    ... def largest(row, result):
    ...     result[0] = row[0]
    ...     for value in row:
    ...         result[0] = max(result[0], value)
    >>> largest([[1.0, 5.0], [7.0, 2.0]])
    array([5., 7.])
    """
    if options.get("nopython", True) is not True:
        raise ArgumentTypeError("nopython flag must be True")
    unknown = [name for name in options if name not in _HINTS and name != "identity"]
    if unknown:
        shown = ", ".join(map(repr, unknown))
        raise ArgumentTypeError(f"The following target options are not supported: {shown}")
    for declared in parse_signatures(ftylist):
        if declared.result not in (None, types.void):
            raise ArgumentTypeError(
                "guvectorized functions cannot return values: signature "
                f"{declared} specifies {declared.result} return type"
            )
    return partial(_make_gufunc, ftylist, signature, writable_args)


def _make_gufunc(
    declared: object, layout: str, writable_args: Sequence[int | str], function: FunctionType
) -> GUFunc:
    return GUFunc(_function(function), declared, layout, writable_args)


def _function(function: object) -> FunctionType:
    """Return the Python function of what is decorated."""
    py_func = getattr(function, "py_func", function)
    if not isinstance(py_func, FunctionType):
        raise ArgumentTypeError(f"{function!r} cannot be vectorized", detail="expected a function")
    return py_func


def _check_options(name: str, options: dict[str, object], problem: str) -> None:
    unknown = [option for option in options if option not in _HINTS]
    if unknown:
        raise ArgumentTypeError(f"{problem} of {name}: {', '.join(map(repr, unknown))}")
