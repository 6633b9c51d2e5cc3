"""Additions to the kernel language, under the names of numba's ``extending``.

Examples
--------
>>> import numpy as np
>>> from pygpulib import cuda
>>> from pygpulib.cuda.extending import overload
>>> def twice(x): ...
>>> @overload(twice)
... def choose_twice(x):
...     return lambda x: x + x
>>> @cuda.jit
... def kernel(a):
...     a[0] = twice(a[0])
>>> a = np.array([3.0])
>>> kernel[1, 1](a)
>>> a
array([6.])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pygpulib.errors import ArgumentError, ArgumentTypeError
from pygpulib.jit import extensions
from pygpulib.jit.extensions import Overload

__all__ = ["overload", "overload_attribute", "overload_method", "register_jitable"]

F = TypeVar("F", bound=Callable[..., Any])

_TARGETS = ("generic", "gpu", "cuda")

# Numba's options that say how to compile, and have no meaning here.
_HINTS = frozenset({"inline", "jit_options", "strict", "no_unliteral"})


def _make(
    choose: object,
    pattern: object,
    target: str,
    prefer_literal: bool,
    options: dict[str, object],
) -> Overload:
    if target not in _TARGETS:
        raise ArgumentError(
            f"the target of an overload is {target!r}", detail=f"expected one of {_TARGETS}"
        )
    unknown = [name for name in options if name not in _HINTS]
    if unknown:
        raise ArgumentTypeError(f"an overload has no option {unknown[0]!r}")
    if not callable(choose):
        raise ArgumentTypeError(
            f"{choose!r} cannot be an overload", detail="expected a function of types"
        )
    return Overload(choose, target != "generic", prefer_literal, pattern)


def overload(
    func: object, *, target: str = "cuda", prefer_literal: bool = False, **options: object
) -> Callable[[F], F]:
    """Say what calls of a Python object mean in kernels; a decorator.

    Parameters
    ----------
    func : object
        The function that kernels call.
    target : str
        ``"cuda"``, or ``"generic"`` for what is asked last.
    prefer_literal : bool
        Whether to ask with the values of constants first, as `IntegerLiteral` types.
    **options
        Numba's other options, which are accepted: ``inline``, ``strict``, ``jit_options``.

    Returns
    -------
    decorator
        For a function that takes the types of the arguments, and returns a function of the
        arguments to compile, or None if these types are not for it.
    """

    def decorate(choose: F) -> F:
        extensions.add_function(func, _make(choose, None, target, prefer_literal, options))
        return choose

    return decorate


def overload_method(
    typ: object, attr: str, *, target: str = "cuda", prefer_literal: bool = False, **options: object
) -> Callable[[F], F]:
    """Give values of a type a method; a decorator.

    Parameters
    ----------
    typ : type or class of types
        For example ``types.Array``.
    attr : str
        Name of the method.
    target, prefer_literal, **options
        As in `overload`.

    Returns
    -------
    decorator
        For a function that takes the types of the value and of the arguments, as in `overload`.
    """

    def decorate(choose: F) -> F:
        extensions.add_method(attr, _make(choose, typ, target, prefer_literal, options))
        return choose

    return decorate


def overload_attribute(
    typ: object, attr: str, *, target: str = "cuda", **options: object
) -> Callable[[F], F]:
    """Give values of a type an attribute; a decorator.

    Parameters
    ----------
    typ : type or class of types
        For example ``types.Array``.
    attr : str
        Name of the attribute.
    target, **options
        As in `overload`.

    Returns
    -------
    decorator
        For a function that takes the type of the value, and returns a function of the value.
    """

    def decorate(choose: F) -> F:
        extensions.add_attribute(attr, _make(choose, typ, target, False, options))
        return choose

    return decorate


def register_jitable(*args: object, **options: object) -> Any:  # noqa: ANN401
    """Let kernels call a function that stays a Python function; a decorator.

    Parameters
    ----------
    *args, **options
        The function; or options of numba's, which are accepted.

    Returns
    -------
    function or decorator
        The function itself.
    """
    if args and callable(args[0]):
        return extensions.add_jitable(args[0])
    unknown = [name for name in options if name not in {*_HINTS, "fastmath", "nopython"}]
    if args or unknown:
        raise ArgumentTypeError(f"register_jitable does not take {(*args, *unknown)[0]!r}")
    return extensions.add_jitable
